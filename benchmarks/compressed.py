"""``make bench-compressed``: a million rows with the mean of 16,384 of them, plain and compressed."""

import argparse
import time

import numpy as np

from benchmarks._measure import mixture
from protosieve import ProtoSwap, Prototypes
from protosieve._blas import one_thread
from protosieve.kernels import Gaussian
from protosieve.means import CalibratedMean, FixedMean, Mean, ReservoirMean

MEANS = {"ReservoirMean(16384)": ReservoirMean(16384), "CalibratedMean()": CalibratedMean()}
CHUNK = 10_000


def fitted(X: np.ndarray, m: int, mean: Mean) -> Prototypes:
    """With stored data: the target is X."""
    return ProtoSwap(m, kernel=Gaussian(), mean=mean, random_state=0).fit(X).result_


def streamed(X: np.ndarray, m: int, mean: Mean) -> Prototypes:
    """With a stream: the target is what has been seen."""
    selector = ProtoSwap(m, kernel=Gaussian(), mean=mean, random_state=0)
    for start in range(0, len(X), CHUNK):
        selector.partial_fit(X[start : start + CHUNK])
    return selector.result_


def residual(result: Prototypes, judges: np.ndarray) -> float:
    """Of a result's rows and weights, with the mean of rows that no run has drawn on purpose."""
    with one_thread():
        mean = FixedMean.over(result.kernel, judges)
        points = result.kernel.prepare(result.rows.astype(np.float64))
        w = result.weights
        value = float(w @ mean.at(points) - 0.5 * w @ result.kernel.block(points, points) @ w)
        return 1 - 2 * value / mean.squared_norm(512)


def main() -> None:
    """Print rows per second and residuals, both ways, and their ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compressed", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--m", type=int, default=100)
    options = parser.parse_args()
    X = next(mixture(options.rows, 64))
    judges = X[np.random.default_rng(1).choice(len(X), min(len(X), 50_000), replace=False)]
    print("| | rows/s | residual of its own sample | residual of 50,000 other rows |\n|---|---|---|---|")
    for how in (fitted, streamed):
        rates, scores = [], []
        for name, mean in MEANS.items():
            start = time.perf_counter()
            result = how(X, options.m, mean)
            rates.append(len(X) / (time.perf_counter() - start))
            scores.append(residual(result, judges))
            print(
                f"| {how.__name__}, {name} | {rates[-1]:,.0f} | {result.residual:.6f} | {scores[-1]:.6f} |", flush=True
            )
        print(f"| ratio | {rates[1] / rates[0]:.1f} | | {scores[1] / scores[0]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
