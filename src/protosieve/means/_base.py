"""What a mean embedding is: the target of the selection, as a function of a row.

A `Mean` is what the user asks for: a constructor argument that is never changed. ``begin`` turns it into a
`MeanState`, the value that evolves with the stream and is saved with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.kernels import Kernel, Points
from protosieve.means._span import Span
from protosieve.sampling import UniformSample

FOREVER = 2**62  # rows: more than any stream has

# Rows of the target multiplied at once. With blocks of some 512 rows the product is 2 MB in float32: it stays in
# the processor's cache between the product, the exponential and the sum.
_TILE = 1024
_BLOCK = 512
_STRIP = 128  # of rows that are few


class Sampled(NamedTuple):
    """A uniform sample, drawn without replacement, by which a mean is judged, and what else is known of the mean.

    In the ``span`` of some points the mean is known; the ``share`` of the target that are not points is what the sample
    stands for. Of these the share ``chosen`` were candidates, whose ``mean`` is known too. ``population`` counts the
    rows that are neither, from which the sample was drawn. ``is_fitted`` says whether prototypes are fitted to the
    sample itself.
    """

    kernel: Kernel
    rows: Array
    population: int
    share: float = 1.0
    span: Span | None = None
    at_points: Float64 | None = None  # the mean at the points of the span
    chosen: float = 0.0
    target: int | None = None  # rows of the target; by default the population
    mean: "FixedMean | None" = None
    norm: float | None = None  # that of this mean, where it is known
    is_fitted: bool = True


class Mean(ABC):
    """How the mean embedding ``mu(x) = mean over the target of k(y, x)`` is obtained."""

    target: Array | None = None  # a target that comes with the mean itself

    def check(self, target: Array | None) -> None:  # noqa: B027  (most need no target)
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
    """A mean embedding in use: fixed, or following the stream.

    A stream asks for the mean at a block (`meet`), then lets the mean take the block in (`observe`); what that changes
    is adopted between two blocks, where it is `due`.
    """

    is_fixed: ClassVar[bool] = False  # whether no row of the stream changes it
    is_final: ClassVar[bool] = False  # whether `at` is final for a row: never changed nor improved later

    in_threads: ClassVar[bool] = True  # whether several threads may ask at once

    def stream_sample(self) -> UniformSample | None:
        """The sample of the stream this mean keeps, if it does."""
        return None

    def seed(self, size: int) -> int | None:
        """The seed of its sample by hashes, if that has this size: samples drawn with it have the same rows."""
        return None

    def change_kernel(self, kernel: Kernel) -> None:
        """Be the mean of the same rows by another kernel, for a mean that has a `stream_sample`."""
        raise NotImplementedError("a mean without a sample of the stream keeps its kernel")

    def fade(self, half_life: int) -> None:
        """Before the first row: let those of the stream weigh half as much after so many more."""
        raise InputError(
            f"{type(self).__name__} does not follow the stream, so nothing in it fades: use CalibratedMean()"
        )

    def own(self) -> None:  # noqa: B027  (most have nothing to do)
        """Copy the target's rows if they are still the caller's array."""

    def meet(self, points: Points) -> tuple[Float64, Float64 | None]:
        """``mu`` at a block of the stream, and what `observe` is to be told of it. Changes nothing."""
        return self.at(points), None

    @abstractmethod
    def observe(self, rows: Array, numbers: NDArray[np.int64], sums: Float64 | None) -> None:
        """Take in a block of the stream: its rows, their numbers, and what `meet` found."""

    @abstractmethod
    def rows_ahead(self) -> int:
        """Rows that can be met before a `refresh` is due; at zero the mean would change enough to be worth one."""

    @abstractmethod
    def refresh(self) -> bool:
        """Adopt all that was observed; returns whether the mean has changed."""

    @abstractmethod
    def at(self, points: Points) -> Float64:
        """``mu`` at prepared rows, computed in their dtype and summed in float64."""

    def exactly_at(self, points: Points) -> Float64:
        """``mu`` as well as this state knows it, for candidates and the rows that were chosen."""
        return self.at(points)

    def at_candidates(self, rows: Array) -> Float64 | None:
        """``mu`` at many rows in their own dtype, well enough to choose from them; ``None`` where `at` will do."""
        return None

    def sampled(self) -> "Sampled | None":
        """The sample it is judged by; ``None`` where the mean is taken over all rows."""
        return None

    def sample_size(self) -> int | None:
        """Rows of that sample."""
        sampled = self.sampled()
        return None if sampled is None else len(sampled.rows)

    def judged_norm(self, step: int) -> float:
        """``|mu|^2`` of the mean rows are judged by: that of `squared_norm`, or near to it and cheap to have."""
        return self.squared_norm(step)

    @abstractmethod
    def squared_norm(self, step: int) -> float:
        """``|mu|^2``, twice the value no selection of any size can exceed; computed ``step`` rows at a time."""


class SettledMean(MeanState):
    """A mean that no row of the stream changes."""

    is_fixed: ClassVar[bool] = True

    def observe(self, rows: Array, numbers: NDArray[np.int64], sums: Float64 | None) -> None:
        """Changes nothing."""

    def rows_ahead(self) -> int:
        return FOREVER

    def refresh(self) -> bool:
        return False


@storable
@dataclass
class FixedMean(SettledMean):
    """``mu(x) = sum_i weights_i k(rows_i, x)``; it never changes.

    ``at`` costs O(len(points) len(rows) d) and a tile of memory; ``squared_norm`` O(len(rows)^2 d), once.
    """

    is_final: ClassVar[bool] = True

    kernel: Kernel
    rows: Array
    weights: Float64
    norm: float | None = None
    population: int | None = None  # what they are a sample of
    _points: Points | None = field(default=None, init=False, repr=False)

    def _check_form(self) -> None:
        require(are_rows(self.rows) and len(self.rows) > 0, "the rows of a mean")
        require(self.weights.shape == (len(self.rows),) and are_finite(self.weights), "the weights of a mean")
        require(self.norm is None or are_finite(self.norm), "the norm of a mean")
        require(are_counts(self.population or 0), "what a mean is a sample of")

    @classmethod
    def over(cls, kernel: Kernel, rows: Array, population: int | None = None) -> Self:
        """The plain mean over rows, which are a uniform sample of ``population`` rows where there are more."""
        is_sample = population is not None and population > len(rows)
        weights = np.full(len(rows), 1 / len(rows))
        return cls(kernel, rows, weights, population=population if is_sample else None)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # nothing in it changes but what it has yet to compute

    def own(self) -> None:
        self.rows = self.rows.copy()

    def at(self, points: Points) -> Float64:
        total = np.zeros(len(points))
        dtype = points.left.dtype
        room = np.empty((min(_TILE, len(self.rows)), len(points)), dtype)  # one for all tiles
        for start in range(0, len(self.rows), _TILE):
            tile = slice(start, start + _TILE)
            some = self._tile(tile, dtype)
            total += self.weights[tile].astype(dtype) @ self.kernel.block(some, points, out=room[: len(some)])
        return total

    def exactly_at(self, points: Points) -> Float64:
        """The same, a few rows at a time, in several threads."""
        if points.left.dtype == self.rows.dtype:
            self._tile(slice(0), self.rows.dtype)  # prepared once, before threads ask for it
        return self._in_threads(points.take, len(points), _STRIP)

    def at_many(self, rows: Array) -> Float64:
        """``mu`` at many rows, in several threads."""
        self._tile(slice(0), self.rows.dtype)  # prepared once, before threads ask for it
        return self._in_threads(lambda part: self.kernel.prepare(rows[part]), len(rows), _BLOCK)

    def _in_threads(self, points: Callable[[slice], Points], n: int, step: int) -> Float64:
        parts = (slice(start, start + step) for start in range(0, n, step))
        found = ahead_of(lambda part: self.at(points(part)), list(parts), in_threads=self.kernel.in_threads)
        return np.concatenate([np.zeros(0), *found])

    def _tile(self, tile: slice, dtype: np.dtype[np.generic]) -> Points:
        if dtype != self.rows.dtype:  # exact weights of float32 rows: rare, so nothing is kept
            return self.kernel.prepare(self.rows[tile].astype(dtype))
        if self._points is None:
            self._points = self.kernel.prepare(self.rows)
        return self._points.take(tile)

    def sampled(self) -> Sampled | None:
        return None if self.population is None else Sampled(self.kernel, self.rows, self.population)

    def squared_norm(self, step: int) -> float:
        if self.norm is None:
            blocks = (slice(start, start + step) for start in range(0, len(self.rows), step))
            self.norm = sum(self.share_of_norm(b, self.at(self._tile(b, self.rows.dtype))) for b in blocks)
        return self.norm

    def at_own_rows(self) -> Float64:
        """``mu`` at all rows of the target, every pair of rows compared once: O(len(rows)^2 d / 2).

        In the last bits it is not what `at` gives block by block.
        """
        self._tile(slice(0), self.rows.dtype)  # prepared once, before threads ask for it
        total = np.zeros(len(self.rows))
        starts = range(0, len(self.rows), _BLOCK)
        found = ahead_of(self._pairs, starts, in_threads=self.kernel.in_threads)
        for start, (own, others) in zip(starts, found, strict=True):
            total[start : start + _BLOCK] += own
            total[start + _BLOCK :] += others
        return total

    def _pairs(self, start: int) -> tuple[Float64, Float64]:
        """What a block of rows and those behind it add to ``mu`` at each other."""
        n, dtype = len(self.rows), self.rows.dtype
        stop = min(start + _BLOCK, n)
        points, w = self._tile(slice(start, stop), dtype), self.weights[start:stop].astype(dtype)
        own = (w @ self.kernel.block(points, points)).astype(np.float64)
        others = np.empty(n - stop)
        for other in range(stop, n, _TILE):
            tile = slice(other, min(other + _TILE, n))
            K = self.kernel.block(self._tile(tile, dtype), points)
            own += self.weights[tile].astype(dtype) @ K
            others[other - stop : tile.stop - stop] = K @ w
        return own, others

    def share_of_norm(self, block: slice, mu: Float64) -> float:
        """What rows ``block`` of the target, at which the mean is ``mu``, add to ``|mu|^2``."""
        return float(self.weights[block] @ mu)
