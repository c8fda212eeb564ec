"""Prototypes by every method, as the paper sets them: a Gaussian of width 5, epsilon 0.4."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import clocked_mean, thresholds
from experiments._scale import Data
from experiments._task import Result, Task
from experiments.measures._data import dataset, judge
from experiments.measures._judge import KERNEL
from experiments.measures._nearest import prefix_accuracies, prefixes
from protosieve import MMDCritic, ProtoBasic, ProtoDash, ProtoStream, ProtoSwap, Streak
from protosieve.errors import ProtosieveWarning

__all__ = [
    "METHODS", "RANDOM", "choose", "choose_random", "choose_shuffled", "chosen", "classified", "classify_random",
    "count_labels", "counted", "drawn", "fitted", "shuffled",
]  # fmt: skip

RANDOM = "random rows"
_SHORT = 5.0  # seconds that are worth measuring twice
METHODS: dict[str, Callable] = {
    "ProtoBasic": ProtoBasic,
    "ProtoStream": partial(ProtoStream, epsilon=0.4),
    "Streak": partial(Streak, epsilon=0.4),
    "ProtoDash": ProtoDash,
    "MMD-critic": MMDCritic,
    "ProtoSwap": ProtoSwap,
}


def chosen(data: Data, method: str, m: int) -> Task:
    """The task of `choose`."""
    return Task(choose, (data, method, m), alone=True)


def drawn(data: Data, m: int, seed: int) -> Task:
    """The task of `choose_random`."""
    return Task(choose_random, (data, m, seed))


def classified(data: Data, m: int, seed: int) -> Task:
    """The task of `classify_random`."""
    return Task(classify_random, (data, m, seed))


def shuffled(data: Data, method: str, m: int, seed: int) -> Task:
    """The task of `choose_shuffled`."""
    return Task(choose_shuffled, (data, method, m, seed))


def counted(data: Data) -> Task:
    """The task of `count_labels`."""
    return Task(count_labels, (data,))


def choose(data: Data, method: str, m: int) -> Result:
    """Up to m rows that match their base set, in file order and with the exact mean, in one thread.

    ``own_residual`` is at the method's own weights, ``residual`` at the best ones: they differ where weights are equal.
    ``accuracies`` are those of 1-NN with the first of the prototypes, as many as ``prefixes`` say.
    """
    selector, alone, mean = _timed(method, m, dataset(data).base)
    if alone + mean < _SHORT:  # then the better of two
        _, again, mean_again = _timed(method, m, dataset(data).base)
        alone, mean = min(alone, again), min(mean, mean_again)
    result = selector.result_
    # the heaviest first; where all weigh the same, in the order they were chosen
    indices = selector.order_ if isinstance(selector, MMDCritic) else result.indices
    return {
        **_seen(data, indices, m),
        **judge(data).score(result.rows, result.weights)._asdict(),
        "weights": result.weights.tolist(),
        "upper_bound": judge(data).upper_bound,
        "seconds": alone + mean,
        "mean_seconds": mean,
        "thresholds": thresholds(selector),
    }


def _timed(method: str, m: int, X: np.ndarray) -> tuple[Any, float, float]:
    """A selector, its result asked for, and its seconds: without the mean, and those of the mean."""
    with clocked_mean() as spent:
        start = time.perf_counter()
        selector = fitted(method, m, X)
        assert len(selector.result_)
        seconds = time.perf_counter() - start
    return selector, seconds - sum(spent), sum(spent)


def choose_random(data: Data, m: int, seed: int) -> Result:
    """Random rows with the best weights, the heaviest first."""
    indices, weights = _random_rows(data, m, seed)
    known = dataset(data)
    return {
        "indices": indices.tolist(),
        "labels": known.base_labels[indices].tolist(),
        **judge(data).score(known.base[indices], weights)._asdict(),
        "weights": weights.tolist(),
    }


def classify_random(data: Data, m: int, seed: int) -> Result:
    """What 1-NN makes of the rows of `choose_random`: apart, since on MNIST it takes longer than to choose them."""
    return _seen(data, _random_rows(data, m, seed)[0], m)


def _random_rows(data: Data, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = dataset(data).base
    indices = np.random.default_rng(seed).choice(len(X), m, replace=False)
    weights = judge(data).best_weights(X[indices])
    order = np.argsort(-weights, kind="stable")
    return indices[order], weights[order]


def choose_shuffled(data: Data, method: str, m: int, seed: int) -> Result:
    """As `choose`, the rows in another order: which are kept, how good they are, and the accuracy of 1-NN with them."""
    known = dataset(data)
    order = np.random.default_rng(seed).permutation(len(known.base))
    result = fitted(method, m, known.base[order]).result_
    return {"residual": result.residual, **_seen(data, order[result.indices], m)}


def fitted(method: str, m: int, X: np.ndarray) -> Any:
    """The method's selector, as the paper sets it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProtosieveWarning)  # fewer rows than asked for: the tables show how many
        return METHODS[method](m, kernel=KERNEL, random_state=0).fit(X)


def _seen(data: Data, indices: np.ndarray, m: int) -> Result:
    """Rows by number, their labels, and the accuracy of 1-NN on the test set with the first of them, or with all."""
    known, sizes = dataset(data), prefixes(m)
    labels, kept = known.base_labels[indices], [min(size, len(indices)) for size in sizes]
    return {
        "indices": indices.tolist(),
        "labels": labels.tolist(),
        "prefixes": sizes,
        "accuracies": prefix_accuracies(known.base[indices], labels, known.test, known.test_labels, kept),
    }


def count_labels(data: Data) -> Result:
    """The labels of the base set, and the share of each."""
    names, counts = np.unique(dataset(data).base_labels, return_counts=True)
    return {"names": names.tolist(), "shares": (counts / counts.sum()).tolist()}
