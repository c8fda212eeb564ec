"""A uniform sample of rows by hash of the row number: as numbers, and as far as they are light with all columns."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array
from protosieve.passes._blocks import RowBlock
from protosieve.passes._tables import Records
from protosieve.sampling import EVERY, Bottom, UniformSample

MOST, _FEWEST = 8192, 64  # rows to look at
_PARTS = 64  # tables: late in a stream each has a row or two, and weighs far more than these
_HELD, _SHOWN = 1 << 27, 1 << 25  # bytes of columns: that are kept, and that are shown


@storable
@dataclass
class RowSample:
    """The rows with the smallest hashes of their numbers, as numbers (``rows``) and with the users' own columns.

    Columns are kept of the first ``shown.most`` of them: half as many while those would weigh more than 128 MiB, by the
    average of all rows so far, but never fewer than 64. Memory is at most about twice that, and the rows'.
    """

    shown: Bottom
    rows: UniformSample | None = None  # None before the first row
    size: int = MOST  # of them
    weight: int = 0  # of all rows met, in bytes
    parts: list[Records] = field(default_factory=list)  # the columns

    def __deepcopy__(self, memo: object) -> "RowSample":
        shown, rows = copy.deepcopy(self.shown), copy.deepcopy(self.rows)
        return replace(self, shown=shown, rows=rows, parts=list(self.parts))  # nothing changes the tables

    @classmethod
    def empty(cls, seed: int, size: int, limit: int = EVERY, half_life: float | None = None) -> "RowSample":
        """Of no rows yet, with room for so many; hashes above ``limit`` will not be needed."""
        return cls(Bottom(seed, size, limit=limit, half_life=half_life), size=size)

    @property
    def seen(self) -> int:
        """How many rows it is a sample of."""
        return self.shown.seen

    @property
    def row_bytes(self) -> float:
        """What a row weighs on average, with all columns."""
        return self.weight / max(self.seen, 1)

    def take(self, block: RowBlock, first_file: int = 0) -> None:
        """The next rows; their files are counted from ``first_file`` on."""
        if not len(block):
            return
        if self.rows is None:
            self.rows = self._none(block.rows)
        self.rows.observe(block.rows, block.numbers)
        self.weight += sum(table.nbytes for table in block.tables)
        self._make_room((self.seen + len(block)) / max(self.weight, 1))
        fresh = self.shown.offer(block.numbers)
        if len(fresh):
            self.parts.append(Records.of_block(block, fresh, first_file))
            self._forget()

    def merge(self, later: "RowSample", recode: Callable[[Array], Array]) -> None:
        """Take in the sample of other rows, drawn with the same seed, whose numbers ``recode`` brings to ours."""
        self.weight += later.weight
        self.shown.merge(later.shown)
        if later.rows is not None:
            self.rows = self.rows or self._none(later.rows.rows)
            self.rows.merge(later.rows, recode)
        if later.parts:
            self._make_room(self.seen / max(self.weight, 1))
            self.parts += later.parts
            self._forget()

    def _forget(self) -> None:
        """Now and then, the columns of rows that have given way."""
        if len(self.parts) > _PARTS or sum(map(len, self.parts)) > 2 * self.shown.most:
            self.join()

    def join(self) -> None:
        """Keep the columns in one table, without those of rows that have given way."""
        if self.parts:
            self.parts = [self.records()]

    def records(self) -> Records:
        """Of the rows whose columns are kept, by rising number. O(rows in memory)."""
        found = Records.joined(self.parts)
        return found.taken(np.flatnonzero(np.isin(found.numbers, self.shown.numbers)))

    def light(self, most: int = MOST) -> Records:
        """So many of these rows at most, halved where they are heavier than the average; the sample stays as it is."""
        twin = copy.copy(self)
        twin.shown = copy.copy(self.shown)
        twin.shown.lower(min(most, twin.shown.most))
        found = twin.records()
        while found.table.nbytes > _SHOWN and len(found.numbers) >= 2 * _FEWEST:
            twin.shown.lower(len(found.numbers) // 2)
            found = twin.records()
        return found

    def _none(self, like: Array) -> UniformSample:
        return UniformSample.empty(self.size, like, self.shown.seed, self.shown.limit, self.shown.half_life)

    def _make_room(self, rows_per_byte: float) -> None:
        most = self.shown.most
        while most >= 2 * _FEWEST and most > _HELD * rows_per_byte:
            most //= 2
        if most < self.shown.most:
            self.shown.lower(most)

    def _check_form(self) -> None:
        require(are_counts(self.weight, self.size) and 1 <= self.shown.most <= self.size, "the size of a sample")
        held = [np.zeros(0, np.int64), *(part.numbers for part in self.parts)]
        require(np.isin(self.shown.numbers, np.concatenate(held)).all(), "columns of sampled rows are not there")
        require((self.rows is None) == (self.seen == 0), "the rows of a sample")
        if self.rows is not None:
            require(self.rows.seen == self.seen and self.rows.size == self.size, "a sample of other rows")
            same = (self.rows.seed, self.rows.half_life) == (self.shown.seed, self.shown.half_life)
            require(same, "a sample of another seed")
            require(np.isin(self.shown.numbers, self.rows.all_numbers).all(), "columns of rows that are not there")

    def _check(self) -> None:
        self.shown._check()
        self._check_form()
