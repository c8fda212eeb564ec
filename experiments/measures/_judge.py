"""What rows are worth: one measure for every method, whatever it chose by."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from protosieve._blas import one_thread
from protosieve.kernels import Gaussian, Kernel
from protosieve.means import FixedMean
from protosieve.weights import NonNegativeQP

__all__ = ["KERNEL", "Judge", "Score"]

KERNEL = Gaussian(width=5.0)  # of all experiments of the paper, on pixels in [0, 1] and on letters' raw attributes


class Score(NamedTuple):
    """``l`` at a method's own weights and at the best ones, and what is left of the squared MMD at either."""

    own_objective: float
    own_residual: float
    objective: float
    residual: float


class Judge:
    """Scores rows against the exact mean of a target, in float64. The bound costs a pass over all pairs, once."""

    def __init__(self, target: np.ndarray, kernel: Kernel = KERNEL) -> None:
        self.kernel = kernel.resolve(target, np.random.default_rng(0))
        self._mean = FixedMean.over(self.kernel, target)

    @cached_property
    def upper_bound(self) -> float:
        """``|mu|^2 / 2``, which no selection exceeds."""
        with one_thread():
            return self._mean.squared_norm(512) / 2

    def score(self, rows: np.ndarray, weights: np.ndarray) -> Score:
        """Of rows, at these weights and at the best; one pass over the target."""
        with one_thread():
            gram, mu = self._quadratic(rows)
            best = NonNegativeQP.from_gram(gram, mu).weights
        values = [float(w @ mu - w @ gram @ w / 2) for w in (weights, best)]
        own, most = ((value, 1 - value / self.upper_bound) for value in values)
        return Score(*own, *most)

    def best_weights(self, rows: np.ndarray) -> np.ndarray:
        """The best non-negative weights on these rows."""
        with one_thread():
            return NonNegativeQP.from_gram(*self._quadratic(rows)).weights

    def objective(self, rows: np.ndarray, weights: np.ndarray) -> float:
        """``l`` of rows and weights."""
        with one_thread():
            gram, mu = self._quadratic(rows)
            return float(weights @ mu - weights @ gram @ weights / 2)

    def residual(self, rows: np.ndarray, weights: np.ndarray) -> float:
        """Relative squared MMD of rows and weights."""
        return 1 - self.objective(rows, weights) / self.upper_bound

    def _quadratic(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points = self.kernel.prepare(rows.astype(np.float64))
        return self.kernel.block(points, points), self._mean.at(points)
