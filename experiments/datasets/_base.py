"""What a data set is."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array
from protosieve.errors import ParameterError, arg

__all__ = ["Dataset", "check_dtype"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A base set to choose prototypes from and a test set to judge them by.

    Attributes
    ----------
    name : str
    base, test : arrays of shape (n, d)
        Float32, unless another dtype was asked for.
    base_labels, test_labels : arrays of shape (n,)
        What the rows are; no selector sees them.
    """

    name: str
    base: Array = field(repr=False)
    base_labels: NDArray[Any] = field(repr=False)
    test: Array = field(repr=False)
    test_labels: NDArray[Any] = field(repr=False)


def check_dtype(function: str, dtype: Any) -> None:
    """Rows are single or double precision."""
    if dtype not in (np.float32, np.float64):
        raise ParameterError(f"{function}: {arg('dtype')} must be float32 or float64, got {dtype!r}")
