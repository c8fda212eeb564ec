"""The mean of all rows in fixed memory: their sums at a few points, and a sample corrected by these.

Of every row the values ``k(z_p, x)`` at P points are added up, so the mean is known there: ``c_p = mu(z_p)``. With the
points' Gram matrix ``K_Z`` that gives two estimates of ``mu`` elsewhere.

Quick, by the points alone: ``sum_p v_p k(z_p, x)`` with ``v = K_Z^-1 c``, the projection of ``mu`` onto the span of the
points. It has no error of sampling; what the points cannot express is missing.

Full: what is missing by the R rows s of a uniform sample that are no points. These stand for the share
``f = 1 - P / n`` of the rows, and b is their mean at the points:

    mu(x)  =  f mean_s k(s, x)  +  sum_p a_p k(z_p, x),        a = K_Z^-1 (c - f b)

It agrees with all rows at the points; its error is that of the sample in what the points cannot express, small twice.
Where the sample holds all rows it is exact. Weights v and a may have any sign.

A fifth of the sample is held out: neither points nor candidates nor the full estimate are made of it, so it can judge
what was.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means._base import FixedMean, Mean, MeanState, Sampled, SettledMean
from protosieve.means._reservoir import check_seed, check_size, rows_until_grown
from protosieve.means._span import Span
from protosieve.sampling import SampledRows, UniformSample

__all__ = ["Calibrated", "CalibratedMean", "CalibratedStream", "points_for", "sample_for", "stage_of"]

_POINTS, _PER_PROTOTYPE, _MOST_POINTS = 1024, 4, 4096
_SAMPLE, _NUMBERS, _LEAST_SAMPLE = 40_960, 5 * 2**23, 5_120
_HELD_OUT = 5  # of so many rows of the sample one
_COUNTS = 0.02  # a share of all rows: where less may be chosen from, the others are all rows
_TILE = 512  # points at a time: with blocks of some 512 rows the similarities stay in the processor's cache
_ROWS = 1024  # of a target at a time
_LOOKED_AT = 256


def points_for(n_prototypes: int) -> int:
    """How many points: the mean they express should be finer than what the prototypes leave of it.

    P random rows leave about as much of the mean as P / 4 prototypes do; and a Cholesky factor of P columns must not
    hold up a stream.
    """
    return min(max(_POINTS, _PER_PROTOTYPE * n_prototypes), _MOST_POINTS)


def sample_for(width: int) -> int:
    """How many rows of so many columns: 40,960, fewer where they would take more than some hundred megabytes."""
    return min(_SAMPLE, max(_LEAST_SAMPLE, _NUMBERS // width))


def stage_of(sample: UniformSample) -> SampledRows:
    """The rows of a sample that may be chosen: all that came, or all that are not held out."""
    sample = sample.settled()
    return sample.held if sample.is_whole else sample.held.take(slice(sample.size - sample.size // _HELD_OUT))


def met(kernel: Kernel, points: Points, weights: Float64, block: Points) -> tuple[Float64, Float64]:
    """The combination of points at the rows of a block, and the sums of the block's rows at the points."""
    mu, sums = np.zeros(len(block)), np.empty(len(points))
    dtype = block.left.dtype
    for start in range(0, len(points), _TILE):
        tile = slice(start, start + _TILE)
        K = kernel.block(points.take(tile), block)
        mu += weights[tile].astype(dtype) @ K
        sums[tile] = K.sum(axis=1, dtype=np.float64)
    return mu, sums


