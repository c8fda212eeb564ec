"""How near a selection is to the best possible one."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri, stdtrit

from protosieve._typing import Array, Float64
from protosieve.errors import ParameterError, arg
from protosieve.means import Judge, SamplingError

_FEWEST = 3  # rows whose spread says anything


@dataclass(frozen=True)
class BestOfSize:
    """How far a selection that covers is from the best rows of the target of its size, which nobody knows.

    What is covered is submodular: a row adds less to more rows. So for the best ``size`` rows S* of the ``candidates``,

        f(S*)  <=  f(S + S*)  <=  f(S) + sum_{j in S*} (f(S + j) - f(S))  <=  f(S) + the ``size`` largest gains

    which is the ``bound``, or closer (see `Coverage.best_possible`). Candidates are the known rows of the target, all
    of them or a uniform sample; nothing is claimed of others. Where a target was given they are not the rows that could
    be chosen, so the selection may cover more than any of them; the share is 1 then. Where only some rows of the target
    judge, which had no part in the choice, value and bound are estimates for its ``population``.

    Attributes
    ----------
    size, candidates : int
        The bound holds for any so many of these rows.
    value, bound : float
        Of the selection, and of those rows, both by the rows that judge.
    judges, population : int
        Rows of the target that judge, and how many there are.
    standard_error : float
        Of the `ratio`; 0 where all rows judge.
    unseen : float
        What one row more would take from the `ratio` that the best cover, and the selection does not.
    """

    size: int
    candidates: int
    value: float
    bound: float
    judges: int
    population: int
    standard_error: float
    unseen: float = 0.0

    @classmethod
    def by(cls, near: Float64, most: Float64, full: float, size: int, candidates: int, population: int) -> "BestOfSize":
        """From what the selection covers of each row that judges, and what no ``size`` candidates exceed in the mean;
        ``full`` is what no rows exceed.
        """
        n, value = len(near), float(near.mean())
        best = most if most.mean() < full else np.full(n, full)
        bound, left_out = float(best.mean()), 1 - n / population
        error, unseen = 0.0, 0.0
        if left_out and bound > 0:
            ratio = value / bound
            left = np.append(near - ratio * best, -ratio * best.max())  # judges may have met no row like the last
            error = float(np.std(left, ddof=1)) / bound * math.sqrt(left_out / n) if n >= _FEWEST else math.inf
            unseen = -float(left.mean()) / bound * left_out
        return cls(min(size, candidates), candidates, value, bound, n, population, error, unseen)

    @property
    def ratio(self) -> float:
        """``value / bound``, at most 1: the selection covers this share of the best, by the rows that judge."""
        return min(self.value / self.bound, 1.0) if self.bound > 0 else 1.0

    def at_least(self, level: float = 0.95) -> float:
        """The share for all rows of the target, in a share ``level`` of samples; `ratio` where all rows judge.

        The mean of ``f(S) - ratio f(S*)`` over rows that had no part in the choice is nearly normal. How much it varies
        is known of the rows with the largest gains only, and taken from there. Of a few rows that the best cover and
        the selection does not, judges may have met none: so one counts that they have not seen, as in the exact bound
        of a share (Clopper and Pearson 1934). That the spread of few judges is uncertain, Student's t knows.
        """
        _check_level(level)
        if math.isinf(self.standard_error):
            return 0.0
        errors = max(0.0, float(stdtrit(self.judges - 1, level)))
        return max(0.0, self.ratio - self.unseen - errors * self.standard_error)

    def __str__(self) -> str:
        best = f"what the best {self.size:,} of {self.candidates:,} rows of the target could cover"
        others = "other" if self.judges == 1 else "others"
        if self.judges == self.population:
            return f"at least {_rounded_down(self.ratio)} % of {best}"
        return (
            f"with 95 % confidence at least {_rounded_down(self.at_least())} % of {best}, by {self.judges:,} {others} "
            f"of its {self.population:,}"
        )


def _rounded_down(share: float) -> str:
    return f"{math.floor(1000 * share) / 10:g}"


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"{arg('level')} must be between 0 and 1, such as 0.95; got {level!r}")


@dataclass(frozen=True)
class Certificate:
    """How far a selection is from the best possible one, with no unknown constant.

    No weights on any number of rows give more than ``upper_bound = |mu|^2 / 2``. Where the mean rests on a sample of
    ``sample`` rows, value and bound are estimates for *all* rows, from rows that were held out from the choice.
    `standard_error` and `mmd_bound` say how accurate they are; where the mean is exact, None and the MMD.

    For other objectives than the kernel mean the bound is a value that no choice of rows exceeds: for regressions all
    there is to explain. For a `SetFunction` no bound is known: it is NaN, and so are ratio and residual. For
    `Coverage`, ``best`` compares the selection with the best of its size, too.
    """

    value: float
    upper_bound: float
    sampling: SamplingError | None = field(default=None, repr=False)
    whole: str | None = field(default=None, repr=False)  # what the bound is of, where that is not the kernel mean
    best: BestOfSize | None = field(default=None, repr=False)

    @classmethod
    def by(cls, judge: Judge, prototypes: Array, weights: Float64) -> "Certificate":
        """The certificate of weighted prototypes, estimated from a sample."""
        value = judge.value(prototypes, weights)
        return cls(value, judge.norm / 2, judge.error(prototypes, weights, value))

    @property
    def sample(self) -> int | None:
        """Rows of the sample behind the estimates; None where the mean is exact."""
        return None if self.sampling is None else self.sampling.rows

    @property
    def ratio(self) -> float:
        """``value / upper_bound``, at most 1: the share of what the kernel sees that the prototypes carry."""
        if math.isnan(self.upper_bound):
            return math.nan
        if not self.upper_bound > 0:
            return 1.0 if self.sampling is None else math.nan
        return min(self.value / self.upper_bound, 1.0)

    @property
    def residual(self) -> float:
        """``1 - ratio``: the squared MMD that is left, as a share of ``|mu|^2``."""
        return 1.0 - self.ratio

    @property
    def mmd(self) -> float:
        """The MMD between the prototypes and the target; NaN for other objectives."""
        if self.whole is not None:
            return math.nan
        return math.sqrt(max(0.0, 2 * (self.upper_bound - self.value)))

    @property
    def standard_error(self) -> float | None:
        """Of the residual, where it is estimated from a sample; else None."""
        return None if self.sampling is None else self.sampling.standard_error

    def mmd_bound(self, level: float = 0.95) -> float:
        """The MMD between the prototypes and the target is at most this, in a share ``level`` of samples.

        It holds for large samples. With fewer than about 100 rows, or a kernel that a few distant rows dominate, it is
        less reliable. Where the mean is exact, it is the MMD itself.
        """
        _check_level(level)
        if self.sampling is None:
            return self.mmd
        if math.isinf(self.sampling.of_squared_mmd):
            return math.inf
        return math.sqrt(self.mmd**2 + max(0.0, float(ndtri(level))) * self.sampling.of_squared_mmd)

    def __str__(self) -> str:
        if math.isnan(self.upper_bound):
            return f"the value of the prototypes is {self.value:.6g}; no bound is known to compare it with"
        whole = self.whole or "what the kernel sees of the target"
        carried = (
            f"the prototypes carry {100 * self.ratio:.4g} % of {whole} "
            f"(l = {self.value:.6g} of at most {self.upper_bound:.6g})"
        )
        if self.best is not None:
            return f"{carried}: {self.best}"
        if self.sampling is None:
            return carried
        return (
            f"{carried}; their MMD to all rows is {self.mmd:.3g}, estimated by {self.sampling.rows:,} of them, "
            f"and with 95 % confidence at most {self.mmd_bound():.3g}"
        )
