"""The one yardstick: how far a tool's rows, with the best weights they can have, are from the mean of the data."""

import numpy as np

from protosieve._blas import one_thread
from protosieve.kernels import Gaussian
from protosieve.weights import NonNegativeQP

BLOCK = 512


class Yardstick:
    """The maximum mean discrepancy of chosen rows to all rows, at optimal non-negative weights, exactly, in float64.

    Making one costs O(n^2 d) time, a score O(m^3); memory is a block of rows against all.
    """

    def __init__(self, X: np.ndarray, width: float) -> None:
        self.X = X
        # The shift that `resolve` learns changes no value; it saves digits where rows lie far from the origin.
        self.kernel = Gaussian(width).resolve(X, np.random.default_rng(0))
        points = self.kernel.prepare(X)
        blocks = (points.take(slice(i, i + BLOCK)) for i in range(0, len(X), BLOCK))
        with one_thread():
            self.mu = np.concatenate([self.kernel.block(block, points).mean(axis=1) for block in blocks])

    def mmd(self, indices: np.ndarray) -> float:
        """|mean of all rows - best weighted sum of these|, from ``|mu|^2 - 2 l`` where l is the best value."""
        qp = NonNegativeQP.from_gram(self.kernel(self.X[indices]), self.mu[indices])
        return float(np.sqrt(max(0.0, self.mu.mean() - 2 * qp.value)))
