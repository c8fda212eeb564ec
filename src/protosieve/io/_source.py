"""What every file is, whatever its format: rows in pieces, from any row on, and rows that cannot be used.

Rows in memory (`BatchSource`) and some rows of a file (`RowRange`) are sources too.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._pictures import Folders
from protosieve.errors import InputError, arg

PIECE_ROWS = 1 << 14
PIECE_BYTES = 1 << 24


@dataclass(frozen=True)
class Piece:
    """Some rows of one file, in their order.

    ``table`` has the columns asked for, as the file has them; cells of text formats without types (CSV) are text.
    ``numbers`` are the rows' numbers in the file, from 0, headers not counted; there are gaps where rows were skipped.
    """

    table: pa.Table
    numbers: NDArray[np.int64]
    bytes_read: int  # of the file so far, as stored: for progress


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used, and why."""

    file: str
    number: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}, row {self.number}: {self.problem}"


@dataclass
class BadRows:
    """What happens to rows that cannot be used: the first is an error, or all are skipped and noted."""

    skip: bool
    noted: list[BadRow] = field(default_factory=list)

    def found(self, row: BadRow) -> None:
        """Note the row, or raise `InputError`."""
        if not self.skip:
            raise InputError(f"{row}; fix the row, or skip such rows with {arg('bad_rows', 'skip')}")
        self.noted.append(row)


class Source(ABC):
    """One file of rows.

    ``name`` is what users call it; ``size`` its bytes as stored, ``None`` where that is not known (standard input);
    ``comes_once`` says that its rows cannot be read again.
    Whatever is wrong with a file as a whole (missing, truncated, of another format) is an `InputError` of one line
    that names the file, what was found and what to do.
    """

    name: str
    size: int | None
    comes_once: bool

    @property
    def folders(self) -> Folders:
        """Where the paths in its rows may lead, and are looked for in turn; anywhere where that is None."""
        return (".",)

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of the columns, found without reading more than the head of the file.

        Where a format has no types, these are guessed from the first rows: numbers, booleans, timestamps, else text.
        """

    @abstractmethod
    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        """The rows from number ``start`` on, in pieces of bounded size; of ``columns`` only, where not ``None``."""

    def groups(self) -> list[int] | None:
        """Rows of each group, where reading can start without reading what is before; ``None`` if unknown."""
        return None

    def row_bytes(self) -> float | None:
        """About how many stored bytes a row takes, by the first rows; for sources without `groups`."""
        return None

    def fingerprint(self) -> dict[str, str | int] | None:
        """Name, size and time of change (nanoseconds) or tag, by which a later run can tell that the file is another.

        ``None`` where there is no way to tell: standard input.
        """
        return None


@final
class RowRange(Source):
    """Rows ``first`` up to ``last``, not included, of a file; to its end where ``last`` is ``None``.

    Rows keep their numbers in the file. A format that notes bad rows ahead of the piece they are in must not be cut,
    so ``last`` is for files that know their `groups`. It can be pickled wherever the file can.
    """

    def __init__(self, source: Source, first: int = 0, last: int | None = None) -> None:
        self.source, self.first, self.last = source, first, last
        self.name, self.size, self.comes_once = source.name, source.size, source.comes_once

    @property
    def folders(self) -> Folders:
        return self.source.folders

    def schema(self) -> pa.Schema:
        return self.source.schema()

    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        for piece in self.source.pieces(columns, max(start, self.first), bad):
            if self.last is None or piece.numbers[-1] < self.last - 1:
                yield piece
                continue
            rows = int(np.searchsorted(piece.numbers, self.last))
            if rows:
                yield Piece(piece.table.slice(0, rows), piece.numbers[:rows], piece.bytes_read)
            return

    def fingerprint(self) -> dict[str, str | int] | None:
        return self.source.fingerprint()


@final
class BatchSource(Source):
    """Arrow batches of one schema. A list of them can be read again and pickled; an iterator comes once."""

    def __init__(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self.name, self.size, self.comes_once = name, None, isinstance(batches, Iterator)
        self._schema, self._batches = schema, batches

    @classmethod
    def of(cls, name: str, table: pa.Table) -> "BatchSource":
        """The rows of a table."""
        return cls(name, table.schema, table.to_batches())

    def schema(self) -> pa.Schema:
        return self._schema

    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        names = self._schema.names if columns is None else list(columns)
        tables = (pa.Table.from_batches([batch]).select(names) for batch in self._batches)
        for piece in consecutive(tables, 0, lambda _: 0):
            yield from cut(piece, start)

    def groups(self) -> list[int] | None:
        """One group of all rows; ``None`` for an iterator."""
        return None if self.comes_once else [sum(batch.num_rows for batch in self._batches)]


def rows_within(bytes_per_row: float) -> int:
    """How many rows of this size one piece holds."""
    return max(1, min(PIECE_ROWS, int(PIECE_BYTES / max(bytes_per_row, 1))))


def consecutive(tables: Iterable[pa.Table], first: int, bytes_read: Callable[[int], int]) -> Iterator[Piece]:
    """Tables without gaps, from row ``first`` on; ``bytes_read`` tells the bytes read up to a row."""
    for table in tables:
        end = first + table.num_rows
        yield Piece(table, np.arange(first, end), bytes_read(end))
        first = end


def cut(piece: Piece, start: int) -> Iterator[Piece]:
    """The rows from number ``start`` on, in pieces of bounded size."""
    rows = piece.table.num_rows
    step = rows_within(piece.table.nbytes / max(rows, 1))
    for begin in range(int(np.searchsorted(piece.numbers, start)), rows, step):
        part = slice(begin, begin + step)
        yield Piece(piece.table.slice(begin, step), piece.numbers[part], piece.bytes_read)
