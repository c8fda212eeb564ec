"""Sieves: a set of rows per threshold, the machinery ProtoStream, Streak and SieveStreaming share.

Thresholds are ``(1 + epsilon)^level`` for whole levels, one grid for all time. Which levels are open follows from the
best single row so far; as better ones arrive the window moves up, sets below it are closed and new ones start empty.

Sets are independent, so a block is judged set by set. A set looks only at the rows for which its level is open. It
takes the first of them that passes, solves for its weights, and judges the rows after it again.
"""

import math
from abc import abstractmethod
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Float64
from protosieve.objectives import Block, Coverage, FittedObjective, KernelMean, Objective
from protosieve.selectors._base import StreamSelector
from protosieve.selectors._covers import Covers, CoverSets
from protosieve.selectors._pool import Pool
from protosieve.selectors._refits import FittedSets, Refits
from protosieve.selectors._rules import Rule, ratio_less_one
from protosieve.selectors._selector import Selection, parameters
from protosieve.selectors._sieves import Sieve, Sieves
from protosieve.selectors._views import BlockView, Criterion, KernelSets, Sets, Similarities

Near: TypeAlias = Similarities | Refits | Covers  # how sets see a block


@parameters
class ThresholdSelector(StreamSelector[Sieves, Objective]):
    """Base of the selectors that keep a set per threshold. An algorithm says which single rows are good, how wide the
    window of thresholds is, and by which criterion a set takes a row.
    """

    _rules: ClassVar[dict[str, Rule]] = {**StreamSelector._rules, "epsilon": ratio_less_one()}

    _fills_from_head: ClassVar[bool] = True

    epsilon: float = 0.4

    @abstractmethod
    def _singleton_scores(self, objective: Objective, block: Block) -> Float64:
        """How good each row is on its own; ``-inf`` if it can never help. No threshold opens before a positive one."""

    @abstractmethod
    def _window(self, peak: float) -> tuple[float, float]:
        """The thresholds to keep while the best singleton score is ``peak``."""

    @abstractmethod
    def _criterion(self, view: BlockView, near: Near, tau: float) -> Criterion:
        """How the set of threshold ``tau`` judges the rows of a block."""

    def _start(self, block: Block, objective: Objective, rng: np.random.Generator) -> Sieves:
        return Sieves(Pool.empty(block), [])

    def _judge(self, progress: Sieves, objective: Objective, block: Block) -> None:
        scores = self._singleton_scores(objective, block)
        spans = self._move_window(progress, objective, scores)
        at_work = [s for s in progress.sets if s.qp.size < self.n_prototypes and s.level in spans]
        near = self._sets(objective).seen(progress.pool, block, at_work)
        gradients = near.gradients(at_work)
        for sieve, gradient in zip(at_work, gradients, strict=True):
            view = BlockView(sieve, block, gradient, *spans[sieve.level])
            self._fill(view, self._criterion(view, near, (1 + self.epsilon) ** sieve.level))
            if sieve.qp.size == self.n_prototypes:
                sieve.seal()
        self._note_single(progress, objective, near, scores)
        self._close_outside(progress)
        progress.sweep()

    def _sets(self, objective: Objective) -> Sets:
        """How sets are weighed by this objective; by default at their best."""
        if isinstance(objective, Coverage):
            return CoverSets(objective)
        if isinstance(objective, FittedObjective):
            return FittedSets(objective)
        assert isinstance(objective, KernelMean)
        return KernelSets(objective, self.n_prototypes)

    def _fill(self, view: BlockView, criterion: Criterion) -> None:
        """Take the first row that passes, judge the rows after it again, until the set is full or the block ends."""
        start = view.start
        while start < view.stop and view.sieve.qp.size < self.n_prototypes:
            j = criterion.first(start)
            if j is None:
                return
            criterion.take(j)
            start = j + 1

    def _move_window(self, progress: Sieves, objective: Objective, scores: Float64) -> dict[int, tuple[int, int]]:
        """Start the sets whose thresholds enter the window during this block.

        Returns for each level the rows of the block for which it is open: from ``start`` to before ``stop``.
        """
        peaks = np.maximum.accumulate(np.maximum(scores, progress.peak))
        changes = np.array([0, *_rises(peaks, float(peaks[0]))])  # each peak's first row; few, and one in most blocks
        levels = [self._levels(float(peaks[row])) for row in changes]
        spans: dict[int, tuple[int, int]] = {}
        ends = [*changes[1:].tolist(), len(scores)]
        for row, end, (low, high) in zip(changes.tolist(), ends, levels, strict=True):
            for level in range(low, high + 1):
                spans[level] = (spans.get(level, (row, row))[0], end)
        known = {sieve.level for sieve in progress.sets}
        empty = self._sets(objective).empty
        progress.sets += [Sieve(level, [], empty(progress.pool)) for level in spans if level not in known]
        progress.sets.sort(key=lambda sieve: sieve.level)
        return spans

    def _levels(self, peak: float) -> tuple[int, int]:
        """The lowest and highest whole level whose threshold lies in the window; high < low where none does."""
        low, high = map(float, self._window(max(peak, 0.0)))
        if low <= 0:  # nothing similar to the target so far, or so little that its square is zero
            return 0, -1
        base = 1 + float(self.epsilon)
        first, last = math.ceil(math.log(low) / math.log(base)), math.floor(math.log(high) / math.log(base))
        # the logarithm may be a rounding error off where a bound lies on the grid
        first += (base**first < low) - (base ** (first - 1) >= low)
        last += (base ** (last + 1) <= high) - (base**last > high)
        return first, last

    def _note_single(self, progress: Sieves, objective: Objective, near: Near, scores: Float64) -> None:
        """Remember the best single row; of equal ones the later, as in the paper.

        Where the diagonal is not constant, an earlier row with a smaller score may be worth more: it stays a candidate.
        """
        peaks = np.maximum.accumulate(np.maximum(scores, progress.peak))
        last = len(scores) - 1 - int(scores[::-1].argmax())
        if scores[last] == -math.inf or scores[last] < progress.peak:
            return
        for j in [*_rises(peaks, progress.peak), last]:
            before, progress.single = progress.single, self._single(progress, objective, near.newcomer(j))
            if before is not None and before.value > progress.single.value:
                progress.close(before)
        progress.peak = float(scores[last])

    def _single(self, progress: Sieves, objective: Objective, slot: int) -> Sieve:
        """The set of one row of the pool."""
        return Sieve(0, [slot], self._sets(objective).single(progress.pool, slot))

    def _close_outside(self, progress: Sieves) -> None:
        low, high = self._levels(progress.peak)
        for sieve in progress.sets:
            if not low <= sieve.level <= high:
                progress.close(sieve)
        progress.sets = [sieve for sieve in progress.sets if low <= sieve.level <= high]

    def _refresh(self, progress: Sieves, objective: Objective) -> None:
        self._sets(objective).renew(progress.pool, progress.all())
        self._choose_single_again(progress, objective)

    def _choose_single_again(self, progress: Sieves, objective: Objective) -> None:
        """Find the best single row again after the target has moved, and move the window of thresholds with it."""
        pool = progress.pool
        if not pool.size:
            return
        scores = self._singleton_scores(objective, pool.as_block())
        slot = int(scores.argmax())
        progress.peak = float(scores[slot])
        progress.single = self._single(progress, objective, slot) if progress.peak > -math.inf else None
        self._close_outside(progress)

    def _value(self, progress: Sieves) -> float:
        return max((sieve.value for sieve in progress.all()), default=0.0)

    def _accepted(self, progress: Sieves) -> int:
        return progress.pool.added

    def _held(self, progress: Sieves, objective: Objective) -> NDArray[np.int64]:
        return progress.pool.indices[: progress.pool.size]

    def _choose(self, progress: Sieves, objective: Objective) -> Selection:
        if progress.single is None:
            return Selection(progress.pool.indices[:0], progress.pool.rows[:0], np.zeros(0))
        best = max((sieve for sieve in progress.all() if sieve.members), key=lambda sieve: sieve.value)
        return Selection(progress.pool.indices[best.members], progress.pool.rows[best.members], best.qp.weights.copy())


def _rises(peaks: Float64, before: float) -> list[int]:
    """The rows where a running maximum rises."""
    return np.flatnonzero(peaks != np.concatenate([[before], peaks[:-1]])).tolist()
