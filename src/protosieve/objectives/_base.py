"""What an objective is to the selectors: blocks of rows with their gradients, weights, and a bound."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means import FOREVER, FixedMean, Sampled

__all__ = ["Block", "Need", "Objective", "Weighed", "same"]


class Need(StrEnum):
    """What a selector needs of an objective, and an objective may have."""

    VALUES = "values"
    GRADIENTS = "gradients"
    EXCHANGES = "exchanges"


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the stream with what every selector asks of them first."""

    first: int  # row number, in the whole stream, of the first row
    rows: Array
    points: Points
    mu: Float64  # the gradient of l at w = 0; the value of each row alone where there are no gradients
    diagonal: Float64
    signed: bool = False
    sums: Float64 | None = None  # what a mean that follows the stream learns of them

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Of the rows, in the whole stream."""
        return np.arange(self.first, self.first + len(self.rows))

    @property
    def pull(self) -> Float64:
        """How strongly each row asks for a weight: its gradient, of either sign where weights may have either."""
        return np.abs(self.mu) if self.signed else self.mu

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Weighed:
    """Rows with their best weights: what they are worth."""

    weights: Float64
    value: float
    intercept: float = 0.0


class Objective(ABC):
    """What a selection is worth: ``f(L)``, the largest ``l(w)`` with weights on rows of L alone; no rows are worth 0.

    ``offers`` says what it can tell, and a selector that needs more says so before it starts: *values* of sets,
    *gradients* of rows that are not in a set, *exchanges* of a member for a row, which a quadratic ``l`` can price.
    """

    offers: ClassVar[tuple[Need, ...]]

    pull_means: ClassVar[str] = "value on its own"  # in messages: what makes a row ask for a weight

    explains: ClassVar[str] = "the bound"  # in messages: what its bound is the whole of

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
        """What no weights on any number of rows exceed, NaN where nobody knows; ``step`` rows at a time."""

    def values(self, rows: Array) -> Callable[[Sequence[int]], float]:
        """``f`` on the sets of these rows, as a function of their numbers: what `protosieve.guarantees` asks for.

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

    def whole(self) -> str:
        """In messages: what its bound is the whole of."""
        return self.explains

    def keeps_more(self) -> str:
        """In messages: the remedy where far fewer rows were kept than asked for."""
        return "ProtoBasic always keeps as many"

    def remedy(self) -> str:
        """In messages: what to do where no row is worth anything."""
        return "No row helps on its own"

    def describe(self) -> str:
        """Itself, in messages."""
        return repr(self)

    # -- along a stream, where it follows one

    @property
    def in_threads(self) -> bool:
        """Whether blocks may be asked for in other threads."""
        return False

    def rows_ahead(self) -> int:
        """Rows of a stream that can be asked for before a `refresh` is due; at zero it is."""
        return FOREVER

    def check(self, rows: Array, name: str) -> None:  # noqa: B027  (most have nothing to check)
        """Raise `InputError` where rows cannot be of this problem."""

    def begin(self) -> "Objective":
        """Itself, at the beginning of a stream: what changes along the way is not the user's."""
        return self

    def observe(self, block: Block) -> None:  # noqa: B027  (most learn nothing from it)
        """Take in a block of the stream, which has been asked for before."""

    def refresh(self) -> bool:
        """Adopt all that was observed; returns whether the members' gradients have changed."""
        return False

    def at_zero(self, rows: Array) -> Float64:
        """The gradients of rows at zero, as of now."""
        return self.block(0, rows).mu

    def running_bound(self, step: int) -> float:
        """The bound of what rows are judged by: `upper_bound`, or near to it and cheap to have."""
        return self.upper_bound(step)

    def moving_bound(self, step: int) -> float | None:
        """`running_bound` where rows of the stream move it; None where it is the same throughout."""
        return None

    def sampled(self) -> Sampled | None:
        """The sample of the target it was estimated from; ``None`` where it is exact."""
        return None

    def evaluations(self) -> int | None:
        """Calls of a user's function so far; ``None`` where there is none."""
        return None

    def own(self) -> None:  # noqa: B027  (most have nothing to copy)
        """Copy what is still the user's."""

    def fixed_over(self, rows: Array) -> FixedMean | None:
        """Its mean, where that is the mean of just these rows: the bound then comes for nothing."""
        return None

    # equal where all fields are: a stream lives with the objective it began with, also when it comes from a file

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
