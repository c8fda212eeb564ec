"""The best weights of a concave function of a linear predictor: Newton's method, each step a quadratic program.

    maximise  l(w, b) = phi(A'w + b) - ridge |w|^2 / 2     over  w, non-negative or free, and b, free or zero

With ``r = phi'`` and ``h = -phi''`` at the present predictor, the gradient is ``g = A r - ridge w`` and the curvature
``H = A diag(h) A' + ridge I``. Near the present point ``l`` is the quadratic ``(H w + g)'v - v'H v / 2`` of the weights
v to come, whose best non-negative ones are those of the one solver there is, `NonNegativeQP`. The intercept is taken
out beforehand: at its best for given weights, what is left of g and H is that of the rows ``A - a 1'`` around their
means ``a = A h / c`` under h, with ``c = sum h``; so the difference is taken before products are, and large means
cost no digits. For the same reason all is done with rows of mean zero, and the intercept that belongs to them.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_solve

from protosieve._typing import Float64
from protosieve.weights._matrices import definite_cholesky
from protosieve.weights._nonnegative import NonNegativeQP

_TOLERANCE = 1e-11  # of |x_i| |phi'(0)|, which bounds the gradient of member i at zero
_STEPS, _HALVINGS = 200, 60
_ENOUGH = 1e-4  # the share of the rise the gradient promises that a step must bring
_NOISE = float(np.finfo(np.float64).eps)
_CONSTANT = 64 * _NOISE  # a row whose differences are this share of it has none
_UNSEEN = 1e4 * _NOISE  # a rise by this share of the value is lost in its rounding


class Curve(Protocol):
    """A concave function of the predictor, the sum of one function per sample."""

    def value(self, predictor: Float64) -> float:
        """``phi``."""

    def gradient(self, predictor: Float64) -> Float64:
        """``phi'``, one number per sample."""

    def curvature(self, predictor: Float64) -> Float64:
        """``-phi''``, zero or more, one number per sample."""


class Point(NamedTuple):
    """Weights, intercept, the predictor they make, and ``l`` there."""

    weights: Float64
    intercept: float
    predictor: Float64
    value: float


@dataclass(frozen=True)
class Newton:
    """Which weights are allowed, and what they cost.

    A step costs O(q^2 n + q^3) for q members of n samples; from the best weights of all but one member some three to
    six are taken. Where ``phi`` has no maximum (classes a predictor can tell apart for certain) weights grow until the
    gradient is as small as anywhere else.
    """

    signed: bool
    ridge: float
    intercept: bool

    def maximise(self, curve: Curve, rows: Float64, weights: Float64, intercept: float) -> Point:
        """From feasible weights to the best."""
        if not self.intercept:
            return _Ascent(self, curve, rows).best(weights, intercept)
        rows, means = _centred(rows)
        point = _Ascent(self, curve, rows).best(weights, intercept + float(weights @ means))
        return point._replace(intercept=point.intercept - float(point.weights @ means))

    def violation(self, curve: Curve, rows: Float64, weights: Float64, intercept: float) -> float:
        """How far weights are from the conditions of optimality, as a share of the largest gradients there can be."""
        ascent = _Ascent(self, curve, rows)
        point = ascent.at(weights, intercept)
        return ascent.excess(point, *ascent.gradient(point))


