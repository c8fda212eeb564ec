"""Other libraries' interfaces on protosieve's selectors: change the import, keep the code.

>>> from protosieve.compat import ProtodashExplainer
"""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.kernels import Gaussian, Kernel, Linear
from protosieve.means import ExactMean
from protosieve.selectors import ProtoDash, Rule, as_rows, whole_number

__all__ = ["ProtodashExplainer"]


def _one_of(*words: str) -> Rule:
    return Rule(" or ".join(f'"{word}"' for word in words), lambda value: value in words)


_RULES = {
    "m": whole_number(1),
    "kernelType": _one_of("Gaussian", "other"),
    "sigma": Rule("a positive number", lambda value: isinstance(value, numbers.Real) and 0 < float(value) < math.inf),
    "optimizer": _one_of("cvxpy", "osqp"),
}


class ProtodashExplainer:
    """ProtoDash with the interface of ``aix360.algorithms.protodash.ProtodashExplainer``, on `ProtoDash`.

    The arguments and what comes back are the same. It differs where AIX360 is mistaken: every row can be chosen,
    weights are never negative, bad input is an error. ``docs/migrate-from-aix360.md`` lists the differences.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protosieve.compat import ProtodashExplainer
    >>> X = load_iris().data
    >>> W, S, setValues = ProtodashExplainer().explain(X[:50], X, m=3, kernelType="Gaussian", sigma=2)
    >>> bool((S < 50).all()), W.shape, setValues.shape
    (True, (3,), (3,))
    """

    def set_params(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing, as in AIX360."""

    def explain(
        self, X: Any, Y: Any, m: int, kernelType: str = "other", sigma: float = 2, optimizer: str = "cvxpy"
    ) -> tuple[Float64, NDArray[np.int64], Float64]:
        """Choose rows of ``Y`` that explain ``X``, with weights.

        O(n n_X d) time for the mean over ``X`` and O(n m (d + m)) for the choice, n the rows of ``Y``, all in float64;
        memory n (d + m) numbers.

        Parameters
        ----------
        X : array or DataFrame of shape (n_X, d)
            The data to explain.
        Y : array or DataFrame of shape (n, d)
            The rows prototypes are chosen from; often ``X`` itself.
        m : int
            How many, at most: fewer come back when no further row brings the prototypes closer to ``X``.
        kernelType : "other" or "Gaussian"
            The linear kernel, or ``exp(-|x - y|^2 / (2 sigma^2))``.
        sigma : float
            The width of the Gaussian kernel.
        optimizer : "cvxpy" or "osqp"
            Accepted and not used: weights are solved exactly either way.

        Returns
        -------
        W : array of float64
            Weights, zero or more; they need not sum to one.
        S : array of int64
            Row numbers in ``Y``, in the order of choice.
        setValues : array of float64
            The objective after each choice.
        """
        for name, value in (("m", m), ("kernelType", kernelType), ("sigma", sigma), ("optimizer", optimizer)):
            _RULES[name].check("ProtodashExplainer", name, value)
        target, source = _rows(X, "X"), _rows(Y, "Y")
        if target.shape[1] != source.shape[1]:
            raise InputError(
                f"X has {target.shape[1]} columns and Y has {source.shape[1]}; they must be the same columns"
            )
        kernel: Kernel = Gaussian(float(sigma)) if kernelType == "Gaussian" else Linear()
        fitted = ProtoDash(min(m, len(source)), kernel=kernel, mean=ExactMean()).fit(source, target=target)
        by_number = np.argsort(fitted.prototype_indices_)
        chosen = fitted.order_
        weights = fitted.weights_[by_number][np.searchsorted(fitted.prototype_indices_[by_number], chosen)]
        return weights, chosen, fitted.order_objectives_


def _rows(given: Any, name: str) -> Array:
    rows = as_rows(given, name, dtype=np.float64)
    if not len(rows):
        raise InputError(f"{name} has no rows; give at least one")
    return rows
