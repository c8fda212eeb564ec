"""Sets of a threshold selector whose weights solve a quadratic program, and how they see a block of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from protosieve._typing import Array, Float64, Indices
from protosieve.objectives import Block, KernelMean
from protosieve.selectors._pool import Newcomers, Pool
from protosieve.selectors._sieves import Sieve, Weights, slots_of
from protosieve.weights import EqualWeights, NonNegativeQP, Projection, Projections


class Sets(ABC):
    """How the sets of a threshold selector are weighed by an objective, and how they see a block."""

    @abstractmethod
    def seen(self, pool: Pool, block: Block, sets: list[Sieve]) -> Any:
        """The block from the point of view of these sets."""

    @abstractmethod
    def empty(self, pool: Pool) -> Weights:
        """The weights of a set without members."""

    @abstractmethod
    def single(self, pool: Pool, slot: int) -> Weights:
        """The weights of a set of one row of the pool."""

    def renew(self, pool: Pool, sets: Iterable[Sieve]) -> None:
        """Weigh all sets again after the target has moved."""
        raise NotImplementedError("this objective never changes")


class KernelSets(Sets):
    """Sets with the best weights for a kernel mean; ``room`` is the number of members a set may have."""

    def __init__(self, objective: KernelMean, room: int) -> None:
        self._objective, self._room = objective, room

    def seen(self, pool: Pool, block: Block, sets: list[Sieve]) -> "Similarities":
        return Similarities(pool, self._objective, block, sets, self._room)

    def empty(self, pool: Pool) -> NonNegativeQP | EqualWeights:
        return NonNegativeQP(noise=float(np.finfo(pool.rows.dtype).eps))

    def single(self, pool: Pool, slot: int) -> Weights:
        weights = self.empty(pool)
        weights.append(np.zeros(0), pool.diagonal[slot], pool.mu[slot])
        return weights

    def renew(self, pool: Pool, sets: Iterable[Sieve]) -> None:
        pool.mu[: pool.size] = self._objective.at_zero(pool.held)
        for sieve in sets:
            sieve.renew(pool.mu[sieve.members], partial(self._objective.gram, pool.rows[sieve.members]))


class EqualSets(KernelSets):
    """Sets whose members weigh 1/m each."""

    def empty(self, pool: Pool) -> EqualWeights:
        return EqualWeights(share=1 / self._room)


class Similarities(Newcomers):
    """The kernel between a block and the members of all open sets, in one product.

    Similarities of rows that join are computed when needed. ``room`` is the number of members a set may have.
    """

    def __init__(self, pool: Pool, objective: KernelMean, block: Block, sets: list[Sieve], room: int) -> None:
        super().__init__(pool, block)
        self._kernel, self._room = objective.kernel, room
        slots = slots_of(pool, sets)
        self._place = np.zeros(pool.size, np.intp)
        self._place[slots] = np.arange(len(slots))
        self._matrix = self._kernel.block(block.points.like(pool.left[slots]), block.points)
        self._lines: dict[int, Array] = {}

    def gradients(self, sets: list[Sieve]) -> Float64:
        """The gradient at every row of the block for every set: one product, shape (sets, rows)."""
        weights = np.zeros((len(sets), len(self._matrix)), self._matrix.dtype)
        for line, sieve in zip(weights, sets, strict=True):
            line[self._place[sieve.members]] = sieve.qp.weights
        return np.asarray(self.block.mu - weights @ self._matrix)

    @cached_property
    def scratch(self) -> Array:
        """Memory for the similarities of one set's members, used by one set after the other."""
        return np.empty((self._room, len(self.block)), self.block.rows.dtype)

    def gather(self, members: list[int], out: Array) -> None:
        """The members' similarities to the block, one row each."""
        np.take(self._matrix, self._place[members], axis=0, out=out, mode="clip")  # "clip": the unbuffered way

    def expect(self, rows: list[int]) -> None:
        """Compute the similarities of these rows to the block in one product: they are likely to join."""
        new = [j for j in rows if j not in self._lines]
        if new:
            points = self.block.points
            self._lines.update(zip(new, self._kernel.block(points.take(np.array(new)), points), strict=True))

    def line(self, j: int) -> Array:
        """The similarities of row j to the block."""
        self.expect([j])
        return self._lines[j]

    def program(self, view: "BlockView") -> "Program":
        return Program(view, self)


@dataclass(frozen=True)
class BlockView:
    """One set and the rows ``start`` to ``stop`` of a block it judges; ``gradient`` is updated as the set grows."""

    sieve: Sieve
    block: Block
    gradient: Float64
    start: int
    stop: int


class Program:
    """A set that solves a quadratic program for its weights, as it takes rows of a block."""

    def __init__(self, view: BlockView, near: Similarities) -> None:
        self._view, self._near = view, near
        self._scratch = near.scratch
        self._gathered = False
        self._projections: Projections | None = None
        self._projected: dict[int, int] = {}

    @property
    def qp(self) -> NonNegativeQP:
        """The quadratic program, for reading."""
        qp = self._view.sieve.qp
        assert isinstance(qp, NonNegativeQP)
        return qp

    def own(self) -> NonNegativeQP:
        """The quadratic program, for changing."""
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
        """Project these rows of the block onto the set in one product; `look` is cheap for them afterwards."""
        self._projections = Projections(self.own(), self.similarities[:, rows].astype(np.float64))
        self._projected = {row: i for i, row in enumerate(rows.tolist())}
        return self._projections

    def expect(self, rows: Indices) -> None:
        """Prepare rows that are likely to be admitted, all at once."""
        self.project(rows)
        self._near.expect(rows.tolist())

    def projected(self, j: int) -> bool:
        return self._projections is not None and self._projections.good and j in self._projected

    def look(self, j: int) -> tuple[Float64, float, float, Projection]:
        """The arguments of `NonNegativeQP.append` for row j: similarities to members, diagonal, mean, projection."""
        known = self._projections if self.projected(j) else self.project(np.array([j]))
        assert known is not None
        column = self.similarities[:, j].astype(np.float64)
        block = self._view.block
        diagonal = block.diagonal[j]
        return column, diagonal, block.mu[j], known.of(self._projected[j], column, diagonal)

    def admit(self, j: int) -> None:
        """Add row j to the set and update the gradients of the rows after it. O(q^2 + B q)."""
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
    """Decides which rows of a block a set takes, and adds them."""

    @abstractmethod
    def first(self, start: int) -> int | None:
        """The first row to take, from row ``start`` to the view's end; ``None`` if there is none."""

    @abstractmethod
    def take(self, j: int) -> None:
        """Add row j to the set and update the gradients of the rows after it."""
