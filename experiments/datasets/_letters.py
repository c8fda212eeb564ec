"""Letters: 20,000 letters of the alphabet in 20 fonts, 16 attributes each."""

import io
import zipfile
from typing import Any, ClassVar
from urllib.request import urlopen

import numpy as np

from experiments.datasets._archive import Archive, Arrays, Folder, Known, digest
from experiments.datasets._base import Dataset, check_dtype

__all__ = ["load_letters"]

_URL = "https://archive.ics.uci.edu/static/public/59/letter+recognition.zip"
_MEMBER = "letter-recognition.data"
_BASE = 16000
_SORTED = "8654ca91f135cc7a7d05c4b7517dade1337042d3ab3fd98bbd1c6e5b7d65eb17"
_SECONDS = 60.0  # without a byte from the server


class Letters(Archive):
    """Lines of a letter and 16 whole numbers, in the order in which UCI has them."""

    name = "letters"
    known: ClassVar = {
        "X": Known("u1", (20000, 16), "e831cd67b53baf94e40b9a14f9947f5fd6ba11bafd6279bcabd161d3ce8fe992"),
        "y": Known("S1", (20000,), "4ead168322ccaedad688680cf7b63b53eaa22dc069ce47bcd779a1af098b489a"),
    }
    place = "UCI's data set 59, Letter Recognition"
    remedy = (
        "fetch it where there is a network, with load_letters(), and put the letters.npz it keeps there "
        "into a folder that PROTOSIEVE_DATA names here"
    )

    def __init__(self, url: str = _URL) -> None:
        self._url = url

    def _fetch(self) -> Arrays:
        with urlopen(self._url, timeout=_SECONDS) as response:
            packed = response.read()
        with zipfile.ZipFile(io.BytesIO(packed)) as parts:
            if _MEMBER not in parts.namelist():
                raise ValueError(f"no {_MEMBER} in {self._url}")
            lines = parts.read(_MEMBER).decode("ascii").split()
        cells = np.array([line.split(",") for line in lines]).reshape(-1, 17)
        return {"X": cells[:, 1:].astype(np.int64), "y": cells[:, 0]}

    def _doubt(self, arrays: Arrays) -> str:
        X = arrays["X"]
        if digest(X[np.lexsort(X.T)]) != _SORTED:
            return super()._doubt(arrays)
        if digest(X) == self.known["X"].sha256:
            return f"the rows are right and their labels are not; take {self.place}"
        return f"the rows of OpenML's copy are in another order than the paper's; take {self.place}"


def load_letters(folder: Folder = None, *, dtype: Any = np.float32) -> Dataset:
    """Letters of the alphabet: 20,000 images in 20 fonts, described by 16 whole numbers from 0 to 15.

    As in the paper the first 16,000 rows are the base set and the last 4,000 the test set. The order is part of it, for
    a stream above all: OpenML's ``letter`` has the same rows in another order, and is refused. Some 1,300 rows are
    exact repeats of earlier ones.

    Parameters
    ----------
    folder : path, optional
        Where ``letters.npz`` (``X`` of 20000 x 16, ``y``) lies. By default it is looked for in the folder that the
        environment variable PROTOSIEVE_DATA names, then among earlier downloads, and then it is downloaded
        from UCI, about 0.7 MB, and kept in scikit-learn's data folder (`sklearn.datasets.get_data_home`).
    dtype : float32 or float64, default float32
        Of the rows.

    Returns
    -------
    Dataset

    Notes
    -----
    Wherever it comes from, it is checked by sha256, labels included. A few milliseconds, and 2 MB.

    References
    ----------
    Frey, Slate. Letter Recognition Using Holland-style Adaptive Classifiers. 1991.

    Examples
    --------
    >>> from protosieve import ProtoSwap
    >>> from experiments.datasets import load_letters
    >>> from protosieve.kernels import Gaussian
    >>> letters = load_letters()
    >>> letters.base.shape, letters.test.shape, str(letters.base_labels[0])
    ((16000, 16), (4000, 16), 'T')
    >>> found = ProtoSwap(100, kernel=Gaussian(5.0), random_state=0).fit(letters.base)
    >>> len(set(letters.base_labels[found.prototype_indices_])) > 20  # of 26 letters; the selector knew none
    True
    """
    check_dtype("load_letters", dtype)
    arrays = Letters().arrays(folder)
    X, y = arrays["X"].astype(dtype), arrays["y"].astype("U1")
    return Dataset("letters", X[:_BASE], y[:_BASE], X[_BASE:], y[_BASE:])
