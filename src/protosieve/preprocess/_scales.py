"""The ways to scale numbers and dates; a new one is a line in `SCALES`."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from protosieve._typing import Float64
from protosieve.preprocess._moments import Moments

__all__ = ["SCALES"]


class Scale(NamedTuple):
    """Shift and factor of each column by its statistics, and what is done to columns, in words."""

    fit: Callable[[Moments], tuple[Float64, Float64]]
    words: str


SCALES = {
    "standard": Scale(lambda moments: (moments.mean, 1 / moments.deviation), "standardised"),
    "minmax": Scale(lambda moments: (moments.low, 1 / (moments.high - moments.low)), "scaled to 0..1"),
    "none": Scale(lambda moments: (np.zeros_like(moments.mean), np.ones_like(moments.mean)), "taken as they are"),
}
