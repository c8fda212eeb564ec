"""What readers share: pieces of bounded size, known columns, and one line for whatever is wrong."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._pictures import Folders
from protosieve.errors import InputError, ProtosieveError, arg
from protosieve.io._locations import Location, Opened, Pipe, line_bytes
from protosieve.io._plain_types import plain_schema, plain_table
from protosieve.io._source import BadRow, BadRows, Piece, Source, cut

FEW_ROWS = 512  # readers of text parse no fewer at once: a column takes as long for a few cells as for hundreds
BOM = b"\xef\xbb\xbf"  # of UTF-8

Batch: TypeAlias = tuple[
    NDArray[np.int64], pa.Table, dict[int, str]
]  # good rows, and by number what is wrong with others


class FileSource(Source):
    """A `Source` over a `Location`: a format is a subclass that gives columns and rows, in tables of moderate size.

    ``format`` is what users call the format and ``title`` what messages do; its files have one of ``endings`` and
    begin with one of ``magic``, if that tells the format. ``seeks`` says that it cannot be read from a pipe.
    """

    format: ClassVar[str]
    title: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    magic: ClassVar[tuple[bytes, ...]] = ()
    seeks: ClassVar[bool] = False

    def __init__(self, location: Location):
        self.location = location
        self.name, self.size, self.comes_once = location.name, location.size, isinstance(location, Pipe)
        self._schema: pa.Schema | None = None

    @property
    def folders(self) -> Folders:
        return (".",) if self.location.local is None else (str(Path(self.name).parent), ".")

    @final
    def schema(self) -> pa.Schema:
        if self._schema is None:
            with reading(self.name, self.title):
                self._schema = distinct(plain_schema(self._head()), self.name)
        return self._schema

    @final
    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        schema = self.schema()
        if not schema.names:
            return
        names = schema.names if columns is None else list(columns)
        _check_known(names, schema.names, self.name)
        with reading(self.name, self.title):
            for piece in self._rows(names, start, bad):
                yield from cut(replace(piece, table=plain_table(piece.table)), start)

    @final
    def fingerprint(self) -> dict[str, str | int] | None:
        with reading(self.name, self.title):
            return self.location.fingerprint()

    @abstractmethod
    def _head(self) -> pa.Schema:
        """The columns; whatever it raises becomes an `InputError`."""

    @abstractmethod
    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        """The rows from ``start`` on, perhaps with some before; whatever it raises becomes an `InputError`."""

    def _share(self, rows: int, total: int) -> int:
        """An estimate of the bytes read after ``rows`` rows, for formats that do not tell."""
        return int((self.size or 0) * min(1.0, rows / max(total, 1)))


class TextSource(FileSource):
    """A format of lines, perhaps compressed with gzip. A line that cannot be used is a bad row."""

    @final
    def row_bytes(self) -> float | None:
        with reading(self.name, self.title):
            return line_bytes(self.location)

    @final
    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with self.location.open() as stored, self._text(stored) as opened:
            for numbers, table, problems in self._batches(opened, start):
                wrong = sorted(number for number in problems if number >= start)
                before = 0 if bad.skip or not wrong else int(np.searchsorted(numbers, wrong[0]))
                if before:  # a cell of a row before it may be the first fault
                    yield Piece(table.select(columns).slice(0, before), numbers[:before], opened.taken)
                for number in wrong:
                    bad.found(BadRow(self.name, number, problems[number]))
                if len(numbers):
                    yield Piece(table.select(columns), numbers, opened.taken)

    @abstractmethod
    def _text(self, opened: Opened) -> Opened:
        """The text as UTF-8, in lines."""

    @abstractmethod
    def _batches(self, opened: Opened, start: int) -> Iterator[Batch]:
        """All rows from ``start`` on, perhaps with some before."""


@contextmanager
def reading(name: str, title: str) -> Iterator[None]:
    """Turn any error inside into an `InputError` with a message of one line."""
    try:
        yield
    except ProtosieveError:
        raise
    except OSError as error:
        if error.errno is None:
            raise InputError(_damaged(name, title, error)) from error
        raise InputError(
            f"{name}: cannot be read: {error.strerror or explain(error)}; check that it exists and may be read"
        ) from error
    except Exception as error:  # damage has many names (zip, gzip, Arrow, NumPy, Unicode); the user needs one
        raise InputError(_damaged(name, title, error)) from error


def explain(error: BaseException) -> str:
    """The message of another library's error, shortened to one line."""
    words = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return words if len(words) <= 160 else f"{words[:157]}..."


def check_path(path: str) -> None:
    """`InputError` for a path of bytes that Python could not decode."""
    if any("\ud800" <= character <= "\udfff" for character in path):
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise InputError(f"{shown}: its path is not UTF-8, so that no result could name it; rename it, or give a link")


def not_utf8(byte: int) -> str:
    """The message for text that is not UTF-8; ``byte`` is the first invalid one."""
    return (
        f"is not UTF-8 (byte 0x{byte:02X}: if the file has another encoding, name that of a CSV file, or convert it: "
        "iconv -f latin1 -t utf8)"
    )


def distinct(schema: pa.Schema, name: str) -> pa.Schema:
    """The schema; `InputError` if two columns have one name."""
    twice = [column for column, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise InputError(f"{name}: {twice[0]!r} names more than one column; give each column its own name")
    return schema


def _check_known(names: list[str], known: list[str], file: str) -> None:
    there = set(known)
    missing = [name for name in names if name not in there]
    if missing:
        raise InputError(
            f"{file}: has no column {missing[0]!r}; its columns are {', '.join(map(repr, known[:20]))}"
            f"{', ...' if len(known) > 20 else ''}"
        )


def _damaged(name: str, title: str, error: Exception) -> str:
    return (
        f"{name}: cannot be read as {title}: {explain(error)}; "
        f"it is damaged, cut short or of another format (name the right one with {arg('format')})"
    )
