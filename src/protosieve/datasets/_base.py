"""What a data set is, and where it is found."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array
from protosieve.errors import InputError

__all__ = ["Dataset", "local_file", "verified"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A base set to choose prototypes from and a test set to judge them by.

    Attributes
    ----------
    name : str
    base, test : float32 arrays of shape (n, d)
    base_labels, test_labels : arrays of shape (n,)
    """

    name: str
    base: Array = field(repr=False)
    base_labels: NDArray[Any] = field(repr=False)
    test: Array = field(repr=False)
    test_labels: NDArray[Any] = field(repr=False)


def local_file(name: str) -> Path | None:
    """``name`` in the folder that PROTOSIEVE_DATA names, where it is."""
    folder = os.environ.get("PROTOSIEVE_DATA")
    path = Path(folder or ".") / name
    return path if folder and path.exists() else None


def verified(values: NDArray[np.uint8], sha256: str, what: str) -> NDArray[np.uint8]:
    """The values, if they are, byte for byte, those the paper used."""
    found = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    if found != sha256:
        raise InputError(f"{what}: the values are not the expected ones (sha256 {found[:12]}..., not {sha256[:12]}...)")
    return values
