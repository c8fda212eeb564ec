"""Least squares, logistic regression and Poisson regression over streamed features."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, xlogy

from protosieve._state import storable
from protosieve._typing import Float64
from protosieve.errors import ParameterError, arg
from protosieve.objectives._base import Block, Need
from protosieve.objectives._features import SmoothObjective
from protosieve.objectives._kernel_mean import KernelMean
from protosieve.objectives._quadratic import InnerProduct, Response


@storable
@dataclass(frozen=True, eq=False)
class LeastSquares(SmoothObjective):
    """``phi(eta) = -|y - eta|^2 / (2 n)``: features that explain a number, linearly.

    The residual of a result is ``1 - R^2``, if there is an intercept and no ridge. Greedy and signed it is orthogonal
    matching pursuit; being quadratic, it works with every selector, `ProtoSwap` included.

    The parameters are those of `FeatureObjective`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from protosieve import ProtoSwap
    >>> from protosieve.objectives import LeastSquares
    >>> X, y = load_diabetes(return_X_y=True)
    >>> chosen = ProtoSwap(3, objective=LeastSquares(y, signed=True)).fit(X.T).result_
    >>> sorted(chosen.indices.tolist()), round(1 - chosen.residual, 2)
    ([2, 3, 8], 0.48)
    """

    offers: ClassVar[tuple[Need, ...]] = (Need.VALUES, Need.GRADIENTS, Need.EXCHANGES)
    explains: ClassVar[str] = "what there is to explain of y"

    def value(self, predictor: Float64) -> float:
        left = self.y - predictor
        return -0.5 * float(left @ left) / len(self.y)

    def gradient(self, predictor: Float64) -> Float64:
        return (self.y - predictor) / len(self.y)

    def curvature(self, predictor: Float64) -> Float64:
        return np.full(len(self.y), 1 / len(self.y))

    def ceiling(self) -> float:
        return 0.0

    def singles(self, block: Block) -> Float64:
        """The root of ``mu^2 / (2 k)``, k the squared length that the intercept leaves; O(B n)."""
        n = len(self.y)
        k = (block.rows.var(axis=1) if self.intercept else block.diagonal / n) + self.ridge
        helps = (block.pull > 0) & (k > 0)
        return np.where(helps, block.pull / np.sqrt(2 * np.where(helps, k, 1.0)), 0.0)

    def quadratic(self) -> KernelMean:
        """The same objective as ``w'mu - w'K w / 2``, for selectors that exchange members."""
        y = self.y - self.y.mean() if self.intercept else self.y
        return KernelMean(InnerProduct(float(self.ridge), self.intercept), Response(y), self.signed)


@storable
@dataclass(frozen=True, eq=False)
class Logistic(SmoothObjective):
    """``phi(eta) = mean(y eta - log(1 + exp eta))``: features that tell two classes apart.

    ``y`` are the labels of two classes, the larger counts as 1. The residual of a result is the deviance that is left,
    as a share of that without features, and what the ridge costs. The other parameters are those of `FeatureObjective`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from protosieve import ProtoDash
    >>> from protosieve.objectives import Logistic
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> features = StandardScaler().fit_transform(X).T
    >>> chosen = ProtoDash(4, objective=Logistic(y, signed=True)).fit(features).result_
    >>> len(chosen), chosen.residual < 0.2
    (4, True)
    """

    explains: ClassVar[str] = "the deviance without features"

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", _two_classes(self.y))
        super().__post_init__()

    def value(self, predictor: Float64) -> float:
        # log(1 + exp eta) = max(eta, 0) + log(1 + exp -|eta|)
        left = np.maximum(predictor, 0.0) + np.log1p(np.exp(-np.abs(predictor)))
        return float((self.y * predictor - left).mean())

    def gradient(self, predictor: Float64) -> Float64:
        return np.asarray((self.y - expit(predictor)) / len(self.y))

    def curvature(self, predictor: Float64) -> Float64:
        p = expit(predictor)
        return np.asarray(p * (1 - p) / len(self.y))

    def ceiling(self) -> float:
        return 0.0


@storable
@dataclass(frozen=True, eq=False)
class Poisson(SmoothObjective):
    """``phi(eta) = mean(y eta - exp eta)``: features that explain counts, or rates.

    ``y`` are zero or more, not all zero. The residual of a result is the deviance that is left, as a share of that
    without features. The other parameters are those of `FeatureObjective`.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve import ProtoDash
    >>> from protosieve.objectives import Poisson
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(50, 400))
    >>> y = rng.poisson(np.exp(features[7] - features[3]))
    >>> sorted(ProtoDash(2, objective=Poisson(y, signed=True)).fit(features).prototype_indices_.tolist())
    [3, 7]
    """

    explains: ClassVar[str] = "the deviance without features"

    def __post_init__(self) -> None:
        super().__post_init__()
        wrong = np.flatnonzero(self.y < 0)
        if len(wrong) or not self.y.any():
            found = f"y[{wrong[0]}] is {self.y[wrong[0]]:g}" if len(wrong) else "all are zero"
            raise ParameterError(f"Poisson: {arg('y')} must be counts or rates, zero or more and not all zero; {found}")

    def value(self, predictor: Float64) -> float:
        return float((self.y * predictor - np.exp(predictor)).mean())

    def gradient(self, predictor: Float64) -> Float64:
        return np.asarray((self.y - np.exp(predictor)) / len(self.y))

    def curvature(self, predictor: Float64) -> Float64:
        return np.asarray(np.exp(predictor) / len(self.y))

    def ceiling(self) -> float:
        return float((xlogy(self.y, self.y) - self.y).mean())


def _two_classes(y: Any) -> Float64:
    """Labels of two classes as 0 and 1, the larger as 1."""
    labels = np.asarray(y)
    missing = [i for i, label in enumerate(labels.ravel().tolist()) if label is None or label != label]
    if missing:
        raise ParameterError(f"Logistic: {arg(f'y[{missing[0]}]')} has no label; leave such samples out")
    try:
        classes = np.unique(labels)
    except TypeError as error:
        raise ParameterError(f"Logistic: {arg('y')} must be labels of one kind, all numbers or all strings") from error
    if labels.ndim != 1 or len(classes) != 2:
        raise ParameterError(
            f"Logistic: {arg('y')} must be the labels of two classes, one per sample; got shape {labels.shape} "
            f"with {len(classes)} different values"
        )
    return np.asarray(labels == classes[1], np.float64)
