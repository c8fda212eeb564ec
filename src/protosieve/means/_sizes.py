"""How many rows a calibrated mean works with: its sample, the candidates in it, its points.

P points give the mean of all rows in their span; outside, a sample of R rows stands for them. The error this leaves in
``|mu - q|^2``, in the part that more points reduce, is a sum over pairs of rows with the standard error
``sqrt(2 p_2) / R``, where ``p_2`` is ``trace Sigma^2`` for the covariance Sigma of rows outside the span
(`_sampling.py`). It should be small against what m prototypes leave of the mean. The span of m random rows leaves more
than they do, up to some ten times.

The number of points is doubled until it is enough. Each number has a Cholesky factor of its own: the corner of a larger
one differs in the last bits, and a stream that was saved must continue as if it had not been.
"""

import math

import numpy as np

from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel
from protosieve.means._span import Span
from protosieve.sampling import SampledRows, UniformSample

# So many for each prototype, between two bounds (measured: docs/means.md).
_POINTS = 4, 1024, 3072
_CANDIDATES = 256, 8192, 32768
_JUDGING = 40, 2048, 32768
_NUMBERS = 2**25  # in a sample at most: some hundred megabytes
_HELD_OUT = 4  # for so many candidates one row is held out

_FEWEST = 128  # points
_LOOKED_AT = 512  # rows, by which pairs are judged
_SHARE = 1e-3  # of what the span of m random rows leaves: a hundredth of a tenth


def _for(n_prototypes: int, rule: tuple[int, int, int]) -> int:
    each, least, most = rule
    return min(max(each * int(n_prototypes), least), most)


def points_for(n_prototypes: int) -> int:
    """How many points at most: the mean they express should be finer than what the prototypes leave of it.

    P random rows leave about as much of the mean as P / 4 prototypes do; and a Cholesky factor of P columns must not
    hold up a stream.
    """
    return _for(n_prototypes, _POINTS)


def sample_for(n_prototypes: int, width: int) -> int:
    """How many rows of so many columns: those that may be chosen, and those held out."""
    candidates = min(_for(n_prototypes, _CANDIDATES), max(_CANDIDATES[1] // 2, _NUMBERS // width))
    return with_held_out(candidates)


def with_held_out(candidates: int) -> int:
    """The size of a sample in which so many may be chosen."""
    return candidates + candidates // _HELD_OUT


def candidates_in(sample: int) -> int:
    """How many rows of a sample of this size may be chosen."""
    return sample - sample // (_HELD_OUT + 1)


def candidates_of(sample: UniformSample) -> SampledRows:
    """The rows of a sample that may be chosen: all that came, or all that are not held out."""
    sample = sample.settled()
    size = sample.size if sample.half_life is None else len(sample.held)  # where weights fade it may not be full
    return sample.held if sample.is_whole else sample.held.take(slice(candidates_in(size)))


def judging_for(n_prototypes: int) -> int:
    """How many rows of the sample candidates are judged by."""
    return _for(n_prototypes, _JUDGING)


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
