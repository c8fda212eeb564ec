"""The options of the commands, each stated once: flags, help, panel, and how its value is completed.

An option's Python name, in the commands of `_app`, is the argument of `protosieve.select` it stands for. Numbers are
text here: `_values` makes them numbers, and what is none is refused by `select`, in one voice.
"""

from collections.abc import Callable
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "ALL_METHODS",
    "FORMATS",
    "KERNELS",
    "METHODS",
    "POLICIES",
    "SCALES",
    "AllMethods",
    "BadRows",
    "Categorical",
    "ComparedSample",
    "Coordinates",
    "Count",
    "Dask",
    "Data",
    "DryRun",
    "Embedding",
    "Exclude",
    "Features",
    "Format",
    "Id",
    "Image",
    "ImageShape",
    "Inputs",
    "Json",
    "KernelName",
    "Label",
    "MaxCategories",
    "Method",
    "Output",
    "Page",
    "PartitionRows",
    "Quiet",
    "Report",
    "Result",
    "Sample",
    "Scale",
    "Seed",
    "Target",
    "Text",
    "Title",
    "Watch",
    "WatchAt",
    "Width",
    "Work",
    "Workers",
]

# What TAB offers. The engine has the last word on what is right; a test compares the two.
METHODS = ("basic", "sieve", "streak", "stream", "swap")
ALL_METHODS = ("basic", "critic", "dash", "random", "sieve", "streak", "stream", "swap")
KERNELS = ("cosine", "gaussian", "laplacian", "linear", "multiscale", "polynomial")
SCALES = ("minmax", "none", "standard")
POLICIES = ("error", "skip")
FORMATS = ("arrow", "csv", "jsonl", "npy", "npz", "parquet", "tsv")

_CHOICE, _COLUMNS, _KERNEL = "What to choose", "Columns", "Similarity"
_FILES, _LONG, _MANY, _REPORT, _SHOWN = "Files", "Long runs", "Many workers", "Report", "What is shown"


def _offer(values: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def _offer_several(values: tuple[str, ...]) -> Callable[[str], list[str]]:
    """The last of values separated by commas."""

    def complete(incomplete: str) -> list[str]:
        *before, last = incomplete.split(",")
        free = [value for value in values if value.startswith(last) and value not in before]
        return [",".join([*before, value]) for value in free]

    return complete


Inputs: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        show_default=False,
        help="Files, folders, globs or URLs of Parquet, Arrow, CSV, TSV, JSON lines, .npy or .npz, all with the same "
        "columns; - is standard input.",
    ),
]

Count: TypeAlias = Annotated[
    str,
    typer.Option("-m", metavar="COUNT", show_default=False, rich_help_panel=_CHOICE,
                 help="Rows to keep at most, such as 500; or a share of all, such as 1%."),
]  # fmt: skip
Target: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="FILES", rich_help_panel=_CHOICE, show_default=False,
                 help="Choose rows of INPUT that are like these; without it, like INPUT itself. Repeatable."),
]  # fmt: skip
Method: TypeAlias = Annotated[
    str,
    typer.Option("--method", metavar="NAME", autocompletion=_offer(METHODS), rich_help_panel=_CHOICE,
                 help=f"How rows are chosen: {', '.join(METHODS)}. All but swap judge every row, in one more pass."),
]  # fmt: skip
Seed: TypeAlias = Annotated[
    str,
    typer.Option("--seed", metavar="N", rich_help_panel=_CHOICE,
                 help="The same seed makes the same choice; none makes another one every time."),
]  # fmt: skip
AllMethods: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--methods", metavar="NAMES", autocompletion=_offer_several(ALL_METHODS), rich_help_panel=_CHOICE,
                 show_default=False, help=f"Some of {', '.join(ALL_METHODS)}; by default all but streak."),
]  # fmt: skip

Features: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--features", metavar="NAMES", rich_help_panel=_COLUMNS, show_default=False,
                 help="Columns that say what a row is like; by default all that can. Names are separated by commas."),
]  # fmt: skip
Exclude: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="NAMES", rich_help_panel=_COLUMNS, show_default=False,
                 help="Columns that do not."),
]  # fmt: skip
Id: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="NAMES", rich_help_panel=_COLUMNS, show_default=False,
                 help="Columns that name a row: kept beside the result, not looked at."),
]  # fmt: skip
Label: TypeAlias = Annotated[
    str | None,
    typer.Option("--label", metavar="NAME", rich_help_panel=_COLUMNS, show_default=False,
                 help="The column to be learnt: kept, not looked at, its spread among the prototypes shown."),
]  # fmt: skip
Categorical: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--categorical", metavar="NAMES", rich_help_panel=_COLUMNS, show_default=False,
                 help="Columns of numbers that are names, such as postcodes."),
]  # fmt: skip
Embedding: TypeAlias = Annotated[
    str | None,
    typer.Option("--embedding", metavar="NAME", rich_help_panel=_COLUMNS, show_default=False,
                 help="A column of lists of numbers, taken as they are; the only feature unless --features says more."),
]  # fmt: skip
Scale: TypeAlias = Annotated[
    str,
    typer.Option("--scale", metavar="NAME", autocompletion=_offer(SCALES), rich_help_panel=_COLUMNS,
                 help=f"What becomes of columns of numbers: {', '.join(SCALES)}."),
]  # fmt: skip
MaxCategories: TypeAlias = Annotated[
    str,
    typer.Option("--max-categories", metavar="N", rich_help_panel=_COLUMNS,
                 help="Values of a column of names that are told apart; the rest count as one."),
]  # fmt: skip

