"""A block of rows as the sets of a threshold selector see it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from protosieve._typing import Array, Float64, Indices
from protosieve.objectives import Block, KernelMean
from protosieve.selectors._pool import Pool
from protosieve.selectors._sieves import Sieve, slots_of
from protosieve.weights import NonNegativeQP, Projection, Projections

__all__ = ["BlockView", "Criterion", "Program", "Similarities"]


class Similarities:
    """The kernel between a block and the members of all open sets, in one product; newcomers' rows when needed.

    ``room`` is the number of members a set may have.
    """

    def __init__(self, pool: Pool, objective: KernelMean, block: Block, sets: list[Sieve], room: int) -> None:
        self._pool, self._kernel, self._block, self._room = pool, objective.kernel, block, room
        slots = slots_of(pool, sets)
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

    @cached_property
    def scratch(self) -> Array:
        """Space for the members of one set after the other, gathered."""
        return np.empty((self._room, len(self._block)), self._block.rows.dtype)

    def gather(self, members: list[int], out: Array) -> None:
        """The members' similarities to the block, one row each."""
        np.take(self._matrix, self._place[members], axis=0, out=out, mode="clip")  # "clip": the unbuffered way

    def expect(self, rows: list[int]) -> None:
        """These rows of the block may be asked for as newcomers: their similarities to the block in one product."""
        new = [j for j in rows if j not in self._lines]
        if new:
            points = self._block.points
            self._lines.update(zip(new, self._kernel.block(points.take(np.array(new)), points), strict=True))

    def newcomer(self, j: int) -> int:
        """Row j of the block as a pool slot; one for all sets that take it."""
        if j not in self._slot:
            self._slot[j] = self._pool.add(self._block, j)
        return self._slot[j]

    def line(self, j: int) -> Array:
        """The similarities of row j to the block."""
        self.expect([j])
        return self._lines[j]

    def program(self, view: "BlockView") -> "Program":
        return Program(view, self)


@dataclass(frozen=True)
class BlockView:
    """One set looking at the rows ``start`` to ``stop`` of one block: their gradients, kept up to date as it grows."""

    sieve: Sieve
    block: Block
    gradient: Float64
    start: int
    stop: int


class Program:
    """The weights of a set that solves them, as it takes rows of a block: similarities, projections, admission."""

    def __init__(self, view: BlockView, near: Similarities) -> None:
        self._view, self._near = view, near
        self._scratch = near.scratch
        self._gathered = False
        self._projections: Projections | None = None
        self._projected: dict[int, int] = {}

    @property
    def qp(self) -> NonNegativeQP:
        """The program as it is: to look at."""
        qp = self._view.sieve.qp
        assert isinstance(qp, NonNegativeQP)
        return qp

    def own(self) -> NonNegativeQP:
        """The program, to be changed."""
        self._view.sieve.own()
        return self.qp

    @property
    def similarities(self) -> Array:
        """Members against the rows of the block."""
        members = self._view.sieve.members
        q = len(members)
        if not self._gathered:
            self._near.gather(members, self._scratch[:q])
            self._gathered = True
        return self._scratch[:q]

    def project(self, rows: Indices) -> Projections:
        """These rows of the block against the set, in one go; to `look` at them is cheap afterwards."""
        self._projections = Projections(self.own(), self.similarities[:, rows].astype(np.float64))
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
        block = self._view.block
        diagonal = block.diagonal[j]
        return column, diagonal, block.mu[j], known.of(self._projected[j], column, diagonal)

    def admit(self, j: int) -> None:
        """Row j joins; gradients of the rows behind it follow. O(q^2 + B q)."""
        view, seen = self._view, self.look(j)
        qp = self.own()
        qp.append(*seen)
        slot, line = self._near.newcomer(j), self._near.line(j)
        self._scratch[len(view.sieve.members)] = line
        view.sieve.members.append(slot)
        rest = slice(j + 1, view.stop)
        weights = qp.w[: qp.size].astype(line.dtype, copy=False)
        np.subtract(view.block.mu[rest], weights @ self._scratch[: qp.size, rest], out=view.gradient[rest])


class Criterion(ABC):
    """Which rows of a block a set takes, and what follows for the set and for the gradients of the rows behind."""

    @abstractmethod
    def first(self, start: int) -> int | None:
        """The first row to take, from row ``start`` to the view's end; ``None`` if there is none."""

    @abstractmethod
    def take(self, j: int) -> None:
        """Row j joins the set."""
