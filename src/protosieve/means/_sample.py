"""A uniform sample of a stream, in fixed memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typing import Array, Indices

__all__ = ["Reservoir"]


@storable
@dataclass
class Reservoir:
    """A uniform sample of everything seen, in fixed memory (Vitter's algorithm R, a block at a time).

    Row number t (from 0) replaces a uniformly drawn one with probability ``size / (t + 1)``. The generator is asked
    for one number per row past the first ``size``, so the sample depends on the rows and the seed only.
    O(block) time per block, O(size d) memory.
    """

    rows: Array
    indices: NDArray[np.int64]  # row numbers in the stream
    rng: np.random.Generator
    seen: int = 0

    @classmethod
    def empty(cls, size: int, like: Array, rng: np.random.Generator) -> "Reservoir":
        return cls(np.zeros((size, like.shape[1]), like.dtype), np.zeros(size, np.int64), rng)

    @property
    def filled(self) -> int:
        return min(self.seen, len(self.rows))

    @property
    def sample(self) -> Array:
        return self.rows[: self.filled]

    def observe(self, rows: Array) -> tuple[Indices, Indices]:
        """Take in a block; returns which of its rows went to which places, in this order."""
        filled, size = self.filled, len(self.rows)
        first = min(size - filled, len(rows))
        positions = np.arange(self.seen, self.seen + len(rows))
        places = np.append(np.arange(filled, filled + first), self.rng.integers(0, positions[first:] + 1))
        taken = np.flatnonzero(places < size)
        places = places[taken]
        self.rows[places] = rows[taken]  # of equal places the last is kept, as row by row
        self.indices[places] = positions[taken]
        self.seen += len(rows)
        return taken, places
