"""Count, mean, spread and range of columns, block by block, and the ways to scale columns by them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array, Float64

_TELLING, _DIFFERENT = 50, 12  # values, and different ones, that tell about tails
_CELLS = 1 << 17  # at a time: float64 copies that stay in the cache


@storable
@dataclass
class Moments:
    """Statistics of the columns of a matrix, NaN aside; ``m2`` is the sum of squared distances from the mean.

    Two sets of rows A and B merge by (Chan, Golub and LeVeque 1979), with d = mean_B - mean_A and n = n_A + n_B::

        mean = mean_A + d n_B / n        m2 = m2_A + m2_B + d^2 n_A n_B / n

    and all means are kept as distances from ``origin``, the middle of the first rows' range. So nothing large is ever
    subtracted from its like, and rounding is that of the spread, not of an offset: seconds since 1970 keep spreads of
    milliseconds. The bits depend on how rows are cut into strips.
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

    @classmethod
    def of(cls, rows: Array) -> "Moments":
        """Those of some rows: O(rows x columns)."""
        whole = cls.empty(rows.shape[1])
        for part in cls.of_strips(rows, max(1, _CELLS // max(rows.shape[1], 1))):
            whole.merge(part)
        return whole

    @classmethod
    def of_strips(cls, rows: Array, length: int) -> list["Moments"]:
        """Those of every so many rows, each for itself; the last strip may be shorter."""
        found, together = [], length * max(1, _CELLS // max(length * rows.shape[1], 1))
        whole = len(rows) // length * length
        for start in range(0, whole, together):
            found += _seen(rows[start : min(start + together, whole)].reshape(-1, length, rows.shape[1]))
        return found + (_seen(rows[None, whole:]) if whole < len(rows) else [])

    def of_columns(self, places: NDArray[np.int64]) -> "Moments":
        """Those of some of the columns."""
        others = (part[places] for part in (self.origin, self.drift, self.m2, self.low, self.high))
        return Moments(self.count[places], *others)

    def merge(self, later: "Moments") -> None:
        """Take in the statistics of other rows of these columns: O(columns). To rounding, those of all rows."""
        with np.errstate(all="ignore"):
            first = (self.count == 0) & (later.count > 0)
            self.origin[first] = later.origin[first]
            share = later.count / np.maximum(self.count + later.count, 1)
            apart = (later.origin - self.origin) + later.drift - self.drift
            self.drift += apart * share
            self.m2 += np.where(self.count > 0, later.m2 + apart * apart * self.count * share, later.m2)
        self.count += later.count
        self.low = np.minimum(self.low, later.low)
        self.high = np.maximum(self.high, later.high)

    @property
    def mean(self) -> Float64:
        """Of each column; 0 where there is no value."""
        return self.origin + self.drift

    @property
    def deviation(self) -> Float64:
        """The standard deviation of the rows as they are: divided by n."""
        return np.sqrt(self.m2 / np.maximum(self.count, 1))


class Scale(NamedTuple):
    """Shift and factor of each column by its statistics, and what is done to columns, in words."""

    fit: Callable[[Moments], tuple[Float64, Float64]]
    words: str


# All scales: add a new one here.
SCALES = {
    "auto": Scale(lambda moments: (moments.mean, 1 / moments.deviation), "standardised"),  # by ranks if heavy-tailed
    "standard": Scale(lambda moments: (moments.mean, 1 / moments.deviation), "standardised"),
    "minmax": Scale(lambda moments: (moments.low, 1 / (moments.high - moments.low)), "scaled to 0..1"),
    "none": Scale(lambda moments: (np.zeros_like(moments.mean), np.ones_like(moments.mean)), "taken as they are"),
}


def is_heavy_tailed(values: Float64, deviation: float) -> bool:
    """Whether the middle half of a column is narrower than one standard deviation.

    Of a uniform column it is 1.7 deviations wide, of a normal one 1.35, of an exponential one 1.1. Where it is less
    than 1, a few rows far away set the scale, and standardising makes most others look alike. Few values, or few
    different ones, tell nothing about tails. O(n log n) for n sampled values.

    >>> normal = np.random.default_rng(0).normal(size=1000)
    >>> [is_heavy_tailed(values, values.std()) for values in (normal, np.exp(normal), normal > 1)]
    [False, True, False]
    """
    if len(values) < _TELLING or len(np.unique(values)) < _DIFFERENT:
        return False
    low, high = np.quantile(values, [0.25, 0.75]).tolist()
    return bool(high - low < deviation)


def _seen(strips: Array) -> list[Moments]:
    """The statistics of strips of rows, which stay in the processor's cache."""
    with np.errstate(all="ignore"):  # a spread beyond float64 is infinite, and refused when it is used
        low, high = strips.min(axis=1).astype(np.float64), strips.max(axis=1).astype(np.float64)
        valid: NDArray[np.bool_] | None = None
        count = np.full(low.shape, strips.shape[1])
        if np.isnan(low).any():  # a NaN is the least of its column
            valid = ~np.isnan(strips)
            count = valid.sum(axis=1)
            low = np.fmin.reduce(strips, axis=1, initial=np.inf).astype(np.float64)
            high = np.fmax.reduce(strips, axis=1, initial=-np.inf).astype(np.float64)
        origin = np.where(count > 0, low / 2 + high / 2, 0.0)
        mean, m2 = _moments(np.subtract(strips, origin[:, None], order="C"), valid, count)
    return [Moments(*parts) for parts in zip(count, origin, mean, m2, low, high, strict=True)]


def _moments(strips: Float64, valid: NDArray[np.bool_] | None, count: NDArray[np.int64]) -> tuple[Float64, Float64]:
    """Mean and ``m2`` of each strip in two passes: the second corrects what the first mean's rounding left.

    Sums are products with ones, several times as fast.
    """
    some, ones = np.maximum(count, 1), np.ones(strips.shape[1])
    if valid is not None:
        strips[~valid] = 0
    mean = ones @ strips / some
    strips -= mean[:, None]
    if valid is not None:
        strips[~valid] = 0
    rest = ones @ strips / some
    np.square(strips, out=strips)
    m2 = ones @ strips - count * rest * rest
    return mean + rest, np.maximum(m2, 0)
