"""The width of a kernel: a number, or the median rule."""

import math
import numbers
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.spatial.distance import pdist

from protosieve._typing import Array
from protosieve.errors import InputError, ParameterError, arg, warn

Width: TypeAlias = float | Literal["median"]

# Half a million pairs: the estimate's standard error is then about 1 % of the width, in some 10 ms.
MEDIAN_ROWS = 1000

# A look at fewer rows, off by some 2 %: a width that is a tenth too small or too large serves as well.
_FEW, _MOVED = 256, 1.1


def check_width(kernel: str, width: object) -> None:
    """A width is a positive, finite number or ``"median"``."""
    if isinstance(width, str) and width == "median":
        return
    if isinstance(width, numbers.Real) and math.isfinite(width) and float(width) > 0:
        return
    raise ParameterError(
        f'{kernel}: {arg("width")} must be a positive number or "median", got {width!r}. '
        "A width near the typical distance between rows is a good start."
    )


def known_width(width: Width) -> float:
    """The width as a number; `ParameterError` if it is still to be learnt from rows."""
    if isinstance(width, str):
        raise ParameterError(
            f"{arg('width', 'median')} is learnt from data: fit a selector, or call kernel.resolve(X, "
            "numpy.random.default_rng(0)), or give a number"
        )
    return float(width)


def draw(sample: Array, rng: np.random.Generator) -> Array:
    """At most ``MEDIAN_ROWS`` rows of the sample, uniformly, without replacement."""
    if len(sample) <= MEDIAN_ROWS:
        return sample
    return sample[np.sort(rng.choice(len(sample), MEDIAN_ROWS, replace=False))]


def median_distance(rows: Array, metric: str) -> float:
    """The median of the positive distances between rows, as `pdist` calls them; 1, with a warning, if all are equal.

    Zero distances are left out: a data set of which half is copies would otherwise get width 0.
    """
    median = _median(rows, metric)
    if median is not None:
        return median
    if len(rows) > 1:
        warn(
            f"{arg('width', 'median')}: the {len(rows)} rows it is estimated from are all equal, so 1.0 is "
            f"used. Give a number as {arg('width')} if later rows differ."
        )
    return 1.0


def _median(rows: Array, metric: str) -> float | None:
    with np.errstate(over="ignore"):
        found = pdist(rows.astype(np.float64, copy=False), metric)
    if not np.isfinite(found).all():
        raise InputError(
            f"{arg('width', 'median')}: distances between rows overflow (the largest value is "
            f"{np.abs(rows).max():.3g}); "
            "scale the columns, for example with sklearn.preprocessing.StandardScaler"
        )
    positive = found[found > 0]
    return float(np.median(positive)) if len(positive) else None


def resolved_anew(rule: Any, sample: Array, before: Any, metric: str) -> Any:
    """A rule resolved by other rows than ``before``, if its median width is far from theirs."""
    if rule.width == "median" and _is_far(_median(sample[:_FEW], metric), before.width):
        found = rule.resolve(sample, np.random.default_rng(0))
        if _is_far(found.width, before.width):
            return found
    return before


def _is_far(width: float | None, before: float) -> bool:
    return width is not None and max(width, before) > _MOVED * min(width, before)
