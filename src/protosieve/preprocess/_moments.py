"""Count, mean, spread and range of columns, block by block."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array, Float64

__all__ = ["Moments"]

_CELLS = 1 << 17  # looked at together: float64 copies that stay in the cache


@storable
@dataclass
class Moments:
    """Statistics of the columns of a matrix, NaN aside; ``m2`` is the sum of squared distances from the mean.

    Two sets of rows A and B merge by (Chan, Golub and LeVeque 1979), with d = mean_B - mean_A and n = n_A + n_B::

        mean = mean_A + d n_B / n        m2 = m2_A + m2_B + d^2 n_A n_B / n

    and all means are kept as distances from ``origin``, the middle of the first block's range. So nothing large is ever
    subtracted from its like, and rounding is that of the spread, not of an offset: seconds since 1970 keep spreads of
    milliseconds. The bits depend on the sequence of blocks.
    """

    count: NDArray[np.int64]
    origin: Float64
    drift: Float64  # the mean's distance from the origin
    m2: Float64
    low: Float64
    high: Float64

    def _check_form(self) -> None:
        parts = (self.origin, self.drift, self.m2, self.low, self.high)
        require(self.count.ndim == 1 and all(part.shape == self.count.shape for part in parts), "statistics of columns")
        require(are_counts(*self.count.tolist()) and not (self.m2 < 0).any(), "statistics of columns")

    @classmethod
    def empty(cls, width: int) -> "Moments":
        """Of no rows yet."""
        origin, drift, m2 = np.zeros((3, width))
        return cls(np.zeros(width, np.int64), origin, drift, m2, np.full(width, np.inf), np.full(width, -np.inf))

    def update(self, rows: Array) -> None:
        """Take in some more rows: O(rows x columns)."""
        stretch = max(1, _CELLS // max(rows.shape[1], 1))
        with np.errstate(all="ignore"):  # a spread beyond float64 is infinite, and refused when it is used
            for start in range(0, len(rows), stretch):
                self._see(rows[start : start + stretch])

    def _see(self, rows: Array) -> None:
        low, high = rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
        valid: NDArray[np.bool_] | None = None
        count = np.full(len(low), len(rows))
        if np.isnan(low).any():  # a NaN is the least of its column
            valid = ~np.isnan(rows)
            count = valid.sum(axis=0)
            low = np.fmin.reduce(rows, axis=0, initial=np.inf).astype(np.float64)
            high = np.fmax.reduce(rows, axis=0, initial=-np.inf).astype(np.float64)
        first = (self.count == 0) & (count > 0)
        self.origin[first] = (low / 2 + high / 2)[first]
        self._merge(count, *_moments(np.subtract(rows, self.origin, order="C"), valid, count))
        self.low = np.minimum(self.low, low)
        self.high = np.maximum(self.high, high)

    def merge(self, later: "Moments") -> None:
        """Take in the statistics of other rows of these columns: O(columns). To rounding, those of all rows."""
        with np.errstate(all="ignore"):
            first = (self.count == 0) & (later.count > 0)
            self.origin[first] = later.origin[first]
            self._merge(later.count, (later.origin - self.origin) + later.drift, later.m2)
        self.low = np.minimum(self.low, later.low)
        self.high = np.maximum(self.high, later.high)

    def _merge(self, count: NDArray[np.int64], drift: Float64, m2: Float64) -> None:
        share = count / np.maximum(self.count + count, 1)
        apart = drift - self.drift
        self.drift += apart * share
        self.m2 += np.where(self.count > 0, m2 + apart * apart * self.count * share, m2)
        self.count += count

    @property
    def mean(self) -> Float64:
        """Of each column; 0 where there is no value."""
        return self.origin + self.drift

    @property
    def deviation(self) -> Float64:
        """The standard deviation of the rows as they are: divided by n."""
        return np.sqrt(self.m2 / np.maximum(self.count, 1))


def _moments(rows: Float64, valid: NDArray[np.bool_] | None, count: NDArray[np.int64]) -> tuple[Float64, Float64]:
    """Mean and ``m2`` of one block in two passes: the second corrects what the first mean's rounding left.

    Sums are products with ones, several times as fast.
    """
    some, ones = np.maximum(count, 1), np.ones(len(rows))
    if valid is not None:
        rows[~valid] = 0
    mean = ones @ rows / some
    rows -= mean
    if valid is not None:
        rows[~valid] = 0
    rest = ones @ rows / some
    np.square(rows, out=rows)
    m2 = ones @ rows - count * rest * rest
    return mean + rest, np.maximum(m2, 0)
