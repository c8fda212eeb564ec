"""Sieves: a set of rows per threshold, the machinery ProtoStream and Streak share.

Thresholds are ``(1 + epsilon)^level`` for whole levels, one grid for all time. Which levels are open follows from the
best single row so far; as better ones arrive the window moves up, sets below it are closed and new ones start empty.

Sets do not know of each other, so a block is judged set by set: rows of the block before a level opens or after it
closes are not its own, among the others it takes the first that passes, solves, and looks again at the rows after it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array, Float64, Indices
from protosieve.objectives import Block, KernelMean
from protosieve.selectors._base import Selection, StreamSelector
from protosieve.selectors._pool import Pool
from protosieve.selectors._rules import Rule, ratio_less_one
from protosieve.weights import NonNegativeQP, Projection, Projections

__all__ = ["BlockView", "Criterion", "ThresholdSelector"]


@storable
@dataclass
class Sieve:
    """The set of one threshold: pool slots and their weights."""

    level: int
    members: list[int]
    qp: NonNegativeQP
    _shared: bool = field(default=False, init=False)  # another copy looks at the same ``qp``

    def __deepcopy__(self, memo: object) -> "Sieve":
        """A copy that costs nothing until one of the two changes: most sets never do before the copy is gone."""
        twin = Sieve(self.level, list(self.members), self.qp)
        self._shared = twin._shared = True
        return twin

    def own(self) -> NonNegativeQP:
        """The weights, to be changed."""
        if self._shared:
            self.qp, self._shared = self.qp.copy(room=len(self.qp.gram) - self.qp.size), False
        return self.qp

    def seal(self) -> None:
        """No member will come or go any more."""
        self.qp, self._shared = self.qp.sealed(), False

    @property
    def value(self) -> float:
        return self.qp.value


@storable
@dataclass
class Sieves:
    """All sets of a threshold selector.

    ``closed`` is the best set whose threshold has fallen below the window: it can grow no more, but it may still be
    the answer, so the value never falls when the window moves.
    """

    pool: Pool
    sets: list[Sieve]  # by rising level
    peak: float = 0.0  # the largest singleton score so far
    single: Sieve | None = None
    closed: Sieve | None = None

    def all(self) -> Iterator[Sieve]:
        """Every candidate for the answer, in the order of preference between equals."""
        yield from self.sets
        for other in (self.closed, self.single):
            if other is not None:
                yield other

    def close(self, sieve: Sieve) -> None:
        if self.closed is None or sieve.value > self.closed.value:
            sieve.seal()
            self.closed = sieve

    def sweep(self) -> None:
        """Forget rows no set holds."""
        moved = self.pool.sweep(_slots(self.pool, self.all()))
        if moved is not None:
            for sieve in self.all():
                sieve.members = moved[sieve.members].tolist()

    def _check(self, m: int) -> None:
        levels = [sieve.level for sieve in self.sets]
        assert levels == sorted(set(levels)), "levels are not rising"
        for sieve in self.all():
            assert len(sieve.members) == sieve.qp.size <= m, "a set is too large"
            assert len(set(sieve.members)) == len(sieve.members), "a row is in a set twice"
            assert max(sieve.members, default=0) < max(self.pool.size, 1), "a member is not in the pool"
            sieve.qp._check()


def _slots(pool: Pool, sets: Iterable[Sieve]) -> Indices:
    """The slots some of these sets name, rising."""
    named = np.zeros(pool.size, np.bool_)
    for sieve in sets:
        named[sieve.members] = True
    return np.flatnonzero(named)


class Similarities:
    """The kernel between a block and the members of all open sets, in one product; newcomers' rows when needed."""

    def __init__(self, pool: Pool, objective: KernelMean, block: Block, sets: list[Sieve]) -> None:
        self._pool, self._kernel, self._block = pool, objective.kernel, block
        slots = _slots(pool, sets)
        self._place = np.zeros(pool.size, np.intp)
        self._place[slots] = np.arange(len(slots))
        self._matrix = self._kernel.block(block.points.like(pool.left[slots]), block.points)
        self._lines: dict[int, Array] = {}
        self._slot: dict[int, int] = {}

    def gradients(self, sets: list[Sieve]) -> Float64:
        """The gradient at every row of the block for every set: one product, shape (sets, rows)."""
        weights = np.zeros((len(sets), len(self._matrix)), self._matrix.dtype)
        for line, sieve in zip(weights, sets, strict=True):
            line[self._place[sieve.members]] = sieve.qp.weights
        return np.asarray(self._block.mu - weights @ self._matrix)

    def gather(self, members: list[int], out: Array) -> None:
        """The members' similarities to the block, one row each."""
        np.take(self._matrix, self._place[members], axis=0, out=out, mode="clip")  # "clip": the unbuffered way

    def expect(self, rows: list[int]) -> None:
        """These rows of the block may be asked for as newcomers: their similarities to the block in one product."""
        new = [j for j in rows if j not in self._lines]
        if new:
            points = self._block.points
            self._lines.update(zip(new, self._kernel.block(points.take(np.array(new)), points), strict=True))

    def newcomer(self, j: int) -> tuple[int, Array]:
        """Row j of the block as a pool slot, and its similarities to the block; one for all sets that take it."""
        if j not in self._slot:
            self.expect([j])
            self._slot[j] = self._pool.add(self._block, j)
        return self._slot[j], self._lines[j]


