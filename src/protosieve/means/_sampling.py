"""What all rows say of prototypes, by a sample that had no part in choosing them.

The mean of the target is known in the span Z of some points (of none, for a plain sample). Outside, the target is a
share f of N rows, of which R were drawn without replacement. With ``q = sum_i w_i phi_i`` for the prototypes and
``r(x, y) = k(x, y) - k(x, Z) K_Z^-1 k(Z, y)`` for what is outside,

    <mu, q>  =  <mu, q> in Z  +  f E r(x, q)            |mu|^2  =  |mu|^2 in Z  +  f^2 E r(x, y)

The terms in Z are known; the others are means over the N rows, for which those over the sample stand: without bias, if
pairs of different rows stand for such pairs. ``l = <mu, q> - w'K w / 2`` follows.

*Rows that may be chosen.* Of the N rows a share c may have been chosen from, and q is nearer to them than to others, of
which the sample is one. Their part in ``<mu, q>`` is known; the sample speaks for the share ``1 - c`` only. With the
means ``m_1`` and ``m_2`` of the two, ``|mu|^2 = c |m_1|^2 + (1 - c) |m_2|^2 - c (1 - c) |m_1 - m_2|^2``, of which the
last is ``f^2 p_1 (1 / N_1 + 1 / N_2)`` on average; where ``|m_1|^2`` is not computed, ``|m_2|^2`` stands for it.

*The error.* With ``t = mu - q`` outside Z, ``|mu - q|^2`` is off by ``2 f (mean of t(x) over the sample - E t(x))`` and
by a sum over pairs with the variance ``2 a^2 p_2``, where ``a = f^2 (1 - R / N) / R`` and ``p_k = trace Sigma^k`` for
the covariance Sigma of the rows outside Z. The t that is known has the error in it, which makes its variance over rows
too large by ``2 a^2 p_2`` twice.

*A sample that was fitted.* Where weights were fitted to the very rows that judge, as a plain sample's are, q has taken
in the sample's own error, ``a p_1`` in the square on average. If all of it was fitted, ``l`` is too large by as much.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from protosieve._typing import Array, Float64
from protosieve.means._base import FixedMean, Sampled

_LOOKED_AT = 512  # rows by which r(x, x) and the error are estimated: a twentieth off, in a small part of the whole
_FEWEST = 3


@dataclass(frozen=True)
class SamplingError:
    """How far what a sample says of prototypes may be from what all rows say.

    Attributes
    ----------
    rows, population : int
        Rows that judged, and rows of the target they speak for.
    standard_error : float
        Of the residual of the prototypes.
    of_squared_mmd : float
        The standard error of their squared MMD, in which that of ``|mu|^2`` counts in full.
    """

    rows: int
    population: int
    standard_error: float
    of_squared_mmd: float


class Judge:
    """Weighted prototypes as all rows see them, by a sample. O(R (R / 2 + P) d + 512 P^2), once."""

    def __init__(self, sampled: Sampled) -> None:
        self._of, self._kernel = sampled, sampled.kernel
        rows = sampled.rows
        self._n, self._left_out = len(rows), 1 - len(rows) / sampled.population
        self._target = sampled.population if sampled.target is None else sampled.target
        self._pairs = FixedMean.over(self._kernel, rows).at_own_rows()
        # any rows of the sample: a caller's may be in an order that means something
        self._some = np.sort(np.random.default_rng(0).permutation(self._n)[:_LOOKED_AT])
        self._looked_at = rows[self._some].astype(np.float64)

    @cached_property
    def norm(self) -> float:
        """``|mu|^2``."""
        of, c = self._of, self._of.chosen
        if of.norm is None:
            return self._others_norm
        apart = self._spread * of.share**2 * (1 - c) / (c * of.population) if c else 0.0  # 1 / N_1
        apart += self._spread * of.share**2 / of.population
        return max(0.0, c * of.norm + (1 - c) * self._others_norm - c * (1 - c) * apart)

    @property
    def _spread(self) -> float:
        """``p_1``."""
        return max(0.0, self._own - float(self._left.mean()))

    @cached_property
    def _others_norm(self) -> float:
        """That of the rows the sample was drawn from."""
        spread, of = self._spread, self._of
        pairs = float(self._pairs.mean() - self._inside @ self._inside)
        different = pairs - spread / max(self._n - 1, 1)  # r(x, x) taken out of the mean over all pairs
        return max(0.0, float(self._known @ self._known + of.share**2 * (different + spread / of.population)))

    def value(self, prototypes: Array, weights: Float64) -> float:
        """``l``; O(R m d)."""
        exact = prototypes.astype(np.float64)
        similar = FixedMean(self._kernel, exact, weights).at_many(self._of.rows.astype(np.float64))
        cross = self._of.share * float(similar.mean()) + float(self._beside @ self._coordinates_of(exact, weights))
        if self._of.chosen and self._of.mean is not None:
            known = float(self._of.mean.exactly_at(self._kernel.prepare(exact)) @ weights)
            cross = self._of.chosen * known + (1 - self._of.chosen) * cross
        value = cross - float(weights @ self._near(exact, exact) @ weights) / 2
        return value - self._powers[0] if self._of.is_fitted else value

    def error(self, prototypes: Array, weights: Float64, value: float) -> SamplingError:
        """That of prototypes with this ``l``; O(512 (m d + 512 d))."""
        norm, share, others = self.norm, self._of.share, 1 - self._of.chosen
        if self._n < _FEWEST or not norm > 0:
            return SamplingError(self._n, self._target, math.inf, math.inf)
        exact = prototypes.astype(np.float64)
        q = self._near(self._looked_at, exact) @ weights - self._coordinates_of(exact, weights) @ self._coordinates
        mu = share * self._left
        mu *= 1 if self._of.norm is None else others
        # a residual is a ratio: where the norm is too large by a share, so is the value it is held against
        ratio = min(1.0, 2 * value / norm)
        return SamplingError(
            self._n, self._target, self._off(ratio * mu - others * q) / norm, self._off(mu - others * q)
        )

    def _off(self, t: Float64) -> float:
        """The standard error of a squared distance of which t is left at the rows looked at."""
        _, second = self._powers
        linear = 4 * self._of.share**2 * self._left_out / self._n * float(np.var(t, ddof=1)) - 4 * second
        return math.sqrt(max(linear, 0.0) + 2 * second)

    # -- inside the span, in its coordinates: of none, where there are no points

    @cached_property
    def _known(self) -> Float64:
        """The mean of the target."""
        of = self._of
        return np.zeros(0) if of.span is None or of.at_points is None else of.span.half_solve(of.at_points)

    @cached_property
    def _inside(self) -> Float64:
        """The mean of the sample."""
        span = self._of.span
        if span is None:
            return np.zeros(0)
        return span.half_solve(FixedMean.over(self._kernel, self._of.rows).at_many(span.rows))

    @property
    def _beside(self) -> Float64:
        """What the sample is to be corrected by."""
        return self._known - self._of.share * self._inside

    @cached_property
    def _coordinates(self) -> Float64:
        """Of the rows looked at, a column each."""
        span = self._of.span
        return np.zeros((0, len(self._looked_at))) if span is None else span.coordinates(self._looked_at)

    def _coordinates_of(self, prototypes: Float64, weights: Float64) -> Float64:
        """Of a combination of prototypes."""
        span = self._of.span
        if span is None:
            return np.zeros(0)
        return span.half_solve(self._near(span.rows.astype(np.float64), prototypes) @ weights)

    # -- outside

    @cached_property
    def _own(self) -> float:
        """``r(x, x)``, on average."""
        diagonal = self._kernel.diagonal(self._kernel.prepare(self._looked_at))
        return float((diagonal - np.einsum("ij,ij->j", self._coordinates, self._coordinates)).mean())

    @cached_property
    def _left(self) -> Float64:
        """The mean of the sample outside, at the rows looked at."""
        return np.asarray(self._pairs[self._some] - self._inside @ self._coordinates)

    @cached_property
    def _powers(self) -> tuple[float, float]:
        """``a p_1`` and ``a^2 p_2``, the second from entries of different rows only."""
        A = self._near(self._looked_at, self._looked_at) - self._coordinates.T @ self._coordinates
        A -= A.mean(axis=0)
        A -= A.mean(axis=1)[:, None]
        n, a, trace = len(A), self._of.share**2 * self._left_out / self._n, float(np.trace(A))
        np.fill_diagonal(A, 0.0)
        pairs = max(n * (n - 1), 1)
        return a * max(trace, 0.0) / max(n - 1, 1), a**2 * float(np.vdot(A, A)) / pairs

    def _near(self, one: Float64, other: Float64) -> Float64:
        return np.asarray(self._kernel.block(self._kernel.prepare(one), self._kernel.prepare(other)))
