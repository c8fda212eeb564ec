"""Rows of many files as blocks of one size, however they are cut into files and pieces."""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._pictures import Folders
from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array
from protosieve.errors import InputError, warn
from protosieve.io import BadRow, BadRows, Piece, Source
from protosieve.passes._prefetch import prefetched
from protosieve.preprocess import BATCH, LEARNT_FROM, EmbedError, Layout

_ENTRIES = 1 << 20  # numbers in a block: 8 MB at most
_HEAVIEST = 1 << 23  # bytes of a block's tables
_PATIENCE = 2.0
_LATE = 1.0  # seconds rows of a pipe wait for a full block
FEWEST, _MOST = 512, 16384  # rows; both multiples of the selectors' own blocks
_SHOWN = 5  # rows left out that are told of one by one


@storable
@dataclass(frozen=True, order=True)
class Position:
    """A row of the whole input: which file, which row of it, and how many rows the files before it have."""

    source: int = 0
    row: int = 0
    before: int = 0

    def _check_form(self) -> None:
        require(are_counts(self.source, self.row, self.before), "the place of a row")


@storable
@dataclass
class LeftOut:
    """Rows that could not be used: how many, and the first few."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def _check_form(self) -> None:
        require(are_counts(self.count) and len(self.first) <= min(self.count, _SHOWN), "rows that were left out")

    def add(self, rows: Sequence[BadRow]) -> None:
        self.count += len(rows)
        self.first += [str(row) for row in rows[: _SHOWN - len(self.first)]]

    def plus(self, later: "LeftOut") -> "LeftOut":
        """Both."""
        return LeftOut(self.count + later.count, [*self.first, *later.first][:_SHOWN])

    def warn(self, used: int) -> None:
        """Say what share of all rows was skipped, beside those that were ``used``."""
        if self.count:
            share = f"{100 * self.count / (self.count + used):.2g} %"
            warn(
                f"{self.count:,} of {self.count + used:,} rows ({share}) cannot be used and are skipped; the first is "
                f"{self.first[0]}"
            )

    def merge(self, later: "LeftOut") -> None:
        self.count += later.count
        self.first += later.first[: _SHOWN - len(self.first)]


@dataclass(frozen=True)
class RowBlock:
    """Rows that can be used, as numbers, with all that is known of where they stood."""

    rows: Array  # numbers as they were read
    tables: list[pa.Table]  # the columns asked for, one table after the other: their types may differ
    numbers: NDArray[np.int64]  # in the whole input, where rows that were left out count too
    sources: NDArray[np.int64]  # the file of each row
    in_file: NDArray[np.int64]  # and its number there
    left_out: LeftOut  # since the block before
    until: Position  # where the next block begins
    bytes_read: int  # of all files so far

    def __len__(self) -> int:
        return len(self.rows)


def rows_per_block(width: int) -> int:
    """A power of two that depends on the number of columns only: the same rows in any format make the same blocks."""
    fitting = max(_ENTRIES // max(width, 1), 1)
    return min(max(1 << (fitting.bit_length() - 1), FEWEST), _MOST)


def patience(sources: Sequence[Source]) -> float:
    """Seconds to wait for a piece nobody wants any more: of a file it comes, of a pipe perhaps never."""
    return _PATIENCE if any(source.size is None for source in sources) else math.inf


def read_blocks(
    sources: Sequence[Source],
    layout: Layout,
    columns: Sequence[str] | None,
    start: Position,
    skip: bool,
    grow: Callable[[], bool],
) -> Generator[RowBlock, None, None]:
    """All rows from ``start`` on, as numbers. ``grow`` says whether categories still may.

    With all ``columns`` rows may be heavy, and a block is cut short where they are; so it is where a pipe is slow, once
    categories grow no more. The last block has the rows that are left, perhaps none. Memory is that of a block and of a
    few pieces.
    """
    with closing(read_as_they_come(sources, layout, columns, start, skip, grow, grow)) as blocks:
        yield from (block for block in blocks if block is not None)


def read_as_they_come(
    sources: Sequence[Source],
    layout: Layout,
    columns: Sequence[str] | None,
    start: Position,
    skip: bool,
    grow: Callable[[], bool],
    whole: Callable[[], bool],
) -> Generator[RowBlock | None, None, None]:
    """The same, and ``None`` where a pipe has been quiet for a second, or a batch of texts or images is done;
    ``whole`` says whether blocks must be full.
    """
    waiting, cut = _Waiting(start), time.monotonic()
    flows = any(source.size is None for source in sources)
    with closing(
        prefetched(_read(sources, columns, start, skip), 2, patience(sources), _LATE if flows else None)
    ) as parts:
        for part in _learnt_from(_in_batches(parts, layout), layout):
            if part is not None:
                waiting.add(part, layout, skip, grow())
            size = rows_per_block(layout.width)
            while waiting.rows >= size:
                yield waiting.take(size)
                cut = time.monotonic()
            is_heavy = columns is None and waiting.weight >= _HEAVIEST
            is_late = flows and not whole() and time.monotonic() - cut >= _LATE
            if waiting.rows >= FEWEST and (is_heavy or is_late):
                yield waiting.take(waiting.rows // FEWEST * FEWEST)
                cut = time.monotonic()
            elif part is None or layout.is_slow:
                yield None
    if waiting.rows or waiting.has_left_out:
        yield waiting.take(waiting.rows)


@dataclass(frozen=True)
class _Part:
    """A piece of one file and the rows left out on the way to it; at the end of the file perhaps these alone."""

    source: int
    name: str
    folders: Folders  # where paths in it may lead
    before: int  # rows of the files before
    piece: Piece | None
    bad: list[BadRow]  # some may lie in pieces to come: readers look at many rows at once
    end: int  # rows of the file up to the next piece, those left out counted too
    bytes_read: int

    @property
    def begin(self) -> Position:
        """Its first row, or where that would be."""
        row = self.end if self.piece is None else int(self.piece.numbers[0])
        return Position(self.source, row, self.before)


def _read(
    sources: Sequence[Source], columns: Sequence[str] | None, start: Position, skip: bool
) -> Generator[_Part, None, None]:
    before, bytes_before = start.before, sum(source.size or 0 for source in sources[: start.source])
    for i in range(start.source, len(sources)):
        source, bad = sources[i], BadRows(skip)
        first = end = furthest = start.row if i == start.source else 0
        for piece in source.pieces(columns, first, bad):
            noted, bad.noted = bad.noted, []
            end, furthest = int(piece.numbers[-1]) + 1, _beyond(noted, furthest)
            yield _Part(i, source.name, source.folders, before, piece, noted, end, bytes_before + piece.bytes_read)
        bytes_before += source.size or 0
        end = max(end, _beyond(bad.noted, furthest))
        yield _Part(i, source.name, source.folders, before, None, bad.noted, end, bytes_before)
        before += end


def _in_batches(parts: Iterable[_Part | None], layout: Layout) -> Iterator[_Part | None]:
    """The same in smaller parts: models and images take their time, and who waits can be told, and stop, in between."""
    for part in parts:
        if part is None or part.piece is None or not layout.is_slow:
            yield part
            continue
        table, numbers = part.piece.table, part.piece.numbers
        for start in range(0, len(numbers), BATCH):
            stop = start + BATCH
            piece = replace(part.piece, table=table.slice(start, BATCH), numbers=numbers[start:stop])
            end = part.end if stop >= len(numbers) else int(numbers[stop])
            yield replace(part, piece=piece, bad=[] if start else part.bad, end=end)


def _learnt_from(parts: Iterable[_Part | None], layout: Layout) -> Iterator[_Part | None]:
    """The same; where texts become numbers by what the first rows tell, these are held back until there are enough."""
    held: list[_Part] = []
    for part in parts:
        if part is None or not layout.unlearnt:
            yield part
            continue
        held.append(part)
        if sum(one.piece.table.num_rows for one in held if one.piece is not None) >= LEARNT_FROM:
            layout.learn(_head(held, layout.unlearnt))
            yield from held
            held = []
    if any(one.piece is not None for one in held):
        layout.learn(_head(held, layout.unlearnt))
    yield from held


def _head(parts: list[_Part], columns: list[str]) -> pa.Table:
    """So many first rows, however they were cut."""
    tables = [part.piece.table.select(columns) for part in parts if part.piece is not None]
    return pa.concat_tables(tables, promote_options="permissive").slice(0, LEARNT_FROM).combine_chunks()


def _beyond(bad: list[BadRow], row: int) -> int:
    """The first row after these, from ``row`` on."""
    return max([row, *(one.number + 1 for one in bad)])


@dataclass(frozen=True)
class _UsableRows:
    """Usable rows of one part."""

    raw: Array
    table: pa.Table
    numbers: NDArray[np.int64]  # in their file
    source: int
    before: int

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def weight(self) -> int:
        """Bytes of the table: measured once, for it takes a look at every column."""
        return int(self.table.nbytes)

    def cut(self, part: slice) -> "_UsableRows":
        start, stop, _ = part.indices(len(self))
        return _UsableRows(
            self.raw[part], self.table.slice(start, stop - start), self.numbers[part], self.source, self.before
        )


class _Waiting:
    """Rows on their way to a block."""

    def __init__(self, start: Position) -> None:
        self._parts: list[_UsableRows] = []
        self._end = start
        self._bytes = 0
        self.rows = 0
        self._bad: list[tuple[Position, BadRow]] = []  # of the last part: the next block may end before them
        self._left_out = LeftOut()  # before it

    @property
    def weight(self) -> int:
        """Bytes of the tables that wait."""
        return sum(part.weight for part in self._parts)

    @property
    def has_left_out(self) -> bool:
        return bool(self._bad or self._left_out.count)

    def add(self, part: _Part, layout: Layout, skip: bool, grow: bool) -> None:
        """Rows that cannot be used are an error, or noted."""
        self._settle(part.begin)
        bad = BadRows(skip, list(part.bad))
        if part.piece is not None:
            rows = _usable(part, part.piece, _raw(part, part.piece, layout, grow), bad)
            self._parts += [rows] if len(rows) else []
            self.rows += len(rows)
        self._bad += [(Position(part.source, row.number, part.before), row) for row in bad.noted]
        self._end = Position(part.source, part.end, part.before)
        self._bytes = part.bytes_read

    def take(self, size: int) -> RowBlock:
        """A block of so many rows, which there are."""
        taken, self._parts = _split(self._parts, size)
        self.rows -= size
        rest = self._parts[0] if self._parts else None
        until = self._end if rest is None else Position(rest.source, int(rest.numbers[0]), rest.before)
        self._settle(until)
        left_out, self._left_out = self._left_out, LeftOut()
        return RowBlock(
            rows=_stacked([part.raw for part in taken]) if taken else np.zeros((0, 0)),
            tables=[part.table for part in taken],
            numbers=_concatenated([part.before + part.numbers for part in taken]),
            sources=_concatenated([np.full(len(part), part.source) for part in taken]),
            in_file=_concatenated([part.numbers for part in taken]),
            left_out=left_out,
            until=until,
            bytes_read=self._bytes,
        )

    def _settle(self, until: Position) -> None:
        """Rows left out before ``until``, which no block will end before, are counted, and but for a few forgotten."""
        self._left_out.add([row for _, row in sorted((one for one in self._bad if one[0] < until), key=itemgetter(0))])
        self._bad = [one for one in self._bad if one[0] >= until]


def _stacked(parts: list[Array]) -> Array:
    """One below the other; mostly there is one, which need not be copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _concatenated(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _split(parts: list[_UsableRows], size: int) -> tuple[list[_UsableRows], list[_UsableRows]]:
    """The first ``size`` rows, and the rest."""
    head: list[_UsableRows] = []
    for i, part in enumerate(parts):
        if size < len(part):
            return head + ([part.cut(slice(0, size))] if size else []), [part.cut(slice(size, None)), *parts[i + 1 :]]
        head.append(part)
        size -= len(part)
    return head, []


def _raw(part: _Part, piece: Piece, layout: Layout, grow: bool) -> tuple[Array, list[tuple[int, str]]]:
    try:
        return layout.raw(piece.table, grow, part.folders)
    except EmbedError as error:
        raise InputError(f"{part.name}, {error.at(piece.numbers.tolist())}: {error.marked}") from error


def _usable(part: _Part, piece: Piece, converted: tuple[Array, list[tuple[int, str]]], bad: BadRows) -> _UsableRows:
    raw, problems = converted
    for place, problem in problems:
        bad.found(BadRow(part.name, int(piece.numbers[place]), problem))
    rows = _UsableRows(raw, piece.table, piece.numbers, part.source, part.before)
    if not problems:
        return rows
    keep = np.ones(len(raw), np.bool_)
    keep[[place for place, _ in problems]] = False
    return _UsableRows(raw[keep], piece.table.filter(pa.array(keep)), piece.numbers[keep], part.source, part.before)
