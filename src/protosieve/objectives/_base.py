"""The interface of objectives: blocks of rows with their gradients, weights, and an upper bound."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means import FOREVER, FixedMean, Sampled


class Need(StrEnum):
    """What a selector may need from an objective."""

    VALUES = "values"
    GRADIENTS = "gradients"
    GAINS = "gains"
    EXCHANGES = "exchanges"


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the stream with what every selector needs of them."""

    first: int  # row number, in the whole stream, of the first row
    rows: Array
    points: Points
    mu: Float64  # the gradient of l at w = 0; the value of each row alone where there are no gradients
    diagonal: Float64
    signed: bool = False
    sums: Float64 | None = None  # what a mean that follows the stream learns of them
    similarities: Array | None = None  # to the rows of the target, where sets are judged by each of these

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Of the rows, in the whole stream."""
        return np.arange(self.first, self.first + len(self.rows))

    @property
    def pull(self) -> Float64:
        """How much each row would gain from a weight: its gradient, or its size where weights may be negative."""
        return np.abs(self.mu) if self.signed else self.mu

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Weighed:
    """The weights of rows, and their value."""

    weights: Float64
    value: float
    intercept: float = 0.0


class BestPossible(NamedTuple):
    """Of each row that judges what is ``covered``, and what has at least the mean that the best rows have, ``most``;
    among how many candidates, for a target of how many rows.
    """

    covered: Float64
    most: Float64
    candidates: int
    population: int


class Objective(ABC):
    """What a selection is worth: ``f(L)``, the largest ``l(w)`` with weights on rows of L alone; no rows are worth 0.

    ``offers`` lists what it can compute: *values* of sets, *gradients* of rows that are not in a set, *gains* of such
    rows (what each adds, which only falls as a set grows), *exchanges* of a member for a row. A selector that needs
    more raises an error before it starts.
    """

    offers: ClassVar[tuple[Need, ...]]

    pull_means: ClassVar[str] = "value on its own"  # in messages: what makes a row ask for a weight

    explains: ClassVar[str] = "the bound"  # in messages: what its bound is the whole of

    compares_rows: ClassVar[bool] = False  # by the selector's kernel, with those of a target

    signed: bool  # whether weights may be negative
    kernel: Kernel | None  # by which rows are compared, if they are

    # -- what it is asked

    @abstractmethod
    def block(self, first: int, rows: Array) -> Block:
        """Rows ``first`` and following, with their gradients at zero."""

    @abstractmethod
    def weigh(self, rows: Array, start: Float64) -> Weighed:
        """The best weights on rows, in float64; ``start`` are feasible ones."""

    @abstractmethod
    def singles(self, block: Block) -> Float64:
        """The square roots of what rows are worth alone; what they are worth may be too small a number."""

    @abstractmethod
    def upper_bound(self, step: int) -> float:
        """A value that no weights on any number of rows exceed, NaN if unknown; computed ``step`` rows at a time."""

    def bound_with(self, rows: Array, step: int) -> float:
        """`upper_bound` where these rows, which may be longer than all known ones, can be chosen too."""
        return self.upper_bound(step)

    def best_possible(self, prototypes: Array, room: int, keep: Array) -> "BestPossible | None":
        """What the best ``room`` rows can be worth, beside those to ``keep``, in the light of these prototypes; None if
        that is unknown.
        """
        return None

    def values(self, rows: Array) -> Callable[[Sequence[int]], float]:
        """``f`` as a function of row numbers, for sets of these rows: the input of `protosieve.guarantees`.

        Every set is solved once, by `weigh`, and remembered.
        """
        rows = np.asarray(rows, np.float64)
        self.check(rows, "rows")
        known: dict[tuple[int, ...], float] = {(): 0.0}

        def f(members: Sequence[int]) -> float:
            key = tuple(sorted(int(member) for member in members))
            if key not in known:
                known[key] = self.weigh(rows[list(key)], np.zeros(len(key))).value
            return known[key]

        return f

    def whole(self) -> str | None:
        """In messages: what its bound is the whole of; None for what the kernel sees of the target."""
        return self.explains

    def keeps_more(self) -> str:
        """In messages: the remedy where far fewer rows were kept than asked for."""
        return "ProtoBasic always keeps as many"

    def remedy(self) -> str:
        """In messages: what to do where no row is worth anything."""
        return "No row helps on its own"

    def none_helps(self, n_rows: int) -> str:
        """In messages: that no row is worth anything, and what to do."""
        return (
            f"none of the {n_rows} rows has a positive {self.pull_means} under {self.describe()}, so no "
            f"{'' if self.signed else 'non-negative '}weights help. {self.remedy()}"
        )

    def describe(self) -> str:
        """Itself, in messages."""
        return repr(self)

    # -- along a stream, where it follows one

    @property
    def in_threads(self) -> bool:
        """Whether other threads may compute blocks."""
        return False

    def rows_ahead(self) -> int:
        """How many more rows of a stream can be computed before a `refresh` is due; at zero it is due now."""
        return FOREVER

    def check(self, rows: Array, name: str) -> None:  # noqa: B027  (most have nothing to check)
        """Raise `InputError` where rows do not fit this objective."""

    def begin(self) -> "Objective":
        """The objective for a new stream: a copy where it changes along the way, so that the user's stays as it is."""
        return self

    def observe(self, block: Block) -> None:  # noqa: B027  (most learn nothing from it)
        """Learn from a block of the stream that `block` has computed."""

    def refresh(self) -> bool:
        """Use everything observed so far; returns whether the members' gradients have changed."""
        return False

    def at_zero(self, rows: Array) -> Float64:
        """The gradients of rows at zero, as of now."""
        return self.block(0, rows).mu

    def running_bound(self, step: int) -> float:
        """The bound along the stream: `upper_bound`, or something close to it and cheap."""
        return self.upper_bound(step)

    def moving_bound(self, step: int) -> float | None:
        """`running_bound` where rows of the stream change it; None where it is constant."""
        return None

    def sampled(self) -> Sampled | None:
        """The sample of the target it was estimated from; ``None`` where it is exact."""
        return None

    def evaluations(self) -> int | None:
        """Calls of a user's function so far; ``None`` where there is none."""
        return None

    def own(self) -> None:  # noqa: B027  (most have nothing to copy)
        """Copy arrays that still belong to the user."""

    def fixed_over(self, rows: Array) -> FixedMean | None:
        """Its mean, if that is the mean of exactly these rows: the bound then costs nothing extra."""
        return None

    # equal if all fields are: a stream keeps the objective it began with, also when it is read from a file

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = object.__hash__


def same(one: Any, other: Any) -> bool:
    """Whether two parameters are equal; of objectives every field counts, however their classes compare."""
    if one is other:
        return True
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if not isinstance(one, Objective):
        return bool(one == other)
    names = [f.name for f in fields(cast(Any, one)) if f.compare]
    return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
