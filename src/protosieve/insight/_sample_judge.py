"""The sample as a judge, where the mean that chose the prototypes is not at hand."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel
from protosieve.means import FixedMean
from protosieve.objectives import Coverage, KernelMean

_MOST = 4096  # rows a mean is taken over: its norm is O(rows^2 d)


@dataclass(frozen=True, eq=False)
class SampleJudge:
    """The kernel mean of at most 4,096 rows of a sample, or how well these are covered."""

    rows: Array
    objective: KernelMean | Coverage

    @classmethod
    def of(cls, kernel: Kernel, sample: Array, covers: bool = False) -> "SampleJudge":
        rows = thinned(sample, _MOST)
        if covers:
            return cls(rows, Coverage(len(rows)).by(kernel, rows, len(rows)))
        return cls(rows, KernelMean(kernel, FixedMean.over(kernel, rows)))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def bound(self) -> float:
        """Half of the mean's squared norm, or full coverage, which bounds every value; O(rows^2 d)."""
        with one_thread():
            return self.objective.upper_bound(512)

    def residual(self, rows: Array, weights: Float64 | None = None) -> float:
        """What weighted rows leave; by default at their best weights."""
        with one_thread():
            rows, objective = rows.astype(self.rows.dtype, copy=False), self.objective
            if weights is None:
                value = objective.weigh(rows, np.zeros(len(rows))).value
            else:
                value = objective.weighed(rows, weights).value
        return 1 - min(value / self.bound, 1.0) if self.bound > 0 else 0.0

    def residual_of_random(self, sample: Array, count: int) -> float:
        """What ``count`` random rows of the sample leave at their best weights; the same rows every time."""
        return self.residual(thinned(sample, count, seed=1))


def thinned(rows: Any, most: int, seed: int = 0) -> Any:
    """At most so many of the rows, uniformly, in their order; the same ones every time."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))]
