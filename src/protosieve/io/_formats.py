"""Which format a file is in: by its ending, by what the user says, or by its first bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from protosieve.errors import InputError, ParameterError, arg
from protosieve.io._arrow import ArrowSource
from protosieve.io._base import Source
from protosieve.io._delimited import DelimitedSource
from protosieve.io._file import reading
from protosieve.io._jsonlines import JsonLinesSource
from protosieve.io._numpy import NpySource, NpzSource
from protosieve.io._parquet import ParquetSource
from protosieve.io._places import Pipe, Place

__all__ = ["ENDINGS", "FORMATS", "check_format", "format_of", "has_ending", "source_of"]


@dataclass(frozen=True)
class _Format:
    endings: tuple[str, ...]
    reader: Callable[[Place], Source]
    seeks: bool = False  # it cannot be read from a pipe


_CSV = partial(DelimitedSource, separator=",")
_TSV = partial(DelimitedSource, separator="\t")

FORMATS = {
    "parquet": _Format((".parquet", ".pq"), ParquetSource, seeks=True),
    "arrow": _Format((".arrow", ".feather", ".ipc"), ArrowSource),
    "csv": _Format((".csv", ".csv.gz"), _CSV),
    "tsv": _Format((".tsv", ".tsv.gz"), _TSV),
    "jsonl": _Format((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), JsonLinesSource),
    "npy": _Format((".npy",), NpySource),
    "npz": _Format((".npz",), NpzSource, seeks=True),
}
ENDINGS = {ending: name for name, known in FORMATS.items() for ending in known.endings}

# The first bytes of what a pipe can bring. Arrow streams begin with a length of -1.
_MAGIC = {b"PAR1": "parquet", b"PK": "npz", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"\x93NUMPY": "npy"}
_LOOK = 1 << 16


def check_format(name: str | None) -> None:
    """A format's name, or ``None``."""
    if name is not None and name not in FORMATS:
        raise ParameterError(f"{arg('format')} must be one of {', '.join(FORMATS)}; got {name!r}")


def format_of(path: str) -> str | None:
    """By the ending, in any case; ``None`` where it says nothing.

    >>> format_of("rows.CSV.gz"), format_of("rows.txt")
    ('csv', None)
    """
    lower = path.lower()
    return next((name for ending, name in ENDINGS.items() if lower.endswith(ending)), None)


def has_ending(path: str) -> bool:
    """Whether the file's name has an ending at all."""
    return "." in path.rsplit("/", 1)[-1]


def source_of(place: Place, name: str | None) -> Source:
    """The reader of ``place``, in the format called ``name`` or else in the one it seems to have."""
    pipe = isinstance(place, Pipe)
    found = name or (_sniffed(place) if pipe else format_of(place.name))
    if found is None:
        raise InputError(
            f"{place.name}: its ending says no known format; known are {', '.join(ENDINGS)}; "
            f"or give {arg('format')} ({', '.join(FORMATS)})"
        )
    if pipe and FORMATS[found].seeks:
        raise InputError(
            f"{place.name}: {found} has its index at the end, so it cannot be read from a pipe; give the file's path"
        )
    return FORMATS[found].reader(place)


def _sniffed(place: Place) -> str:
    with reading(place.name, "rows"), place.peek() as opened:
        data = opened.file.read(8)
        if not data:
            raise InputError(f"{place.name}: is empty; pipe rows into it")
        binary = next((name for magic, name in _MAGIC.items() if data.startswith(magic)), None)
        return binary or _sniffed_text(data + opened.file.readline(_LOOK))


def _sniffed_text(line: bytes) -> str:
    """By what the text begins with, or by the more frequent of tabs and commas in its first line."""
    begin = line.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin[:1] in (b"{", b"["):
        return "jsonl"
    first = begin.split(b"\n", 1)[0]
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"
