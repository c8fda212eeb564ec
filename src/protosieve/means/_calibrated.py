"""The mean of all rows in fixed memory: their sums at a few points, and a sample corrected by these.

Of every row the values ``k(z_p, x)`` at P points are added up, so the mean is known there: ``c_p = mu(z_p)``. (Along a
stream points are renewed, and their sums begin with an estimate.) With the points' Gram matrix ``K_Z`` that gives two
estimates of ``mu`` elsewhere.

Quick, by the points alone: ``sum_p v_p k(z_p, x)`` with ``v = K_Z^-1 c``, the projection of ``mu`` onto the span of the
points. It has no error of sampling; what the points cannot express is missing.

Full: what is missing by the R rows s of a uniform sample that are no points. These stand for the share
``f = 1 - P / n`` of the rows, and b is their mean at the points:

    mu(x)  =  f mean_s k(s, x)  +  sum_p a_p k(z_p, x),        a = K_Z^-1 (c - f b)

It agrees with all rows at the points; its error is that of the sample in what the points cannot express, small twice.
Where the sample holds all rows it is exact. Weights v and a may have any sign.

A fifth of the sample is held out: no point and no estimate is made of it, and which rows are held out has no influence
on the choice, so it can judge the result.
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
from protosieve.means._points import enough_points
from protosieve.means._reservoir import check_seed, check_size, rows_until_grown, sample_seed
from protosieve.means._span import Span
from protosieve.sampling import SampledRows, UniformSample

__all__ = [
    "Calibrated", "CalibratedMean", "CalibratedStream", "PointSums", "calibrated", "judging_for", "points_for",
    "points_of", "sample_for", "stage_of", "stage_size",
]  # fmt: skip

# How many points at most, rows of the sample that may be chosen, and of these rows by which candidates are judged: so
# many for each prototype, between two bounds. (Measured: docs/means.md.)
_POINTS = 4, 1024, 3072
_EARLY = 8  # of so many rows one is a point at most: factors cost little while a stream is short
_STAGE = 256, 8192, 32768
_JUDGING = 40, 2048, 32768
_NUMBERS = 2**25  # in a sample at most: some hundred megabytes
_LEAST = 10  # rows of a sample: two are held out then
_HELD_OUT = 4  # for so many rows that may be chosen one is held out
_TILE = 512  # points at a time: with blocks of some 512 rows the similarities stay in the processor's cache
_ROWS = 1024  # of a target at a time


def _for(n_prototypes: int, rule: tuple[int, int, int]) -> int:
    each, least, most = rule
    return min(max(each * int(n_prototypes), least), most)


def points_for(n_prototypes: int) -> int:
    """How many points at most: the mean they express should be finer than what the prototypes leave of it.

    P random rows leave about as much of the mean as P / 4 prototypes do; and a Cholesky factor of P columns must not
    hold up a stream.
    """
    return _for(n_prototypes, _POINTS)


def sample_for(n_prototypes: int, width: int) -> int:
    """How many rows of so many columns: those that may be chosen, and those held out."""
    stage = min(_for(n_prototypes, _STAGE), max(_STAGE[1] // 2, _NUMBERS // width))
    return stage + stage // _HELD_OUT


def stage_size(sample: int) -> int:
    """How many rows of a sample of this size may be chosen."""
    return sample - sample // (_HELD_OUT + 1)


def stage_of(sample: UniformSample) -> SampledRows:
    """The rows of a sample that may be chosen: all that came, or all that are not held out."""
    sample = sample.settled()
    return sample.held if sample.is_whole else sample.held.take(slice(stage_size(sample.size)))


def at_and_sums(kernel: Kernel, points: Points, weights: Float64, block: Points) -> tuple[Float64, Float64]:
    """The combination of points at the rows of a block, and the sums of the block's rows at the points."""
    mu, sums = np.zeros(len(block)), np.empty(len(points))
    dtype = block.left.dtype
    ones = np.ones(len(block), dtype)  # a product sums faster, and so few rows as well
    room = np.empty((min(_TILE, len(points)), len(block)), dtype)  # one for all tiles
    for start in range(0, len(points), _TILE):
        tile = slice(start, start + _TILE)
        some = points.take(tile)
        K = kernel.block(some, block, out=room[: len(some)])
        mu += weights[tile].astype(dtype) @ K
        sums[tile] = K @ ones
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
        return at_and_sums(kernel, points, nothing, kernel.prepare(rows[start : start + _ROWS]))[1]

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
    judging: int  # rows of the sample that candidates are judged by

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
        require(self.held_out.dtype == self.points.dtype and self.judging >= 1, "the rows that are held out")
        require(self.sample_seed >= 0, "the seed of a sample")

    @property
    def is_whole(self) -> bool:
        """Whether the sample holds all rows."""
        return self.population == len(self.sample)

    def seed(self, size: int) -> int | None:
        return self.sample_seed if stage_size(size) == len(self.sample) or self.is_whole else None

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
        weights = np.full(len(self.sample), self._share / max(len(self.rest), 1))
        a, outside = self._corrected(self.rest), self.places < 0
        weights[self.places[~outside]] = a[~outside]
        rows = np.concatenate([self.points[outside], self.sample])
        return FixedMean(self.kernel, rows, np.concatenate([a[outside], weights]))

    def _corrected(self, rows: Array) -> Float64:
        """The weights of the points beside rows of the sample."""
        sums = sums_over(self.kernel, rows, self.kernel.prepare(self.points))
        return self.span.solve(self.at_points - self._share / max(len(rows), 1) * sums)

    @property
    def _share(self) -> float:
        return max(0.0, 1 - len(self.points) / self.population)

    def at(self, points: Points) -> Float64:
        return self.quick.at(points)

    def exactly_at(self, points: Points) -> Float64:
        return self.full.exactly_at(points)

    def at_candidates(self, rows: Array) -> Float64:
        """By as many rows as it takes; by all, each pair compared once, where these are the sample itself."""
        if self._compares_all and np.array_equal(rows, self.sample):
            return self._at_own[-len(self.sample) :]
        return self._judging.at_many(rows)

    @property
    def _compares_all(self) -> bool:
        """Whether all pairs of rows of the sample are compared: that costs half of what it is to go by all rows."""
        return self.is_whole or len(self.rest) <= 2 * self.judging

    @cached_property
    def _judging(self) -> FixedMean:
        """The full estimate by some rows of the sample, which are a sample too."""
        if self._compares_all:
            return self.full
        some = self.rest[: self.judging]
        weights = np.full(len(some), self._share / max(len(some), 1))
        rows = np.concatenate([self.points, some])
        return FixedMean(self.kernel, rows, np.concatenate([self._corrected(some), weights]))

    @cached_property
    def _at_own(self) -> Float64:
        return self.full.at_own_rows()

    def sampled(self) -> Sampled | None:
        if self.is_whole:
            return None
        outside = self.population - len(self.points)
        if not len(self.held_out):  # all of them are points
            rest = max(len(self.rest), 1)
            return Sampled(
                kernel=self.kernel,
                rows=self.rest,
                population=max(outside, rest),
                share=self._share,
                span=self.span,
                at_points=self.at_points,
                target=self.population,
            )
        return Sampled(
            kernel=self.kernel,
            rows=self.held_out,
            population=outside - len(self.rest),
            share=self._share,
            span=self.span,
            at_points=self.at_points,
            chosen=len(self.rest) / outside,
            target=self.population,
            mean=self.full,
            norm=self.squared_norm(_TILE) if self._compares_all else None,
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
    n_prototypes: int  # that are looked for, or 0 where the number of points is given
    judging: int  # rows of the sample that candidates are judged by
    sums: Float64  # of all rows seen, at the points
    weights: Float64  # of the points: what rows are judged by
    adopted: int = 0  # rows seen by then
    renewed: int = 0  # rows seen when the points were chosen
    _prepared: Points | None = field(default=None, init=False, repr=False, compare=False)
    _span: Span | None = field(default=None, init=False, repr=False, compare=False)
    _known: Calibrated | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def begin(
        cls, kernel: Kernel, size: int, n_points: int | None, n_prototypes: int, first: Array, seed: int
    ) -> "CalibratedStream":
        """The first rows serve as points until the first block has been observed; later on as many rows as it takes,
        or ``n_points`` of them.
        """
        wanted = 0 if n_points is not None else n_prototypes
        n_points = min(points_for(n_prototypes) if n_points is None else n_points, stage_size(size))
        points = first[:n_points].copy()
        span = Span(kernel, points)
        weights = span.solve(sums_over(kernel, first, kernel.prepare(points)) / len(first))
        none, numbers = np.zeros(len(points)), np.arange(len(points))
        sample, drawn = UniformSample.empty(size, first, seed), UniformSample.empty(n_points, first, seed + 1)
        return cls(kernel, sample, drawn, points, numbers, wanted, judging_for(n_prototypes), none, weights)

    def __deepcopy__(self, memo: object) -> "CalibratedStream":
        other = replace(self, sample=self.sample.__deepcopy__(memo), drawn=self.drawn.__deepcopy__(memo))
        other._prepared, other._span, other._known = self._prepared, self._span, self._known
        return other

    def _check_form(self) -> None:
        points, seen, width = (len(self.points),), self.sample.seen, self.sample.rows.shape[1]
        require(are_rows(self.points, width) and are_finite(self.sample.rows), "the points of a mean")
        require(self.points.dtype == self.sample.rows.dtype, "the points of a mean")
        require(self.numbers.shape == self.sums.shape == self.weights.shape == points, "what is known of the points")
        require(are_finite(self.sums, self.weights) and self.judging >= 1, "what is known of the points")
        require(are_counts(self.n_prototypes), "the number of prototypes")
        unique = len(np.unique(self.numbers)) == len(self.numbers)
        require(
            unique and (self.numbers >= 0).all() and (self.numbers < max(seen, points[0])).all(), "whose points are"
        )
        require(1 <= len(self.points) <= self.drawn.size and self.drawn.seen == seen, "the number of points")
        require(are_rows(self.drawn.rows, width) and self.drawn.rows.dtype == self.points.dtype, "the next points")
        require(are_counts(self.adopted, self.renewed) and self.renewed <= self.adopted <= seen, "when points were set")

    def stream_sample(self) -> UniformSample:
        return self.sample

    def seed(self, size: int) -> int | None:
        return self.sample.seed if size == self.sample.size else None

    def meet(self, points: Points) -> tuple[Float64, Float64]:
        return at_and_sums(self.kernel, self._left(), self.weights, points)

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
        new = self.drawn.held.take(slice(max(self.sample.seen // _EARLY, _TILE)))
        span = Span(self.kernel, new.rows)
        if self.n_prototypes:
            held_out = self.sample.rows[len(stage_of(self.sample)) :]
            span = span.corner(enough_points(span, held_out, self.n_prototypes))
            new = new.take(slice(len(span.rows)))
        places = _places(new.numbers, self.numbers)
        others = places < 0
        sums = self.sums[places]
        sums[others] = self.sample.seen * known.full.at_many(new.rows[others])
        self.points, self.numbers, self.sums, self.renewed = new.rows, new.numbers, sums, self.sample.seen
        self._prepared, self._span, self._known = None, span, None

    def _calibrated(self) -> Calibrated:
        """What is known as of now."""
        if self._known is None:
            self.sample.settle()
            stage = stage_of(self.sample)
            held_out = self.sample.held.take(slice(len(stage), None))
            is_point = np.isin(held_out.numbers, self.numbers)
            self._known = Calibrated(
                kernel=self.kernel,
                points=self.points,
                at_points=self.sums / self.sample.seen,
                sample=stage.rows,
                held_out=held_out.rows[~is_point],
                places=_places(self.numbers, stage.numbers),
                population=self.sample.seen,
                sample_seed=self.sample.seed,
                judging=self.judging,
            )
            if self._span is not None:
                self._known.span = self._span
        return self._known

    def at(self, points: Points) -> Float64:
        return self.meet(points)[0]

    def exactly_at(self, points: Points) -> Float64:
        return self._calibrated().exactly_at(points)

    def at_candidates(self, rows: Array) -> Float64:
        return self._calibrated().at_candidates(rows)

    def sampled(self) -> Sampled | None:
        return self._calibrated().sampled()

    def judged_norm(self, step: int) -> float:
        return float(self.sums @ self.weights) / max(self.sample.seen, 1)

    def squared_norm(self, step: int) -> float:
        return self._calibrated().squared_norm(step)


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
        Rows of the sample; by default 320 for each prototype, at least 10,240 and at most 40,960, fewer where they have
        more than 1,024 columns. A fifth of them is held out to judge results by.
    points : int, optional
        Random rows of the sample: exchanged ones express as much with half as many, and cost more than the other half.
        By default as many as it takes, 128 to 3,072 and no more than four for each prototype or 1,024: until residuals
        are in doubt by a few hundredths at most.
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
        for name, least in (("sample", _LEAST), ("points", 1)):
            if getattr(self, name) is not None:
                check_size("CalibratedMean", name, getattr(self, name), least)
        check_seed("CalibratedMean", self.random_state)

    def check(self, target: Array | None) -> None:
        pass

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> MeanState:
        seed = sample_seed(rng, self.random_state)
        size = sample_for(n_prototypes, like.shape[1]) if self.sample is None else self.sample
        if target is None:
            return CalibratedStream.begin(kernel, size, self.points, n_prototypes, like, seed)
        sample = UniformSample.empty(size, target, seed)
        sample.observe(target, np.arange(len(target)))
        sample.settle()
        points = points_of(kernel, sample, n_prototypes) if self.points is None else self.points
        rows = stage_of(sample).rows[:points]
        return calibrated(kernel, sample, sums_over(kernel, target, kernel.prepare(rows)), judging_for(n_prototypes))


def points_of(kernel: Kernel, sample: UniformSample, n_prototypes: int) -> int:
    """How many rows of a settled sample are points: as many as it takes by what the sample says of them."""
    stage = stage_of(sample).rows
    most = min(points_for(n_prototypes), stage_size(sample.size))
    return enough_points(Span(kernel, stage[:most]), sample.rows[len(stage) :], n_prototypes)


def calibrated(kernel: Kernel, sample: UniformSample, sums: Float64, judging: int) -> Calibrated:
    """The mean of all rows a sample was drawn from, by their ``sums`` at its first rows."""
    sample = sample.settled()
    stage = stage_of(sample)
    return Calibrated(
        kernel=kernel,
        points=stage.rows[: len(sums)],
        at_points=sums / sample.seen,
        sample=stage.rows,
        held_out=sample.rows[len(stage) :],
        places=np.arange(len(sums)),
        population=sample.seen,
        sample_seed=sample.seed,
        judging=judging,
    )


def judging_for(n_prototypes: int) -> int:
    """How many rows of the sample candidates are judged by."""
    return _for(n_prototypes, _JUDGING)


@storable
@dataclass
class PointSums(SettledMean):
    """What adds rows up at points, to be a `Calibrated` mean in the end; until then rows are judged by an estimate.

    That is the combination of the points which agrees with the sample's mean at them.
    """

    kernel: Kernel
    points: Array
    weights: Float64
    _prepared: Points | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def by(cls, kernel: Kernel, sample: Array, n_points: int) -> "PointSums":
        """The first rows of a sample are the points. O(sample P d + P^3)."""
        points = sample[:n_points]
        weights = Span(kernel, points).solve(sums_over(kernel, sample, kernel.prepare(points)) / len(sample))
        return cls(kernel, points, weights)

    def __deepcopy__(self, memo: object) -> "PointSums":
        return self

    def _check_form(self) -> None:
        require(are_rows(self.points) and self.weights.shape == (len(self.points),), "the points of a mean")
        require(are_finite(self.weights), "the weights of points")

    def meet(self, points: Points) -> tuple[Float64, Float64]:
        if self._prepared is None:
            self._prepared = self.kernel.prepare(self.points)
        return at_and_sums(self.kernel, self._prepared, self.weights, points)

    def at(self, points: Points) -> Float64:
        return self.meet(points)[0]

    def squared_norm(self, step: int) -> float:
        return float(self.weights @ FixedMean(self.kernel, self.points, self.weights).at_many(self.points))
