"""A user's own set function, known by its values only."""

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError, arg
from protosieve.kernels import Points
from protosieve.objectives._base import Block, Need
from protosieve.objectives._fitted import Fit, FittedObjective


@dataclass(eq=False)
class SetFunction(FittedObjective):
    """Any monotone function of a set of rows, given by its values.

    `ProtoBasic` keeps the m rows with the largest values alone: where every set of m rows Z has
    ``r <= sum_j f({j}) / f(Z) <= R``, that is at least ``r / R`` of the best (Theorem 5.5 of the paper). `Streak` takes
    rows whose marginal value passes a threshold. All weights are 1.

    Parameters
    ----------
    function : callable
        From the rows of a set, an array of shape (q, d) with q at least 1, to a number; a row more never makes it
        smaller, the order of rows does not matter, and no rows are worth 0.

    Notes
    -----
    ``function`` is called once for every row, and by `Streak` once more for every row and set that has room; a few
    calls more are for the best row alone and for the result. ``result_.evaluations`` says how often since the stream
    began, results asked for along the way included. Runs cannot be saved: a state file holds data, never code.

    Examples
    --------
    How many different words the rows hold between them, a row naming its words by ones:

    >>> import numpy as np
    >>> from protosieve import Streak
    >>> from protosieve.objectives import SetFunction
    >>> words = np.random.default_rng(0).random((200, 40)) < 0.2
    >>> covered = SetFunction(lambda rows: rows.any(axis=0).sum())
    >>> result = Streak(5, objective=covered).fit(words).result_
    >>> len(result), result.objective >= 25
    (5, True)
    """

    offers: ClassVar[tuple[Need, ...]] = (Need.VALUES,)
    signed = False

    function: Callable[[Array], float]
    _calls: list[int] = field(default_factory=lambda: [0], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"SetFunction: {arg('function')} must be callable, from rows to a number; got {self.function!r}"
            )

    def __deepcopy__(self, memo: object) -> "SetFunction":
        twin = SetFunction(self.function)
        twin._calls = self._calls  # one count: a result asked for along the way is found on a copy, and calls too
        return twin

    def begin(self) -> "SetFunction":
        return SetFunction(self.function)

    def remedy(self) -> str:
        return "The function is 0 for every row alone; it has to tell rows apart one by one"

    def evaluations(self) -> int:
        return self._calls[0]

    def block(self, first: int, rows: Array) -> Block:
        """A call per row."""
        alone = np.array([self._value(rows[i : i + 1], f"row {first + i}") for i in range(len(rows))])
        return Block(first, rows, Points(rows), alone, np.ones(len(rows)))

    def singles(self, block: Block) -> Float64:
        return np.asarray(np.sqrt(block.mu))

    def empty(self) -> Fit:
        return Fit(np.zeros(0), 0.0)

    def grow(self, fit: Fit, members: Array, row: Array) -> Fit:
        return self.fitted(np.vstack([members, row]), np.ones(fit.size + 1))

    def fitted(self, rows: Array, start: Float64) -> Fit:
        return Fit(np.ones(len(rows)), self._value(rows, f"a set of {len(rows)} rows"))

    def gradients(self, fits: Sequence[Fit], rows: Array) -> Float64:
        return np.zeros((len(fits), 0))

    def may_gain(self, gradient: float | None, gain: float) -> bool:
        return True

    def upper_bound(self, step: int) -> float:
        return math.nan

    def _value(self, rows: Array, what: str) -> float:
        self._calls[0] += 1
        found = self.function(rows)
        if not isinstance(found, numbers.Real):
            raise InputError(f"SetFunction: {what} is worth {found!r}; function has to return a number")
        value = float(found)
        if not value >= 0 or math.isinf(value):
            raise InputError(
                f"SetFunction: {what} is worth {value}; a monotone function that is 0 for no rows is finite and at "
                "least 0 everywhere"
            )
        return value
