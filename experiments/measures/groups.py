"""Fonts and strokes: the rows of each letter in groups, by k-means or at random."""

from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans

from experiments._scale import Data
from experiments._task import Result, Task
from experiments.measures._data import dataset
from protosieve._blas import one_thread

__all__ = ["cluster", "clustered", "deal", "dealt", "nearest", "ranks"]

Centres = Callable[[np.ndarray, int], np.ndarray]


def clustered(data: Data, groups: int) -> Task:
    """The task of `cluster`."""
    return Task(cluster, (data, groups))


def dealt(data: Data, groups: int, seed: int) -> Task:
    """The task of `deal`."""
    return Task(deal, (data, groups, seed))


def cluster(data: Data, groups: int) -> Result:
    """The group of each base row within its letter, by k-means; the best of ten starts."""

    def centres(rows: np.ndarray, k: int) -> np.ndarray:
        return KMeans(k, n_init=10, random_state=0).fit(rows).cluster_centers_

    return _grouped(data, groups, centres)


def deal(data: Data, groups: int, seed: int) -> Result:
    """As `cluster`, where each letter's rows were dealt out at random into groups of one size: a row then belongs to
    the nearest centre of these, as in the paper, which need not be that of the group it was dealt to.
    """
    rng = np.random.default_rng(seed)

    def centres(rows: np.ndarray, k: int) -> np.ndarray:
        hand = rng.permutation(np.arange(len(rows)) % k)
        return np.stack([rows[hand == group].mean(axis=0) for group in range(k)])

    return _grouped(data, groups, centres)


def nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The number of the centre that each row is nearest to; of equals the first."""
    return np.square(rows[:, None] - centres).sum(axis=2).argmin(axis=1)


def ranks(numbers: np.ndarray, groups: int) -> np.ndarray:
    """Groups renumbered by size, the largest 0; of equals the first is the larger."""
    sizes = np.bincount(numbers, minlength=groups)
    return np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")[numbers]


def _grouped(data: Data, groups: int, centres: Centres) -> Result:
    """Of each base row its letter and, in the letter, its group by number and by size; O(n groups d) and centres."""
    known = dataset(data)
    names, letters = np.unique(known.base_labels, return_inverse=True)
    numbers, sized = np.zeros(len(letters), np.int64), np.zeros(len(letters), np.int64)
    with one_thread():
        for letter in range(len(names)):
            places = np.flatnonzero(letters == letter)
            rows = known.base[places].astype(np.float64)
            numbers[places] = nearest(rows, centres(rows, min(groups, len(np.unique(rows, axis=0)))))
            sized[places] = ranks(numbers[places], groups)
    return {"letters": letters.tolist(), "numbers": numbers.tolist(), "ranks": sized.tolist()}
