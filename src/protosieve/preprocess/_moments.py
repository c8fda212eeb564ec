"""Count, mean, spread and range of columns, block by block."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typing import Array, Float64

__all__ = ["Moments"]

_GROUP = 64  # columns at a time: the float64 copies of a wide block stay small


@storable
@dataclass
class Moments:
    """Statistics of the columns of a matrix, NaN aside; ``m2`` is the sum of squared distances from the mean.

    Two sets of rows A and B merge by (Chan, Golub and LeVeque 1979), with d = mean_B - mean_A and n = n_A + n_B::

        mean = mean_A + d n_B / n        m2 = m2_A + m2_B + d^2 n_A n_B / n

    so nothing large is ever subtracted from its like: years of seconds since 1970 keep their spread of days. The bits
    depend on the sequence of blocks.
    """

    count: NDArray[np.int64]
    mean: Float64
    m2: Float64
    low: Float64
    high: Float64

    @classmethod
    def empty(cls, width: int) -> "Moments":
        """Of no rows yet."""
        zeros = np.zeros(width)
        return cls(zeros.astype(np.int64), zeros, zeros.copy(), np.full(width, np.inf), np.full(width, -np.inf))

    def update(self, rows: Array) -> None:
        """Take in some more rows: O(rows x columns)."""
        for start in range(0, rows.shape[1], _GROUP):
            group = slice(start, start + _GROUP)
            with np.errstate(all="ignore"):  # a spread beyond float64 is infinite, and refused when it is used
                self._merge(group, *_moments(np.array(rows[:, group], np.float64, order="C")))

    def _merge(
        self, group: slice, count: NDArray[np.int64], mean: Float64, m2: Float64, low: Float64, high: Float64
    ) -> None:
        before = self.count[group]
        share = count / np.maximum(before + count, 1)
        apart = np.where(before > 0, mean - self.mean[group], 0)
        self.mean[group] = np.where(before > 0, self.mean[group] + apart * share, mean)
        self.m2[group] += m2 + apart * apart * before * share
        self.low[group] = np.minimum(self.low[group], low)
        self.high[group] = np.maximum(self.high[group], high)
        self.count[group] += count

    @property
    def deviation(self) -> Float64:
        """The standard deviation of the rows as they are: divided by n."""
        return np.sqrt(self.m2 / np.maximum(self.count, 1))


def _moments(rows: Float64) -> tuple[NDArray[np.int64], Float64, Float64, Float64, Float64]:
    """Of one block, in two passes.

    The middle of the range is a first guess of the mean that can neither overflow nor lose what a large offset would
    hide; two corrections leave an error far below the spread's own rounding.
    """
    valid = ~np.isnan(rows)
    count = valid.sum(axis=0)
    low = np.fmin.reduce(rows, axis=0, initial=np.inf)
    high = np.fmax.reduce(rows, axis=0, initial=-np.inf)
    middle = np.where(count > 0, low / 2 + high / 2, 0)
    first = _mean_of(rows - middle, valid, count)
    rows = np.where(valid, rows - (middle + first), 0)
    second = rows.sum(axis=0) / np.maximum(count, 1)
    m2 = np.einsum("ij,ij->j", rows, rows) - count * second * second
    return count, middle + first + second, np.maximum(m2, 0), low, high


def _mean_of(rows: Float64, valid: NDArray[np.bool_], count: NDArray[np.int64]) -> Float64:
    return np.asarray(np.sum(rows, axis=0, where=valid) / np.maximum(count, 1))
