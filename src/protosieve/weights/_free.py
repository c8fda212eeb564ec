"""Weights of either sign."""

import numpy as np
from scipy.linalg import cho_solve

from protosieve._typing import Float64
from protosieve.weights._matrices import definite_cholesky

__all__ = ["free_weights"]

# Below this share of its squared length outside the span of the others, a member is taken for a copy of them: signs
# being free, its weight would be a difference of large numbers, and lost in rounding.
_LEAST = 1e-7


def free_weights(gram: Float64, mu: Float64) -> tuple[Float64, float]:
    """The best weights, signs as they come, and ``l`` there; O(q^3). Copies of a member share its weight."""
    if not len(mu):
        return np.zeros(0), 0.0
    root, _ = definite_cholesky(np.tril(gram), _LEAST)
    w = cho_solve((root, True), mu)
    w = w + cho_solve((root, True), mu - gram @ w)  # once more, for what the ridge has taken
    return w, float(mu @ w - 0.5 * w @ gram @ w)
