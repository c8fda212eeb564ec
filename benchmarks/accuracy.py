"""``make bench-accuracy``: what one width sees and what several do, by the labels of other rows.

Prototypes are chosen without labels and then labelled; a row of the test set gets the label of the nearest. The first
table is the share that is right, in percent: ProtoSwap with a Gaussian of the median width w, of w/2 and w/4, and with
all three (MultiScale), beside random rows and the rows nearest to the centres of k-means. The second is what the same
prototypes leave over, in percent, as a Gaussian of each width sees it, at the best weights for that width.

Letters and MNIST are split as in the paper, Banking77 and CIFAR-10 as their files are, the digits in halves by a seed.
Figures are means over several orders of the rows; "spread" is the largest standard deviation, over the orders, of
ProtoSwap's four: what differs by less is equal. Sets whose files are not at hand are left out.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import train_test_split

from experiments.datasets import Dataset, load_letters, load_mnist
from protosieve import ProtoSwap
from protosieve._blas import one_thread
from protosieve.errors import ProtosieveError, ProtosieveWarning
from protosieve.kernels import Gaussian, Kernel, MultiScale
from protosieve.means import FixedMean
from protosieve.objectives import KernelMean
from protosieve.weights import NonNegativeQP

SCALES = {"w": 1, "w/2": 2, "w/4": 4}
MULTISCALE, RANDOM, K_MEANS = "MultiScale", "random rows", "k-means"
CHOOSERS = (*SCALES, MULTISCALE, RANDOM, K_MEANS)

Table = list[list[float]]  # a line for each draw


def digits() -> Dataset:
    """Halves by a seed, every digit in both."""
    X, y = load_digits(return_X_y=True)
    base, test, mine, others = train_test_split(X.astype(np.float32), y, test_size=0.5, random_state=0, stratify=y)
    return Dataset("digits", base, mine, test, others)


def stored(name: str, scale: float = 1.0) -> Dataset:
    """Of a file that has a training and a test set; rows are made flat."""
    with np.load(Path(os.environ.get("PROTOSIEVE_DATA", "")) / f"{name}.npz") as data:
        base, test = (data[f"x_{part}"].astype(np.float32) / scale for part in ("train", "test"))
        return Dataset(name, base.reshape(len(base), -1), data["y_train"], test.reshape(len(test), -1), data["y_test"])


SETS: dict[str, Callable[[], Dataset]] = {
    "banking77": lambda: stored("banking77_minilm"),
    "digits": digits,
    "letters": load_letters,
    "mnist": load_mnist,
    "cifar10": lambda: stored("cifar10", 255),
}


def at_hand(names: list[str], sets: dict[str, Callable[[], Dataset]] = SETS) -> Iterator[tuple[str, Dataset]]:
    """The data sets that can be had."""
    for name in names:
        try:
            yield name, sets[name]()
        except (OSError, ProtosieveError) as error:
            print(f"({name} is left out: {error})")


def kernels(X: np.ndarray) -> dict[str, Kernel]:
    """One Gaussian per scale, and all of them in one."""
    w = float(Gaussian().resolve(X, np.random.default_rng(0)).width)
    return {name: Gaussian(w / part) for name, part in SCALES.items()} | {MULTISCALE: MultiScale(w)}


def chosen(X: np.ndarray, m: int, seed: int) -> dict[str, np.ndarray]:
    """Row numbers by chooser."""
    found = {
        name: ProtoSwap(m, kernel=kernel, random_state=seed).fit(X).prototype_indices_
        for name, kernel in kernels(X).items()
    }
    found[RANDOM] = np.random.default_rng(seed).choice(len(X), m, replace=False)
    found[K_MEANS] = np.unique(pairwise_distances_argmin(centres(X, m, seed), X))
    return found


def centres(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Of one run of k-means."""
    return KMeans(m, n_init=1, random_state=seed).fit(X).cluster_centers_


def accuracy(data: Dataset, rows: np.ndarray, labels: np.ndarray) -> float:
    """The share of test rows whose nearest prototype has their label."""
    return float(np.mean(labels[pairwise_distances_argmin(data.test, rows)] == data.test_labels))


class Scale:
    """What rows leave over, as one kernel sees it."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        known = kernel.resolve(X, np.random.default_rng(0))
        with one_thread():
            self._objective = KernelMean(known, FixedMean.over(known, X))
            self._bound = self._objective.upper_bound(512)

    def residual(self, rows: np.ndarray) -> float:
        """At the best weights on these rows."""
        with one_thread():
            return 1 - NonNegativeQP.from_gram(*self._objective.exact(rows)).value / self._bound


def measured(data: Dataset, m: int, draws: int) -> tuple[Table, dict[str, Table]]:
    """Accuracy by draw and chooser, and for every scale the same of what is left over."""
    scales = {name: Scale(kernel, data.base) for name, kernel in kernels(data.base).items() if name in SCALES}
    right, left = [], {name: [] for name in scales}
    for seed in range(draws):
        order = np.random.default_rng(seed).permutation(len(data.base))
        X, y = data.base[order], data.base_labels[order]
        found = chosen(X, m, seed)
        right.append([accuracy(data, X[found[name]], y[found[name]]) for name in CHOOSERS])
        for name, scale in scales.items():
            left[name].append([scale.residual(X[found[chooser]]) for chooser in CHOOSERS])
    return right, left


def line(name: str, m: int, table: Table, *more: float) -> str:
    """A line of a table, in percent."""
    return f"| {name} | {m} | " + " | ".join(f"{100 * cell:.3g}" for cell in (*np.mean(table, axis=0), *more)) + " |"


def spread(table: Table) -> float:
    """The largest standard deviation, over the draws, of ProtoSwap's own columns."""
    return float(np.std(table, axis=0)[: len(SCALES) + 1].max())


def head(title: str, *more: str) -> str:
    """The first two lines of a table."""
    columns = [title, "m", *CHOOSERS, *more]
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--m", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ProtosieveWarning)
    print(head("1-NN accuracy, %", "spread"))
    seen = []
    for name, data in at_hand(options.sets):
        for m in options.m:
            right, left = measured(data, m, options.draws)
            print(line(name, m, right, spread(right)), flush=True)
            seen += [line(f"{name}, seen by {scale}", m, table) for scale, table in left.items()]
    print("", head("left over, %"), *seen, sep="\n")


if __name__ == "__main__":
    main()
