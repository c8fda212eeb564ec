"""The submodularity ratio, the gains of elements one by one against that of all together, and factors that follow.

The constant factors of Theorems 5.3 and 5.5 are what the worst order of the worst stream can cost.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from protosieve.errors import InputError, ParameterError, arg
from protosieve.guarantees._curvature import Curvature
from protosieve.guarantees._supports import check_size, supports

_ROUNDING = 1e-9

SetValue = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True)
class Ratios:
    """The least and the largest submodularity ratio of sets of ``size`` elements; bounds of them, if not ``exact``."""

    size: int
    lower: float
    upper: float
    exact: bool = True

    def __str__(self) -> str:
        between = "between" if self.exact else "somewhere between"
        return (
            f"{self.size} elements gain, one by one, {between} {self.lower:.4g} and {self.upper:.4g} times "
            "what they gain together"
        )


def submodularity_ratio(f: SetValue, L: Sequence[int], S: Sequence[int]) -> float:
    """``gamma(L, S)``, the sum over j in S of ``f(L + j) - f(L)`` as a share of ``f(L + S) - f(L)``.

    At least 1 for all disjoint L and S if and only if ``f`` is submodular. 1 where nothing is gained at all. Sets are
    passed to ``f`` as sorted tuples of element numbers; ``len(S) + 2`` calls.

    >>> submodularity_ratio(lambda L: len(L) ** 0.5, (), (0, 1, 2, 3))
    2.0
    """
    if set(L) & set(S) or not S:
        raise ParameterError(
            f"submodularity_ratio: {arg('S')} must be some elements that are not in L={L!r}, got S={S!r}"
        )
    base, whole = f(_sorted(L)), f(_sorted([*L, *S]))
    singles = [f(_sorted([*L, j])) - base for j in S]
    return _ratio("submodularity_ratio", singles, whole - base, tuple(S), max(abs(whole), abs(base)))


def ratio_range(f: SetValue, n: int, size: int) -> Ratios:
    """``r_m <= gamma(empty, Z) <= R_m`` over all sets Z of ``m = size`` of the elements ``0 .. n - 1``.

    ``comb(n, size) + n + 1`` calls of ``f``, which must be monotone with ``f(()) = 0``; `InputError` beyond 200,000.
    """
    check_size("ratio_range", size, n)
    parts = supports("ratio_range", n, size, "ratio_bounds(curvatures, 0, size) calls f not at all")
    nothing = f(())
    singles = [f((j,)) for j in range(n)]
    if abs(nothing) > _ROUNDING * max(map(abs, singles)):
        raise InputError(f"ratio_range: f(()) must be 0, got {nothing!r}; subtract it from all values")
    ratios = [_of(f, singles, Z) for part in parts for Z in part]
    known = [ratio for ratio in ratios if ratio is not None] or [1.0]
    return Ratios(size, min(known), max(known))


def ratio_bounds(curvatures: Callable[[int], Curvature], n_before: int, n_added: int) -> Ratios:
    """Lemma 5.4: ``c_{|L|+|S|} / C~_1 <= gamma(L, S) <= C~_{|S|} / c_{|L|+1}``, from curvatures by size.

    ``n_before`` is ``|L|`` and ``n_added`` is ``|S|``; ``curvatures`` is, say, ``partial(curvature, K)``.

    >>> import numpy as np
    >>> from functools import partial
    >>> from protosieve.guarantees import curvature
    >>> ratio_bounds(partial(curvature, np.eye(5)), 2, 2)
    Ratios(size=2, lower=1.0, upper=1.0, exact=False)
    """
    together, one = curvatures(n_before + n_added), curvatures(1)
    added, single = curvatures(n_added), curvatures(n_before + 1)
    upper = added.C / single.c if single.c > 0 else math.inf
    return Ratios(n_added, together.c / one.C if one.C > 0 else 0.0, upper, exact=False)


def _of(f: SetValue, singles: list[float], Z: tuple[int, ...]) -> float | None:
    """``gamma(empty, Z)``, or None where it is 0 / 0."""
    value, alone = f(Z), [singles[j] for j in Z]
    if value == 0 and not any(alone):
        return None
    return _ratio("ratio_range", alone, value, Z, abs(value))


def _ratio(owner: str, gains: Collection[float], together: float, S: tuple[int, ...], scale: float) -> float:
    if together < max(gains) - _ROUNDING * scale:
        raise InputError(
            f"{owner}: f is not monotone: all of {S} gain {together:.6g}, one of them alone {max(gains):.6g}"
        )
    return 1.0 if together <= 0 else sum(gains) / together


def _sorted(elements: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(elements))


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
