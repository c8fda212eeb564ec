"""What a sample leaves unknown of the mean it was drawn to stand for.

R rows are drawn, without replacement, of N. With ``e`` the difference of the two mean embeddings and ``Sigma`` the
covariance of the rows' own embeddings, ``E |e|^2 = a trace Sigma`` where ``a = (1 - R / N) / R``, and by the central
limit theorem for samples of finite populations ``|e|^2`` is near to ``a sum_i lambda_i chi^2_1``, with the eigenvalues
of ``Sigma``. Its cumulants are ``a p_1``, ``2 a^2 p_2`` and ``8 a^3 p_3``, where ``p_k = trace Sigma^k``; the quantiles
follow from them, see `SamplingError.quantile`. With centred similarities ``A_ij = <phi_i - mu, phi_j - mu>``,

    p_1 = E A_ii,   p_2 = E A_ij^2,   p_3 = E A_ij A_jk A_ki   over different rows i, j, k.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from protosieve._typing import Array, Float64
from protosieve.errors import ParameterError
from protosieve.means._base import Sampled

__all__ = ["SamplingError", "sampling_error"]

# Rows of the sample by which p_2, p_3 and the standard error are estimated. They decide how far the quantile is from
# the mean only, so a tenth more or less matters little; to find them costs 512 kernel values per row of the sample.
_LOOKED_AT = 512
_FEWEST = 3


@dataclass(frozen=True)
class SamplingError:
    """How far the mean of a sample may be from the mean of all rows.

    Attributes
    ----------
    population : int
        The number of rows the sample was drawn from.
    powers : tuple of three floats
        ``a p_1``, ``a^2 p_2`` and ``a^3 p_3``: the expected ``|e|^2``, half its variance, an eighth of its third
        cumulant.
    standard_error : float
        Of the residual of prototypes at given weights.
    """

    population: int
    powers: tuple[float, float, float]
    standard_error: float

    def quantile(self, level: float) -> float:
        """An MMD that the sample and all rows are within, in a share ``level`` of samples.

        ``|e|^2`` is taken for the ``shift + scale chi^2_dof`` that has its first three cumulants.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, such as 0.95; got {level!r}")
        first, second, third = self.powers
        if not math.isfinite(first) or second <= 0:
            return math.sqrt(max(first, 0.0))
        # The powers of any eigenvalues obey p_2 <= p_1^2 and p_2^2 / p_1 <= p_3 <= p_2^(3/2), which estimates need not;
        # the lower end is the match of two cumulants, without a shift.
        second = min(second, first**2)
        third = min(max(third, second**2 / first), second**1.5)
        scale, dof, shift = third / second, second**3 / third**2, first - second**2 / third
        return math.sqrt(shift + scale * 2 * float(gammaincinv(dof / 2, level)))


def sampling_error(
    sampled: Sampled, norm: float, residual: float, prototypes: Array, weights: Float64
) -> SamplingError:
    """The sampling error of a mean, and of the residual of weighted prototypes; ``norm`` is its ``|mu|^2``.

    O(512 (R + m) d + 512^3) for R rows in the sample and m prototypes, a few hundredths of what the norm costs.
    """
    mean, population = sampled
    n = len(mean.rows)
    if n < _FEWEST:
        return SamplingError(population, (math.inf, math.inf, math.inf), math.inf)
    factor = (1 - n / population) / n
    kernel = mean.kernel
    # a reservoir's places are no random order: the first of them hold early rows
    looked_at = np.sort(np.random.default_rng(0).permutation(n)[:_LOOKED_AT])
    points = kernel.prepare(mean.rows[looked_at])
    mu = mean.at(points)
    spread = n / (n - 1) * (float(mean.diagonal().mean()) - norm)
    p2, p3 = _powers(kernel.block(points, points).astype(np.float64) - mu[:, None] - mu + norm)
    powers = (factor * max(spread, 0.0), factor**2 * p2, factor**3 * p3)
    q = weights @ kernel.block(kernel.prepare(prototypes.astype(mean.rows.dtype, copy=False)), points)
    # With r = mu - sum_i w_i phi_i, the share of row x in the error of |r|^2 / |mu|^2 is, to first order,
    # 2 (r(x) - residual mu(x)) / |mu|^2; that of second order is |e|^2 / |mu|^2, with the variance 2 a^2 p_2 / |mu|^4.
    # The r that is known has e in it, which makes the first variance too large by 4 a^2 p_2.
    variance = 4 * factor * float(np.var(mu - q - residual * mu, ddof=1)) - 4 * powers[1]
    error = math.sqrt(max(variance, 0.0) + 2 * powers[1]) / norm if norm > 0 else math.inf
    return SamplingError(population, powers, error)


def _powers(A: Float64) -> tuple[float, float]:
    """``p_2`` and ``p_3``, without bias: from entries of different rows only."""
    n = len(A)
    np.fill_diagonal(A, 0.0)
    square = A @ A
    return float(np.trace(square)) / (n * (n - 1)), float((square * A).sum()) / (n * (n - 1) * (n - 2))
