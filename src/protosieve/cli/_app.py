"""The commands and their help. Typer parses; each command returns what is to be done, and `_main` does it.

Nothing heavy is imported before a command is known to be meant: help and completion answer at once.
"""

from collections.abc import Callable
from importlib import import_module
from inspect import Signature
from typing import Annotated, Any, TypeAlias

import typer

from protosieve.cli._options import COMPARE, REPORT, SELECT, Option

Task: TypeAlias = Callable[[], object]

_CODES = (
    "Exit codes: 0 done; 1 something unexpected; 2 options, input or output that cannot be used; 129 hung up; "
    "130 interrupted (Ctrl-C); 143 terminated."
)

app = typer.Typer(
    help="The few rows that represent the many, each with a weight, in fixed memory.",
    epilog=_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from protosieve import __version__

        typer.echo(f"protosieve {__version__}")
        raise typer.Exit


@app.callback()
def _protosieve(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _examples(*commands: str) -> str:
    """Help keeps paragraphs apart, but joins the lines of one."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"  {command}" for command in commands), _CODES])


def _command(module: str, options: tuple[Option, ...], help: str, epilog: str) -> Callable[..., Task]:
    """A command that takes these options; what it does is the ``perform`` of a module of this package."""

    def command(**given: Any) -> Task:
        return _later(module, given)

    parameters = [option.parameter() for option in options]
    command.__name__ = module.removeprefix("_")
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    setattr(command, "__signature__", Signature(parameters))  # noqa: B010  # which mypy does not know of functions
    return app.command(help=help, epilog=epilog)(command)


def _later(module: str, given: dict[str, Any]) -> Task:
    def perform() -> object:
        return import_module(f"protosieve.cli.{module}").perform(given)

    return perform


select = _command(
    "_select",
    SELECT,
    help="Select the rows of files that represent them best, each with a weight.\n\n"
    "Files are read twice, in memory that does not grow with them: once to learn what the columns are like and to draw "
    "a sample, once so that every row counts. One pass is enough if the sample holds all rows, and with --goal cover. "
    "Standard input is read once. With --work an interrupted run goes on where it stopped, and --workers does not "
    "change the result.",
    epilog=_examples(
        "protosieve select rows.parquet -m 500 -o chosen.parquet",
        "protosieve select 'logs/*.csv' -m 1% --id user --exclude comment",
        "protosieve select texts.parquet -m 500 --goal cover --embedding vector -o to-label.parquet",
        "protosieve select photos/ -m 50 -o chosen.csv --report chosen.html",
        "protosieve select pool.parquet -m 200 --target live.parquet",
        "protosieve select images.parquet -m 100 --embedding pixels --image-shape 28x28 --report page.html",
        "zcat rows.csv.gz | protosieve select - -m 50 -o - | head",
        "protosieve select 'big/*.parquet' -m 500 --work progress -o chosen.parquet",
        "protosieve select 'big/*.parquet' -m 500 --workers 8 --work progress -o chosen.parquet",
        "tail -f -n +1 events.jsonl | protosieve select - -m 50 --format jsonl --watch",
    ),
)

compare = _command(
    "_compare",
    COMPARE,
    help="Compare the methods on your rows, or on a sample of them: how good each is and what it costs.\n\n"
    "Two goals are told apart: to match the rows, where the line to beat is random, random rows with the best weights; "
    "and to cover them, where it is kmeans, the row nearest to each centre.",
    epilog=_examples(
        "protosieve compare rows.parquet -m 50",
        "protosieve compare texts.parquet -m 50 --embedding vector --methods swap,dash,random",
        "protosieve compare texts.parquet -m 100 --embedding vector --label topic --methods cover,swap,kmeans,random",
    ),
)

report = _command(
    "_report",
    REPORT,
    help="Make a page about a result that select has written: how good it is, the prototypes as cards, a map, what "
    "they miss.\n\nWhat it shows of the data comes from --data; without it, it shows what the result holds.",
    epilog=_examples(
        "protosieve report chosen.parquet --data rows.parquet",
        "protosieve report chosen.parquet --data 'images/*.parquet' --image-shape 28x28 -o page.html",
    ),
)

demo = _command("_demo", (), help="Select 20 of 1,797 handwritten digits, and look at them.", epilog=_CODES)
