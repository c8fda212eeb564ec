"""Guarantees: what the paper's theorems promise on a given problem, as numbers."""

from protosieve.guarantees._curvature import Curvature, curvature, curvature_bounds, curvature_on
from protosieve.guarantees._ratio import (
    Guarantee,
    Ratios,
    basic_guarantee,
    ratio_bounds,
    ratio_range,
    singleton_guarantee,
    submodularity_ratio,
)

__all__ = [
    "Curvature",
    "Guarantee",
    "Ratios",
    "basic_guarantee",
    "curvature",
    "curvature_bounds",
    "curvature_on",
    "ratio_bounds",
    "ratio_range",
    "singleton_guarantee",
    "submodularity_ratio",
]
