"""How many points a mean needs, by what a sample says of them.

P points tell the mean of all rows in their span; outside, a sample of R rows stands for them. What that leaves in doubt
about ``|mu - q|^2`` is, in the part that more points mend, a sum over pairs of rows with the standard error
``sqrt(2 p_2) / R``, where ``p_2`` is ``trace Sigma^2`` for the covariance Sigma of rows outside the span
(`_sampling.py`). It should be small against what m prototypes leave of the mean. The span of m random rows leaves more
than they do, up to some ten times.

With the Cholesky factor of all points at hand, that of the first P is its corner, and so are coordinates in their span:
one factor tells of every P.
"""

import math

import numpy as np

from protosieve._typing import Array, Float64
from protosieve.means._span import Span

__all__ = ["enough_points"]

_FEWEST = 128
_LOOKED_AT = 512  # rows, by which pairs are judged
_SHARE = 1e-3  # of what the span of m random rows leaves: a hundredth of a tenth


def enough_points(span: Span, held_out: Array, n_prototypes: int) -> int:
    """How many of the first points of a span do, 128 times a power of two, or all; ``held_out`` are other rows.

    O(P^2 (P + 512)) for all P points: less than the sums of a few thousand rows.
    """
    points, rows = span.rows, held_out[:_LOOKED_AT].astype(np.float64)
    if len(rows) < _LOOKED_AT or len(points) <= _FEWEST:
        return len(points)
    coordinates, prepared = span.coordinates(rows), span.kernel.prepare(rows)
    K = np.asarray(span.kernel.block(prepared, prepared))
    left, doubt = _outside(K, coordinates[:n_prototypes])
    allowed = _SHARE * (left - 2 * doubt / len(rows))  # what is left is itself in doubt
    found = _FEWEST
    while found < len(points):
        if _outside(K, coordinates[:found])[1] / len(held_out) <= allowed:
            return found
        found *= 2
    return len(points)


def _outside(K: Float64, coordinates: Float64) -> tuple[float, float]:
    """Of pairs of different rows outside a span: the mean of ``r(x, y)``, and ``sqrt(2 p_2)``."""
    r = K - coordinates.T @ coordinates
    np.fill_diagonal(r, np.nan)
    left = float(np.nanmean(r))
    r -= np.nanmean(r, axis=0)
    r -= np.nanmean(r, axis=1)[:, None]
    return left, math.sqrt(2 * float(np.nanmean(r * r)))
