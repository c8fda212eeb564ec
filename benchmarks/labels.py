"""``make bench-labels``: rows to label. How well do others do if m of many rows are labelled, by who chooses them?

Rows are chosen without labels and then labelled. A classifier learns from them alone, the nearest neighbour or a
logistic regression, and is judged by the test set. Figures are means over several orders of the rows, with their
standard deviation. Tools that are not installed, and sets whose files are not at hand, are left out:
``pip install kmedoids apricot-select faiss-cpu`` has the others.
"""

import argparse
import gzip
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks import accuracy
from experiments.datasets import Dataset
from protosieve import ProtoDash, ProtoSwap
from protosieve.errors import ProtosieveWarning
from protosieve.kernels import Gaussian, MultiScale
from protosieve.objectives import Coverage

Chooser = Callable[[np.ndarray, int, int], np.ndarray]  # rows, m, seed -> row numbers


def clinc150() -> Dataset:
    """Texts as directions: tf-idf, reduced to 256 columns, of length one."""
    with gzip.open(Path(os.environ.get("PROTOSIEVE_DATA", "")) / "clinc150.csv.gz", "rt") as file:
        table = pd.read_csv(file)
    table = table[table["intent"] != "oos"]  # what belongs to no class
    vectors = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2).fit_transform(table["text"])
    X = normalize(TruncatedSVD(256, random_state=0).fit_transform(vectors)).astype(np.float32)
    y, is_test = table["intent"].to_numpy(), (table["split"] == "test").to_numpy()
    return Dataset("clinc150", X[~is_test], y[~is_test], X[is_test], y[is_test])