class BlockView:
    """One set looking at the rows ``start`` to ``stop`` of one block: their gradients, kept up to date as it grows."""

    def __init__(
        self, sieve: Sieve, block: Block, near: Similarities, gradient: Float64, scratch: Array, rows: tuple[int, int]
    ) -> None:
        self.sieve, self.block = sieve, block
        self.gradient = gradient
        self.start, self.stop = rows
        self._near, self._scratch = near, scratch
        self._gathered = False
        self._projections: Projections | None = None
        self._projected: dict[int, int] = {}

    @property
    def similarities(self) -> Array:
        """Members against the rows of the block."""
        q = len(self.sieve.members)
        if not self._gathered:
            self._near.gather(self.sieve.members, self._scratch[:q])
            self._gathered = True
        return self._scratch[:q]

    def project(self, rows: Indices) -> Projections:
        """These rows of the block against the set, in one go; to `look` at them is cheap afterwards."""
        self._projections = Projections(self.sieve.own(), self.similarities[:, rows].astype(np.float64))
        self._projected = {row: i for i, row in enumerate(rows.tolist())}
        return self._projections

    def expect(self, rows: Indices) -> None:
        """These rows are likely to be admitted: what can be done for all of them at once, is."""
        self.project(rows)
        self._near.expect(rows.tolist())

    def projected(self, j: int) -> bool:
        return self._projections is not None and self._projections.good and j in self._projected

    def look(self, j: int) -> tuple[Float64, float, float, Projection]:
        """Row j of the block as `NonNegativeQP` wants it: similarities to the members, diagonal, mean, projection."""
        known = self._projections if self.projected(j) else self.project(np.array([j]))
        assert known is not None
        column = self.similarities[:, j].astype(np.float64)
        diagonal = self.block.diagonal[j]
        return column, diagonal, self.block.mu[j], known.of(self._projected[j], column, diagonal)

    def admit(self, j: int) -> None:
        """Row j joins; gradients of the rows behind it follow. O(q^2 + B q)."""
        qp = self.sieve.qp
        qp.append(*self.look(j))
        slot, line = self._near.newcomer(j)
        self._scratch[len(self.sieve.members)] = line
        self.sieve.members.append(slot)
        rest = slice(j + 1, self.stop)
        weights = qp.w[: qp.size].astype(line.dtype, copy=False)
        np.subtract(self.block.mu[rest], weights @ self._scratch[: qp.size, rest], out=self.gradient[rest])


class Criterion(ABC):
    """Which rows of a block a set takes."""

    @abstractmethod
    def first(self, start: int) -> int | None:
        """The first row to take, from row ``start`` to the view's end; ``None`` if there is none."""

    @abstractmethod
    def taken(self, j: int) -> None:
        """Row j was taken."""


