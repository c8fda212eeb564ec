"""Sets of a threshold selector that cover a target, and how they see a block of rows."""

from collections.abc import Callable, Iterable

import numpy as np

from protosieve._typing import Float64
from protosieve.objectives import Block, Coverage, Covered
from protosieve.selectors._pool import Newcomers, Pool
from protosieve.selectors._sieves import Sieve
from protosieve.selectors._views import BlockView, Criterion, Sets

_TOGETHER = 16  # rows whose gains are computed at once: what is computed beyond the first to be taken is done again


class CoverSets(Sets):
    """Sets that are worth what they cover."""

    def __init__(self, objective: Coverage) -> None:
        self._objective = objective

    def seen(self, pool: Pool, block: Block, sets: list[Sieve]) -> "Covers":
        return Covers(pool, block)

    def empty(self, pool: Pool) -> Covered:
        return self._objective.empty()

    def single(self, pool: Pool, slot: int) -> Covered:
        return Covered(1, float(pool.mu[slot]), pool.mu[:0].copy())

    def renew(self, pool: Pool, sets: Iterable[Sieve]) -> None:
        pool.mu[: pool.size] = self._objective.at_zero(pool.held)
        every = list(sets)
        for sieve, covered in zip(every, self._objective.cover(pool.held, [s.members for s in every]), strict=True):
            sieve.qp = covered.sealed() if covered_by(sieve).is_sealed else covered


class Covers(Newcomers):
    """The similarities of a block to the target, for all sets: what `Similarities` is for the kernel mean."""

    def __init__(self, pool: Pool, block: Block) -> None:
        super().__init__(pool, block)
        assert block.similarities is not None
        self.similarities = block.similarities

    def gradients(self, sets: list[Sieve]) -> Float64:
        """What no row can gain more than, shape (sets, rows): what it covers alone."""
        assert all(len(covered_by(sieve).near) == self.similarities.shape[1] for sieve in sets)
        return np.tile(self.block.mu, (len(sets), 1))


class ByGain(Criterion):
    """Rows that add at least so much to what a set covers.

    What a row gains only falls as the set grows: f is submodular. So what was computed for a smaller set bounds it, and
    only rows whose bound passes are looked at again. ``view.gradient`` holds the bounds. What ``least`` makes of the
    set is asked again for each member that joins.
    """

    def __init__(self, view: BlockView, near: Covers, least: Callable[[Sieve], float]) -> None:
        self._view, self._near, self._least = view, near, least

    def first(self, start: int) -> int | None:
        view, covered = self._view, covered_by(self._view.sieve)
        least = self._least(view.sieve)
        passing = start + np.flatnonzero(view.gradient[start : view.stop] >= least)
        for at in range(0, len(passing), _TOGETHER):
            rows = passing[at : at + _TOGETHER]
            gains = view.gradient[rows] = covered.gains(self._near.similarities[rows])
            if (gains >= least).any():
                return int(rows[(gains >= least).argmax()])
        return None

    def take(self, j: int) -> None:
        sieve = self._view.sieve
        covered = covered_by(sieve)
        sieve.qp = Covered.of(covered.size + 1, np.maximum(covered.near, self._near.similarities[j]))
        sieve.members.append(self._near.newcomer(j))


def covered_by(sieve: Sieve) -> Covered:
    """What a set covers."""
    assert isinstance(sieve.qp, Covered)
    return sieve.qp
