"""Coverage: every row of the target should have a prototype near it."""

import copy
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError, ParameterError, arg
from protosieve.kernels import Kernel, Points
from protosieve.means import FOREVER, candidates_in, with_held_out
from protosieve.objectives._base import BestPossible, Block, Need, Objective, Weighed
from protosieve.sampling import EVERY, SampledRows, UniformSample, hashes

_BLOCK = 512
_EACH = 64, 12288, 32768  # rows of the target for each prototype, between two bounds
_CANDIDATES = 64  # compared with all rows that judge at once
_TOWARDS_SECOND = 0.3  # of the way: closest for 100 of 5,000 letters and of 5,000 questions to a bank


def covering_for(n_prototypes: int) -> int:
    """How many rows of the target choose so many prototypes."""
    each, least, most = _EACH
    return min(max(each * int(n_prototypes), least), most)


@storable
@dataclass(frozen=True, eq=False)
class Covered:
    """What a set covers: of each row of the target the similarity to its nearest member, or zero.

    It stands where a `NonNegativeQP` stands in a set of the kernel mean. O(sample) memory; O(1) when `sealed`.
    """

    size: int
    value: float
    near: Array

    @classmethod
    def of(cls, size: int, near: Array) -> "Covered":
        return cls(size, float(near.mean(dtype=np.float64)), near)

    @property
    def weights(self) -> Float64:
        """None so far: shares are counted at the end."""
        return np.zeros(self.size)

    @property
    def is_sealed(self) -> bool:
        return not len(self.near)

    def gains(self, similarities: Array) -> Float64:
        """What newcomers with these similarities to the target would add; it overwrites them."""
        return np.asarray(_gained(similarities, self.near).mean(axis=1, dtype=np.float64))

    def twin(self) -> "Covered":
        """A copy; nothing in it changes."""
        return self

    def sealed(self) -> "Covered":
        """No row will be judged from here any more."""
        return replace(self, near=self.near[:0].copy())

    def _check_form(self) -> None:
        require(are_counts(self.size) and self.near.ndim == 1, "what a set covers")
        require(are_finite(self.value, self.near), "what a set covers")

    def _check(self) -> None:
        self._check_form()


@storable
@dataclass(eq=False)
class Begun:
    """A sample of the target, and how rows are compared with it."""

    kernel: Kernel
    drawn: UniformSample
    follows: bool = False  # whether the stream is the target
    compared: bool = True  # whether rows are compared with it as they come
    snapshot: Array | None = None  # by these, where it follows the stream
    adopted: int = 0  # rows seen when that was made
    points: Points | None = field(default=None, init=False, repr=False)  # the same, prepared

    def __deepcopy__(self, memo: object) -> "Begun":
        """A copy that shares all but the sample: other arrays are replaced, never written to."""
        twin = copy.copy(self)
        twin.drawn = copy.deepcopy(self.drawn)
        return twin

    def _check_form(self) -> None:
        require(self.snapshot is None or are_rows(self.snapshot), "the rows of a target")
        require((self.snapshot is not None) == (self.follows and self.compared), "the rows of a target")
        require(are_counts(self.adopted) and self.adopted <= self.drawn.seen, "what is known of a target")


