"""Whole numbers that float64 does not hold."""

from typing import Any

import numpy as np

from protosieve._typing import Array

__all__ = ["EXACT", "are_rounded", "is_rounded"]

EXACT = 2.0**53  # up to it every whole number is a float64


def are_rounded(integers: Array) -> bool:
    """Whether one of an array of integers is another number as a float64; O(n).

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
    """The same of one number of any type: a fraction is rounded as ever, that is what floats are for."""
    return isinstance(number, int) and abs(number) > EXACT and int(float(number)) != number
