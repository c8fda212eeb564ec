"""A uniform sample of the rows that prototypes represent, with all of their columns: to look at beside them."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_raw, require
from protosieve._typing import Array
from protosieve.pipeline._tables import decoded, joined, packed, taken, unpacked
from protosieve.sampling import Bottom

__all__ = ["MOST", "Gallery", "Shown"]

MOST, _FEWEST = 8192, 64  # rows
_PARTS = 64  # tables: late in a stream each has a row or two, and weighs far more than these
_BYTES = 1 << 25  # of cells and numbers together


class Shown(NamedTuple):
    """Rows by rising number."""

    numbers: NDArray[np.int64]
    rows: Array
    table: pa.Table


@storable
@dataclass
class Gallery:
    """Rows with the smallest hashes of their numbers, as numbers and with the users' own columns.

    By default at most 8,192 rows. While those would weigh more than 32 MiB, by the average of all rows so far, it is
    half as many, but never fewer than 64. Memory is at most about twice that: rows that have given way are forgotten
    now and then.

    In a state file the columns are an Arrow stream, kept as bytes.
    """

    bottom: Bottom
    weight: int = 0  # of all rows met, in bytes
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: Array | None = None
    packed: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        self._parts: list[Shown] = []
        if self.packed is not None:
            if self.rows is None:
                raise ValueError("rows to look at, and none of them as numbers")
            self._parts = [Shown(self.numbers, self.rows, unpacked(self.packed))]
        self._forget_packed()

    @classmethod
    def empty(cls, seed: int, limit: int = 2**64 - 1, most: int = MOST) -> "Gallery":
        """Of no rows yet, with room for ``most``; hashes above ``limit`` will not be needed."""
        return cls(Bottom(seed, most, limit=limit))

    @classmethod
    def of(cls, seed: int, shown: Shown, seen: int) -> "Gallery":
        """Rows that were drawn elsewhere, of so many."""
        made = cls.empty(seed)
        made.take(shown.numbers, shown.rows, [shown.table])
        made.bottom.seen = seen
        return made

    @property
    def seen(self) -> int:
        """How many rows it is a sample of."""
        return self.bottom.seen

    def take(self, numbers: NDArray[np.int64], rows: Array, tables: Sequence[pa.Table]) -> None:
        """The next rows: their numbers in the whole input, what they are as numbers, and their columns."""
        self.weight += rows.nbytes + sum(table.nbytes for table in tables)
        self._make_room((self.seen + len(rows)) / max(self.weight, 1))
        fresh = self.bottom.offer(numbers)
        if len(fresh):
            table = decoded(taken(tables, fresh)).combine_chunks()
            self._parts.append(Shown(numbers[fresh], rows[fresh], table))
        if len(self._parts) > _PARTS or sum(len(part.numbers) for part in self._parts) > 2 * self.bottom.most:
            self._parts = [self.shown()]

    def merge(self, later: "Gallery", recode: Callable[[Array], Array]) -> None:
        """Take in the sample of other rows, drawn with the same seed, whose numbers ``recode`` brings to ours."""
        self.weight += later.weight
        self.bottom.merge(later.bottom)
        if later._parts:
            self._make_room(self.seen / self.weight)
            found = later.shown()
            self._parts.append(found._replace(rows=recode(found.rows)))
            self._parts = [self.shown()]

    def convert(self, encode: Callable[[Array], Array]) -> None:
        """Other numbers in place of those that were taken in."""
        found = self.shown()
        self._parts = [found._replace(rows=encode(found.rows))]

    def shown(self) -> Shown:
        """The sample. O(rows in memory)."""
        numbers = np.concatenate([part.numbers for part in self._parts])
        order = np.argsort(numbers)
        order = order[np.isin(numbers[order], self.bottom.numbers)]
        rows = np.concatenate([part.rows for part in self._parts])[order]
        table = joined([part.table for part in self._parts]).take(pa.array(order)).combine_chunks()
        return Shown(numbers[order], rows, table)

    def light(self) -> "Shown":
        """At most 8,192 of them, halved where rows are heavier than the average; the gallery stays as it is."""
        twin = copy.copy(self)
        twin.bottom = copy.copy(self.bottom)
        twin.bottom.lower(min(MOST, twin.bottom.most))
        found = twin.shown()
        while found.rows.nbytes + found.table.nbytes > _BYTES and len(found.numbers) >= 2 * _FEWEST:
            twin.bottom.lower(len(found.numbers) // 2)
            found = twin.shown()
        return found

    def pack(self) -> "Gallery":
        """The same as a value that can be stored."""
        twin = Gallery(copy.copy(self.bottom), self.weight)
        if self._parts:
            found = self.shown()
            twin.numbers, twin.rows, twin.packed = found.numbers, found.rows, packed(found.table)
        return twin

    def _forget_packed(self) -> None:
        self.numbers, self.rows, self.packed = self.numbers[:0], None, None

    def _make_room(self, rows_per_byte: float) -> None:
        most = self.bottom.most
        while most >= 2 * _FEWEST and most > _BYTES * rows_per_byte:
            most //= 2
        if most < self.bottom.most:
            self.bottom.lower(most)

    def _check_form(self) -> None:
        require(0 <= self.weight < 1 << 62 and self.bottom.most <= MOST, "the weight of rows to look at")
        held = [np.zeros(0, np.int64), *(part.numbers for part in self._parts)]
        require(np.isin(self.bottom.numbers, np.concatenate(held)).all(), "rows to look at are not there")
        for numbers, rows, table in self._parts:
            require(are_raw(rows) and numbers.shape == (len(rows),) and len(table) == len(rows), "rows to look at")

    def _check(self) -> None:
        self.bottom._check()
        there = np.concatenate([np.zeros(0, np.int64), *(part.numbers for part in self._parts)])
        assert np.isin(self.bottom.numbers, there).all()
        assert all(len(part.numbers) == len(part.rows) == len(part.table) for part in self._parts)