def _places(numbers: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each number stands among others, -1 where it does not. O((n + m) log n)."""
    if not len(among):
        return np.full(len(numbers), -1)
    order = np.argsort(among)
    at = order[np.minimum(np.searchsorted(among, numbers, sorter=order), len(among) - 1)]
    return np.where(among[at] == numbers, at, -1)


def sums_over(kernel: Kernel, rows: Array, points: Points) -> Float64:
    """Of all rows, at the points; O(n P d)."""
    nothing = np.zeros(len(points))

    def sums(start: int) -> Float64:
        return met(kernel, points, nothing, kernel.prepare(rows[start : start + _ROWS]))[1]

    starts = range(0, len(rows), _ROWS)
    return np.asarray(sum(ahead_of(sums, starts, in_threads=kernel.in_threads), nothing))


@storable
@dataclass
class Calibrated(SettledMean):
    """The mean of ``population`` rows, known at points and by a sample. Nothing in it changes.

    ``sample`` are the rows of a uniform sample in the order of their hashes, ``held_out`` those behind them; ``places``
    says where in the sample the points are, -1 for one that is not.
    """

    kernel: Kernel
    points: Array
    at_points: Float64
    sample: Array
    held_out: Array
    places: NDArray[np.int64]
    population: int
    sample_seed: int

    def __deepcopy__(self, memo: object) -> "Calibrated":
        return self

    def _check_form(self) -> None:
        width = self.points.shape[-1]
        require(are_rows(self.points) and len(self.points) > 0, "the points of a mean")
        require(are_rows(self.sample, width) and self.sample.dtype == self.points.dtype, "the sample of a mean")
        require(self.at_points.shape == (len(self.points),) and are_finite(self.at_points), "the mean at its points")
        there = self.places[self.places >= 0]
        require(self.places.shape == (len(self.points),) and len(np.unique(there)) == len(there), "where points are")
        require(self.places.min() >= -1 and self.places.max() < len(self.sample), "where points are")
        require(are_rows(self.held_out, width), "the rows that are held out")
        held = len(self.sample) + len(self.held_out)
        require(are_counts(self.population) and self.population >= held, "the rows of a mean")
        require(len(self.held_out) or self.is_whole, "the rows that are held out")

    @property
    def is_whole(self) -> bool:
        """Whether the sample holds all rows."""
        return self.population == len(self.sample)

    def seed(self) -> int:
        return self.sample_seed

    @cached_property
    def span(self) -> Span:
        return Span(self.kernel, self.points)

    @cached_property
    def quick(self) -> FixedMean:
        return FixedMean(self.kernel, self.points, self.span.solve(self.at_points))

    @cached_property
    def rest(self) -> Array:
        """The rows of the sample that are no points."""
        return np.delete(self.sample, self.places[self.places >= 0], axis=0)

    @cached_property
    def full(self) -> FixedMean:
        """Both terms as one combination: of points that are no rows of the sample, then of the sample."""
        if self.is_whole:
            return FixedMean.over(self.kernel, self.sample)
        share, rest = self._share, max(len(self.rest), 1)
        sums = sums_over(self.kernel, self.rest, self.kernel.prepare(self.points))
        a = self.span.solve(self.at_points - share / rest * sums)
        outside = self.places < 0
        weights = np.full(len(self.sample), share / rest)
        weights[self.places[~outside]] = a[~outside]
        rows = np.concatenate([self.points[outside], self.sample])
        return FixedMean(self.kernel, rows, np.concatenate([a[outside], weights]))

    @property
    def _share(self) -> float:
        return max(0.0, 1 - len(self.points) / self.population)

    def own_share(self, rows: Array) -> float:
        """What rows of the sample add to the mean at themselves, on average, that they do not in all rows."""
        n, kernel = len(self.rest), self.kernel
        if not n or not len(rows):
            return 0.0
        points = kernel.prepare(rows)
        coordinates = self.span.coordinates(rows)
        left = kernel.diagonal(points) - np.einsum("ij,ij->j", coordinates, coordinates)
        mean = (self.full.at(points) - self.quick.at(points)) / self._share
        return self._share * (1 - n / (self.population - len(self.points))) / n * float((left - mean).mean())

    def at(self, points: Points) -> Float64:
        return self.quick.at(points)

    def exactly_at(self, points: Points) -> Float64:
        return self.full.at(points)

    def at_sample(self, rows: Array) -> Float64 | None:
        return self._at_own[-len(self.sample) :] if np.array_equal(rows, self.sample) else None

    @cached_property
    def _at_own(self) -> Float64:
        return self.full.at_own_rows()

    def sampled(self) -> Sampled | None:
        if self.is_whole:
            return None
        outside = self.population - len(self.points)
        chosen = len(self.rest) / outside
        return Sampled(
            kernel=self.kernel,
            rows=self.held_out,
            population=outside - len(self.rest),
            share=self._share,
            span=self.span,
            at_points=self.at_points,
            chosen=chosen if chosen >= _COUNTS else 0.0,
            mean=self,
            is_fitted=False,
        )

    def judged_norm(self, step: int) -> float:
        return float(self.at_points @ self.quick.weights)

    def squared_norm(self, step: int) -> float:
        """That of the full estimate, which the sample's error makes larger."""
        return float(self.full.weights @ self._at_own)


@storable
@dataclass
class CalibratedStream(MeanState):
    """A calibrated mean that follows the stream. Arrays are replaced, never written to: copies share them.

    The points are a uniform sample of their own, taken anew each time the stream has doubled; about half of them stay,
    and at the others the sums so far are those of the full estimate. (The first rows of the large sample would not do:
    without them its early rows are fewer than its late ones.) What rows are judged by, the weights of the points, is
    adopted each time the stream has grown by a tenth.
    """

    kernel: Kernel
    sample: UniformSample
    drawn: UniformSample  # the next points
    points: Array
    numbers: NDArray[np.int64]  # of the points in the stream
    sums: Float64  # of all rows seen, at the points
    weights: Float64  # of the points: what rows are judged by
    adopted: int = 0  # rows seen by then
    renewed: int = 0  # rows seen when the points were chosen
    _prepared: Points | None = field(default=None, init=False, repr=False, compare=False)
    _span: Span | None = field(default=None, init=False, repr=False, compare=False)
    _known: Calibrated | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def begin(cls, kernel: Kernel, size: int, n_points: int, first: Array, seed: int) -> "CalibratedStream":
        """Before the first block, which are its points until it has been seen."""
        points = first[:n_points].copy()
        span = Span(kernel, points)
        weights = span.solve(sums_over(kernel, first, kernel.prepare(points)) / len(first))
        none, numbers = np.zeros(len(points)), np.arange(len(points))
        sample, drawn = UniformSample.empty(size, first, seed), UniformSample.empty(n_points, first, seed + 1)
        return cls(kernel, sample, drawn, points, numbers, none, weights)

    def __deepcopy__(self, memo: object) -> "CalibratedStream":
        other = replace(self, sample=self.sample.__deepcopy__(memo), drawn=self.drawn.__deepcopy__(memo))
        other._prepared, other._span, other._known = self._prepared, self._span, self._known
        return other

    def _check_form(self) -> None:
        points, seen, width = (len(self.points),), self.sample.seen, self.sample.rows.shape[1]
        require(are_rows(self.points, width) and are_finite(self.sample.rows), "the points of a mean")
        require(self.points.dtype == self.sample.rows.dtype, "the points of a mean")
        require(self.numbers.shape == self.sums.shape == self.weights.shape == points, "what is known of the points")
        require(are_finite(self.sums, self.weights) and (self.numbers >= 0).all(), "what is known of the points")
        require(1 <= len(self.points) <= self.drawn.size and self.drawn.seen == seen, "the number of points")
        require(are_rows(self.drawn.rows, width) and self.drawn.rows.dtype == self.points.dtype, "the next points")
        require(are_counts(self.adopted, self.renewed) and self.renewed <= self.adopted <= seen, "when points were set")

    def stream_sample(self) -> UniformSample:
        return self.sample

    def seed(self) -> int:
        return self.sample.seed

    def meet(self, points: Points) -> tuple[Float64, Float64]:
        return met(self.kernel, self._left(), self.weights, points)

    def _left(self) -> Points:
        if self._prepared is None:
            self._prepared = self.kernel.prepare(self.points)
        return self._prepared

    def observe(self, rows: Array, numbers: NDArray[np.int64], sums: Float64 | None) -> None:
        assert sums is not None
        self.sample.observe(rows, numbers)
        self.drawn.observe(rows, numbers)
        self.sums = self.sums + sums
        self._known = None

    def rows_ahead(self) -> int:
        return rows_until_grown(self.adopted, self.sample.seen)

    def refresh(self) -> bool:
        if self.adopted == self.sample.seen:
            return False
        if self.sample.seen >= 2 * self.renewed:
            self._renew()
        if self._span is None:
            self._span = Span(self.kernel, self.points)
        self.weights = self._span.solve(self.sums / self.sample.seen)
        self.adopted = self.sample.seen
        return True

    def _renew(self) -> None:
        """The points are those that were drawn by now. O(P (N d + P^2))."""
        known = self._calibrated()
        self.drawn.settle()
        new = self.drawn.held
        places = _places(new.numbers, self.numbers)
        others = places < 0
        sums = self.sums[places]
        sampled = _places(new.numbers[others], stage_of(self.sample).numbers) >= 0
        sums[others] = self.sample.seen * _spread_at(known, new.rows[others], sampled)
        self.points, self.numbers, self.sums, self.renewed = new.rows, new.numbers, sums, self.sample.seen
        self._prepared = self._span = self._known = None

    def _calibrated(self) -> Calibrated:
        """What is known as of now."""
        if self._known is None:
            self.sample.settle()
            stage = stage_of(self.sample)
            self._known = Calibrated(
                kernel=self.kernel,
                points=self.points,
                at_points=self.sums / self.sample.seen,
                sample=stage.rows,
                held_out=self.sample.rows[len(stage) :],
                places=_places(self.numbers, stage.numbers),
                population=self.sample.seen,
                sample_seed=self.sample.seed,
            )
            if self._span is not None:
                self._known.span = self._span
        return self._known

    def at(self, points: Points) -> Float64:
        return self.meet(points)[0]

    def exactly_at(self, points: Points) -> Float64:
        return self._calibrated().exactly_at(points)

    def at_sample(self, rows: Array) -> Float64 | None:
        return self._calibrated().at_sample(rows)

    def sampled(self) -> Sampled | None:
        return self._calibrated().sampled()

    def judged_norm(self, step: int) -> float:
        return float(self.sums @ self.weights) / max(self.sample.seen, 1)

    def squared_norm(self, step: int) -> float:
        return self._calibrated().squared_norm(step)


def _spread_at(known: Calibrated, rows: Array, sampled: NDArray[np.bool_]) -> Float64:
    """The mean at rows, in several threads; ``sampled`` says which of them are rows of the sample.

    A row x of the sample has a larger share in it, 1 / R, than in all rows. By all others, and itself counted once, the
    mean there is less by ``f / R (r(x, x) - m(x))``, where r and m are what the points leave of similarity and mean.
    Some rows tell how much that is on average; the rest is noise.
    """
    mean = known.full
    mean.at(mean.kernel.prepare(rows[:0]))  # rows are prepared once, before threads ask for them

    def at(start: int) -> Float64:
        return mean.at(mean.kernel.prepare(rows[start : start + _TILE]))

    mu = np.concatenate([np.zeros(0), *ahead_of(at, range(0, len(rows), _TILE), in_threads=mean.kernel.in_threads)])
    return mu if known.is_whole else mu - sampled * known.own_share(rows[sampled][:_LOOKED_AT])


@storable
@dataclass(frozen=True)
class CalibratedMean(Mean):
    """The mean of every row, in memory that does not grow with them: sums at a few points, and a sample.

    Each row of the target costs ``points`` kernel values, which are added up; so at the points the mean of *all* rows
    is known. Rows of a stream are judged by the points alone; candidates and the prototypes that are chosen in the end
    by the sample too, corrected so that it agrees with all rows at the points. The weights, the residual and the
    certificate of a result are then those of all rows, with a small error bar, not those of a sample.

    The default for streams, and for targets so large that `ExactMean` costs more. With a target the points are chosen
    once. Without one they follow the stream and are chosen anew each time it has doubled.

    Parameters
    ----------
    sample : int, optional
        Rows of the sample; by default 40,960, fewer where they have more than 1,024 columns. A fifth of them is held
        out to judge results by.
    points : int, optional
        By default four for each prototype, at least 1,024 and at most 4,096. Random rows of the sample: exchanged ones
        express as much with half as many, and cost more than the other half.
    random_state : int, optional
        Seed of the sample; by default it follows from the selector's ``random_state``.

    Notes
    -----
    O(points d) per row of the target; O(points (sample d + points^2)) each time points are chosen; for the candidates
    of a result O(sample^2 d / 2), once. Memory is the sample, O(points^2) and, for a result, the sample again.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve import ProtoSwap
    >>> from protosieve.means import CalibratedMean
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> exact = ProtoSwap(20, random_state=0).fit(X).result_
    >>> mean = CalibratedMean(sample=1000, points=100)
    >>> quick = ProtoSwap(20, mean=mean, random_state=0).fit(X).result_
    >>> 0.9 < quick.residual / exact.residual < 1.1
    True
    """

    sample: int | None = None
    points: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        for name in ("sample", "points"):
            if getattr(self, name) is not None:
                check_size("CalibratedMean", name, getattr(self, name))
        check_seed("CalibratedMean", self.random_state)

    def check(self, target: Array | None) -> None:
        pass

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> MeanState:
        rng = rng if self.random_state is None else np.random.default_rng(self.random_state)
        seed = int(rng.integers(2**63))
        size = sample_for(like.shape[1]) if self.sample is None else self.sample
        points = points_for(n_prototypes) if self.points is None else self.points
        points = min(points, size - size // _HELD_OUT)
        if target is None:
            return CalibratedStream.begin(kernel, size, points, like, seed)
        return _over(kernel, target, size, points, seed)


def _over(kernel: Kernel, target: Array, size: int, points: int, seed: int) -> Calibrated:
    """Of all rows of a target; O(n P d)."""
    sample = UniformSample.empty(size, target, seed)
    sample.observe(target, np.arange(len(target)))
    sample.settle()
    stage = stage_of(sample)
    rows = stage.rows[:points]
    return Calibrated(
        kernel=kernel,
        points=rows,
        at_points=sums_over(kernel, target, kernel.prepare(rows)) / len(target),
        sample=stage.rows,
        held_out=sample.rows[len(stage) :],
        places=np.arange(len(rows)),
        population=len(target),
        sample_seed=seed,
    )
