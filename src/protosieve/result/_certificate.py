"""How near a selection is to the best possible one."""

import math
from dataclasses import dataclass, field

from scipy.special import ndtri

from protosieve._typing import Array, Float64
from protosieve.errors import ParameterError, arg
from protosieve.means import Judge, SamplingError

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """How far a selection is from the best possible one, with no unknown constant.

    No weights on any number of rows give more than ``upper_bound = |mu|^2 / 2``. Where the mean rests on a sample of
    ``sample`` rows, value and bound are estimates for *all* rows, from rows that were held out from the choice.
    `standard_error` and `mmd_bound` say how accurate they are; where the mean is exact, None and the MMD.

    For other objectives than the kernel mean the bound is a value that no choice of rows exceeds: for regressions all
    there is to explain. For a `SetFunction` no bound is known: it is NaN, and so are ratio and residual.
    """

    value: float
    upper_bound: float
    sampling: SamplingError | None = field(default=None, repr=False)
    whole: str | None = field(default=None, repr=False)  # what the bound is of, where that is not the kernel mean

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
        if not 0 < level < 1:
            raise ParameterError(f"{arg('level')} must be between 0 and 1, such as 0.95; got {level!r}")
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
        if self.sampling is None:
            return carried
        return (
            f"{carried}; their MMD to all rows is {self.mmd:.3g}, estimated by {self.sampling.rows:,} of them, "
            f"and with 95 % confidence at most {self.mmd_bound():.3g}"
        )
