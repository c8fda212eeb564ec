"""Prototypes of one set of rows, in several orders."""

from functools import cache

import numpy as np

from experiments._scale import Data
from experiments._task import Result, Task
from experiments.measures._data import dataset, judge
from experiments.measures._judge import KERNEL
from experiments.measures.choose import fitted
from protosieve._blas import one_thread
from protosieve.means import FixedMean

__all__ = ["SORTED", "choose_ordered", "ordered"]

SORTED = ("by label", "ascending mu", "descending mu")


def ordered(data: Data, method: str, m: int, order: str) -> Task:
    """The task of `choose_ordered`."""
    return Task(choose_ordered, (data, method, m, order))


def choose_ordered(data: Data, method: str, m: int, order: str) -> Result:
    """As `choose`, the rows sorted: by label, or by their mean similarity to all rows."""
    rows = dataset(data).base[np.argsort(_key(data, order), kind="stable")]
    result = fitted(method, m, rows).result_
    return {"residual": judge(data).score(result.rows, result.weights).residual, "kept": len(result)}


def _key(data: Data, order: str) -> np.ndarray:
    if order == "by label":
        return dataset(data).base_labels
    return _similarity(data) * (1 if order == "ascending mu" else -1)


@cache
def _similarity(data: Data) -> np.ndarray:
    """``mu`` of every row."""
    X = dataset(data).base
    with one_thread():
        return FixedMean.over(KERNEL, X).at(KERNEL.prepare(X))
