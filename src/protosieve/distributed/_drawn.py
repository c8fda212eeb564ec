"""A uniform sample of rows as they were read, by hashes of where they stand: it merges in any order."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_raw, require
from protosieve._typing import Array
from protosieve.sampling import Bottom, lengthened

__all__ = ["EVERY", "Drawn", "key_of", "limit_of", "number_of"]

EVERY = 2**64 - 1  # the largest hash
_BITS = 40  # of a key are the row's number in its file: a million million of them; the file's place has 23


def key_of(file: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """What a row is known by before all files are counted; keys rise as rows do."""
    return np.asarray(rows, np.int64) + (file << _BITS)


def number_of(keys: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row numbers in the whole, once it is known how many rows are ``before`` each file."""
    numbers: NDArray[np.int64] = before[keys >> _BITS] + (keys & ((1 << _BITS) - 1))
    return numbers


def limit_of(wanted: float, rows: int | None) -> int:
    """About ``wanted`` of so many rows have hashes up to this; all, where their number is not known."""
    return EVERY if not rows or wanted >= rows else int(wanted / rows * EVERY)


@storable
@dataclass
class Drawn:
    """The rows with the smallest hashes of their keys. O(most d) memory, O(n) time and O(fresh d) for n rows."""

    bottom: Bottom
    keys: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # by place; -1 where none is
    rows: Array | None = None

    def take(self, keys: NDArray[np.int64], rows: Array) -> None:
        """Rows that were not offered before."""
        fresh = self.bottom.offer(keys)
        if not len(fresh):
            return
        self.rows = rows[:0].copy() if self.rows is None else self.rows
        places = self._places(len(fresh))
        self.keys[places], self.rows[places] = keys[fresh], rows[fresh]

    def merge(self, later: "Drawn", recode: Callable[[Array], Array]) -> None:
        """Take in the sample of other rows, drawn with the same seed, brought to our codes by ``recode``."""
        if later.rows is not None:
            keys, rows = later.sample()
            self.take(keys, recode(rows))
            self.bottom.seen -= len(keys)
        self.bottom.seen += later.bottom.seen

    def sample(self) -> tuple[NDArray[np.int64], Array]:
        """Keys, rising, and rows."""
        assert self.rows is not None
        held = np.flatnonzero(np.isin(self.keys, self.bottom.numbers))
        held = held[np.argsort(self.keys[held])]
        return self.keys[held], self.rows[held]

    def trim(self) -> None:
        """Give back the room that was made for more; to be called when no more are expected soon."""
        if self.rows is not None:
            self.keys, self.rows = self.sample()

    def _places(self, count: int) -> NDArray[np.int64]:
        """Where so many newcomers go: to the places of rows that gave way, then to new ones."""
        free = np.flatnonzero(~np.isin(self.keys, self.bottom.numbers))
        if len(free) < count:
            room = max(len(self.keys) + count - len(free), min(2 * len(self.keys), self.bottom.most))
            free = np.append(free, np.arange(len(self.keys), room))
            self.keys = np.append(self.keys, np.full(room - len(self.keys), -1))
            self.rows = lengthened(self.rows, room)
        return free[:count]

    def _check_form(self) -> None:
        length = 0 if self.rows is None else len(self.rows)
        require(self.rows is None or are_raw(self.rows), "the rows of a sample")
        require(self.keys.shape == (length,), "the keys of a sample")
        require(np.isin(self.bottom.numbers, self.keys).all(), "rows of a sample are not there")

    def _check(self) -> None:
        self.bottom._check()
        assert len(self.keys) <= self.bottom.most
        assert np.isin(self.bottom.numbers, self.keys).all()