def oriented_edges(images: np.ndarray, cell: int = 4, bins: int = 9) -> np.ndarray:
    """Histograms of oriented gradients: of every cell how strong edges are in each direction, to length one."""
    grey = images.reshape(len(images), 32, 32, 3).mean(axis=3)
    down, right = np.gradient(grey, axis=(1, 2))
    strength, direction = np.hypot(down, right), np.arctan2(down, right) % np.pi
    of_bin = np.minimum((direction / np.pi * bins).astype(int), bins - 1)
    found = [np.where(of_bin == b, strength, 0).reshape(-1, 32 // cell, cell, 32 // cell, cell) for b in range(bins)]
    cells = np.stack([part.sum(axis=(2, 4)) for part in found], axis=-1)
    return normalize(cells.reshape(len(images), -1)).astype(np.float32)


def cifar10_edges() -> Dataset:
    """CIFAR-10 as histograms of oriented gradients."""
    data = accuracy.SETS["cifar10"]()
    base, test = oriented_edges(data.base), oriented_edges(data.test)
    return Dataset("cifar10, edges", base, data.base_labels, test, data.test_labels)


SETS = accuracy.SETS | {"clinc150": clinc150, "cifar10-edges": cifar10_edges}


# -- who chooses


def random_rows(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Any rows."""
    return np.random.default_rng(seed).choice(len(X), m, replace=False)


def cover(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """ProtoSwap by coverage."""
    return ProtoSwap(m, objective=Coverage(), kernel=Gaussian(), random_state=seed).fit(X).prototype_indices_


def match(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """ProtoSwap as it is by default."""
    return ProtoSwap(m, kernel=MultiScale(), random_state=seed).fit(X).prototype_indices_


def match_one_width(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """ProtoSwap by a Gaussian of the median width."""
    return ProtoSwap(m, kernel=Gaussian(), random_state=seed).fit(X).prototype_indices_


def dash(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Batch greedy matching."""
    return ProtoDash(m, random_state=seed).fit(X).prototype_indices_


def k_means(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """The rows nearest to the centres."""
    return pairwise_distances_argmin(accuracy.centres(X, m, seed), X)


def k_means_by_batches(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """The same, with centres that follow a stream of batches."""
    found = MiniBatchKMeans(m, n_init=1, random_state=seed).fit(X)
    return pairwise_distances_argmin(found.cluster_centers_, X)


def farthest(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Always the row farthest from all that were chosen: k-center."""
    chosen = [int(np.random.default_rng(seed).integers(len(X)))]
    left = np.full(len(X), np.inf)
    for _ in range(m - 1):
        left = np.minimum(left, ((X - X[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(left.argmax()))
    return np.array(chosen)


def faster_pam(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """k-medoids by exchanges, from the matrix of all distances."""
    import kmedoids

    return kmedoids.fasterpam(pairwise_distances(X), m, random_state=seed).medoids.astype(int)


def facility_location(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Greedy coverage, from the matrix of all similarities."""
    from apricot import FacilityLocationSelection

    return FacilityLocationSelection(m, metric="euclidean", random_state=seed).fit(X).ranking


CHOOSERS: dict[str, Chooser] = {
    "random rows": random_rows,
    "cover": cover,
    "match": match,
    "match, one width": match_one_width,
    "ProtoDash": dash,
    "k-means": k_means,
    "k-means by batches": k_means_by_batches,
    "farthest point": farthest,
    "FasterPAM": faster_pam,
    "apricot": facility_location,
}
NEEDS = {"FasterPAM": "kmedoids", "apricot": "apricot"}


# -- what comes of it


def regression(data: Dataset, rows: np.ndarray, labels: np.ndarray) -> float:
    """The share of test rows that a logistic regression on these rows gets right."""
    if len(np.unique(labels)) == 1:
        return float(np.mean(data.test_labels == labels[0]))
    learnt = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(rows, labels)
    return float(learnt.score(data.test, data.test_labels))


@dataclass
class Cell:
    """One chooser's rows, over several orders: the share that is right, in percent, and the seconds it took."""

    nearest: list[float]
    regression: list[float]
    seconds: list[float]

    def __str__(self) -> str:
        parts = [f"{np.mean(part):.1f} ± {np.std(part):.1f}" for part in (self.nearest, self.regression) if part]
        return f"{' / '.join(parts)} ({min(self.seconds):.2g} s)"


def measured(data: Dataset, m: int, draws: int, choose: Chooser, with_regression: bool) -> Cell:
    """Over several orders of the rows."""
    cell = Cell([], [], [])
    for seed in range(draws):
        order = np.random.default_rng(seed).permutation(len(data.base))
        X, y = data.base[order], data.base_labels[order]
        start = time.perf_counter()
        rows = np.unique(choose(X, m, seed))
        cell.seconds.append(time.perf_counter() - start)
        cell.nearest.append(100 * accuracy.accuracy(data, X[rows], y[rows]))
        if with_regression:
            cell.regression.append(100 * regression(data, X[rows], y[rows]))
    return cell


def tables(names: list[str], sizes: list[int], draws: int, choosers: list[str], with_regression: bool) -> Iterator[str]:
    """A line for every set and m."""
    yield f"| | m | {' | '.join(choosers)} |\n|{'---|' * (len(choosers) + 2)}"
    for name, data in accuracy.at_hand(names, SETS):
        for m in (m for m in sizes if m < len(data.base) / 2):
            cells = [measured(data, m, draws, CHOOSERS[chooser], with_regression) for chooser in choosers]
            yield f"| {name} | {m} | {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print the share of test rows that are right, in percent, by the nearest labelled row, and the seconds."""
    there = [name for name in CHOOSERS if name not in NEEDS or find_spec(NEEDS[name])]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--m", type=int, nargs="+", default=[25, 50, 100, 250, 500, 1000, 2000])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--by", nargs="+", choices=there, default=there)
    parser.add_argument("--regression", action="store_true", help="by a logistic regression too")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ProtosieveWarning)
    for line in tables(options.sets, options.m, options.draws, options.by, options.regression):
        print(line, flush=True)


if __name__ == "__main__":
    main()
