"""The rows that any set of a threshold selector holds, each kept once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64, Indices
from protosieve.kernels import Points
from protosieve.objectives import Block


@storable
@dataclass
class Pool:
    """Rows by slot. Sets refer to their members by slots; `sweep` frees the slots that no set uses any more.

    Memory is at most twice what the sets hold.
    """

    rows: Array
    left: Array  # the rows as the kernel multiplies them
    indices: NDArray[np.int64]
    mu: Float64
    diagonal: Float64
    size: int = 0
    added: int = 0  # rows added since the beginning

    def _check_form(self) -> None:
        held = slice(self.size)
        require(self.added >= self.size and are_counts(self.size, self.added), "how many rows are kept")
        require(self.size <= len(self.mu), "there are fewer rows than are kept")
        require(are_rows(self.rows) and are_rows(self.left), "the rows that are kept")
        require(len(self.rows) == len(self.left) == len(self.mu), "rows that are kept, and what is known of them")
        require(self.indices.shape == self.mu.shape == self.diagonal.shape == (len(self.mu),), "what is known of rows")
        require(are_finite(self.mu, self.diagonal) and (self.indices[held] >= 0).all(), "what is known of rows")
        require((self.diagonal[held] >= 0).all(), "a row is of negative length")

    @classmethod
    def empty(cls, block: Block) -> "Pool":
        return cls(block.rows[:0].copy(), block.points.left[:0].copy(), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))

    def add(self, block: Block, j: int) -> int:
        """Keep row j of a block; returns its slot."""
        slot = self.size
        if slot == len(self.mu):
            room = max(16, 2 * slot)
            self._rearrange(np.arange(slot), room)
        self.rows[slot] = block.rows[j]
        self.left[slot] = block.points.left[j]
        self.indices[slot] = block.first + j
        self.mu[slot] = block.mu[j]
        self.diagonal[slot] = block.diagonal[j]
        self.size = slot + 1
        self.added += 1
        return slot

    @property
    def held(self) -> Array:
        """The rows."""
        return self.rows[: self.size]

    def as_block(self) -> Block:
        """All rows as one block."""
        held = slice(self.size)
        return Block(0, self.held, Points(self.left[held]), self.mu[held], self.diagonal[held])

    def sweep(self, used: Indices) -> Indices | None:
        """Free all slots but the ``used`` ones, if that is at least a third of them.

        Returns where each old slot is now, or ``None`` if nothing has moved.
        """
        if 3 * len(used) > 2 * self.size:
            return None
        moved = np.full(self.size, -1)
        moved[used] = np.arange(len(used))
        self._rearrange(used, len(used))
        self.size = len(used)
        return moved

    def _rearrange(self, keep: Indices, room: int) -> None:
        for name in ("rows", "left", "indices", "mu", "diagonal"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: len(keep)] = old[keep]
            setattr(self, name, new)


class Newcomers:
    """The rows of a block that join sets: each gets one slot of the pool, however many sets take it."""

    def __init__(self, pool: Pool, block: Block) -> None:
        self.pool, self.block = pool, block
        self._slots: dict[int, int] = {}

    def newcomer(self, j: int) -> int:
        """The slot of row j of the block."""
        if j not in self._slots:
            self._slots[j] = self.pool.add(self.block, j)
        return self._slots[j]
