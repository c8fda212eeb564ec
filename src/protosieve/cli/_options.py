"""The options of the commands, each declared once: flags, help, panel, default, completion, and what its text becomes.

An option's name is the argument of `protosieve.select` it stands for. Numbers arrive as text; what is no number is left
to `select` to refuse, so that there is one message for it.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter
from typing import Annotated, Any

import protosieve
from protosieve import _defaults as default

# What TAB offers. The engine has the last word on what is right; a test compares the two.
METHODS = tuple(sorted(protosieve._STREAMING.values()))
ALL_METHODS = tuple(sorted([*METHODS, *protosieve._BATCH.values(), "random", "kmeans", "cover"]))
KERNELS = ("cosine", "gaussian", "laplacian", "linear", "multiscale", "polynomial")
SCALES = ("auto", "minmax", "none", "standard")
GOALS = ("match", "cover")
POLICIES = ("error", "skip")
OUTPUT_FORMATS = ("label-studio",)
SPLITS = ("each", "even", "proportional")
FORMATS = ("arrow", "csv", "excel", "images", "jsonl", "npy", "npz", "parquet", "tsv")


# -- what the text of an option becomes


def _text(given: Any) -> Any:
    return given


def _count(text: str) -> int | str:
    """A whole number where it is one.

    >>> _count("500"), _count("1%"), _count("many"), _count("+-5")
    (500, '1%', 'many', '+-5')
    """
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else text


def _seed(text: str) -> int | str | None:
    return None if text == "none" else _count(text)


def _number(text: str) -> float | str:
    """A number where it is one.

    >>> _number("2.5"), _number("median")
    (2.5, 'median')
    """
    try:
        return float(text)
    except ValueError:
        return text


def _delimiter(text: str) -> str:
    r"""A tab is hard to type.

    >>> _delimiter("tab"), _delimiter(";")
    ('\t', ';')
    """
    return "\t" if text in ("tab", "\\t") else text


def _names(given: str | list[str]) -> list[str]:
    """Names separated by commas; one that has a comma goes in double quotes, as in a CSV file.

    >>> _names(["age, height", "city"]), _names('"size, in cm",age')
    (['age', 'height', 'city'], ['size, in cm', 'age'])
    """
    lines = [given] if isinstance(given, str) else given
    return [name for line in csv.reader(lines, skipinitialspace=True, strict=False) for name in line if name]


# -- what TAB offers


Offer = Callable[[str], list[str]]


def _offer(values: tuple[str, ...]) -> Offer:
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def offer_several(values: tuple[str, ...]) -> Offer:
    """The last of values separated by commas."""

    def complete(incomplete: str) -> list[str]:
        *before, last = incomplete.split(",")
        free = [value for value in values if value.startswith(last) and value not in before]
        return [",".join([*before, value]) for value in free]

    return complete


@dataclass(frozen=True)
class Option:
    """An option of one command or several; without flags it is an argument, without a ``metavar`` a switch."""

    name: str
    flags: tuple[str, ...]
    metavar: str | None
    help: str
    default: Any = None
    value: Callable[[Any], Any] = _text
    offer: Offer | None = None
    repeats: bool = False
    panel: str | None = None

    def parameter(self) -> Parameter:
        """As typer wants it, in the signature of a command."""
        import typer  # flags are known where it is not installed, too

        shows_default = self.default not in (None, False, Parameter.empty)
        said: dict[str, Any] = {"help": self.help, "metavar": self.metavar, "show_default": shows_default}
        declared = (
            typer.Option(*self.flags, rich_help_panel=self.panel, autocompletion=self.offer, **said)
            if self.flags
            else typer.Argument(**said)
        )
        kind: Any = list[str] if self.repeats else bool if self.metavar is None else str
        kind = kind | None if self.default is None else kind
        annotation = Annotated[kind, declared]
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=self.default, annotation=annotation)


def _option(name: str, metavar: str | None, help: str, *, flags: str | None = None, **others: Any) -> Option:
    """Called like its argument, unless ``flags`` say otherwise."""
    said = f"--{name.replace('_', '-')}" if flags is None else flags
    return Option(name, tuple(said.split()), metavar, help, **others)


def _switch(name: str, help: str, flags: str | None = None) -> Option:
    return _option(name, None, help, flags=flags, default=False)


def _panel(title: str, *options: Option) -> tuple[Option, ...]:
    return tuple(replace(option, panel=title) for option in options)


# -- the options

_INPUTS = Option(
    "inputs", (), "INPUT", default=Parameter.empty, repeats=True,
    help="Files, folders, globs or URLs of Parquet, Arrow, CSV, TSV, JSON, Excel, .npy or .npz, all with the same "
    "columns, or of images; - is standard input.",
)  # fmt: skip
_RESULT = Option("result", (), "RESULT", "What select -o has written: .parquet or .arrow.", Parameter.empty)

_COUNT = _option(
    "n_prototypes", "COUNT", "Rows to keep at most, such as 500; or a share of all, such as 1%.",
    flags="-m", default=Parameter.empty, value=_count,
)  # fmt: skip
_TARGET = _option(
    "target", "FILES", "Select rows of INPUT that are like these; without it, like INPUT itself. Repeatable.",
    repeats=True,
)  # fmt: skip
_KEEP = _option(
    "keep", "FILES", "Rows that were chosen before: COUNT more are chosen beside them. They need the columns of INPUT "
    "that rows are compared by, as the files that -o writes have. Repeatable.",
    repeats=True,
)  # fmt: skip
_EXCLUDE_ROWS = _option(
    "exclude_rows", "FILES", "Rows never to choose, such as a test set. Repeatable.", repeats=True,
)  # fmt: skip
_GOAL = _option(
    "goal", "NAME", "match: the weighted rows have the statistics of INPUT, to use in its place. cover: every row of "
    "INPUT has one near it, to label, to look at or to classify by.",
    default=default.GOAL, offer=_offer(GOALS),
)  # fmt: skip
_GROUPS = (
    _option(
        "per", "COLUMN", "Select rows for each value of this column, such as five of every class; each group is "
        "represented by its own rows. Kept, not compared.",
    ),
    _option(
        "split", "NAME", "With --per: each gives every value -m rows; even and proportional split -m between them, "
        "evenly or in proportion to their rows.",
        default=default.SPLIT, offer=_offer(SPLITS),
    ),
    _option(
        "quota", "VALUE=LEAST:MOST", "With --per: one choice of -m rows for all, with so many rows of a value at "
        "least and at most, such as de=20:40, de=20: or de=:40. Repeatable.",
        repeats=True,
    ),
)  # fmt: skip
_METHOD = _option(
    "method", "NAME",
    f"How rows are selected: {', '.join(METHODS)}. All but swap judge every row, in one more pass.",
    default=default.METHOD, offer=_offer(METHODS),
)  # fmt: skip
_ALL_METHODS = _option(
    "methods", "NAMES", f"Some of {', '.join(ALL_METHODS)}; by default all but streak.",
    offer=offer_several(ALL_METHODS), repeats=True, value=_names,
)  # fmt: skip
_SEED = _option(
    "random_state", "N", "The same seed gives the same selection; none gives another one every time.",
    flags="--seed", default=str(default.RANDOM_STATE), value=_seed,
)  # fmt: skip

_LABEL = _option(
    "label", "NAME", "The column to predict: kept, not compared; its spread among the prototypes is shown.",
    panel="Columns",
)  # fmt: skip
_TOLD_APART = replace(
    _LABEL,
    help="The column to predict: kept, not compared. How well the nearest of the chosen rows predict it is shown.",
)
_EMBED = _option(
    "embed", "MODEL", "A model to compare the columns of --text by, in place of their words, such as "
    "sentence-transformers:all-MiniLM-L6-v2, model2vec:minishlab/potion-base-8M, open_clip:ViT-B-32/openai; or your "
    "own, as module:function.",
)  # fmt: skip
_COLUMNS = _panel(
    "Columns",
    _option(
        "features", "NAMES", "Columns to compare rows by; by default all that can be. Names are separated by commas.",
        repeats=True, value=_names,
    ),
    _option("exclude", "NAMES", "Columns not to compare rows by.", repeats=True, value=_names),
    _option("id", "NAMES", "Columns that name a row: kept, not compared.", repeats=True, value=_names),
    _LABEL,
    _option(
        "categorical", "NAMES", "Columns of numbers that are names, such as postcodes.", repeats=True, value=_names
    ),
    _option(
        "embedding", "NAME", "A column of lists of numbers, used as they are; the only feature unless --features says "
        "more.",
    ),
    _option(
        "text", "NAMES", "Columns of text, compared by their words; the first is what the page shows. Where --features "
        "or --embedding name the columns to compare, it is only shown.", repeats=True, value=_names,
    ),
    _EMBED,
    _option(
        "image", "NAME", "A column of images: paths, bytes or base64, compared by their looks, and shown on the page. "
        "Where --features or --embedding name the columns to compare, it is only shown.",
    ),
    _option(
        "balance", "NAME", "What texts and images weigh: kinds, each kind as much as all other columns; "
        "columns, each as much as one of these.",
        default=default.BALANCE, offer=lambda: ["kinds", "columns"],
    ),
    _option(
        "scale", "NAME", f"How columns of numbers are scaled: {', '.join(SCALES)}; auto standardises, but takes "
        "ranks of heavy-tailed columns.",
        default=default.SCALE, offer=_offer(SCALES),
    ),
    _switch(
        "day_first", "Dates such as 01/02/2012 begin with the day, not the month, where the first rows do not tell."
    ),
    _option(
        "cycles", "NAMES", "Compare dates by the time of day, the day of the week or the season, too, in UTC: day, "
        "week, year.",
        repeats=True, value=_names, offer=lambda: ["day", "week", "year"],
    ),
    _option(
        "max_categories", "N", "Values of a text column that are told apart; the rest count as one.",
        default=str(default.MAX_CATEGORIES), value=_count,
    ),
)  # fmt: skip

_KERNEL = _panel(
    "Similarity",
    _option(
        "kernel", "NAME", f"What makes two rows similar: {', '.join(KERNELS)}.",
        default=default.KERNEL, offer=_offer(KERNELS),
    ),
    _option(
        "width", "NUMBER", "The distance over which rows are similar: of gaussian or laplacian, the largest of "
        "multiscale's three; by default the median distance.", value=_number,
    ),
)  # fmt: skip
_SAMPLE = _option(
    "sample", "ROWS", "Random rows to select from, and a fifth of them held out to judge the selection; by default "
    "10,240 to 40,960, depending on -m.", value=_count, panel="Similarity",
)  # fmt: skip

_OUTPUT = _option(
    "output", "FILE", "Where the prototypes go, with all of their columns: .parquet, .csv, .tsv, .jsonl, .json, .npz "
    "or .arrow; - is standard output, as JSON lines.", flags="--output -o", panel="Files",
)  # fmt: skip
_TO_LABEL = _panel(
    "Files",
    _option(
        "output_format", "NAME", "label-studio: write tasks for Label Studio, to a .json file or -; by default the "
        "ending of -o names the format.", offer=_offer(OUTPUT_FORMATS),
    ),
    _option("label_column", "NAME", "In .csv or .tsv, an empty last column of this name, to be filled in by hand."),
)  # fmt: skip
_FILES = _panel(
    "Files",
    _option(
        "bad_rows", "WHAT", "error: a row that cannot be used stops the run; skip: such rows are skipped and counted.",
        default=default.BAD_ROWS, offer=_offer(POLICIES),
    ),
    _option(
        "format", "NAME", f"The format of INPUT, if its name does not tell: {', '.join(FORMATS)}.",
        offer=_offer(FORMATS),
    ),
    _option(
        "delimiter", "CHARACTER", "What separates the cells of CSV files; by default what the header shows.",
        value=_delimiter,
    ),
    _option("encoding", "NAME", "The encoding of CSV files, such as latin1; by default UTF-8."),
    _option("decimal", "CHARACTER", "What begins the fractions of numbers in CSV files: . or ,"),
)  # fmt: skip

_MANY = _panel(
    "Many workers",
    _option(
        "workers", "N", "Process partitions of INPUT in this many processes on this machine; by default in this "
        "process, on all cores. The result is the same, bit for bit.", value=_count,
    ),
    _option("dask", "ADDRESS", "Or on the Dask cluster with this scheduler, such as tcp://10.0.0.5:8786."),
    _option(
        "partition_rows", "ROWS", "Rows of a partition, about; another number may give another selection, as good.",
        default=str(default.PARTITION_ROWS), value=_count,
    ),
)  # fmt: skip
_WORK = _option(
    "work", "DIR", "Keep finished work in this folder: after an interruption the same command goes on from there, with "
    "the same result. Emptied when the output is written.", panel="Long runs",
)  # fmt: skip
_HALF_LIFE = _option(
    "half_life", "ROWS", "Of standard input: a row weighs half as much after so many more, so the prototypes are those "
    "of the recent past.", value=_count,
)  # fmt: skip
_DRY_RUN = _switch("dry_run", "Only say how many rows and partitions there are, and how much memory a run needs.")

_SHOWN = _panel(
    "Report",
    _option(
        "image_shape", "HxW", "Rows, or their embedding, are images: height and width, perhaps channels; 28x28, "
        "32x32x3.",
    ),
    _option(
        "coordinates", "X,Y", "Two columns with the position of each row on a map. Kept, not compared.",
        flags="--map", value=_names,
    ),
)  # fmt: skip
_PAGE = _panel(
    "Report",
    _option(
        "report", "FILE.html", "A page about the result: how good it is, the prototypes as cards, a map, what they "
        "miss. One file that needs nothing else.",
    ),
    _switch("watch", "Serve that page during the run, on this machine only; it is kept as a file."),
    _option("watch_at", "HOST:PORT", "Serve it there: 0.0.0.0:8000 admits other machines that know the address."),
)  # fmt: skip
_OF_RESULT = _panel(
    "Report",
    _option(
        "data", "FILE", "The files the prototypes represent, read once: for the map, coverage and what they miss.",
        repeats=True,
    ),
    _option("output", "FILE.html", "Where the page goes; by default beside RESULT.", flags="--output -o"),
    _option("title", "TEXT", "Its headline."),
)  # fmt: skip

_QUIET = _switch("quiet", "Print only errors.", "--quiet -q")
_TOLD = _panel("Output", _QUIET, _switch("json", "Print the figures as one JSON object on standard output."))

_CHOICE = "What to select"
SELECT = (
    _INPUTS, *_panel(_CHOICE, _COUNT, _GOAL, _TARGET, _HALF_LIFE, _KEEP, _EXCLUDE_ROWS, *_GROUPS, _METHOD, _SEED),
    *_COLUMNS,
    *_KERNEL, _SAMPLE, _OUTPUT, *_TO_LABEL, *_FILES, *_MANY, replace(_DRY_RUN, panel="Many workers"), _WORK, *_SHOWN,
    *_PAGE, *_TOLD,
)  # fmt: skip
COMPARE = (
    _INPUTS, *_panel(_CHOICE, _COUNT, _ALL_METHODS, _SEED),
    *(_TOLD_APART if option.name == "label" else option for option in _COLUMNS), *_KERNEL,
    replace(_SAMPLE, help="Random rows that methods are compared on.", default=str(default.SAMPLE)), *_FILES, *_TOLD,
)  # fmt: skip
_TEXT_SHOWN = _option("text", "NAME", "A column of text to read.", panel="Report")
_IMAGE_SHOWN = _option("image", "NAME", "A column of images: paths, bytes or base64.", panel="Report")
_MODEL_SHOWN = replace(
    _EMBED, help="The model that select embedded texts by: names in files are not run.", panel="Report"
)
REPORT = (
    _RESULT, *_OF_RESULT, _LABEL, *_SHOWN, _IMAGE_SHOWN, _TEXT_SHOWN, _MODEL_SHOWN, replace(_QUIET, panel="Output"),
)  # fmt: skip

_EVERY = {option.name: option for option in (*REPORT, *COMPARE, *SELECT)}


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as arguments of Python, by the same names; what was not given is None."""
    return {name: value if value is None else _EVERY[name].value(value) for name, value in given.items()}


def flags() -> dict[str, str]:
    """The flag of each argument."""
    return {name: option.flags[0] for name, option in _EVERY.items() if option.flags}
