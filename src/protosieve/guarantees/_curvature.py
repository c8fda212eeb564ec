"""Restricted strong concavity and smoothness: how curved an objective is along few elements at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protosieve._blas import one_thread
from protosieve._typing import Array
from protosieve.errors import InputError, ParameterError, arg
from protosieve.guarantees._supports import check_size, supports

_ROUNDING = 1e-10  # of the largest entry: eigenvalues this far below zero are zero; of single precision more


@dataclass(frozen=True)
class Curvature:
    """``c`` and ``C`` with ``c |v|^2 / 2 <= l(x) + grad l(x)'v - l(x + v) <= C |v|^2 / 2`` for steps on few elements.

    Here ``v`` is any step within the support it was computed on, or on at most ``size`` elements. So ``C`` is the
    paper's ``C~_size``, and ``c`` its ``c_size`` for two points on a common support of ``size`` elements.

    The paper's definition allows any two points of ``size`` elements each, whose difference may lie on ``2 size``; its
    proofs never compare points that have no common support, and for those that have one ``c`` is larger.

    Attributes
    ----------
    size : int
        How many elements a step may touch.
    c, C : float
        Restricted strong concavity and smoothness.
    exact : bool
        Whether these are the constants themselves, or ``c`` may be too small and ``C`` too large.
    """

    size: int
    c: float
    C: float
    exact: bool = True

    @property
    def condition(self) -> float:
        """``C / c``; infinite where the objective is flat in some direction."""
        return self.C / self.c if self.c > 0 else np.inf

    def between(self, lower: float, upper: float, ridge: float = 0.0) -> "Curvature":
        """Of an objective whose Hessian lies between ``-upper K - ridge I`` and ``-lower K - ridge I``.

        For features, elements that are the rows of ``X`` with N columns each, ``K`` is ``X @ X.T / N``; then ``lower``
        and ``upper`` bound the second derivative of the loss of one observation: 1 and 1 for least squares, 0 and 1/4
        for logistic regression, which is strongly concave by its ridge alone.

        >>> import numpy as np
        >>> X = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
        >>> curvature(X @ X.T / 4, 2).between(0, 1 / 4, ridge=0.01)
        Curvature(size=2, c=0.01, C=0.26, exact=False)
        """
        if not 0 <= lower <= upper:
            raise ParameterError(
                f"between: {arg('lower', lower)} and {arg('upper', upper)} must have 0 <= lower <= upper"
            )
        if not ridge >= 0:
            raise ParameterError(f"between: {arg('ridge')} must be at least 0, got {ridge!r}")
        return replace(self, c=lower * self.c + ridge, C=upper * self.C + ridge, exact=self.exact and lower == upper)

    def __str__(self) -> str:
        least, most = ("", "") if self.exact else ("at least ", "at most ")
        return (
            f"along any {self.size} elements the objective curves {least}{self.c:.4g} (strong concavity) and "
            f"{most}{self.C:.4g} (smoothness)"
        )


def curvature_on(K: Any, support: Sequence[int]) -> Curvature:
    """Of ``w'mu - w'K w / 2`` along the elements of one support; O(size^3)."""
    K = _gram("curvature_on", K)
    members = list(support)
    check_size("curvature_on", len(members), len(K))
    if len(set(members)) < len(members) or not all(0 <= member < len(K) for member in members):
        raise ParameterError(
            f"curvature_on: {arg('support')} must be different numbers from 0 to {len(K) - 1}, got {members}"
        )
    return _extremes("curvature_on", K, np.array([members]))


def curvature(K: Any, size: int) -> Curvature:
    """Of ``w'mu - w'K w / 2`` along any ``size`` elements, exactly: every support is looked at.

    Signs of weights make no difference: points with weights of zero or more differ by anything. O(size^3) for each of
    the ``comb(n, size)`` supports; `InputError` beyond 200,000 of them, where `curvature_bounds` is the way.

    >>> import numpy as np
    >>> K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> curvature(K, 2)
    Curvature(size=2, c=0.5, C=1.5, exact=True)
    """
    K = _gram("curvature", K)
    check_size("curvature", size, len(K))
    parts = supports("curvature", len(K), size, "curvature_bounds(K, size) needs none of them")
    found = [_extremes("curvature", K, np.array(part)) for part in parts]
    return Curvature(size, min(part.c for part in found), max(part.C for part in found))


def curvature_bounds(K: Any, size: int) -> Curvature:
    """A ``c`` that is not too large and a ``C`` that is not too small, without looking at the supports; O(n^3).

    Both by the better of two: the eigenvalues of all of ``K``; and Gershgorin's discs, for which a support adds to an
    element's ``K_ii`` the ``size - 1`` largest of its ``|K_ij|`` at most. ``C`` also by the trace, the ``size``
    largest ``K_ii``. Good for few, dissimilar elements; where two are alike ``c`` is near 0, and rightly so.
    """
    K = _gram("curvature_bounds", K)
    check_size("curvature_bounds", size, len(K))
    whole = _extremes("curvature_bounds", K, np.arange(len(K))[None])
    diagonal = np.diag(K)
    others = np.sort(np.abs(K - np.diag(diagonal)), axis=1)[:, len(K) - size + 1 :].sum(axis=1)
    c = max(whole.c, float((diagonal - others).min()))
    C = min(whole.C, float((diagonal + others).max()), float(np.sort(diagonal)[-size:].sum()))
    return Curvature(size, c, C, exact=size in (1, len(K)))


def _extremes(owner: str, K: Array, members: Any) -> Curvature:
    """The extreme eigenvalues over supports, one per row."""
    rounding = max(_ROUNDING, 8 * members.shape[1] * float(np.finfo(K.dtype).eps))
    K = K.astype(np.float64)
    with one_thread():
        values = np.linalg.eigvalsh(K[members[:, :, None], members[:, None, :]])
    c, C = float(values.min()), float(values.max())
    if c < -rounding * np.abs(K).max():
        raise InputError(
            f"{owner}: K has the eigenvalue {c:.4g}, so w'mu - w'K w / 2 is not concave; a Gram matrix has none below 0"
        )
    return Curvature(members.shape[1], max(c, 0.0), C)


def _gram(owner: str, K: Any) -> Array:
    matrix = np.asarray(K)
    if matrix.dtype != np.float32:
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{owner}: K must be a square matrix, got shape {matrix.shape}")
    symmetric = np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * np.abs(matrix).max(initial=0.0))
    if not (symmetric and np.isfinite(matrix).all()):
        raise InputError(f"{owner}: K must be finite and symmetric")
    return matrix
