"""A calibrated mean that follows the stream."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means._base import MeanState, Sampled
from protosieve.means._calibrated import Calibrated, at_and_sums, sums_over
from protosieve.means._points import enough_points
from protosieve.means._reservoir import rows_until_grown
from protosieve.means._sizes import candidates_in, candidates_of, judging_for, points_for
from protosieve.means._span import Span
from protosieve.sampling import UniformSample

__all__ = ["CalibratedStream"]

_EARLY = 8  # of so many rows one is a point at most: factors cost little while a stream is short
_FEWEST = 512  # points, where there are as many rows


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
        n_points = min(points_for(n_prototypes) if n_points is None else n_points, candidates_in(size))
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
        new = self.drawn.held.take(slice(max(self.sample.seen // _EARLY, _FEWEST)))
        span = Span(self.kernel, new.rows)
        if self.n_prototypes:
            held_out = self.sample.rows[len(candidates_of(self.sample)) :]
            span = enough_points(self.kernel, new.rows, held_out, self.n_prototypes, len(self.points))
            new = new.take(slice(len(span.rows)))
        before = _places(new.numbers, self.numbers)
        others = before < 0
        sums = self.sums[before]
        sums[others] = self.sample.seen * known.full.at_many(new.rows[others])
        self.points, self.numbers, self.sums, self.renewed = new.rows, new.numbers, sums, self.sample.seen
        self._prepared, self._span, self._known = None, span, None

    def _calibrated(self) -> Calibrated:
        """What is known as of now."""
        if self._known is None:
            self.sample.settle()
            candidates = candidates_of(self.sample)
            held_out = self.sample.held.take(slice(len(candidates), None))
            is_point = np.isin(held_out.numbers, self.numbers)
            self._known = Calibrated(
                kernel=self.kernel,
                points=self.points,
                at_points=self.sums / self.sample.seen,
                sample=candidates.rows,
                held_out=held_out.rows[~is_point],
                places=_places(self.numbers, candidates.numbers),
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


def _places(numbers: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each number stands among others, -1 where it does not. O((n + m) log n)."""
    if not len(among):
        return np.full(len(numbers), -1)
    order = np.argsort(among)
    at = order[np.minimum(np.searchsorted(among, numbers, sorter=order), len(among) - 1)]
    return np.where(among[at] == numbers, at, -1)
