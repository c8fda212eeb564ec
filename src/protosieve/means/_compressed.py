"""A large sample, and the few weighted points that stand for it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, require
from protosieve._typing import Array, Float64, Indices
from protosieve.kernels import Kernel, Points
from protosieve.means._base import FixedMean, Mean, MeanState, Sampled, SettledMean
from protosieve.means._members import Members
from protosieve.means._reservoir import check_seed, check_size, draw
from protosieve.means._sample import Reservoir, lengthened

__all__ = ["Compressed", "CompressedMean", "RunningCompressed", "compress"]

_BLOCK = 512
_FEWEST = 512  # points, however few prototypes are wanted
_PER_PROTOTYPE = 4
_WORTH_IT = 4  # a sample of this many rows per point or fewer is used as it is
_PER_POINT = 8  # rows of a sample that may become points, for each: more make it no better
_OFFERED = 2048  # new rows of a running sample that may become points each time it is compressed


def compress(
    source: FixedMean, order: Indices, points: int, mu: Float64 | None = None, members: Members | None = None
) -> Members:
    """Choose weighted rows of a sample, by exchanges in one pass, so that their mean is near to the sample's.

    Rows are considered in the order given, after the ``members`` there are; ``mu`` is the sample's mean at its own
    rows, where that is known. O(len(order) (len(rows) d + points^2)).
    """
    kernel = source.kernel
    if members is not None:
        members.renew(source.at(kernel.prepare(members.rows)))
    for start in range(0, len(order), _BLOCK):
        part = order[start : start + _BLOCK]
        rows = source.rows[part]
        prepared = kernel.prepare(rows)
        means = source.at(prepared) if mu is None else mu[part]
        members = members or Members.none(points, 0.0, rows, prepared)
        members.offer(kernel, part, rows, prepared, kernel.diagonal(prepared).astype(np.float64), means)
    assert members is not None
    return members


def _mean_of(kernel: Kernel, members: Members) -> FixedMean:
    slots = members.exchange.slots
    return FixedMean(kernel, members.rows[slots], members.exchange.w[slots])


@storable
@dataclass
class Compressed(SettledMean):
    """Rows are judged by a few weighted points; what is chosen in the end is weighed by the sample they stand for."""

    source: FixedMean
    points: FixedMean

    def _check_form(self) -> None:
        require(self.source.rows.shape[1] == self.points.rows.shape[1], "the points of a sample have other columns")

    def own(self) -> None:
        self.source.own()

    def at(self, points: Points) -> Float64:
        return self.points.at(points)

    def exactly_at(self, points: Points) -> Float64:
        return self.source.at(points)

    def sample_size(self) -> int | None:
        return self.source.sample_size()

    def sampled(self) -> Sampled | None:
        return self.source.sampled()

    def squared_norm(self, step: int) -> float:
        return self.source.squared_norm(step)


@storable
@dataclass
class RunningCompressed(MeanState):
    """A reservoir that follows the stream, compressed anew when half of it has changed: each time the stream has
    grown by some two thirds. The points there are stay where they still serve; the new rows may replace them.

    While the sample is small it is the mean itself, adopted when a tenth of it has changed.
    """

    kernel: Kernel
    reservoir: Reservoir
    size: int  # points
    rng: np.random.Generator
    fresh: NDArray[np.bool_]  # the places of the reservoir that have changed since
    members: Members | None = None
    points: FixedMean | None = None

    def _check_form(self) -> None:
        width = self.reservoir.rows.shape[1]
        require(are_finite(self.reservoir.rows), "the rows of a sample")
        held = [part.rows for part in (self.members, self.points) if part is not None]
        require(all(rows.shape[1] == width for rows in held), "the points of a sample have other columns")
        require(self.fresh.shape == (len(self.reservoir.rows),), "the places of a sample")
        require(self.size >= 1 and are_counts(self.size), "the number of points")
        require(self.members is None or self.members.exchange.room == self.size, "room for points")

    @property
    def _is_small(self) -> bool:
        return self.reservoir.filled <= _WORTH_IT * self.size

    def stream_sample(self) -> Reservoir:
        return self.reservoir

    def observe(self, rows: Array) -> None:
        places = self.reservoir.observe(rows)[1]
        if len(self.fresh) < len(self.reservoir.rows):
            self.fresh = lengthened(self.fresh, len(self.reservoir.rows))
        self.fresh[places] = True

    def stale(self) -> bool:
        share = 10 if self._is_small else 2
        return self.points is None or share * int(np.count_nonzero(self.fresh)) >= self.reservoir.filled

    def refresh(self) -> bool:
        if self.points is not None and not self.fresh.any():
            return False
        if self._is_small:
            self.points = FixedMean.over(self.kernel, self.reservoir.sample.copy())
        else:
            places = np.flatnonzero(self.fresh) if self.members else np.arange(self.reservoir.filled)
            order = self.rng.permutation(places)[:_OFFERED]
            self.members = compress(self._sample(), order, self.size, members=self.members)
            self.points = _mean_of(self.kernel, self.members)
        self.fresh[:] = False
        return True

    def _sample(self) -> FixedMean:
        return FixedMean.over(self.kernel, self.reservoir.sample, self.reservoir.seen)

    def at(self, points: Points) -> Float64:
        if self.points is None:
            self.refresh()
        assert self.points is not None
        return self.points.at(points)

    def exactly_at(self, points: Points) -> Float64:
        return self._sample().at(points)

    def sample_size(self) -> int | None:
        return self._sample().sample_size()

    def sampled(self) -> Sampled | None:
        return self._sample().sampled()

    def judged_norm(self, step: int) -> float:
        return 0.0 if self.points is None else self.points.squared_norm(step)

    def squared_norm(self, step: int) -> float:
        sample = self._sample()
        return float(sample.weights @ sample.at_own_rows(step))


@storable
@dataclass(frozen=True)
class CompressedMean(Mean):
    """The mean over a large uniform sample at the cost of a few hundred rows: the sample compressed to points.

    Drawing ``sample`` rows and choosing ``points`` prototypes of *them*, with the exchanges of `ProtoSwap`, takes a
    second or so, once; then a row costs ``points`` kernel values instead of ``sample``. Rows are judged by the points;
    the weights, the value and the certificate of what is chosen in the end are computed with the whole sample again.

    The default for streams, and for targets of more than 20,000 rows. With a target the sample is drawn once.
    Without one it follows the stream and is compressed anew when half of it has changed, so O(log n) times in all.

    Parameters
    ----------
    sample : int, default 16384
        Rows in the sample. Its own error bounds the quality: the squared MMD between a sample and what it was drawn
        from falls as 1 / sample.
    points : int, optional
        Weighted points it is compressed to; by default four for each prototype, and at least 512. A sample of no more
        than four times as many rows is used as it is.
    random_state : int, optional
        Seed of the sample; by default it follows from the selector's ``random_state``.

    Notes
    -----
    Compressing costs O(sample^2 d + 8 points^3); while following a stream, 2,048 new rows are considered as points each
    time, O(2048 (sample d + points^2)). Memory is the sample, once or twice, and O(points^2).

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve import ProtoSwap
    >>> from protosieve.kernels import Gaussian
    >>> from protosieve.means import CompressedMean, ExactMean
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> exact = ProtoSwap(20, kernel=Gaussian(1.0), random_state=0).fit(X)
    >>> quick = ProtoSwap(20, kernel=Gaussian(1.0), mean=CompressedMean(points=200), random_state=0).fit(X)
    >>> abs(quick.objective_ / exact.objective_ - 1) < 1e-3
    True
    """

    sample: int = 16384
    points: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        check_size("CompressedMean", "sample", self.sample)
        if self.points is not None:
            check_size("CompressedMean", "points", self.points)
        check_seed("CompressedMean", self.random_state)

    def check(self, target: Array | None) -> None:
        pass

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> MeanState:
        rng = rng if self.random_state is None else np.random.default_rng(self.random_state)
        points = max(_FEWEST, _PER_PROTOTYPE * n_prototypes) if self.points is None else self.points
        if target is None:
            reservoir = Reservoir.empty(self.sample, like, rng)
            own = np.random.default_rng(rng.integers(2**63))
            return RunningCompressed(kernel, reservoir, points, own, np.zeros(0, np.bool_))
        source = draw(kernel, target, self.sample, rng)
        if len(source.rows) <= _WORTH_IT * points:
            return source
        mu = source.at_own_rows(_BLOCK)
        source.norm = float(mu.mean())
        members = compress(source, rng.permutation(len(mu))[: _PER_POINT * points], points, mu)
        return Compressed(source, _mean_of(kernel, members))
