"""MNIST: handwritten digits, 28 x 28 pixels."""

from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from experiments.datasets._archive import Archive, Arrays, Folder, Known
from experiments.datasets._base import Dataset, check_dtype
from protosieve._typing import Array

__all__ = ["load_mnist"]

_TRAIN = 60000


class MNIST(Archive):
    """As Keras keeps it: what it calls the training set and the test set, a byte a pixel."""

    name = "mnist"
    known: ClassVar = {
        "x_train": Known("u1", (60000, 28, 28), "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757"),
        "y_train": Known("u1", (60000,), "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13"),
        "x_test": Known("u1", (10000, 28, 28), "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161"),
        "y_test": Known("u1", (10000,), "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5"),
    }
    place = "OpenML's mnist_784, version 1"
    remedy = (
        "fetch it where there is a network, with load_mnist(), and put the mnist.npz it keeps there, or Keras', "
        "into a folder that PROTOSIEVE_DATA names here"
    )

    def _fetch(self) -> Arrays:
        # pandas reads the file ten times as fast, but need not be installed
        parser = "auto" if find_spec("pandas") else "liac-arff"
        X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, parser=parser)
        images, digits = np.asarray(X).reshape(-1, 28, 28), np.asarray(y).astype(np.int64)
        return {
            "x_train": images[:_TRAIN], "y_train": digits[:_TRAIN],
            "x_test": images[_TRAIN:], "y_test": digits[_TRAIN:],
        }  # fmt: skip


def load_mnist(folder: Folder = None, *, dtype: Any = np.float32) -> Dataset:
    """Handwritten digits: 70,000 images of 28 x 28 pixels, each a row of 784 numbers from 0 to 1.

    As in the paper the 10,000 images known as MNIST's test set are the base set, and the 60,000 others the test set.

    Parameters
    ----------
    folder : path, optional
        Where ``mnist.npz`` (``x_train``, ``y_train``, ``x_test``, ``y_test``, as Keras has it) lies. By default it is
        looked for in the folder that the environment variable PROTOSIEVE_DATA names, then among earlier downloads,
        and then it is downloaded from OpenML, about 15 MB, and kept in scikit-learn's data folder
        (`sklearn.datasets.get_data_home`).
    dtype : float32 or float64, default float32
        Of the rows.

    Returns
    -------
    Dataset

    Notes
    -----
    Wherever it comes from, it is checked by sha256, labels included. Half a second, and 220 MB in float32.

    References
    ----------
    LeCun, Bottou, Bengio, Haffner. Gradient-Based Learning Applied to Document Recognition. 1998.

    Examples
    --------
    >>> from experiments.datasets import load_mnist
    >>> mnist = load_mnist()
    >>> mnist.base.shape, mnist.test.shape, mnist.base_labels[:5].tolist()
    ((10000, 784), (60000, 784), [7, 2, 1, 0, 4])
    >>> float(mnist.base.min()), float(mnist.base.max())
    (0.0, 1.0)
    """
    check_dtype("load_mnist", dtype)
    arrays = MNIST().arrays(folder)
    base, test = (_pixels(arrays[name], dtype) for name in ("x_test", "x_train"))
    return Dataset("mnist", base, arrays["y_test"], test, arrays["y_train"])


def _pixels(images: NDArray[Any], dtype: Any) -> Array:
    rows: Array = images.reshape(len(images), -1).astype(dtype)
    rows /= rows.dtype.type(255)
    return rows
