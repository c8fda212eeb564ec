"""What every reader shares: pieces of bounded size, known columns, and one line for whatever is wrong."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import final

import numpy as np
import pyarrow as pa

from protosieve.errors import InputError, ProtosieveError, arg
from protosieve.io._base import BadRows, Piece, Source
from protosieve.io._places import Pipe, Place
from protosieve.io._views import settled, settled_schema

__all__ = [
    "FEW_ROWS",
    "PIECE_BYTES",
    "PIECE_ROWS",
    "FileSource",
    "cut",
    "explain",
    "from_row",
    "not_utf8",
    "reading",
    "rows_within",
]

PIECE_ROWS = 1 << 14
PIECE_BYTES = 1 << 24
FEW_ROWS = 512  # of fewer, readers of text make one piece: a column takes as long for a few cells as for hundreds


class FileSource(Source):
    """A `Source` over a `Place`: a format supplies its columns and its rows, of any moderate size."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The format's, for messages."""

    def __init__(self, place: Place):
        self.place = place
        self.name, self.size, self.comes_once = place.name, place.size, isinstance(place, Pipe)
        self._schema: pa.Schema | None = None

    @final
    def schema(self) -> pa.Schema:
        if self._schema is None:
            with reading(self.name, self.title):
                self._schema = _distinct(settled_schema(self._head()), self.name)
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
                yield from cut(replace(piece, table=settled(piece.table)))

    @final
    def fingerprint(self) -> dict[str, str | int] | None:
        with reading(self.name, self.title):
            return self.place.fingerprint()

    @abstractmethod
    def _head(self) -> pa.Schema:
        """The columns; whatever it raises becomes an `InputError`."""

    @abstractmethod
    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        """The rows from ``start`` on; whatever it raises becomes an `InputError`."""


@contextmanager
def reading(name: str, title: str) -> Iterator[None]:
    """Whatever goes wrong inside is one `InputError` of one line."""
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
    """An error of another library in a few words on one line."""
    words = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return words if len(words) <= 160 else f"{words[:157]}..."


def not_utf8(byte: int) -> str:
    """What is wrong with text in another encoding, by its first byte that shows it."""
    return f"is not UTF-8 (byte 0x{byte:02X}: if the file has another encoding, convert it: iconv -f latin1 -t utf8)"


def rows_within(bytes_per_row: float) -> int:
    """How many rows of that size make one piece."""
    return max(1, min(PIECE_ROWS, int(PIECE_BYTES / max(bytes_per_row, 1))))


def from_row(tables: Iterable[pa.Table], first: int, start: int, total: int, size: int | None) -> Iterator[Piece]:
    """Tables without gaps as pieces, from row ``start`` on; ``first`` is the number of the first table's first row."""
    for table in tables:
        numbers = np.arange(first, first + table.num_rows)
        first += table.num_rows
        late = max(0, start - int(first - table.num_rows))
        if late < table.num_rows:
            yield Piece(table.slice(late), numbers[late:], _share(size, first, total))


def _share(size: int | None, rows: int, total: int) -> int:
    """The bytes behind the first ``rows`` rows, where a format does not tell."""
    return 0 if size is None else int(size * min(1.0, rows / max(total, 1)))


def cut(piece: Piece) -> Iterator[Piece]:
    """The same rows in pieces of bounded size."""
    rows = piece.table.num_rows
    step = rows_within(piece.table.nbytes / max(rows, 1))
    for begin in range(0, rows, step):
        part = slice(begin, begin + step)
        yield Piece(piece.table.slice(begin, step), piece.numbers[part], piece.bytes_read)


def _distinct(schema: pa.Schema, name: str) -> pa.Schema:
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
