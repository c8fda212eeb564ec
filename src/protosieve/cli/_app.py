"""The commands and their help. Typer parses; each command returns what is to be done, and `_main` does it.

Nothing heavy is imported before a command is known to be meant: help and completion answer at once.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import typer

from protosieve import _defaults as default
from protosieve.cli import _options as option

__all__ = ["Task", "app"]

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


@app.command(
    help="Choose the rows of files that represent them best, each with a weight.\n\n"
    "Files are read twice, in memory that does not grow with them: once to learn what the columns are like and to draw "
    "a sample, once so that every row counts. One pass does where the sample holds all rows. Standard input is read "
    "once. The same command after an interruption goes on with --work, and --workers does not change the result.",
    epilog=_examples(
        "protosieve select rows.parquet -m 500 -o chosen.parquet",
        "protosieve select 'logs/*.csv' -m 1% --id user --exclude comment",
        "protosieve select texts.parquet -m 500 --embedding vector --label topic",
        "protosieve select pool.parquet -m 200 --target live.parquet",
        "protosieve select images.parquet -m 100 --embedding pixels --image-shape 28x28 --report page.html",
        "zcat rows.csv.gz | protosieve select - -m 50 -o - | head",
        "protosieve select 'big/*.parquet' -m 500 --work progress -o chosen.parquet",
        "protosieve select 'big/*.parquet' -m 500 --workers 8 --work progress -o chosen.parquet",
        "tail -f -n +1 events.jsonl | protosieve select - -m 50 --format jsonl --watch",
    ),
)
def select(
    inputs: option.Inputs,
    n_prototypes: option.Count,
    target: option.Target = None,
    method: option.Method = default.METHOD,
    random_state: option.Seed = str(default.RANDOM_STATE),
    features: option.Features = None,
    exclude: option.Exclude = None,
    id: option.Id = None,
    label: option.Label = None,
    categorical: option.Categorical = None,
    embedding: option.Embedding = None,
    scale: option.Scale = default.SCALE,
    max_categories: option.MaxCategories = str(default.MAX_CATEGORIES),
    kernel: option.KernelName = default.KERNEL,
    width: option.Width = None,
    sample: option.Sample = None,
    output: option.Output = None,
    bad_rows: option.BadRows = default.BAD_ROWS,
    format: option.Format = None,
    workers: option.Workers = None,
    dask: option.Dask = None,
    partition_rows: option.PartitionRows = str(default.PARTITION_ROWS),
    work: option.Work = None,
    dry_run: option.DryRun = False,
    image_shape: option.ImageShape = None,
    image: option.Image = None,
    text: option.Text = None,
    coordinates: option.Coordinates = None,
    report: option.Report = None,
    watch: option.Watch = False,
    watch_at: option.WatchAt = None,
    quiet: option.Quiet = False,
    json: option.Json = False,
) -> Task:
    """A name here is that of the argument of `protosieve.select`; see there."""
    return _later("_select", locals())


@app.command(
    help="Put the methods side by side on your rows, or on a sample of them: what each is worth and costs.\n\n"
    "The line to beat is random: random rows with the best weights.",
    epilog=_examples(
        "protosieve compare rows.parquet -m 50",
        "protosieve compare texts.parquet -m 50 --embedding vector --methods swap,dash,random",
    ),
)
def compare(
    inputs: option.Inputs,
    n_prototypes: option.Count,
    methods: option.AllMethods = None,
    random_state: option.Seed = str(default.RANDOM_STATE),
    features: option.Features = None,
    exclude: option.Exclude = None,
    id: option.Id = None,
    label: option.Label = None,
    categorical: option.Categorical = None,
    embedding: option.Embedding = None,
    scale: option.Scale = default.SCALE,
    max_categories: option.MaxCategories = str(default.MAX_CATEGORIES),
    kernel: option.KernelName = default.KERNEL,
    width: option.Width = None,
    sample: option.ComparedSample = str(default.SAMPLE),
    bad_rows: option.BadRows = default.BAD_ROWS,
    format: option.Format = None,
    quiet: option.Quiet = False,
    json: option.Json = False,
) -> Task:
    """A name here is that of the argument of `protosieve.run.survey` or `protosieve.compare`; see there."""
    return _later("_compare", locals())


@app.command(
    help="Make a page about a result that select has written: how good it is, the prototypes as cards, a map, what "
    "they miss.\n\nWhat it shows of the data comes from --data; without it, it shows what the result holds.",
    epilog=_examples(
        "protosieve report chosen.parquet --data rows.parquet",
        "protosieve report chosen.parquet --data 'images/*.parquet' --image-shape 28x28 -o page.html",
    ),
)
def report(
    result: option.Result,
    data: option.Data = None,
    output: option.Page = None,
    title: option.Title = None,
    label: option.Label = None,
    image_shape: option.ImageShape = None,
    image: option.Image = None,
    text: option.Text = None,
    coordinates: option.Coordinates = None,
    quiet: option.Quiet = False,
) -> Task:
    """A name here is that of the argument of `Prototypes.report`; see there."""
    return _later("_report", locals())


@app.command(epilog=_CODES)
def demo() -> Task:
    """Choose 20 of 1,797 handwritten digits, and look at them."""
    return _later("_demo", {})


def _later(module: str, given: dict[str, Any]) -> Task:
    """The ``perform`` of a module of this package, to be called with what was given."""

    def perform() -> object:
        from importlib import import_module

        return import_module(f"protosieve.cli.{module}").perform(given)

    return perform
