"""``make bench-orders``: one pass against batch greedy selection, in the order of the file and in orders meant to hurt.

Residuals, and their ratio to ProtoDash's, of ProtoSwap judging every row as it comes and of ProtoSwap over a sample;
then of a true single pass, whose target is what was seen so far, scored with the exact mean of all rows.
"""

import argparse

import numpy as np

from benchmarks._measure import paper_data, paper_labels
from protosieve import ProtoDash, ProtoSwap, Prototypes
from protosieve._blas import one_thread
from protosieve.kernels import Gaussian
from protosieve.means import CalibratedMean, ExactMean, FixedMean, Mean, ReservoirMean

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


if __name__ == "__main__":
    main()
