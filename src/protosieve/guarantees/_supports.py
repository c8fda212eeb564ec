"""All supports of one size, where there are few enough to look at each."""

import math
import numbers
from collections.abc import Iterator
from itertools import combinations, islice

from protosieve.errors import InputError, ParameterError, arg

MOST = 200_000  # supports: half a minute's work, at most
_AT_ONCE = 4096


def check_size(owner: str, size: int, n: int) -> None:
    """Raise `ParameterError` unless so many elements can be chosen of ``n``."""
    if not (isinstance(size, numbers.Integral) and 1 <= size <= n):
        raise ParameterError(
            f"{owner}: {arg('size')} must be a whole number from 1 to that of the elements, {n}; got {size!r}"
        )


def supports(owner: str, n: int, size: int, remedy: str) -> Iterator[tuple[tuple[int, ...], ...]]:
    """The sets of ``size`` of ``n`` elements, some thousands at a time; `InputError` where they are too many."""
    count = math.comb(n, size)
    if count > MOST:
        raise InputError(
            f"{owner}: {n} elements have {count:,} sets of {size}, and at most {MOST:,} can be looked at; {remedy}"
        )
    sets = combinations(range(n), size)
    return iter(lambda: tuple(islice(sets, _AT_ONCE)), ())
