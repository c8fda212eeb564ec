"""Letters: 20,000 letters of the alphabet in 20 fonts, 16 attributes each."""

import numpy as np

from protosieve.datasets._base import Dataset, local_file, verified
from protosieve.errors import InputError

__all__ = ["load_letters"]

_SHA256 = "e831cd67b53baf94e40b9a14f9947f5fd6ba11bafd6279bcabd161d3ce8fe992"


def load_letters() -> Dataset:
    """The first 16,000 rows are the base set, the last 4,000 the test set."""
    path = local_file("letters.npz")
    if path is None:
        raise InputError("letters.npz is not there: set PROTOSIEVE_DATA to a folder that has it")
    with np.load(path) as data:
        X, y = verified(data["X"], _SHA256, str(path)).astype(np.float32), data["y"]
    return Dataset("letters", X[:16000], y[:16000], X[16000:], y[16000:])
