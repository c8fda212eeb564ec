"""How many points a mean needs, by what a sample says of them.

P points tell the mean of all rows in their span; outside, a sample of R rows stands for them. What that leaves in doubt
about ``|mu - q|^2`` is, in the part that more points mend, a sum over pairs of rows with the standard error
``sqrt(2 p_2) / R``, where ``p_2`` is ``trace Sigma^2`` for the covariance Sigma of rows outside the span
(`_sampling.py`). It should be small against what m prototypes leave of the mean. The span of m random rows leaves more
than they do, up to some ten times.

Twice as many points are tried until these are enough. Each number has a Cholesky factor of its own: the corner of a
larger one differs in the last bits, and a stream that was saved has to go on as if it had not been.
"""

import math

import numpy as np

from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel
from protosieve.means._span import Span

__all__ = ["enough_points"]

_FEWEST = 128
_LOOKED_AT = 512  # rows, by which pairs are judged
_SHARE = 1e-3  # of what the span of m random rows leaves: a hundredth of a tenth


def enough_points(kernel: Kernel, points: Array, held_out: Array, n_prototypes: int, before: int = 0) -> Span:
    """The span of as many of the first points as do, 128 times a power of two, or of all; ``held_out`` are other rows.

    Half as many as did ``before`` are tried first. O(P^2 (P + 512)) for P points: less than the sums of a few thousand
    rows.
    """
    rows = held_out[:_LOOKED_AT].astype(np.float64)
    if len(rows) < _LOOKED_AT:
        return Span(kernel, points)
    prepared = kernel.prepare(rows)
    K = np.asarray(kernel.block(prepared, prepared))
    left, doubt = _outside(K, Span(kernel, points[:n_prototypes]).coordinates(rows))
    allowed = _SHARE * (left - 2 * doubt / len(rows))  # what is left is itself in doubt
    wanted = _FEWEST
    while wanted < min(before // 2, len(points)):
        wanted *= 2
    while wanted < len(points):
        span = Span(kernel, points[:wanted])
        if _outside(K, span.coordinates(rows))[1] / len(held_out) <= allowed:
            return span
        wanted *= 2
    return Span(kernel, points)


def _outside(K: Float64, coordinates: Float64) -> tuple[float, float]:
    """Of pairs of different rows outside a span: the mean of ``r(x, y)``, and ``sqrt(2 p_2)``."""
    r = K - coordinates.T @ coordinates
    np.fill_diagonal(r, np.nan)
    left = float(np.nanmean(r))
    r -= np.nanmean(r, axis=0)
    r -= np.nanmean(r, axis=1)[:, None]
    return left, math.sqrt(2 * float(np.nanmean(r * r)))
