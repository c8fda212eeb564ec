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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means._base import FixedMean, Sampled, SettledMean
from protosieve.means._sizes import candidates_in, candidates_of, enough_points, points_for
from protosieve.means._span import Span
from protosieve.sampling import UniformSample

_TILE = 512  # points at a time: with blocks of some 512 rows the similarities stay in the processor's cache
_ROWS = 1024  # of a target at a time


def at_and_sums(
    kernel: Kernel, points: Points, weights: Float64, block: Points, counts: Float64 | None = None
) -> tuple[Float64, Float64]:
    """The combination of points at the rows of a block, and the sums of the block's rows at the points, each row as
    often as it ``counts``.
    """
    mu, sums = np.zeros(len(block)), np.empty(len(points))
    dtype = block.left.dtype
    # a product sums faster, and so few rows as well
    ones = np.ones(len(block), dtype) if counts is None else counts.astype(dtype)
    room = np.empty((min(_TILE, len(points)), len(block)), dtype)  # one for all tiles
    for start in range(0, len(points), _TILE):
        tile = slice(start, start + _TILE)
        some = points.take(tile)
        K = kernel.block(some, block, out=room[: len(some)])
        mu += weights[tile].astype(dtype) @ K
        sums[tile] = K @ ones
    return mu, sums


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
    """The mean of ``population`` rows, known at points and by a sample. It never changes.

    ``sample`` are the rows of a uniform sample in the order of their hashes, ``held_out`` those after them; ``places``
    says where in the sample each point is, -1 if it is not there.
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
        return self.sample_seed if candidates_in(size) == len(self.sample) or self.is_whole else None

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
        sums = sums_over(self.kernel, rows, self.span.points)
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
        by_rest = Sampled(
            kernel=self.kernel,
            rows=self.rest if len(self.rest) else self.sample,
            population=max(outside, len(self.rest), len(self.sample) * (not len(self.rest)), 1),
            share=self._share,
            span=self.span,
            at_points=self.at_points,
            target=self.population,
        )
        if not len(self.held_out):  # all of them are points
            return by_rest
        return by_rest._replace(
            rows=self.held_out,
            population=outside - len(self.rest),
            chosen=len(self.rest) / outside,
            mean=self.full,
            norm=self.squared_norm(_TILE) if self._compares_all else None,
            is_fitted=False,
        )

    def judged_norm(self, step: int) -> float:
        return float(self.at_points @ self.quick.weights)

    def squared_norm(self, step: int) -> float:
        """That of the full estimate, which the sample's error makes larger."""
        return float(self.full.weights @ self._at_own)


def points_of(kernel: Kernel, sample: UniformSample, n_prototypes: int) -> int:
    """How many rows of a settled sample are points: as many as it takes by what the sample says of them."""
    candidates = candidates_of(sample).rows
    most = min(points_for(n_prototypes), candidates_in(sample.size))
    return len(enough_points(kernel, candidates[:most], sample.rows[len(candidates) :], n_prototypes).rows)


def calibrated(kernel: Kernel, sample: UniformSample, sums: Float64, judging: int) -> Calibrated:
    """The mean of all rows a sample was drawn from, by their ``sums`` at its first rows."""
    sample = sample.settled()
    candidates = candidates_of(sample)
    return Calibrated(
        kernel=kernel,
        points=candidates.rows[: len(sums)],
        at_points=sums / sample.seen,
        sample=candidates.rows,
        held_out=sample.rows[len(candidates) :],
        places=np.arange(len(sums)),
        population=sample.seen,
        sample_seed=sample.seed,
        judging=judging,
    )


@storable
@dataclass
class PointSums(SettledMean):
    """Adds up the rows of a target at points, for a `Calibrated` mean in the end.

    Until then rows are judged by an estimate: the combination of the points that agrees with the sample's mean at them.
    """

    kernel: Kernel
    points: Array
    weights: Float64

    @classmethod
    def by(cls, kernel: Kernel, sample: Array, n_points: int) -> "PointSums":
        """The first rows of a sample are the points. O(sample P d + P^3)."""
        span = Span(kernel, sample[:n_points])
        return cls(kernel, span.rows, span.solve(sums_over(kernel, sample, span.points) / len(sample)))

    def __deepcopy__(self, memo: object) -> "PointSums":
        return self

    def _check_form(self) -> None:
        require(are_rows(self.points) and self.weights.shape == (len(self.points),), "the points of a mean")
        require(are_finite(self.weights), "the weights of points")

    @cached_property
    def _prepared(self) -> Points:
        return self.kernel.prepare(self.points)

    def meet(self, points: Points) -> tuple[Float64, Float64]:
        return at_and_sums(self.kernel, self._prepared, self.weights, points)

    def at(self, points: Points) -> Float64:
        return self.meet(points)[0]

    def squared_norm(self, step: int) -> float:
        return float(self.weights @ FixedMean(self.kernel, self.points, self.weights).at_many(self.points))