class ThresholdSelector(StreamSelector):
    """Base of the selectors that keep a set per threshold. An algorithm says which single rows are good, how wide the
    window of thresholds is, and by which criterion a set takes a row.
    """

    _rules: ClassVar[dict[str, Rule]] = {**StreamSelector._rules, "epsilon": ratio_less_one()}

    epsilon: float

    @abstractmethod
    def _singleton_scores(self, mu: Float64, diagonal: Float64) -> Float64:
        """How good rows are on their own; only positive ones count."""

    @abstractmethod
    def _window(self, peak: float) -> tuple[float, float]:
        """The thresholds to keep while the best singleton score is ``peak``."""

    @abstractmethod
    def _criterion(self, view: BlockView, tau: float) -> Criterion:
        """How the set of threshold ``tau`` judges the rows of a block."""

    def _start(self, block: Block) -> Sieves:
        return Sieves(Pool.empty(block), [])

    def _judge(self, progress: Sieves, objective: KernelMean, block: Block) -> None:
        scores = self._singleton_scores(block.mu, block.diagonal)
        spans = self._move_window(progress, scores)
        at_work = [s for s in progress.sets if s.qp.size < self.n_prototypes and s.level in spans]
        near = Similarities(progress.pool, objective, block, at_work)
        gradients = near.gradients(at_work)
        scratch = np.empty((self.n_prototypes, len(block)), block.rows.dtype)
        for sieve, gradient in zip(at_work, gradients, strict=True):
            view = BlockView(sieve, block, near, gradient, scratch, spans[sieve.level])
            self._fill(view, self._criterion(view, (1 + self.epsilon) ** sieve.level))
            if sieve.qp.size == self.n_prototypes:
                sieve.seal()
        self._note_single(progress, near, scores)
        self._close_outside(progress)
        progress.sweep()

    def _fill(self, view: BlockView, criterion: Criterion) -> None:
        """Take the first row that passes, look again at the rows behind it, until the set is full or the block ends."""
        start = view.start
        while start < view.stop and view.sieve.qp.size < self.n_prototypes:
            j = criterion.first(start)
            if j is None:
                return
            view.admit(j)
            criterion.taken(j)
            start = j + 1

    def _move_window(self, progress: Sieves, scores: Float64) -> dict[int, tuple[int, int]]:
        """Start the sets whose thresholds come into the window during this block.

        Returns for each level the rows of the block it is open for: from ``start`` to before ``stop``.
        """
        peaks = np.maximum.accumulate(np.maximum(scores, progress.peak))
        changes = np.flatnonzero(np.diff(peaks, prepend=-1.0))  # the peaks' first rows; few, and none in most blocks
        levels = [self._levels(float(peaks[row])) for row in changes]
        spans: dict[int, tuple[int, int]] = {}
        ends = [*changes[1:].tolist(), len(scores)]
        for row, end, (low, high) in zip(changes.tolist(), ends, levels, strict=True):
            for level in range(low, high + 1):
                spans[level] = (spans.get(level, (row, row))[0], end)
        known = {sieve.level for sieve in progress.sets}
        progress.sets += [Sieve(level, [], self._empty_qp(progress)) for level in spans if level not in known]
        progress.sets.sort(key=lambda sieve: sieve.level)
        return spans

    def _levels(self, peak: float) -> tuple[int, int]:
        """The lowest and highest whole level whose threshold lies in the window; high < low where none does."""
        low, high = map(float, self._window(peak))
        if low <= 0:  # nothing similar to the target so far, or so little that its square is zero
            return 0, -1
        base = 1 + float(self.epsilon)
        first, last = math.ceil(math.log(low) / math.log(base)), math.floor(math.log(high) / math.log(base))
        # the logarithm may be a rounding error off where a bound lies on the grid
        first += (base**first < low) - (base ** (first - 1) >= low)
        last += (base ** (last + 1) <= high) - (base**last > high)
        return first, last

    def _note_single(self, progress: Sieves, near: Similarities, scores: Float64) -> None:
        """The best single row; of equal ones the later, as in the paper.

        Where the diagonal is not constant a row with a smaller score may have been worth more: it stays a candidate.
        """
        peaks = np.maximum.accumulate(np.maximum(scores, progress.peak))
        rises = np.flatnonzero(np.diff(peaks, prepend=progress.peak)).tolist()
        last = len(scores) - 1 - int(scores[::-1].argmax())
        if scores[last] <= 0 or scores[last] < progress.peak:
            return
        for j in [*rises, last]:
            before, progress.single = progress.single, self._single(progress, near.newcomer(j)[0])
            if before is not None and before.value > progress.single.value:
                progress.close(before)
        progress.peak = float(scores[last])

    def _single(self, progress: Sieves, slot: int) -> Sieve:
        """The set of one row of the pool."""
        qp = self._empty_qp(progress)
        qp.append(np.zeros(0), progress.pool.diagonal[slot], progress.pool.mu[slot])
        return Sieve(0, [slot], qp)

    def _close_outside(self, progress: Sieves) -> None:
        low, high = self._levels(progress.peak)
        for sieve in progress.sets:
            if not low <= sieve.level <= high:
                progress.close(sieve)
        progress.sets = [sieve for sieve in progress.sets if low <= sieve.level <= high]

    def _empty_qp(self, progress: Sieves) -> NonNegativeQP:
        return NonNegativeQP(noise=float(np.finfo(progress.pool.rows.dtype).eps))

    def _refresh(self, progress: Sieves, objective: KernelMean) -> None:
        pool = progress.pool
        pool.mu[: pool.size] = objective.mean.at(objective.kernel.prepare(pool.rows[: pool.size]))
        for sieve in progress.all():
            mu = pool.mu[sieve.members]
            if not sieve.qp.is_sealed:
                sieve.own().renew(mu)
                continue
            gram = objective.gram(pool.rows[sieve.members])
            sieve.qp = NonNegativeQP.from_gram(gram, mu, sieve.qp.weights, sieve.qp.noise)
            sieve.seal()
        self._choose_single_again(progress)

    def _choose_single_again(self, progress: Sieves) -> None:
        """The target has moved, and with it the best single row and the window of thresholds: up or down."""
        pool = progress.pool
        if not pool.size:
            return
        scores = self._singleton_scores(pool.mu[: pool.size], pool.diagonal[: pool.size])
        slot = int(scores.argmax())
        progress.peak = max(float(scores[slot]), 0.0)
        progress.single = self._single(progress, slot) if progress.peak > 0 else None
        self._close_outside(progress)

    def _value(self, progress: Sieves) -> float:
        return max((sieve.value for sieve in progress.all()), default=0.0)

    def _choose(self, progress: Sieves) -> Selection:
        if progress.single is None:
            return Selection(progress.pool.indices[:0], progress.pool.rows[:0], np.zeros(0))
        best = max((sieve for sieve in progress.all() if sieve.members), key=lambda sieve: sieve.value)
        return Selection(progress.pool.indices[best.members], progress.pool.rows[best.members], best.qp.weights.copy())
