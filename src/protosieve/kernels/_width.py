"""The width of a kernel: a number, or the median rule."""

import math
import numbers
import warnings
from typing import Literal, TypeAlias

import numpy as np
from scipy.spatial.distance import pdist

from protosieve._typing import Array
from protosieve.errors import InputError, ParameterError, ProtosieveWarning, arg

Width: TypeAlias = float | Literal["median"]

# Half a million pairs: the estimate's standard error is then about 1 % of the width, in some 10 ms.
MEDIAN_ROWS = 1000


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
    with np.errstate(over="ignore"):
        found = pdist(rows.astype(np.float64, copy=False), metric)
    if not np.isfinite(found).all():
        raise InputError(
            f"{arg('width', 'median')}: distances between rows overflow (the largest value is "
            f"{np.abs(rows).max():.3g}); "
            "scale the columns, for example with sklearn.preprocessing.StandardScaler"
        )
    positive = found[found > 0]
    if len(positive):
        return float(np.median(positive))
    if len(rows) > 1:
        warnings.warn(
            ProtosieveWarning(
                f"{arg('width', 'median')}: the {len(rows)} rows it is estimated from are all equal, so 1.0 is "
                f"used. Give a number as {arg('width')} if later rows differ."
            ),
            stacklevel=2,
        )
    return 1.0
