"""The sample as a judge, where the result's own is not at hand."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel
from protosieve.means import FixedMean
from protosieve.objectives import KernelMean
from protosieve.weights import NonNegativeQP

__all__ = ["Judge", "thinned"]

_MOST = 4096  # rows a mean is taken over: its norm is O(rows^2 d)


@dataclass(frozen=True, eq=False)
class Judge:
    """The kernel mean of at most 4,096 rows of a sample, and half of its squared norm, which bounds every value."""

    objective: KernelMean
    bound: float
    rows: int

    @classmethod
    def of(cls, kernel: Kernel, sample: Array) -> "Judge":
        """O(rows^2 d)."""
        rows = thinned(sample, _MOST)
        with one_thread():
            objective = KernelMean(kernel, FixedMean.over(kernel, rows))
            return cls(objective, objective.upper_bound(512), len(rows))

    def residual(self, rows: Array, weights: Float64) -> float:
        """What weighted rows leave."""
        with one_thread():
            return self._left(self.objective.weighed(rows, weights).value)

    def best_residual(self, rows: Array) -> float:
        """What rows leave at their best weights."""
        with one_thread():
            return self._left(NonNegativeQP.from_gram(*self.objective.exact(rows)).value)

    def means(self, rows: Array) -> Float64:
        with one_thread():
            return self.objective.exact(rows)[1]

    def _left(self, value: float) -> float:
        return 1 - min(value / self.bound, 1.0) if self.bound > 0 else 0.0

    def of_random(self, sample: Array, count: int) -> float:
        """What ``count`` random rows of the sample leave; the same rows every time."""
        return self.best_residual(thinned(sample, count, seed=1))


def thinned(rows: Any, most: int, seed: int = 0) -> Any:
    """At most so many of the rows, uniformly, in their order; the same ones every time."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))]
