"""Prototypes from all labels for a target that has only one."""

import warnings

import numpy as np

from experiments._scale import Data
from experiments._task import Result, Task
from experiments.datasets import Dataset
from experiments.measures._data import dataset
from experiments.measures._judge import KERNEL, Judge
from experiments.measures.choose import METHODS
from protosieve._blas import one_thread
from protosieve.errors import ProtosieveWarning
from protosieve.kernels import Gaussian
from protosieve.means import FixedMean

__all__ = ["adapt", "adapt_random", "adapted", "adapted_random", "closest", "closest_of", "one_label"]

_BLOCK = 2048


def adapted(data: Data, label: str, method: str, m: int) -> Task:
    """The task of `adapt`."""
    return Task(adapt, (data, label, method, m))


def adapted_random(data: Data, label: str, m: int, draws: int) -> Task:
    """The task of `adapt_random`."""
    return Task(adapt_random, (data, label, m, draws))


def closest(data: Data, label: str, width: float, sizes: tuple[int, ...], swapped: bool) -> Task:
    """The task of `closest_of`."""
    return Task(closest_of, (data, label, width, sizes, swapped))


def adapt(data: Data, label: str, method: str, m: int) -> Result:
    """Up to m base rows that match the test rows of one label, with the exact mean; the labels of what was kept."""
    known = dataset(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProtosieveWarning)  # fewer rows than asked for: the tables show how many
        selector = METHODS[method](m, kernel=KERNEL, random_state=0)
        found = selector.fit(known.base, target=one_label(known, label)).result_
    return {**_labelled(known, found.indices, found.weights), "residual": found.residual}


def adapt_random(data: Data, label: str, m: int, draws: int) -> Result:
    """Random base rows, at the best weights for the test rows of one label: the mean of several draws."""
    known = dataset(data)
    judge, found = Judge(one_label(known, label)), []
    for seed in range(draws):
        indices = np.random.default_rng(seed).choice(len(known.base), min(m, len(known.base)), replace=False)
        weights = judge.best_weights(known.base[indices])
        residual = judge.residual(known.base[indices], weights)
        found.append({**_labelled(known, indices, weights), "residual": residual})
    return {name: np.mean([one[name] for one in found], axis=0).tolist() for name in found[0]}


def closest_of(data: Data, label: str, width: float, sizes: tuple[int, ...], swapped: bool) -> Result:
    """The share of a label among the rows of largest mean similarity to that label's rows of the other set: what
    ProtoBasic takes, at several sizes. ``swapped`` takes them from the test set, for a target from the base set.
    ``length`` is the mean length of the rows at the largest size, as a share of that of all rows.
    """
    known = dataset(data)
    if swapped:
        known = Dataset(known.name, known.test, known.test_labels, known.base, known.base_labels)
    kernel = Gaussian(width=width)
    mean = FixedMean.over(kernel, one_label(known, label))
    with one_thread():
        blocks = range(0, len(known.base), _BLOCK)
        mu = np.concatenate([mean.at(kernel.prepare(known.base[start : start + _BLOCK])) for start in blocks])
    order = np.argsort(-mu, kind="stable")
    hits = known.base_labels[order].astype(str) == label
    lengths = np.linalg.norm(known.base, axis=1)
    return {
        "shares": [float(hits[:size].mean()) for size in sizes],
        "rows": int(hits.sum()),
        "length": float(lengths[order[: sizes[-1]]].mean() / lengths.mean()),
    }


def one_label(known: Dataset, label: str) -> np.ndarray:
    """The rows of the test set that have this label."""
    return known.test[known.test_labels.astype(str) == label]


def _labelled(known: Dataset, indices: np.ndarray, weights: np.ndarray) -> Result:
    """The share of each label of the base set among the rows, and in their weight; how many rows, how many weigh."""
    names, codes = np.unique(known.base_labels, return_inverse=True)
    counts, weight = (np.bincount(codes[indices], by, minlength=len(names)) for by in (None, weights))
    return {
        "shares": (counts / max(counts.sum(), 1)).tolist(),
        "weight_shares": (weight / weight.sum()).tolist(),
        "kept": len(indices),
        "weighing": int((weights > 0).sum()),
    }
