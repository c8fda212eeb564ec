"""``make bench-labels``: rows to label. How well do others do if m of many rows are labelled, by who chooses them?

Rows are chosen without labels and then labelled. A classifier learns from them alone, the nearest neighbour or a
logistic regression, and is judged by the test set. Figures are means over several orders of the rows, with their
standard deviation. Everyone who chooses has a process of its own for each data set. Every cell that is measured is kept
in ``.bench/labels``, so a run that was stopped goes on, and other sizes can be added. Tools that are not installed, and
sets whose files are not at hand, are left out: ``pip install kmedoids apricot-select faiss-cpu`` has the others.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks import accuracy
from benchmarks._measure import peak_mb, resident_mb
from experiments.datasets import Dataset
from protosieve import ProtoDash, ProtoSwap
from protosieve.kernels import Gaussian
from protosieve.objectives import Coverage

Chooser = Callable[[np.ndarray, int, int], np.ndarray]  # rows, m, seed -> row numbers

KEPT = Path(".bench/labels")
DOCS = Path(__file__).parents[1] / "docs"


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


def million() -> Dataset:
    """1,000,000 x 64: 2,000 Gaussians that overlap, 20 of them a class; 10,000 other rows are the test."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=0.9, size=(2000, 64)).astype(np.float32)
    which = rng.integers(len(centres), size=1_010_000)
    rows = centres[which] + rng.standard_normal((len(which), 64), dtype=np.float32)
    base, test = slice(1_000_000), slice(1_000_000, None)
    return Dataset("a million", rows[base], which[base] % 100, rows[test], which[test] % 100)


def moved_digits() -> Dataset:
    """1,260,000 x 64: MNIST's 60,000 training images, each moved by up to two pixels in 21 ways, on the main axes."""
    with np.load(Path(os.environ.get("PROTOSIEVE_DATA", "")) / "mnist.npz") as data:
        images, labels, test, test_labels = (data[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    flat = [of.reshape(len(of), -1) / np.float32(255) for of in (images, test)]
    axes = PCA(64, random_state=0).fit(flat[0])
    ways = [(down, right) for down in range(-2, 3) for right in range(-2, 3) if down**2 + right**2 <= 5]
    base = np.concatenate(
        [axes.transform(np.roll(images, way, (1, 2)).reshape(flat[0].shape) / np.float32(255)) for way in ways]
    )
    test = axes.transform(flat[1])
    return Dataset(
        "moved-digits", base.astype(np.float32), np.tile(labels, len(ways)), test.astype(np.float32), test_labels
    )


def mnist() -> Dataset:
    """Its 10,000 test images, and 10,000 of the training images to judge."""
    data = accuracy.SETS["mnist"]()
    some = np.random.default_rng(0).choice(len(data.test), 10_000, replace=False)
    return replace(data, test=data.test[some], test_labels=data.test_labels[some])


SETS = accuracy.SETS | {
    "mnist": mnist,
    "clinc150": clinc150,
    "cifar10-edges": cifar10_edges,
    "moved-digits": moved_digits,
    "million": million,
}
LARGE = ("moved-digits", "million")  # sets that most who choose cannot hold the matrix of


# -- who chooses


def random_rows(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Any rows."""
    return np.random.default_rng(seed).choice(len(X), m, replace=False)


def cover(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """ProtoSwap by coverage."""
    return ProtoSwap(m, objective=Coverage(), random_state=seed).fit(X).prototype_indices_


def match(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """ProtoSwap as it is by default."""
    return ProtoSwap(m, random_state=seed).fit(X).prototype_indices_


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


def k_means_by_faiss(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """The same, with FAISS's centres, which are learnt from 256 rows for each."""
    import faiss

    found = faiss.Kmeans(X.shape[1], m, seed=seed)
    found.train(X)
    return pairwise_distances_argmin(found.centroids, X)


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
    "k-means by FAISS": k_means_by_faiss,
    "farthest point": farthest,
    "FasterPAM": faster_pam,
    "apricot": facility_location,
}
NEEDS = {"FasterPAM": "kmedoids", "apricot": "apricot", "k-means by FAISS": "faiss"}
AT_SIZE = ("random rows", "cover", "match", "k-means by batches", "k-means by FAISS")  # those that can take a large set


# -- what comes of it


def regression(data: Dataset, rows: np.ndarray, labels: np.ndarray) -> float:
    """The share of test rows that a logistic regression on these rows gets right."""
    if len(np.unique(labels)) == 1:
        return float(np.mean(data.test_labels == labels[0]))
    learnt = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(rows, labels)
    return float(learnt.score(data.test, data.test_labels))


@dataclass
class Cell:
    """What comes of m rows, over several orders: the shares of the test set that are right, in percent; the mean
    distance of a test row to the nearest chosen one; seconds; and the most memory it took, in MB.
    """

    m: int
    nearest: list[float]
    regression: list[float]
    distance: list[float]
    seconds: list[float]
    peak_mb: float


def measured(data: Dataset, m: int, draws: int, choose: Chooser, with_regression: bool) -> Cell:
    """Over several orders of the rows."""
    cell, before = Cell(m, [], [], [], [], 0.0), resident_mb()
    for seed in range(draws):
        order = np.random.default_rng(seed).permutation(len(data.base))
        X, y = data.base[order], data.base_labels[order]
        before = max(before, resident_mb())
        start = time.perf_counter()
        rows = np.unique(choose(X, m, seed))
        cell.seconds.append(time.perf_counter() - start)
        cell.peak_mb = max(cell.peak_mb, peak_mb() - before)
        nearest, distance = pairwise_distances_argmin_min(data.test, X[rows])
        cell.nearest.append(100 * float(np.mean(y[rows][nearest] == data.test_labels)))
        cell.distance.append(float(distance.mean()))
        if with_regression:
            cell.regression.append(100 * regression(data, X[rows], y[rows]))
    return cell


def cell_path(name: str, chooser: str, m: int, options: argparse.Namespace) -> Path:
    """Where a cell is kept."""
    return KEPT / f"{name}, {chooser}, {m}, {options.draws}{' regression' * options.regression}.json"


def kept(name: str, chooser: str, options: argparse.Namespace) -> list[Cell]:
    """The cells of one chooser on one set; those that are not there yet come from a process of its own."""
    paths = {m: cell_path(name, chooser, m, options) for m in options.m}
    missing = [str(m) for m, path in paths.items() if not path.exists()]
    if missing:
        KEPT.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.labels", "--child", name, chooser, "--m", *missing]
        command += ["--draws", str(options.draws), *["--regression"] * options.regression]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, timeout=60 * options.minutes, check=False)
    return [Cell(**json.loads(path.read_text())) for path in paths.values() if path.exists()]


def child(name: str, chooser: str, options: argparse.Namespace) -> None:
    """Keep the cells, one after the other."""
    data = SETS[name]()
    for m in options.m:
        if m < len(data.base) / 2:
            cell = measured(data, m, options.draws, CHOOSERS[chooser], options.regression)
            cell_path(name, chooser, m, options).write_text(json.dumps(asdict(cell)))


# -- the page

Found = dict[str, dict[str, list[Cell]]]  # by set, then by chooser


def table(found: dict[str, list[Cell]], of: Callable[[Cell], str]) -> Iterator[str]:
    """A line for each chooser, a column for each m."""
    sizes = sorted({cell.m for cells in found.values() for cell in cells})
    yield f"| | {' | '.join(f'm = {m:,}' for m in sizes)} |"
    yield f"|{'---|' * (len(sizes) + 1)}"
    for chooser, cells in found.items():
        by_size = {cell.m: of(cell) for cell in cells}
        yield f"| {chooser} | {' | '.join(by_size.get(m, '') for m in sizes)} |"


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):.1f} ± {np.std(values):.1f}" if values else ""


