"""What the width of the kernel does: to the accuracy of prototypes on held-out rows, and to each method."""

import warnings
from typing import Literal

from experiments._scale import Data
from experiments._task import Result, Task
from experiments.measures._data import dataset
from experiments.measures.choose import METHODS, RANDOM
from protosieve import choose_width, compare
from protosieve.errors import ProtosieveWarning
from protosieve.kernels import Gaussian

__all__ = ["WIDENED", "validate", "validated", "widen", "widened"]

Width = float | Literal["median"]

WIDENED = ("ProtoBasic", "ProtoStream", "ProtoDash", "ProtoSwap")  # not Streak, which takes minutes at some widths
_DRAWS = 3


def validated(data: Data, method: str, width: Width) -> Task:
    """The task of `validate`."""
    return Task(validate, (data, method, width))


def widened(data: Data, width: Width) -> Task:
    """The task of `widen`."""
    return Task(widen, (data, width))


def validate(data: Data, method: str, width: Width) -> Result:
    """Cross-validated accuracy at one width; the folds are the same for all widths."""
    known, selector = dataset(data), METHODS[method](data.sizes[-1], kernel=Gaussian())
    found = choose_width(known.base, known.base_labels, selector=selector, widths=[width], folds=data.folds)
    return {"width": found.width, "accuracy": found.accuracy[0], "spread": found.spread[0], "median": found.median}


def widen(data: Data, width: Width) -> Result:
    """Rows kept and residual of several methods and of random rows, at one width, by the exact mean."""
    m = data.sizes[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProtosieveWarning)  # fewer rows than asked for is what is measured
        table = compare(
            dataset(data).base, m, [*(METHODS[name](m) for name in WIDENED), "random"],
            kernel=Gaussian(width), draws=_DRAWS,
        )  # fmt: skip
    names = (*WIDENED, RANDOM)
    return {
        "width": float(table.kernel.width),
        "kept": dict(zip(names, table["kept"].tolist(), strict=True)),
        "residual": dict(zip(names, table["residual"].tolist(), strict=True)),
    }