class _Ascent:
    """One curve and its rows. Gradients are small against ``|x_i| |phi'(0)|``: by Cauchy and Schwarz the most they are
    at zero.
    """

    def __init__(self, allowed: Newton, curve: Curve, rows: Float64) -> None:
        self._allowed, self._curve, self._rows = allowed, curve, rows
        steep = float(np.linalg.norm(curve.gradient(np.zeros(rows.shape[1])))) or 1.0
        lengths = np.linalg.norm(rows, axis=1)
        self._scales = np.where(lengths > 0, lengths, 1.0) * steep  # of members
        self._scale = float(np.sqrt(rows.shape[1])) * steep  # of the intercept

    def best(self, weights: Float64, intercept: float) -> Point:
        point = self.at(weights, intercept)
        for _ in range(_STEPS):
            g, s = self.gradient(point)
            if self.excess(point, g, s) <= _TOLERANCE:
                break
            h = self._curve.curvature(point.predictor)
            further = self._towards(point, g, s, h) or self._climb(point, g, s, h)
            if further is None:
                break
            point = further
        return point

    def at(self, weights: Float64, intercept: float) -> Point:
        predictor = weights @ self._rows + intercept
        cost = 0.5 * self._allowed.ridge * float(weights @ weights)
        return Point(weights, intercept, predictor, self._curve.value(predictor) - cost)

    def gradient(self, point: Point) -> tuple[Float64, float]:
        r = self._curve.gradient(point.predictor)
        return self._rows @ r - self._allowed.ridge * point.weights, float(r.sum()) if self._allowed.intercept else 0.0

    def excess(self, point: Point, g: Float64, s: float) -> float:
        """The largest gradient that the constraints do not excuse."""
        counted = np.abs(g) if self._allowed.signed else np.where(point.weights > 0, np.abs(g), np.maximum(g, 0.0))
        return max(float((counted / self._scales).max(initial=0.0)), abs(s) / self._scale)

    def _climb(self, point: Point, g: Float64, s: float, h: Float64) -> Point | None:
        """Where the quadratic misleads, as where nothing curves: uphill, twice as far each time while that pays."""
        best = self._towards(point, g, s, h + np.abs(self._curve.gradient(point.predictor)).max())
        while best is not None:
            w, b = 2 * best.weights - point.weights, 2 * best.intercept - point.intercept
            with np.errstate(all="ignore"):
                further = self.at(w if self._allowed.signed else np.maximum(w, 0.0), b)
            if not further.value > best.value * (1 + np.sign(best.value) * _UNSEEN):
                break
            best = further
        return best

    def _towards(self, point: Point, g: Float64, s: float, h: Float64) -> Point | None:
        """To the best of the quadratic with curvature h, or as far towards it as pays; ``None`` if no way pays."""
        c, a = float(h.sum()), np.zeros(len(self._rows))
        free = self._allowed.intercept and c > 0
        if free:
            a = self._rows @ h / c
        around = self._rows - a[:, None] if free else self._rows
        H = (around * h) @ around.T
        H[np.diag_indices_from(H)] += self._allowed.ridge
        target = self._model(H, g - a * s, point.weights)
        along = target - point.weights
        own = s / c - float(a @ along) if free else 0.0
        promised = float(g @ along) + s * own
        if promised <= 0:
            return None
        if promised <= _UNSEEN * abs(point.value):  # then gradients tell what values cannot
            new = self.at(target, point.intercept + own)
            return new if self.excess(new, *self.gradient(new)) < self.excess(point, g, s) else None
        share = 1.0
        for _ in range(_HALVINGS):
            with np.errstate(all="ignore"):
                new = self.at(point.weights + share * along, point.intercept + share * own)
            if new.value >= point.value + _ENOUGH * share * promised:
                return new
            share /= 2
        return None

    def _model(self, H: Float64, g: Float64, w: Float64) -> Float64:
        """The best weights of the quadratic with gradient g and curvature H at w."""
        H = (H + H.T) / 2
        diagonal = H.diagonal()
        flat = diagonal <= 0  # a feature of zeros, or where all samples are settled
        H[flat, flat] = max(float(diagonal.max(initial=0.0)), 1.0)
        if self._allowed.signed:
            root, _ = definite_cholesky(np.tril(H), 1e-13)
            return np.asarray(w + cho_solve((root, True), g))
        return NonNegativeQP.from_gram(H, H @ w + g, w, _NOISE).weights


def _centred(rows: Float64) -> tuple[Float64, Float64]:
    """Rows less their means, and these; of a constant nothing is left, rounding neither."""
    means = rows.mean(axis=1)
    centred = rows - means[:, None]
    left, whole = np.linalg.norm(centred, axis=1), np.linalg.norm(rows, axis=1)
    centred[left <= _CONSTANT * whole] = 0.0
    return centred, means
