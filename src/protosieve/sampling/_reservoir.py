"""A uniform sample of a stream, in fixed memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_raw, require
from protosieve._typing import Array, Indices

__all__ = ["Reservoir", "lengthened"]


@storable
@dataclass
class Reservoir:
    """A uniform sample of everything seen, in fixed memory (Vitter's algorithm R, a block at a time).

    Row number t (from 0) replaces a uniformly drawn one with probability ``size / (t + 1)``. The generator is asked
    for one number per row past the first ``size``, so the sample depends on the rows and the seed only.
    O(block) time per block, O(size d) memory.
    """

    size: int
    rows: Array  # room for more is made as it fills
    indices: NDArray[np.int64]  # row numbers in the stream
    rng: np.random.Generator
    seen: int = 0

    @classmethod
    def empty(cls, size: int, like: Array, rng: np.random.Generator) -> "Reservoir":
        return cls(size, like[:0].copy(), np.zeros(0, np.int64), rng)

    def _check_form(self) -> None:
        require(self.size >= 1 and are_counts(self.size, self.seen), "the size of a sample")
        require(are_raw(self.rows) and self.filled <= len(self.rows) <= self.size, "the rows of a sample")
        require(self.indices.shape == (len(self.rows),), "a sample has a number for each row")
        numbers = self.indices[: self.filled]
        require(((numbers >= 0) & (numbers < self.seen)).all(), "the numbers of a sample's rows")

    @property
    def filled(self) -> int:
        return min(self.seen, self.size)

    @property
    def sample(self) -> Array:
        return self.rows[: self.filled]

    def observe(self, rows: Array) -> tuple[Indices, Indices]:
        """Take in a block; returns which of its rows went to which places, in this order."""
        filled, size = self.filled, self.size
        first = min(size - filled, len(rows))
        self._reserve(filled + first)
        positions = np.arange(self.seen, self.seen + len(rows))
        places = np.append(np.arange(filled, filled + first), self.rng.integers(0, positions[first:] + 1))
        taken = np.flatnonzero(places < size)
        places = places[taken]
        self.rows[places] = rows[taken]  # of equal places the last is kept, as row by row
        self.indices[places] = positions[taken]
        self.seen += len(rows)
        return taken, places

    def _reserve(self, places: int) -> None:
        if places > len(self.rows):
            room = min(self.size, max(places, 2 * len(self.rows)))
            self.rows, self.indices = lengthened(self.rows, room), lengthened(self.indices, room)


def lengthened(old: Any, length: int) -> Any:
    """The same, followed by zeros."""
    new = np.zeros((length, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new
