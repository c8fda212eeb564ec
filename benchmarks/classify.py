"""``make bench-classify``: a few labelled rows of each class as a classifier, against the nearest of all rows.

Of every class n rows are kept, and a row of the test set gets the label of the nearest. The rows are random ones, those
nearest to the centres of k-means within the class, or the prototypes of `PrototypeClassifier`: by default, which covers
each class, and with a selector that matches it. The last column is the nearest of all rows. Figures are the share that
is right, in percent, mean and standard deviation over several orders of the rows. Sets whose files are not at hand are
left out.
"""

import argparse
import warnings

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.accuracy import SETS, accuracy, at_hand, centres
from experiments.datasets import Dataset
from protosieve import ProtoSwap, PrototypeClassifier
from protosieve.errors import ProtosieveWarning

CHOOSERS = ("random rows", "k-means", "match", "cover")


def of_each(X: np.ndarray, y: np.ndarray, n: int, chooser: str, seed: int) -> np.ndarray:
    """Row numbers, n of each class: random, or nearest to the centres of k-means."""
    kept = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        if chooser == "k-means":
            kept.append(rows[pairwise_distances_argmin(centres(X[rows], n, seed), X[rows])])
        else:
            kept.append(np.random.default_rng(seed).choice(rows, n, replace=False))
    return np.unique(np.concatenate(kept))


def right(data: Dataset, X: np.ndarray, y: np.ndarray, n: int, chooser: str, seed: int) -> float:
    """The share of the test set that the rows of a chooser get right."""
    if chooser in ("random rows", "k-means"):
        rows = of_each(X, y, n, chooser, seed)
        return accuracy(data, X[rows], y[rows])
    selector = ProtoSwap(random_state=seed) if chooser == "match" else None
    return PrototypeClassifier(n, selector).fit(X, y).score(data.test, data.test_labels)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classify", description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["digits", "letters", "mnist"])
    parser.add_argument("--n", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ProtosieveWarning)
    columns = ["", "n", "of all rows, %", *CHOOSERS, "all rows"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, data in at_hand(options.sets):
        every = accuracy(data, data.base, data.base_labels)
        for n in options.n:
            table = []
            for seed in range(options.draws):
                order = np.random.default_rng(seed).permutation(len(data.base))
                X, y = data.base[order], data.base_labels[order]
                table.append([100 * right(data, X, y, n, chooser, seed) for chooser in CHOOSERS])
            cells = [f"{np.mean(column):.1f} ± {np.std(column):.1f}" for column in zip(*table, strict=True)]
            share = 100 * n * len(np.unique(data.base_labels)) / len(data.base)
            print(f"| {name} | {n} | {share:.2g} | {' | '.join(cells)} | {100 * every:.1f} |", flush=True)


if __name__ == "__main__":
    main()