@storable
@dataclass(eq=False)
class Coverage(Objective):
    """``f(S) = mean over the target of max_{s in S} k(x, s)``: the similarity of a row to its nearest prototype.

    The objective to choose rows for labelling, for looking at, or as neighbours to classify by. The kernel mean
    *matches*: weighted prototypes have the statistics of the data. This one *covers*: no row is far from a prototype.
    It is monotone and submodular, and known as facility location; with a distance in place of a similarity it is
    k-medoids. A row is not covered by a prototype of similarity zero or less, as those of `Cosine` may be: f counts
    ``max(k, 0)``.

    Weights are the shares of the target that are nearest to each prototype. Rows that none covers have no nearest: the
    weights sum to the share of the rows that are covered at all, which is 1 where similarities are positive.

    Parameters
    ----------
    sample : int, optional
        Rows of the target by which rows are chosen, drawn at random: by default 64 for each prototype, at least 12,288
        and at most 32,768 of them. A quarter as many are drawn to judge the result. If the target has no more rows than
        these together, all of them judge.

    Notes
    -----
    The kernel is that of the selector. Which rows are nearest does not depend on the width of a Gaussian, only how much
    a row far from all prototypes counts; the result hardly does either.

    `ProtoSwap` compares rows when a result is asked for, and with a target that is given as they come, too, and covers
    most. `ProtoDash` is greedy. `Streak`, `SieveStreaming` and `ProtoBasic` judge rows as they come. Without a target
    they do so by the sample as it was when the stream had nine tenths of its rows, without the fifth of it that only
    judges results; all sets are compared with it anew when it changes. A row costs as many kernel values as the sample
    has rows, and a set keeps a number for each of these.

    ``result_.certificate.best`` says how much less is covered than by the best rows of the same number, which nobody
    knows: see `protosieve.result.BestOfSize`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import ProtoSwap
    >>> from protosieve.objectives import Coverage
    >>> X, digit = load_digits(return_X_y=True)
    >>> result = ProtoSwap(60, objective=Coverage(), random_state=0).fit(X[:1000]).result_
    >>> round(float(result.weights.sum()), 6)
    1.0

    Classify other digits by the nearest of the 60 that were labelled:

    >>> nearest = ((X[1000:, None] - result.rows) ** 2).sum(axis=2).argmin(axis=1)
    >>> bool((digit[result.indices][nearest] == digit[1000:]).mean() > 0.85)
    True
    """

    offers: ClassVar[tuple[Need, ...]] = (Need.VALUES, Need.GAINS, Need.EXCHANGES)
    explains: ClassVar[str] = "full coverage"
    compares_rows: ClassVar[bool] = True
    signed = False

    sample: int | None = None
    _begun: Begun | None = field(default=None, repr=False, compare=False)  # set by `over` and `by`
    kernel: Kernel | None = field(default=None, init=False, repr=False, compare=False)  # that of the selector

    def __post_init__(self) -> None:
        n = self.sample
        if n is not None and (isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 1):
            raise ParameterError(f"Coverage: {arg('sample')} must be a whole number of at least 1, got {n!r}")
        self.kernel = None if self._begun is None else self._begun.kernel

    @property
    def begun(self) -> Begun:
        """What is known of the target, once there is one."""
        assert self._begun is not None
        return self._begun

    def over(
        self, kernel: Kernel, target: Array | None, like: Array, seed: int, *, m: int, compared: bool
    ) -> "Coverage":
        """The objective of m prototypes for a target, or for a stream of rows ``like`` these that is its own."""
        size = self._size(m)
        drawn = UniformSample.empty(max(with_held_out(size), size + 1), like, seed)
        found = replace(self, sample=size, _begun=Begun(kernel, drawn, follows=target is None, compared=compared))
        if target is not None:
            drawn.observe(target, np.arange(len(target)))
            drawn.settle()
        elif compared:
            found.begun.snapshot = found._part(like, np.arange(len(like)), judges=False)[:size]
        return found

    def fade(self, half_life: int) -> None:
        """Before the first row: let those of the stream weigh half as much after so many more."""
        self.begun.drawn = replace(self.begun.drawn, half_life=half_life)

    def by(self, kernel: Kernel, rows: Array, population: int, m: int = 1) -> "Coverage":
        """The objective of m prototypes for a target, by rows that were drawn at random of its ``population`` rows.

        Of the last fifth of them the first judge: candidates, where they are of the same sample, must not be among
        these. If the rows are the whole target and not too many, all of them choose and judge.
        """
        size = self._size(m)
        most = with_held_out(size)
        if len(rows) == population <= most:
            return replace(self, sample=size, _begun=Begun(kernel, UniformSample.drawn(rows, population)))
        judging = min(candidates_in(len(rows)), len(rows) - 1)
        choosing = max(min(size, judging), 1)
        kept = np.concatenate([rows[:choosing], rows[judging:][: max(most - size, 1)]])
        drawn = UniformSample.drawn(kept, population)
        return replace(self, sample=choosing, _begun=Begun(kernel, drawn))

    def for_rows(self) -> "Coverage":
        """As much of it as judges rows one by one."""
        return self

    def for_sample(self, rows: Array, population: int) -> "Coverage":
        """The objective for a target of which these rows are a uniform sample, in any order."""
        return self.by(self.compared_by, rows, population)

    def _size(self, m: int = 1) -> int:
        """Rows that choose m prototypes; settled once there is a target."""
        return covering_for(m) if self.sample is None else int(self.sample)

    def _choosing(self) -> int:
        """How many rows of the sample may choose: where weights fade it may have room for more than it holds."""
        sample = self._sample.settled()
        return self._size() if sample.is_whole else min(self._size(), candidates_in(len(sample.rows)))

    def describe(self) -> str:
        return repr(self.kernel)

    def none_helps(self, n_rows: int) -> str:
        remedy = "Do not centre the rows, or use Gaussian()"
        if self.compared_by.nonnegative:
            remedy = "All are too far from it for this width: choose a larger one"
        return (
            f"none of the {n_rows} rows covers any row of the target: under {self.kernel!r} no similarity to these is "
            f"above 0. {remedy}"
        )

    def keeps_more(self) -> str:
        return "ProtoSwap and ProtoDash keep as many as add anything; copies of a row add nothing"

    def block(self, first: int, rows: Array) -> Block:
        """Rows with what each covers alone, O(B sample d); as they are where they are not compared yet."""
        if not self.begun.compared:
            return Block(first, rows, Points(rows), np.zeros(len(rows)), np.ones(len(rows)))
        points = self._prepared(rows)
        found = self.similarities(points, self.target, np.arange(first, first + len(rows)))
        np.maximum(found, 0, out=found)
        return Block(first, rows, points, found.mean(axis=1, dtype=np.float64), np.ones(len(rows)), similarities=found)

    def similarities(self, rows: Array | Points, target: Points, numbers: NDArray[np.int64]) -> Array:
        """Of rows of these numbers to those of the target, a line each; `InputError` where one is not finite."""
        points = rows if isinstance(rows, Points) else self._prepared(rows)
        with np.errstate(all="ignore"):
            found = self.compared_by.block(points, target)
            means = found.mean(axis=1, dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(means))
        if len(wrong):
            self._refuse(f"row {numbers[wrong[0]]}: its similarity to the target", means[wrong[0]], found.dtype)
        return found

    def _prepared(self, rows: Array) -> Points:
        with np.errstate(all="ignore"):
            return self.compared_by.prepare(rows)

    def _refuse(self, what: str, value: float, dtype: np.dtype[Any]) -> NoReturn:
        raise InputError(
            f"{what} under {self.compared_by!r} is {value}; scale the columns or choose a width that {dtype} can hold"
        )

    def at_zero(self, rows: Array) -> Float64:
        parts = (self.block(0, rows[start : start + _BLOCK]).mu for start in range(0, len(rows), _BLOCK))
        return np.concatenate([np.zeros(0), *parts])

    def means(self, rows: Array) -> Float64:
        """What each of many rows covers alone."""
        return self.at_zero(rows)

    def observe(self, block: Block) -> None:
        if self.begun.follows:
            self._sample.observe(block.rows, block.numbers)

    @property
    def in_threads(self) -> bool:
        return self.begun.compared and self.compared_by.in_threads

    def rows_ahead(self) -> int:
        """A refresh is due when the stream has grown by a tenth; after the first block, that all begins with."""
        if not (self.begun.follows and self.begun.compared):
            return FOREVER
        return self._sample.rows_ahead(self.begun.adopted)

    def refresh(self) -> bool:
        if not (self.begun.follows and self.begun.compared) or self.begun.adopted == self._sample.seen:
            return False
        self._sample.settle()
        self.begun.snapshot = self._part(self._sample.rows, self._sample.numbers, judges=False)[: self._choosing()]
        self.begun.adopted, self.begun.points = self._sample.seen, None
        return True

    @property
    def _sample(self) -> UniformSample:
        return self.begun.drawn

    @property
    def compared_by(self) -> Kernel:
        """The kernel, once there is one."""
        return self.begun.kernel

    @property
    def target(self) -> Points:
        """The rows of the target by which rows are judged as they come."""
        if self.begun.points is None:
            self.begun.points = self.chosen_by() if self.begun.snapshot is None else self._prepared(self.begun.snapshot)
        return self.begun.points

    def chosen_by(self) -> Points:
        """The rows of the target by which rows are chosen, as of now."""
        return self._prepared(self._sample.settled().rows[: self._choosing()])

    def judged_by(self) -> Array:
        """The rows of the target that judge a result: all if they are known, else some that had no part in it."""
        sample = self._sample.settled()
        return sample.rows if sample.is_whole else self._part(sample.rows, sample.numbers, judges=True)

    def may_be_chosen(self, sampled: SampledRows) -> SampledRows:
        """Of a sample of the stream, drawn by the same ``seed``, the rows that do not judge."""
        sample = self._sample.settled()
        if sample.is_whole or not self.begins(sampled):
            return sampled
        judges = self._part(sample.numbers, sample.numbers, judges=True)
        return sampled.take(np.flatnonzero(~np.isin(sampled.numbers, judges)))

    def begins(self, sampled: SampledRows) -> bool:
        """Whether the stream of which this is a sample begins with the target, as where it is its own: rows of the same
        numbers are the same.
        """
        sample = self._sample.settled()
        _, here, there = np.intersect1d(sampled.numbers, sample.numbers, return_indices=True)
        return len(here) > 0 and np.array_equal(sampled.rows[here], sample.rows[there])

    @property
    def seed(self) -> int:
        """Of the sample."""
        return self._sample.seed

    def _part(self, rows: Array, numbers: NDArray[np.int64], *, judges: bool) -> Array:
        """Those of the sample that judge, or those that choose; one at least."""
        mine = self._are_judges(numbers) == judges
        return rows[mine] if mine.any() else rows[-1:]

    def _are_judges(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The last ones. Where earlier samples chose, too, the number of a row decides: no judge was in one of them."""
        if self.begun.follows and self.begun.compared:
            return np.asarray(hashes(self._sample.seed + 1, numbers) >= np.uint64(candidates_in(EVERY + 1)))
        return np.arange(len(numbers)) >= self._choosing()

    # -- sets

    def empty(self) -> Covered:
        """The set without members."""
        return Covered(0, 0.0, np.zeros(len(self.target), self.target.left.dtype))

    def cover(self, rows: Array, sets: Sequence[Sequence[int] | Indices]) -> list[Covered]:
        """What sets of these rows cover, each given by the places of its members. O(len(rows) sample d)."""
        points, target = self.compared_by.prepare(rows), self.target
        near = np.zeros((len(sets), len(target)), target.left.dtype)
        for start in range(0, len(target), _BLOCK):
            part = slice(start, start + _BLOCK)
            K = self.compared_by.block(points, target.take(part))
            for line, members in zip(near, sets, strict=True):
                np.maximum(line[part], K[members].max(axis=0, initial=0), out=line[part])
        return [Covered.of(len(members), line.copy()) for line, members in zip(near, sets, strict=True)]

    def covered_by(self, rows: Array, target: Points) -> Array:
        """What rows cover of each row of a target. O(len(rows) len(target) d)."""
        points, near = self.compared_by.prepare(rows), np.zeros(len(target), target.left.dtype)
        for start in range(0, len(target), _BLOCK):
            part = slice(start, start + _BLOCK)
            near[part] = self.compared_by.block(points, target.take(part)).max(axis=0, initial=0)
        return near

    def nearest(self, prototypes: Array, rows: Array) -> tuple[Indices, Float64]:
        """Of each row the nearest prototype, and the similarity to it. O(rows prototypes d)."""
        kernel, chosen = self.compared_by, self.compared_by.prepare(prototypes)

        def of(start: int) -> tuple[Indices, Float64]:
            K = kernel.block(kernel.prepare(rows[start : start + _BLOCK]), chosen)
            nearest = K.argmax(axis=1)
            return nearest, K[np.arange(len(K)), nearest].astype(np.float64)

        found = ahead_of(of, range(0, len(rows), _BLOCK), in_threads=kernel.in_threads)
        nearest, similarities = zip(*found, strict=True)
        return np.concatenate(nearest), np.concatenate(similarities)

    def weigh(self, rows: Array, start: Float64) -> Weighed:
        """Shares of all rows that are known, and the value by those that judge."""
        whole = self._sample.settled()
        nearest, similarities = self.nearest(rows, whole.rows)
        shares = np.bincount(nearest[similarities > 0], minlength=len(rows)) / len(nearest)
        judged = similarities if whole.is_whole else self._part(similarities, whole.numbers, judges=True)
        return Weighed(shares, float(np.maximum(judged, 0).mean()))

    def weighed(self, rows: Array, weights: Float64) -> Weighed:
        """Weights follow from rows."""
        return self.weigh(rows, weights)

    def best_possible(self, prototypes: Array, room: int, keep: Array) -> BestPossible:
        """What the best ``room`` candidates can cover. Candidates are rows of the sample: all of them where that is the
        whole target, else those that do not judge. O(sample judges d).

        For any level y(x) of each row and any rows S*, ``max_{s in S*} k(x, s) <= y(x) + sum_{s in S*} max(k(x, s) -
        y(x), 0)``. So the mean of y, and the sum of the ``room`` largest means of ``max(k(x, s) - y(x), 0)``, bound
        ``f(S*)``. Where y is what prototypes cover, these are what candidates would add to them. Prototypes then add
        nothing; a level nearer to the second nearest of them makes all alike, and the bound closer. Two are tried.
        Rows to ``keep`` are in every S*: a level that is no lower than what they cover needs no gain of theirs.
        """
        kernel, sample, judges = self.compared_by, self._sample.settled(), self.judged_by()
        candidates = sample.rows if sample.is_whole else self._part(sample.rows, sample.numbers, judges=False)
        near, target = self._two_nearest(prototypes, judges), kernel.prepare(judges)
        levels = [near[0], near[0] - _TOWARDS_SECOND * (near[0] - near[1])]
        if len(keep):
            levels[1] = np.maximum(levels[1], self.covered_by(keep, target))

        def similarities(which: slice | Indices) -> Array:
            return kernel.block(kernel.prepare(candidates[which]), target)

        def sums(start: int) -> Float64:
            lines = similarities(slice(start, start + _CANDIDATES))
            return np.stack([_gained(lines.copy(), level).sum(axis=1, dtype=np.float64) for level in levels])

        starts = range(0, len(candidates), _CANDIDATES)
        found = np.concatenate(list(ahead_of(sums, starts, in_threads=kernel.in_threads)), axis=1)
        largest = np.argsort(-found, axis=1, kind="stable")[:, :room]
        bounds = [
            level + _gained(similarities(rows), level).sum(axis=0, dtype=np.float64)
            for level, rows in zip(levels, largest, strict=True)
        ]
        most: Float64 = min(bounds, key=np.mean)
        return BestPossible(near[0].astype(np.float64), most, len(candidates), sample.population)

    def _two_nearest(self, prototypes: Array, rows: Array) -> Array:
        """The similarities of each row to its nearest and second nearest prototype, or zero; in two lines."""
        kernel, chosen = self.compared_by, self.compared_by.prepare(prototypes)
        found = np.zeros((2, len(rows)), rows.dtype)
        for start in range(0, len(rows), _BLOCK):
            K = kernel.block(chosen, kernel.prepare(rows[start : start + _BLOCK]))
            K.sort(axis=0)
            found[: len(K), start : start + _BLOCK] = np.maximum(K[:-3:-1], 0)
        return found

    def singles(self, block: Block) -> Float64:
        return np.asarray(np.sqrt(block.mu))

    def upper_bound(self, step: int) -> float:
        return self.bound_with(self._sample.rows[:0], step)

    def bound_with(self, rows: Array, step: int) -> float:
        """``k(x, s) <= |phi(x)| |phi(s)|``: no row covers more that is no longer than these and the known ones."""
        found = (self.judged_by(), self._sample.settled().rows, rows)
        judges, known, more = (self._lengths(self._prepared(of)) for of in found)
        bound = float(judges.mean() * max(known.max(), more.max(initial=0)))
        if not math.isfinite(bound):
            self._refuse("the largest similarity of a row to itself", bound, rows.dtype)
        return bound

    def running_bound(self, step: int) -> float:
        lengths = self._lengths(self.target)
        return float(lengths.mean() * lengths.max())

    def moving_bound(self, step: int) -> float | None:
        return self.running_bound(step) if self.begun.follows else None

    def _lengths(self, points: Points) -> Float64:
        with np.errstate(all="ignore"):
            return np.sqrt(self.compared_by.diagonal(points), dtype=np.float64)


def _gained(similarities: Array, near: Array) -> Array:
    """What newcomers add to what is covered of each row; it overwrites their similarities."""
    np.subtract(similarities, near, out=similarities)
    return np.maximum(similarities, 0, out=similarities)
