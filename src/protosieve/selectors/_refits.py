"""A block of rows as sets see it whose weights are fitted anew with every row they take."""

import numpy as np

from protosieve._typing import Float64, Indices
from protosieve.objectives import Block, Fit, FittedObjective
from protosieve.selectors._pool import Pool
from protosieve.selectors._sieves import Sieve
from protosieve.selectors._views import BlockView, Criterion

__all__ = ["Refit", "Refits"]


class Refits:
    """What `Similarities` is to the kernel mean: gradients for all sets in one product, and newcomers."""

    def __init__(self, pool: Pool, objective: FittedObjective, block: Block) -> None:
        self.pool, self.objective, self._block = pool, objective, block
        self._slot: dict[int, int] = {}

    def gradients(self, sets: list[Sieve]) -> Float64:
        """The pull at every row of the block for every set, shape (sets, rows)."""
        return self.objective.gradients([fit_of(sieve) for sieve in sets], self._block.rows)

    def newcomer(self, j: int) -> int:
        """Row j of the block as a pool slot; one for all sets that take it."""
        if j not in self._slot:
            self._slot[j] = self.pool.add(self._block, j)
        return self._slot[j]

    def program(self, view: BlockView) -> "Refit":
        return Refit(view, self)


class Refit(Criterion):
    """The weights of a set as it takes rows of a block; by itself the criterion of rows with enough marginal value."""

    def __init__(self, view: BlockView, near: Refits, threshold: float = np.inf) -> None:
        self._view, self._near, self._threshold = view, near, threshold
        self._tried: tuple[int, Fit] | None = None  # the row that passed, and the set with it

    def projected(self, j: int) -> bool:
        return True

    def expect(self, rows: Indices) -> None:
        """Nothing can be done for several rows at once."""

    def first(self, start: int) -> int | None:
        """A fit per row; O(q^2 n) each."""
        view, objective, fit = self._view, self._near.objective, fit_of(self._view.sieve)
        members = self._members()
        for j in range(start, view.stop):
            if not objective.may_gain(float(view.gradient[j]) if len(view.gradient) else None, self._threshold):
                continue
            grown = objective.grow(fit, members, view.block.rows[j])
            if grown.value - fit.value >= self._threshold:
                self._tried = j, grown
                return j
        return None

    def take(self, j: int) -> None:
        self.admit(j)

    def admit(self, j: int) -> None:
        """Row j joins; gradients of the rows behind it follow."""
        view, objective = self._view, self._near.objective
        if self._tried is not None and self._tried[0] == j:
            fit = self._tried[1]
        else:
            fit = objective.grow(fit_of(view.sieve), self._members(), view.block.rows[j])
        view.sieve.qp = fit
        view.sieve.members.append(self._near.newcomer(j))
        if len(view.gradient):
            rest = slice(j + 1, view.stop)
            view.gradient[rest] = objective.gradients([fit], view.block.rows[rest])[0]

    def _members(self) -> Float64:
        return self._near.pool.rows[self._view.sieve.members]


def fit_of(sieve: Sieve) -> Fit:
    """The weights of a set, which are fitted."""
    assert isinstance(sieve.qp, Fit)
    return sieve.qp
