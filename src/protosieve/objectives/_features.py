"""Objectives over streamed features: ``l`` depends on the weights through a linear predictor."""

import numbers
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError, arg
from protosieve.kernels import Points
from protosieve.objectives._base import Block, Need
from protosieve.objectives._fitted import Fit, FittedObjective
from protosieve.weights import Newton, Point

_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of |x| |slope|: a gradient that small is none
_SLACK = 1e-6  # so that rounding of a gradient never turns a row away


@dataclass(frozen=True, eq=False)
class FeatureObjective(FittedObjective):
    """Choose features: a row of the stream is one feature, its columns are the samples.

    With the linear predictor ``eta = intercept + sum_j w_j x_j``, one number per sample,

        l(w) = phi(eta) - phi(eta_0) - ridge |w|^2 / 2

    where ``eta_0`` is the best predictor without features, so that no features are worth 0. The gradient of a feature x
    at any weights is ``<x, phi'(eta)>``: for a block of features and many sets one matrix product.

    To write your own, subclass it as a dataclass, ``frozen=True``, and give it ``value``, ``gradient``, ``ceiling`` and
    ``maximise``; or subclass `SmoothObjective`, which maximises by Newton's method and wants ``curvature`` instead.
    ``phi`` must be concave and differentiable.

    Parameters
    ----------
    y : array of shape (n_samples,)
        What is to be explained.
    signed : bool, default False
        Whether weights may be negative.
    ridge : float, default 0.0
        Zero or more. Above zero ``l`` is strongly concave whatever the features: copies share a weight, and weights
        stay finite where classes can be told apart for certain.
    intercept : bool, default True
        Whether there is a constant in the predictor; it is free, of either sign, and costs nothing.
    """

    offers: ClassVar[tuple[Need, ...]] = (Need.VALUES, Need.GRADIENTS)
    pull_means: ClassVar[str] = "gradient"
    explains: ClassVar[str] = "what is left to explain without features"

    y: Float64 = field(repr=False)
    signed: bool = field(default=False, kw_only=True)
    ridge: float = field(default=0.0, kw_only=True)
    intercept: bool = field(default=True, kw_only=True)

    # -- what an objective of one's own has to say

    @abstractmethod
    def value(self, predictor: Float64) -> float:
        """``phi``."""

    @abstractmethod
    def gradient(self, predictor: Float64) -> Float64:
        """``phi'``: the derivative by the predictor of every sample."""

    @abstractmethod
    def ceiling(self) -> float:
        """The largest ``phi`` there is, for any predictor; ``inf`` if there is none."""

    @abstractmethod
    def maximise(self, rows: Float64, weights: Float64, intercept: float) -> tuple[Float64, float]:
        """The best weights and intercept on rows, the features of a set, from feasible ones.

        Weights are non-negative unless ``signed``; the intercept stays 0 unless ``intercept``.
        """

    # -- what follows

    def __post_init__(self) -> None:
        name = type(self).__name__
        try:
            y = np.array(self.y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"{name}: {arg('y')} must be numbers, one per sample; got {self.y!r}") from error
        if y.ndim != 1 or not len(y):
            raise ParameterError(f"{name}: {arg('y')} must be one number per sample, got shape {y.shape}")
        wrong = np.flatnonzero(~np.isfinite(y))
        if len(wrong):
            raise ParameterError(f"{name}: {arg(f'y[{wrong[0]}]')} is {y[wrong[0]]}; leave such samples out")
        if not (isinstance(self.ridge, numbers.Real) and 0 <= float(self.ridge) < np.inf):
            raise ParameterError(f"{name}: {arg('ridge')} must be a number of at least 0, got {self.ridge!r}")
        for word in ("signed", "intercept"):
            if not isinstance(getattr(self, word), (bool, np.bool_)):
                raise ParameterError(f"{name}: {arg(word)} must be True or False, got {getattr(self, word)!r}")
        if self.intercept and np.ptp(y) <= _ROUNDING * np.abs(y).max():
            raise ParameterError(
                f"{name}: {arg('y')} is {y[0]:g} everywhere, which an intercept explains by itself; nothing is "
                "left to choose by"
            )
        object.__setattr__(self, "y", y)
        y.flags.writeable = False

    def __deepcopy__(self, memo: object) -> "FeatureObjective":
        return self  # nothing in it changes

    def whole(self) -> str:
        return f"{self.explains}{', what the ridge costs taken off' if self.ridge else ''}"

    def keeps_more(self) -> str:
        sign = "" if self.signed else "signed=True lets features count against y, too; "
        return f"{sign}features of one scale compete on equal terms; ProtoBasic always keeps as many"

    def remedy(self) -> str:
        return "No feature helps on its own: check that rows are features and columns are samples, or try signed=True"

    @property
    def in_threads(self) -> bool:
        return True

    def check(self, rows: Array, name: str) -> None:
        n = len(self.y)
        if rows.shape[1] != n:
            turned = " It looks turned round: pass X.T." if rows.shape[0] == n else ""
            raise InputError(
                f"{name} has {rows.shape[1]} columns and y of {type(self).__name__} has {n} values: every row is a "
                f"feature, with a value for every sample.{turned}"
            )

    def block(self, first: int, rows: Array) -> Block:
        """O(B n) for B features of n samples."""
        slope = self.empty().slope
        with np.errstate(all="ignore"):
            mu, squares = rows @ slope, np.einsum("ij,ij->i", rows, rows)
            mu[np.abs(mu) <= _ROUNDING * np.sqrt(squares) * np.linalg.norm(slope)] = 0.0
        wrong = np.flatnonzero(~np.isfinite(mu + squares) | ((squares == 0) & rows.any(axis=1)))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"row {first + row}: its gradient is {mu[row]}, its squared length {squares[row]}; scale the features"
            )
        return Block(first, rows, Points(rows), mu, squares, self.signed)

    def upper_bound(self, step: int) -> float:
        bound = self.ceiling() - self._origin.value
        return bound if np.isfinite(bound) else float("nan")

    @cached_property
    def _origin(self) -> Fit:
        """The best predictor without features, worth what it is."""
        none = np.zeros((0, len(self.y)))
        _, intercept = self.maximise(none, np.zeros(0), 0.0)
        predictor = np.full(len(self.y), intercept)
        return Fit(np.zeros(0), self.value(predictor), intercept, self.gradient(predictor))

    @cached_property
    def _none(self) -> Fit:
        return Fit(np.zeros(0), 0.0, self._origin.intercept, self._origin.slope)

    def empty(self) -> Fit:
        return self._none

    def grow(self, fit: Fit, members: Array, row: Array) -> Fit:
        """O(q^2 n) for each of a few steps."""
        return self._fit(np.vstack([members, row]), np.append(fit.weights, 0.0), fit.intercept)

    def fitted(self, rows: Array, start: Float64) -> Fit:
        """From ``start``, unless that is worse than nothing; the intercept that belongs to it is a guess."""
        rows = np.asarray(rows, np.float64)
        intercept = self.empty().intercept - float(start @ rows.mean(axis=1)) if self.intercept else 0.0
        if self._worth(rows, start, intercept) >= 0:
            return self._fit(rows, start, intercept)
        return self._fit(rows, np.zeros(len(rows)), self.empty().intercept)

    def _worth(self, rows: Array, weights: Float64, intercept: float) -> float:
        with np.errstate(over="ignore"):  # a guess may be far off
            value = self.value(weights @ rows + intercept)
        return value - 0.5 * self.ridge * float(weights @ weights) - self._origin.value

    def _fit(self, rows: Array, start: Float64, intercept: float) -> Fit:
        weights, intercept = self.maximise(np.asarray(rows, np.float64), start, intercept)
        slope = self.gradient(weights @ rows + intercept)
        return Fit(weights, self._worth(rows, weights, intercept), float(intercept), slope)

    def singles(self, block: Block) -> Float64:
        """A fit per row."""
        values = np.array([self.grow(self.empty(), block.rows[:0], row).value for row in block.rows])
        return np.asarray(np.sqrt(np.maximum(values, 0.0)))

    def gradients(self, fits: Sequence[Fit], rows: Array) -> Float64:
        """One product, O(fits x rows x n)."""
        if not fits:
            return np.zeros((0, len(rows)))
        found = np.stack([fit.slope for fit in fits]) @ rows.T
        return np.asarray(np.abs(found) if self.signed else found)

    def may_gain(self, gradient: float | None, gain: float) -> bool:
        """By concavity a row gains ``g^2 / (2 ridge)`` at most, and without a gradient nothing."""
        assert gradient is not None
        return gradient > 0 and gradient**2 >= 2 * self.ridge * gain * (1 - _SLACK)


@dataclass(frozen=True, eq=False)
class SmoothObjective(FeatureObjective):
    """A `FeatureObjective` with second derivatives: weights by Newton's method, each step a quadratic program.

    From the best weights of a set to those of the set and one more feature it takes a few steps of O(q^2 n); they meet
    the conditions of optimality to 1e-8.
    """

    @abstractmethod
    def curvature(self, predictor: Float64) -> Float64:
        """``-phi''``, zero or more, for every sample."""

    def maximise(self, rows: Float64, weights: Float64, intercept: float) -> tuple[Float64, float]:
        point: Point = self._newton.maximise(self, rows, weights, intercept)
        return point.weights, point.intercept

    @property
    def _newton(self) -> Newton:
        return Newton(self.signed, float(self.ridge), self.intercept)
