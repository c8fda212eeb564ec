"""``make bench-orders``: one pass against batch greedy selection, in the order of the file and in orders meant to hurt.

Residuals, and their ratio to ProtoDash's, of ProtoSwap judging every row as it comes and of ProtoSwap over a sample;
then of a true single pass, whose target is what was seen so far, scored with the exact mean of all rows. Last what a
true single pass covers: its share of what FasterPAM covers more than random rows do, of the matrix of all similarities
(``pip install kmedoids``), and how many rows of the test set the nearest prototype classifies.
"""

import argparse
from importlib.util import find_spec

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin

from benchmarks import accuracy
from benchmarks._measure import paper_data, paper_labels
from protosieve import ProtoDash, ProtoSwap, Prototypes
from protosieve._blas import one_thread
from protosieve.kernels import Gaussian, Kernel, MultiScale
from protosieve.means import CalibratedMean, ExactMean, FixedMean, Mean, ReservoirMean
from protosieve.objectives import Coverage

KERNEL = Gaussian(width=5.0)
CASES = {
    ("mnist", "file"): (75, 250, 750),
    ("mnist", "ascending mu"): (75, 250),
    ("letters", "file"): (50, 166, 500),
    ("letters", "by label"): (50, 150),
    ("letters", "ascending mu"): (50, 150),
    ("letters", "descending mu"): (50, 150),
}


def ordered(data: str, order: str) -> np.ndarray:
    """A data set in one of the orders."""
    X = paper_data(data)
    if order == "file":
        return X
    if order == "by label":
        return X[np.argsort(paper_labels(data), kind="stable")]
    mean = ExactMean().begin(KERNEL, X, X, np.random.default_rng(0), 0)
    with one_thread():
        mu = mean.at(KERNEL.prepare(X))
    return X[np.argsort(mu if order == "ascending mu" else -mu, kind="stable")]


def residual(result: Prototypes, X: np.ndarray, bound: float) -> float:
    """Of a result's rows and weights, with the exact mean of X."""
    with one_thread():
        points = result.kernel.prepare(result.rows.astype(np.float64))
        mu = FixedMean.over(result.kernel, X.astype(np.float64)).at(points)
        w = result.weights
        return 1 - float(w @ mu - 0.5 * w @ result.kernel.block(points, points) @ w) / bound


def one_pass(data: str, order: str, m: int, X: np.ndarray) -> None:
    """One line of the first table."""
    options = {"kernel": KERNEL, "random_state": 0}
    batch = ProtoDash(m, **options).fit(X).result_.residual
    cells = []
    for extra in ({"candidates": "all"}, {}):
        found = ProtoSwap(m, **options, **extra).fit(X).result_.residual
        cells.append(f"{found:.5f} ({found / batch:.2f})")
    print(f"| {data}, {order} | {m} | {batch:.5f} | {' | '.join(cells)} |", flush=True)


def streams(means: dict[str, Mean]) -> None:
    """The second table: Letters as a stream that is its own target."""
    for order in ("file", "by label"):
        X = ordered("letters", order)
        exact = ProtoSwap(150, kernel=KERNEL, random_state=0).fit(X).result_
        cells = [f"{exact.residual:.5f}"]
        for mean in means.values():
            selector = ProtoSwap(150, kernel=KERNEL, mean=mean, random_state=0)
            for start in range(0, len(X), 1000):
                selector.partial_fit(X[start : start + 1000])
            cells.append(f"{residual(selector.result_, X, exact.certificate.upper_bound):.5f}")
        print(f"| letters, {order}, m = 150 | {' | '.join(cells)} |", flush=True)


def orders(X: np.ndarray, labels: np.ndarray, kernel: Kernel) -> dict[str, np.ndarray]:
    """The rows at random, and in orders meant to hurt."""
    with one_thread():
        mu = ExactMean().begin(kernel, X, X, np.random.default_rng(0), 0).at(kernel.prepare(X))
    return {
        "at random": np.random.default_rng(0).permutation(len(X)),
        "by label": np.argsort(labels, kind="stable"),
        "ascending mu": np.argsort(mu, kind="stable"),
        "descending mu": np.argsort(-mu, kind="stable"),
        "along the main axis": np.argsort(PCA(1, random_state=0).fit_transform(X)[:, 0], kind="stable"),
    }


def covering(name: str, m: int, draws: int = 3) -> None:
    """The lines of the third table for a data set."""
    import kmedoids

    data = accuracy.SETS[name]()
    X, labels = data.base, data.base_labels
    kernel = MultiScale().resolve(X, np.random.default_rng(0))
    points = kernel.prepare(X)
    K = kernel.block(points, points)

    def judged(rows: np.ndarray) -> tuple[float, float]:
        nearest = pairwise_distances_argmin(data.test, X[rows])
        return float(K[rows].max(axis=0).mean()), 100 * float(np.mean(labels[rows][nearest] == data.test_labels))

    def mean(sets: list[np.ndarray]) -> np.ndarray:
        return np.mean([judged(rows) for rows in sets], axis=0)

    seeds = range(draws)
    floor, _ = mean([np.random.default_rng(seed).choice(len(X), m, replace=False) for seed in seeds])
    best, right = mean([kmedoids.fasterpam(1 - K, m, random_state=seed).medoids.astype(int) for seed in seeds])
    print(f"| {name}, FasterPAM | {m} | 1 | {right:.1f} |", flush=True)
    for title, order in orders(X, labels, kernel).items():
        chosen = []
        for seed in seeds:
            selector = ProtoSwap(m, kernel=kernel, objective=Coverage(), random_state=seed)
            for start in range(0, len(X), 1000):
                selector.partial_fit(X[order[start : start + 1000]])
            chosen.append(order[selector.prototype_indices_])
        covered, right = mean(chosen)
        print(f"| {name}, {title} | {m} | {(covered - floor) / (best - floor):.3f} | {right:.1f} |", flush=True)


def main() -> None:
    """Print both tables."""
    argparse.ArgumentParser(prog="python -m benchmarks.orders", description=__doc__).parse_args()
    print('| order | m | ProtoDash | ProtoSwap, candidates="all" | ProtoSwap |\n|---|---|---|---|---|')
    for (data, order), sizes in CASES.items():
        X = ordered(data, order)
        for m in sizes:
            one_pass(data, order, m, X)
    means = {"a sample of 4,096": ReservoirMean(4096), "8,000 rows, calibrated": CalibratedMean(8000)}
    print(f"\n| true single pass | exact mean | {' | '.join(means)} |\n|---|---|---|---|")
    streams(means)
    if find_spec("kmedoids"):
        print("\n| single pass to cover | m | share of FasterPAM's gain | 1-NN, % |\n|---|---|---|---|")
        for name in ("banking77", "mnist"):
            covering(name, 100)


if __name__ == "__main__":
    main()
