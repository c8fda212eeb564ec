"""The mean of every row in fixed memory, as it is asked for, and as it follows a stream."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means._base import FOREVER, FixedMean, Mean, MeanState, Sampled
from protosieve.means._calibrated import Calibrated, at_and_sums, calibrated, points_of, sums_over
from protosieve.means._reservoir import StreamMean, check_seed, check_size, sample_seed
from protosieve.means._sizes import candidates_in, candidates_of, enough_points, judging_for, points_for, sample_for
from protosieve.means._span import Span
from protosieve.sampling import UniformSample

_LEAST = 10  # rows of a sample: two are held out then
_EARLY = 8  # of so many rows one is a point at most: factors cost little while a stream is short
_FEWEST = 512  # points, where there are as many rows
_NEWEST = 64  # rows of the sample, that tell whether points still express what comes


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
        rows = candidates_of(sample).rows[:points]
        return calibrated(kernel, sample, sums_over(kernel, target, kernel.prepare(rows)), judging_for(n_prototypes))


@storable
@dataclass
class CalibratedStream(StreamMean):
    """A calibrated mean that follows the stream. Arrays are replaced, never written to: copies share them.

    The points are a uniform sample of their own, taken anew each time the stream has doubled; about half of them stay,
    and at the others the sums so far are those of the full estimate. (The first rows of the large sample would not do:
    without them its early rows are fewer than its late ones.) What rows are judged by, the weights of the points, is
    adopted each time the stream has grown by a tenth. Where weights fade the points are taken anew once in a half-life,
    too, and as soon as they do not express what comes.
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
    unexpressed: float = 0.0  # the share of the newest rows that they did not express, where weights fade
    _span: Span = field(init=False, repr=False, compare=False)  # of the points
    _known: Calibrated | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._span = Span(self.kernel, self.points)

    @classmethod
    def begin(
        cls, kernel: Kernel, size: int, n_points: int | None, n_prototypes: int, first: Array, seed: int
    ) -> "CalibratedStream":
        """The first rows serve as points until the first block has been observed; later on as many rows as it takes,
        or ``n_points`` of them.
        """
        wanted = 0 if n_points is not None else n_prototypes
        n_points = min(points_for(n_prototypes) if n_points is None else n_points, candidates_in(size))
        span = Span(kernel, first[:n_points].copy())
        weights = span.solve(sums_over(kernel, first, span.points) / len(first))
        none, numbers = np.zeros(len(weights)), np.arange(len(weights))
        sample, drawn = UniformSample.empty(size, first, seed), UniformSample.empty(n_points, first, seed + 1)
        return cls(kernel, sample, drawn, span.rows, numbers, wanted, judging_for(n_prototypes), none, weights)

    def __deepcopy__(self, memo: object) -> "CalibratedStream":
        other = replace(self, sample=self.sample.__deepcopy__(memo), drawn=self.drawn.__deepcopy__(memo))
        other._span, other._known = self._span, self._known
        return other

    def _check_form(self) -> None:
        points, seen, width = (len(self.points),), self.sample.seen, self.sample.rows.shape[1]
        require(are_rows(self.points, width) and are_finite(self.sample.rows), "the points of a mean")
        require(self.points.dtype == self.sample.rows.dtype, "the points of a mean")
        require(self.numbers.shape == self.sums.shape == self.weights.shape == points, "what is known of the points")
        require(
            are_finite(self.sums, self.weights, self.unexpressed) and self.judging >= 1, "what is known of the points"
        )
        require(are_counts(self.n_prototypes), "the number of prototypes")
        require(len(self.sample.all_numbers) > 0 or seen == 0, "the rows of a sample")
        unique = len(np.unique(self.numbers)) == len(self.numbers)
        require(
            unique and (self.numbers >= 0).all() and (self.numbers < max(seen, points[0])).all(), "whose points are"
        )
        require(1 <= len(self.points) <= self.drawn.size and self.drawn.seen == seen, "the number of points")
        require(are_rows(self.drawn.rows, width) and self.drawn.rows.dtype == self.points.dtype, "the next points")
        require(are_counts(self.adopted, self.renewed) and self.renewed <= self.adopted <= seen, "when points were set")

    def fade(self, half_life: int) -> None:
        super().fade(half_life)
        self.drawn = replace(self.drawn, half_life=half_life)

    def meet(self, points: Points) -> tuple[Float64, Float64]:
        return at_and_sums(self.kernel, self._span.points, self.weights, points, self.sample.fading(len(points)))

    def observe(self, rows: Array, numbers: NDArray[np.int64], sums: Float64 | None) -> None:
        assert sums is not None
        self.sample.observe(rows, numbers)
        self.drawn.observe(rows, numbers)
        self.sums = self.sums * self.sample.faded(len(rows)) + sums
        self._known = None

    def _forget(self) -> None:
        """The sums so far are those of the sample; points are chosen anew at the next refresh."""
        self.sample.settle()
        self._span, self._known, self.renewed = Span(self.kernel, self.points), None, 0
        by_sample = FixedMean.over(self.kernel, candidates_of(self.sample).rows)
        self.sums = self.sample.mass * by_sample.at_many(self.points)

    def _adopt(self) -> None:
        soon = self.renewed + int(self.sample.half_life or FOREVER)
        if self.sample.seen >= min(2 * self.renewed, soon) or self._is_outgrown():
            self._renew()
        self.weights = self._span.solve(self.sums / self.sample.mass)

    def _is_outgrown(self) -> bool:
        """Whether the points express half as much of the newest rows of a stream that fades, or leave twice as much."""
        if self.sample.half_life is None:
            return False
        left, then = self._unexpressed(), self.unexpressed
        return left > 2 * then or 1 - left < (1 - then) / 2

    def _unexpressed(self) -> float:
        """The share of the newest rows that the points do not express."""
        self.sample.settle()
        newest = self.sample.held.take(np.argsort(-self.sample.numbers)[:_NEWEST])
        rows = newest.rows[~np.isin(newest.numbers, self.numbers)].astype(np.float64)
        coordinates = self._span.coordinates(rows)
        own = float(self.kernel.diagonal(self.kernel.prepare(rows)).sum())
        return min(max(1 - float((coordinates**2).sum()) / own, 0.0), 1.0) if own > 0 else 0.0

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
        sums[others] = self.sample.mass * known.full.at_many(new.rows[others])
        self.points, self.numbers, self.sums, self.renewed = new.rows, new.numbers, sums, self.sample.seen
        self._span, self._known = span, None
        self.unexpressed = 0.0 if self.sample.half_life is None else self._unexpressed()

    def _calibrated(self) -> Calibrated:
        """What is known as of now."""
        if self._known is None:
            self.sample.settle()
            candidates = candidates_of(self.sample)
            held_out = self.sample.held.take(slice(len(candidates), None))
            is_point = np.isin(held_out.numbers, self.numbers)
            population = self.sample.population
            if self.sample.half_life is not None and not self.sample.is_whole:  # points need not be in the sample
                population = max(population, len(self.sample.held) + len(self.points) + 1)
            self._known = Calibrated(
                kernel=self.kernel,
                points=self.points,
                at_points=self.sums / self.sample.mass,
                sample=candidates.rows,
                held_out=held_out.rows[~is_point],
                places=_places(self.numbers, candidates.numbers),
                population=population,
                sample_seed=self.sample.seed,
                judging=self.judging,
            )
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
        return float(self.sums @ self.weights) / max(self.sample.mass, 1)

    def squared_norm(self, step: int) -> float:
        return self._calibrated().squared_norm(step)


def _places(numbers: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each number stands among others, -1 where it does not. O((n + m) log n)."""
    if not len(among):
        return np.full(len(numbers), -1)
    order = np.argsort(among)
    at = order[np.minimum(np.searchsorted(among, numbers, sorter=order), len(among) - 1)]
    return np.where(among[at] == numbers, at, -1)