KernelName: TypeAlias = Annotated[
    str,
    typer.Option("--kernel", metavar="NAME", autocompletion=_offer(KERNELS), rich_help_panel=_KERNEL,
                 help=f"What makes two rows alike: {', '.join(KERNELS)}."),
]  # fmt: skip
Width: TypeAlias = Annotated[
    str | None,
    typer.Option("--width", metavar="NUMBER", rich_help_panel=_KERNEL, show_default=False,
                 help="How far likeness reaches: of gaussian or laplacian, the largest of multiscale's three; by "
                      "default the median distance."),
]  # fmt: skip
Sample: TypeAlias = Annotated[
    str | None,
    typer.Option("--sample", metavar="ROWS", rich_help_panel=_KERNEL, show_default=False,
                 help="Random rows to choose from, and a fifth of them held out to judge by; by default 10,240 to "
                      "40,960, depending on -m."),
]  # fmt: skip
ComparedSample: TypeAlias = Annotated[
    str,
    typer.Option("--sample", metavar="ROWS", rich_help_panel=_KERNEL, help="Random rows that are compared on."),
]

Output: TypeAlias = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", rich_help_panel=_FILES, show_default=False,
                 help="Where the prototypes go, with all of their columns: .parquet, .csv, .tsv, .jsonl, .json, .npz "
                      "or .arrow; - is standard output, as JSON lines."),
]  # fmt: skip
BadRows: TypeAlias = Annotated[
    str,
    typer.Option("--bad-rows", metavar="WHAT", autocompletion=_offer(POLICIES), rich_help_panel=_FILES,
                 help="Rows that cannot be used are an error, or skip: left out and counted."),
]  # fmt: skip
Format: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", autocompletion=_offer(FORMATS), rich_help_panel=_FILES, show_default=False,
                 help=f"Of INPUT, where its name does not tell: {', '.join(FORMATS)}."),
]  # fmt: skip


Workers: TypeAlias = Annotated[
    str | None,
    typer.Option("--workers", metavar="N", rich_help_panel=_MANY, show_default=False,
                 help="Work on partitions of INPUT in so many processes of this machine; by default in this process, "
                      "on all cores. The result is the same, bit for bit."),
]  # fmt: skip
Dask: TypeAlias = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", rich_help_panel=_MANY, show_default=False,
                 help="Or on the Dask cluster whose scheduler is there, such as tcp://10.0.0.5:8786."),
]  # fmt: skip
PartitionRows: TypeAlias = Annotated[
    str,
    typer.Option("--partition-rows", metavar="ROWS", rich_help_panel=_MANY,
                 help="Rows of a partition, about; another number may give another choice, as good."),
]  # fmt: skip
Work: TypeAlias = Annotated[
    str | None,
    typer.Option("--work", metavar="DIR", rich_help_panel=_LONG, show_default=False,
                 help="Keep what is done in this folder: the same command after an interrupted run goes on from there, "
                      "with the same result. Emptied when the output is written."),
]  # fmt: skip
DryRun: TypeAlias = Annotated[
    bool,
    typer.Option("--dry-run", rich_help_panel=_MANY,
                 help="Only say how many rows and partitions there are and what memory a run takes."),
]  # fmt: skip

Report: TypeAlias = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE.html", rich_help_panel=_REPORT, show_default=False,
                 help="A page about the result: how good it is, the prototypes as cards, a map, what they miss. One "
                      "file that needs nothing else."),
]  # fmt: skip
Watch: TypeAlias = Annotated[
    bool,
    typer.Option("--watch", rich_help_panel=_REPORT,
                 help="Serve that page while the run goes on, on this machine only; it is kept as a file."),
]  # fmt: skip
WatchAt: TypeAlias = Annotated[
    str | None,
    typer.Option("--watch-at", metavar="HOST:PORT", rich_help_panel=_REPORT, show_default=False,
                 help="Serve it there: 0.0.0.0:8000 lets other machines in that are told the address."),
]  # fmt: skip
Result: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="RESULT", show_default=False,
                   help="What select -o has written: .parquet or .arrow."),
]  # fmt: skip
Data: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="FILE", rich_help_panel=_REPORT, show_default=False,
                 help="The files the prototypes stand for, read once: for the map, coverage and what they miss."),
]  # fmt: skip
Page: TypeAlias = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE.html", rich_help_panel=_REPORT, show_default=False,
                 help="Where the page goes; by default beside RESULT."),
]  # fmt: skip
Title: TypeAlias = Annotated[
    str | None,
    typer.Option("--title", metavar="TEXT", rich_help_panel=_REPORT, show_default=False, help="Its headline."),
]
ImageShape: TypeAlias = Annotated[
    str | None,
    typer.Option("--image-shape", metavar="HxW", rich_help_panel=_REPORT, show_default=False,
                 help="Rows, or their embedding, are images: height and width, perhaps channels; 28x28, 32x32x3."),
]  # fmt: skip
Image: TypeAlias = Annotated[
    str | None,
    typer.Option("--image", metavar="NAME", rich_help_panel=_REPORT, show_default=False,
                 help="A column of images: paths, bytes or base64. Kept, not looked at."),
]  # fmt: skip
Text: TypeAlias = Annotated[
    str | None,
    typer.Option("--text", metavar="NAME", rich_help_panel=_REPORT, show_default=False,
                 help="A column of text to read. Kept, not looked at."),
]  # fmt: skip
Coordinates: TypeAlias = Annotated[
    str | None,
    typer.Option("--map", metavar="X,Y", rich_help_panel=_REPORT, show_default=False,
                 help="Two columns that say where each row stands on a map. Kept, not looked at."),
]  # fmt: skip

Quiet: TypeAlias = Annotated[
    bool,
    typer.Option("--quiet", "-q", rich_help_panel=_SHOWN, help="Nothing but errors."),
]
Json: TypeAlias = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=_SHOWN, help="The figures as one JSON object on standard output."),
]
