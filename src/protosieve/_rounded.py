"""Integers that float64 cannot represent."""

from typing import Any

import numpy as np

from protosieve._typing import Array

EXACT = 2.0**53  # up to here float64 has every integer


def are_rounded(integers: Array) -> bool:
    """Whether float64 changes one of an array of integers; O(n).

    >>> are_rounded(np.array([2**53, 5])), are_rounded(np.array([2**53 + 1, 5]))
    (False, True)
    """
    if integers.dtype.kind not in "iu" or integers.itemsize < 8:
        return False
    floats = integers.astype(np.float64)
    beyond = floats >= float(np.iinfo(integers.dtype).max)  # rounded up, to what the type does not have
    with np.errstate(invalid="ignore"):
        return bool((beyond | (floats.astype(integers.dtype) != integers)).any())


def is_rounded(number: Any) -> bool:
    """The same for one number of any type; fractions do not count, floats always round them."""
    return isinstance(number, int) and abs(number) > EXACT and int(float(number)) != number
