"""A block of rows as sets see it whose weights are fitted anew with every row they take."""

from protosieve._typing import Float64, Indices
from protosieve.objectives import Block, Fit, FittedObjective
from protosieve.selectors._pool import Pool
from protosieve.selectors._sieves import Sieve
from protosieve.selectors._views import BlockView

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


class Refit:
    """The weights of a set as it takes rows of a block: what `Program` is to the kernel mean."""

    def __init__(self, view: BlockView, near: Refits) -> None:
        self._view, self._near = view, near

    def projected(self, j: int) -> bool:
        return True

    def expect(self, rows: Indices) -> None:
        """Nothing can be done for several rows at once."""

    def with_row(self, j: int) -> Fit:
        """The set with row j of the block. O(q^2 n)."""
        return self._near.objective.grow(fit_of(self._view.sieve), self._members(), self._view.block.rows[j])

    def admit(self, j: int, grown: Fit | None = None) -> None:
        """Row j joins, which makes the set ``grown`` where that is known; gradients of the rows behind it follow."""
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
    """The weights of a set, which are fitted."""
    assert isinstance(sieve.qp, Fit)
    return sieve.qp
