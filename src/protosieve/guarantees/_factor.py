"""The constant factors of Theorems 5.3 and 5.5: what the worst order of the worst stream can cost."""

from dataclasses import dataclass

from protosieve.guarantees._curvature import Curvature
from protosieve.guarantees._ratio import Ratios

__all__ = ["Guarantee", "basic_guarantee", "singleton_guarantee"]


@dataclass(frozen=True)
class Guarantee:
    """``f(chosen) >= kappa f(best)``, in any order of the stream.

    Attributes
    ----------
    kappa : float
        Between 0, where nothing is guaranteed, and 1.
    size : int
        The number of elements chosen, and of those it is compared with.
    rule : str
        How they are chosen.
    exact : bool
        Whether it comes from the constants of the theorem, or from bounds of them, which can only make it smaller.
    """

    kappa: float
    size: int
    rule: str
    exact: bool = True

    def __str__(self) -> str:
        if self.kappa < 1e-6:
            return (
                f"{self.rule} is guaranteed nothing here: along some {self.size} elements the objective is flat; "
                "they are too much alike, or it needs a ridge"
            )
        return f"{self.rule} is guaranteed at least {_percent(self.kappa)} % of the value of the best {self.size}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}" if share < 0.095 else f"{100 * share:.0f}"


def basic_guarantee(curvature: Curvature) -> Guarantee:
    """Theorem 5.3: the m largest gradients at zero, ProtoBasic's, have ``kappa = c_m / C~_m``.

    Of any objective that has these constants; its weights may be signed where gradients are taken by their size.

    >>> import numpy as np
    >>> from protosieve.guarantees import curvature
    >>> K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> print(basic_guarantee(curvature(K, 2)))
    ProtoBasic is guaranteed at least 33 % of the value of the best 2
    """
    kappa = curvature.c / curvature.C if curvature.C > 0 else 1.0
    return Guarantee(kappa, curvature.size, "ProtoBasic", curvature.exact)


def singleton_guarantee(ratios: Ratios) -> Guarantee:
    """Theorem 5.5: the m elements of largest value alone have ``kappa = r_m / R_m``, for any monotone function.

    With ``ratios`` of `ratio_range`, or of `ratio_bounds` with nothing before.
    """
    kappa = ratios.lower / ratios.upper if ratios.upper > 0 else 0.0
    return Guarantee(min(kappa, 1.0), ratios.size, "keeping the best single elements", ratios.exact)
