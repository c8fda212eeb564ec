"""Matrices that grow, Gram matrices that rounding has bent, and weights of either sign."""

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from protosieve._typing import Float64

# Below this share of its squared length outside the span of the others, a member is taken for a copy of them: signs
# being free, its weight would be a difference of large numbers, and lost in rounding.
_LEAST = 1e-7


def grown(old: Any, room: int) -> Any:
    """The vector or square matrix, padded with zeros to the length ``room``."""
    new = np.zeros((room,) * old.ndim, old.dtype)
    new[(slice(len(old)),) * old.ndim] = old
    return new


def definite_cholesky(lower: Float64, share: float) -> tuple[Float64, float]:
    """The Cholesky factor of a Gram matrix, given its lower triangle, and the ridge that made it definite.

    A ridge, a share of the diagonal, is added until no pivot is below half of ``share`` of it: first none, then
    ``share``, then twice as much each time.
    """
    diagonal, ridge = lower.diagonal(), 0.0
    while ridge <= 1.0:
        try:
            root = cholesky(lower + np.diag(ridge * diagonal), lower=True, check_finite=False)
            if (root.diagonal() ** 2 >= 0.5 * share * diagonal).all():
                return np.asarray(root), ridge
        except LinAlgError:
            pass
        ridge = max(2 * ridge, share, float(np.finfo(np.float64).eps))
    raise FloatingPointError("a Gram matrix is not one: no ridge makes it definite")


def widened(old: Float64, room: int) -> Float64:
    """The same rows, widened with zeros to ``room`` columns."""
    new = np.zeros((len(old), room))
    new[:, : old.shape[1]] = old
    return new


def free_weights(gram: Float64, mu: Float64) -> tuple[Float64, float]:
    """The best weights, signs as they come, and ``l`` there; O(q^3). Copies of a member share its weight."""
    if not len(mu):
        return np.zeros(0), 0.0
    root, _ = definite_cholesky(np.tril(gram), _LEAST)
    w = cho_solve((root, True), mu)
    w = w + cho_solve((root, True), mu - gram @ w)  # once more, for what the ridge has taken
    return w, float(mu @ w - 0.5 * w @ gram @ w)
