"""Rows in an exchange set: what joins the kernel, which knows rows, to the algebra, which does not."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.exchange._free_set import FreeExchangeSet
from protosieve.exchange._set import ExchangeSet
from protosieve.kernels import Kernel, Points

# Rows judged together: more cost more per exchange, fewer more per product. So they are few after an exchange and more
# where there was none, as long as a strip's matrix has some 51,200 entries.
_ENTRIES, _FEWEST, _MOST = 51_200, 64, 512


@storable
@dataclass
class Members:
    """The rows an exchange set holds, by slot. O(m (d + m)) memory."""

    exchange: ExchangeSet | FreeExchangeSet
    rows: Array
    left: Array  # the rows as the kernel multiplies them
    indices: NDArray[np.int64]  # -1 in empty slots
    joined: int = 0  # rows that were taken in, ever

    @classmethod
    def none(cls, room: int, margin: float, rows: Array, points: Points, signed: bool = False) -> "Members":
        """No members yet, room for so many like these."""
        exchange = (FreeExchangeSet if signed else ExchangeSet)(room, float(np.finfo(rows.dtype).eps), margin)
        return cls(exchange, rows[:0].copy(), points.left[:0].copy(), np.zeros(0, np.int64))

    def offer(
        self,
        kernel: Kernel,
        indices: NDArray[np.int64],
        rows: Array,
        points: Points,
        diagonal: Float64,
        mu: Float64,
    ) -> None:
        """Judge rows one after the other. O(n m (d + m)), and O(m) per strip and exchange."""
        most = min(max(_ENTRIES // self.exchange.room, _FEWEST), _MOST)
        start, length = 0, _FEWEST
        while start < len(rows):
            part = slice(start, start + length)
            self._reserve(len(rows[part]))
            strip = points.take(part)
            near, own = self._similarities(kernel, strip), partial(kernel.block, strip, strip)
            events = self.exchange.offer(near, own, diagonal[part], mu[part])
            for row, slot in events:
                self.indices[slot] = indices[start + row] if row >= 0 else -1
                if row >= 0:
                    self.joined += 1
                    self.rows[slot] = rows[start + row]
                    self.left[slot] = strip.left[row]
            start += length
            length = _FEWEST if events else min(2 * length, most)
        self._vacate(self.exchange.settle())

    def ratios(self, kernel: Kernel, points: Points, diagonal: Float64, mu: Float64) -> Array:
        """How near rows are to an exchange, above 1 where one raises ``l``; of a full set. O(n m (d + m))."""
        return self.exchange.ratios(self._similarities(kernel, points).T, diagonal, mu)

    def emptied(self) -> "Members":
        """No members, the same room."""
        return Members(self.exchange.emptied(), self.rows[:0].copy(), self.left[:0].copy(), self.indices[:0].copy())

    def renew(self, mu: Float64) -> None:
        """The means have changed, by slot."""
        self._vacate(self.exchange.renew(mu))

    def _similarities(self, kernel: Kernel, strip: Points) -> Array:
        """Of a strip to every slot, zero for empty ones."""
        slots = self.exchange.slots
        if len(slots) == len(self.indices):
            return kernel.block(strip.like(self.left), strip).T
        K = np.zeros((len(strip), len(self.indices)), self.left.dtype)
        K[:, slots] = kernel.block(strip.like(self.left[slots]), strip).T
        return K

    def _reserve(self, newcomers: int) -> None:
        self.exchange.reserve(self.exchange.size + newcomers)
        more = len(self.exchange.w) - len(self.indices)
        if more:
            self.rows, self.left = (np.pad(old, ((0, more), (0, 0))) for old in (self.rows, self.left))
            self.indices = np.append(self.indices, np.full(more, -1))

    def _vacate(self, slots: list[int]) -> None:
        self.indices[slots] = -1

    def _check_form(self) -> None:
        slots = self.exchange.w.shape
        require(self.indices.shape == slots, "members have a number each")
        require(all(are_rows(rows) and rows.shape[:1] == slots for rows in (self.rows, self.left)), "rows of members")
        require(np.array_equal(np.flatnonzero(self.indices >= 0), self.exchange.slots), "the slots of members")
        require(are_counts(self.joined), "the count of members")

    def _check(self) -> None:
        self._check_form()
        self.exchange._check()
