"""A block of rows from the point of view of sets whose weights are fitted again with every row they take."""

from protosieve._typing import Float64, Indices
from protosieve.objectives import Block, Fit, FittedObjective
from protosieve.selectors._pool import Newcomers, Pool
from protosieve.selectors._sieves import Sieve
from protosieve.selectors._views import BlockView, Sets


class FittedSets(Sets):
    """Sets that are fitted again for each row they take."""

    def __init__(self, objective: FittedObjective) -> None:
        self._objective = objective

    def seen(self, pool: Pool, block: Block, sets: list[Sieve]) -> "Refits":
        return Refits(pool, self._objective, block)

    def empty(self, pool: Pool) -> Fit:
        return self._objective.empty()

    def single(self, pool: Pool, slot: int) -> Fit:
        return self._objective.grow(self._objective.empty(), pool.rows[:0], pool.rows[slot]).sealed()


class Refits(Newcomers):
    """Gradients for all sets in one product, and rows that join: what `Similarities` is for the kernel mean."""

    def __init__(self, pool: Pool, objective: FittedObjective, block: Block) -> None:
        super().__init__(pool, block)
        self.objective = objective

    def gradients(self, sets: list[Sieve]) -> Float64:
        """The pull at every row of the block for every set, shape (sets, rows)."""
        return self.objective.gradients([fit_of(sieve) for sieve in sets], self.block.rows)

    def program(self, view: BlockView) -> "Refit":
        return Refit(view, self)


class Refit:
    """A set that is fitted again for each row it takes: what `Program` is for the kernel mean."""

    def __init__(self, view: BlockView, near: Refits) -> None:
        self._view, self._near = view, near

    def projected(self, j: int) -> bool:
        return True

    def expect(self, rows: Indices) -> None:
        """Do nothing: there is no work to share between rows."""

    def with_row(self, j: int) -> Fit:
        """The fit of the set with row j of the block added. O(q^2 n)."""
        return self._near.objective.grow(fit_of(self._view.sieve), self._members(), self._view.block.rows[j])

    def admit(self, j: int, grown: Fit | None = None) -> None:
        """Add row j to the set; ``grown`` is the fit with it, where that is known already."""
        view, objective = self._view, self._near.objective
        fit = self.with_row(j) if grown is None else grown
        view.sieve.qp = fit
        view.sieve.members.append(self._near.newcomer(j))
        if len(view.gradient):
            rest = slice(j + 1, view.stop)
            view.gradient[rest] = objective.gradients([fit], view.block.rows[rest])[0]

    def _members(self) -> Float64:
        return self._near.pool.rows[self._view.sieve.members]


def fit_of(sieve: Sieve) -> Fit:
    """The fitted weights of a set."""
    assert isinstance(sieve.qp, Fit)
    return sieve.qp
