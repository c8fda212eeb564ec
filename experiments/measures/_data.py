"""The data sets and their judges, made once."""

from functools import cache

from experiments._scale import Data
from experiments.datasets import Dataset, load_letters, load_mnist
from experiments.measures._judge import Judge

__all__ = ["dataset", "judge"]

_LOADERS = {"letters": load_letters, "mnist": load_mnist}


@cache
def _whole(name: str) -> Dataset:
    return _LOADERS[name]()


@cache
def dataset(data: Data) -> Dataset:
    """The data set, or its head."""
    whole = _whole(data.name)
    rows, test = slice(data.rows), slice(data.test_rows)
    return Dataset(data.name, whole.base[rows], whole.base_labels[rows], whole.test[test], whole.test_labels[test])


@cache
def judge(data: Data) -> Judge:
    """Of selections that are to match the base set."""
    return Judge(dataset(data).base)
