"""Objectives whose weights are fitted again when a set grows: all but the kernel mean."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from protosieve._state import storable
from protosieve._typed import are_finite, require
from protosieve._typing import Array, Float64
from protosieve.objectives._base import Objective, Weighed
from protosieve.objectives._kernel_mean import KernelMean


def _nothing() -> Float64:
    return np.zeros(0)


@storable
@dataclass(frozen=True, eq=False)
class Fit:
    """The best weights on a set of rows, and what the objective needs to judge further rows from there.

    It stands where a `NonNegativeQP` stands in a set of the kernel mean. O(q + n) memory; O(q) when `sealed`.
    """

    weights: Float64
    value: float
    intercept: float = 0.0
    slope: Float64 = field(default_factory=_nothing)  # the gradient at any row x is <slope, x>

    @property
    def size(self) -> int:
        return len(self.weights)

    def twin(self) -> "Fit":
        """A copy; nothing in it changes."""
        return self

    def sealed(self) -> "Fit":
        """No row will be judged from here any more."""
        return replace(self, slope=_nothing())

    def _check_form(self) -> None:
        require(self.weights.ndim == self.slope.ndim == 1, "the weights of a fit")
        require(are_finite(self.weights, self.value, self.intercept, self.slope), "the weights of a fit")

    def _check(self) -> None:
        self._check_form()


class FittedObjective(Objective):
    """Sets are fitted one by one: ``empty``, then ``grow`` with each row that joins."""

    kernel = None

    @abstractmethod
    def empty(self) -> Fit:
        """The set without members, worth 0."""

    @abstractmethod
    def grow(self, fit: Fit, members: Array, row: Array) -> Fit:
        """The best weights when ``row`` joins the ``members`` whose best weights are ``fit``."""

    @abstractmethod
    def gradients(self, fits: Sequence[Fit], rows: Array) -> Float64:
        """The pull of every row at every fit, shape (fits, rows); without columns where there are no gradients."""

    @abstractmethod
    def may_gain(self, gradient: float | None, gain: float) -> bool:
        """Whether a row with this gradient, if there are gradients, may gain so much; if not, it needs no fit."""

    def quadratic(self) -> KernelMean:
        """The same objective as ``w'mu - w'K w / 2``; required of objectives that offer exchanges."""
        raise NotImplementedError(f"{type(self).__name__} offers exchanges, so it has to have quadratic()")

    def weigh(self, rows: Array, start: Float64) -> Weighed:
        """Those of `fitted`."""
        fit = self.fitted(rows, start)
        return Weighed(fit.weights, fit.value, fit.intercept)

    @abstractmethod
    def fitted(self, rows: Array, start: Float64) -> Fit:
        """The best weights on rows, from feasible ones."""
