"""What a mean embedding is: the target of the selection, as a function of a row.

A `Mean` is the user's wish, a constructor argument that is never changed. ``begin`` turns it into a
`MeanState`, the value that evolves with the stream and is saved with it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means._sample import Reservoir

__all__ = ["FixedMean", "Mean", "MeanState", "Sampled", "SettledMean"]

# Rows of the target multiplied at once. With blocks of some 512 rows the product is 2 MB in float32: it stays in
# the processor's cache between the product, the exponential and the sum.
_TILE = 1024


class Sampled(NamedTuple):
    """The mean over a uniform sample, drawn without replacement, and the number of rows it was drawn from."""

    mean: "FixedMean"
    population: int


class Mean(ABC):
    """How the mean embedding ``mu(x) = mean over the target of k(y, x)`` is obtained."""

    target: Array | None = None  # a target that comes with the mean itself

    @abstractmethod
    def check(self, target: Array | None) -> None:
        """Raise `InputError`, before work starts, if this mean cannot be had without a target."""

    @abstractmethod
    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> "MeanState":
        """The state before the first block.

        ``target`` are the rows to match, ``None`` for the stream itself; ``like`` is a block of the stream's rows, for
        their number of columns and dtype; ``n_prototypes`` says how fine the mean had better be.
        """


class MeanState(ABC):
    """A mean embedding in use: fixed, or following the stream."""

    is_fixed: ClassVar[bool] = False  # whether blocks may be looked at before those ahead of them have been observed

    def stream_sample(self) -> Reservoir | None:
        """The sample of the stream this mean keeps, if it does."""
        return None

    def own(self) -> None:  # noqa: B027  (most have nothing to do)
        """Copy the target's rows where they are still somebody else's."""

    @abstractmethod
    def observe(self, rows: Array) -> None:
        """A block of the stream has arrived; called once per block, before the block is judged."""

    @abstractmethod
    def stale(self) -> bool:
        """Whether `refresh` would change the mean enough to be worth re-solving all weights."""

    @abstractmethod
    def refresh(self) -> bool:
        """Adopt all that was observed; returns whether the mean has changed."""

    @abstractmethod
    def at(self, points: Points) -> Float64:
        """``mu`` at prepared rows, computed in their dtype and summed in float64."""

    def exactly_at(self, points: Points) -> Float64:
        """``mu`` as well as this state knows it, for the few rows that were chosen."""
        return self.at(points)

    @abstractmethod
    def sample_size(self) -> int | None:
        """Rows the mean is taken over, where they are a sample of the target; ``None`` where they are all of it."""

    def sampled(self) -> "Sampled | None":
        """That sample, and what it was drawn from; ``None`` where the mean is taken over all rows."""
        return None

    def judged_norm(self, step: int) -> float:
        """``|mu|^2`` of the mean rows are judged by: that of `squared_norm`, or near to it and cheap to have."""
        return self.squared_norm(step)

    @abstractmethod
    def squared_norm(self, step: int) -> float:
        """``|mu|^2``, twice the value no selection of any size can exceed; computed ``step`` rows at a time."""


class SettledMean(MeanState):
    """A mean that no row of the stream changes."""

    is_fixed: ClassVar[bool] = True

    def observe(self, rows: Array) -> None:
        """Nothing follows from it."""

    def stale(self) -> bool:
        return False

    def refresh(self) -> bool:
        return False


@storable
@dataclass
class FixedMean(SettledMean):
    """``mu(x) = sum_i weights_i k(rows_i, x)``, for good.

    ``at`` costs O(len(points) len(rows) d) and a tile of memory; ``squared_norm`` O(len(rows)^2 d), once.
    """

    kernel: Kernel
    rows: Array
    weights: Float64
    sample: int | None = None  # how many rows there are, if they are a sample of the target
    norm: float | None = None
    population: int | None = None  # what they are a sample of
    _points: Points | None = field(default=None, init=False, repr=False)

    def _check_form(self) -> None:
        require(are_rows(self.rows) and len(self.rows) > 0, "the rows of a mean")
        require(self.weights.shape == (len(self.rows),) and are_finite(self.weights), "the weights of a mean")
        require(self.norm is None or are_finite(self.norm), "the norm of a mean")
        require(are_counts(self.sample or 0, self.population or 0), "what a mean is a sample of")

    @classmethod
    def over(cls, kernel: Kernel, rows: Array, population: int | None = None) -> Self:
        """The plain mean over rows, which are a uniform sample of ``population`` rows where there are more."""
        sample = len(rows) if population is not None and population > len(rows) else None
        weights = np.full(len(rows), 1 / len(rows))
        return cls(kernel, rows, weights, sample, population=population if sample else None)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # nothing in it changes but what it has yet to compute

    def own(self) -> None:
        self.rows = self.rows.copy()

    def at(self, points: Points) -> Float64:
        total = np.zeros(len(points))
        dtype = points.left.dtype
        for start in range(0, len(self.rows), _TILE):
            tile = slice(start, start + _TILE)
            total += self.weights[tile].astype(dtype) @ self.kernel.block(self._tile(tile, dtype), points)
        return total

    def _tile(self, tile: slice, dtype: np.dtype[np.generic]) -> Points:
        if dtype != self.rows.dtype:  # exact weights of float32 rows: rare, so nothing is kept
            return self.kernel.prepare(self.rows[tile].astype(dtype))
        if self._points is None:
            self._points = self.kernel.prepare(self.rows)
        return self._points.take(tile)

    def sample_size(self) -> int | None:
        return self.sample

    def sampled(self) -> Sampled | None:
        return None if self.population is None else Sampled(self, self.population)

    def diagonal(self) -> Float64:
        """``k(y, y)`` of all rows; O(len(rows) d)."""
        return self.kernel.diagonal(self._tile(slice(None), self.rows.dtype)).astype(np.float64)

    def squared_norm(self, step: int) -> float:
        if self.norm is None:
            blocks = (slice(start, start + step) for start in range(0, len(self.rows), step))
            self.norm = sum(self.share_of_norm(b, self.at(self._tile(b, self.rows.dtype))) for b in blocks)
        return self.norm

    def at_own_rows(self, step: int) -> Float64:
        """``mu`` at all rows of the target, every pair of rows compared once: O(len(rows)^2 d / 2).

        In the last bits it is not what `at` gives block by block.
        """
        n, dtype = len(self.rows), self.rows.dtype
        total = np.zeros(n)
        for start in range(0, n, step):
            block = slice(start, min(start + step, n))
            points, w = self._tile(block, dtype), self.weights[block].astype(dtype)
            total[block] += w @ self.kernel.block(points, points)
            for other in range(block.stop, n, _TILE):
                tile = slice(other, min(other + _TILE, n))
                K = self.kernel.block(self._tile(tile, dtype), points)
                total[block] += self.weights[tile].astype(dtype) @ K
                total[tile] += K @ w
        return total

    def share_of_norm(self, block: slice, mu: Float64) -> float:
        """What rows ``block`` of the target, at which the mean is ``mu``, add to ``|mu|^2``."""
        return float(self.weights[block] @ mu)