def cost(cell: Cell) -> str:
    """Seconds and memory."""
    return f"{min(cell.seconds):.2g} s, {cell.peak_mb:,.0f} MB"


def page(found: Found, draws: int) -> Iterator[str]:
    """The tables of every set."""
    for name, by_chooser in found.items():
        yield f"## {name}\n\nShare of the test set that the nearest labelled row gets right, %, over {draws} orders:\n"
        yield from table(by_chooser, lambda cell: spread(cell.nearest))
        if any(cell.regression for cells in by_chooser.values() for cell in cells):
            yield "\nThat a logistic regression gets right:\n"
            yield from table(by_chooser, lambda cell: spread(cell.regression))
        if name in LARGE:
            yield "\nMean distance of a test row to the nearest labelled row:\n"
            yield from table(by_chooser, lambda cell: f"{np.mean(cell.distance):.3f}")
        yield "\nSeconds to choose, the best of all orders, and the most memory that took:\n"
        yield from table(by_chooser, cost)
        yield ""


def plot(found: Found, path: Path) -> None:
    """Accuracy against the number of labels, a panel for each set."""
    from matplotlib.figure import Figure

    names = [name for name in found if name not in LARGE]
    figure = Figure(figsize=(12, 3.4 * -(-len(names) // 3)), layout="constrained")
    for place, name in enumerate(names, 1):
        axes = figure.add_subplot(-(-len(names) // 3), 3, place, xscale="log", title=name)
        for chooser, cells in found[name].items():
            wide = 2.5 if chooser == "cover" else 1.0
            axes.plot([c.m for c in cells], [np.mean(c.nearest) for c in cells], label=chooser, linewidth=wide)
        axes.set(xlabel="labelled rows", ylabel="1-NN accuracy, %")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(path, metadata={"Date": None})


def write(found: Found, draws: int) -> None:
    """The tables and the plot, below the words that the page begins with."""
    words = (DOCS / "labels.md").read_text().partition("<!-- tables -->\n")
    (DOCS / "labels.md").write_text(f"{words[0]}{words[1]}\n" + "\n".join(page(found, draws)).rstrip() + "\n")
    plot(found, DOCS / "images" / "labels.svg")


def main() -> None:
    """Measure what is missing, print it, and write ``docs/labels.md`` when all is there."""
    there = [name for name in CHOOSERS if name not in NEEDS or find_spec(NEEDS[name])]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--m", type=int, nargs="+", default=[25, 50, 100, 250, 500, 1000, 2000])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--by", nargs="+", choices=there, default=there)
    parser.add_argument("--regression", action="store_true", help="by a logistic regression too")
    parser.add_argument("--minutes", type=float, default=60, help="for one who chooses, on one set")
    parser.add_argument("--write", action="store_true", help="write docs/labels.md and its plot")
    parser.add_argument("--child", nargs=2, metavar=("SET", "CHOOSER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of few labels, of rows that are alike
    if options.child:
        child(*options.child, options)
        return
    found: Found = {}
    for name, _ in accuracy.at_hand(options.sets, SETS):
        for chooser in (c for c in options.by if name not in LARGE or c in AT_SIZE):
            cells = kept(name, chooser, options)
            if cells:
                found.setdefault(name, {})[chooser] = cells
                print(
                    f"{name}, {chooser}: " + "; ".join(f"{c.m}: {spread(c.nearest)} ({cost(c)})" for c in cells),
                    flush=True,
                )
    if options.write:
        write(found, options.draws)


if __name__ == "__main__":
    main()
