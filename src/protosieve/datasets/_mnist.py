"""MNIST: handwritten digits, 28 x 28 pixels."""

import numpy as np

from protosieve.datasets._base import Dataset, local_file, verified
from protosieve.errors import InputError

__all__ = ["load_mnist"]

_SHA256 = {
    "x_train": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
    "x_test": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
}


def load_mnist() -> Dataset:
    """As in the paper, the 10,000 images known as MNIST's test set are the base, and the 60,000 others the test set."""
    path = local_file("mnist.npz")
    if path is None:
        raise InputError("mnist.npz is not there: set PROTOSIEVE_DATA to a folder that has it")
    with np.load(path) as data:
        base, test = (
            verified(data[name], _SHA256[name], str(path)).reshape(-1, 784).astype(np.float32) / np.float32(255)
            for name in ("x_test", "x_train")
        )
        return Dataset("mnist", base, data["y_test"], test, data["y_train"])
