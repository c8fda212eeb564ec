"""``make bench-features``: 100,000 streamed features of 2,000 samples, logistic regression, m = 30.

Features are made as they are read and never stored. "A fit per candidate" asks of every feature what one set, half
full, would be worth with it: that is the least a method without gradients can do; Streak does it for all of its sets.
"""

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks._measure import peak_mb, resident_mb
from protosieve import ProtoBasic, ProtoDash, ProtoStream, ProtoSwap, Streak
from protosieve._blas import one_thread
from protosieve.errors import ProtosieveWarning
from protosieve.objectives import LeastSquares, Logistic

CHUNK = 1000
USEFUL = 20


def chunk_of(number: int, samples: int) -> np.ndarray:
    """1,000 Gaussian features, the same whenever they are asked for."""
    return np.random.default_rng(number).standard_normal((CHUNK, samples))


def chunks(features: int, samples: int) -> Iterator[np.ndarray]:
    """All of them."""
    return (chunk_of(number, samples) for number in range(features // CHUNK))


def labels(features: int, samples: int) -> np.ndarray:
    """Of a logistic model in which 20 features, spread over the stream, matter."""
    step = max(1, features // CHUNK // USEFUL)
    total = sum(chunk_of(number, samples)[0] for number in range(0, features // CHUNK, step))
    return np.random.default_rng(0).random(samples) < 1 / (1 + np.exp(-total))


def fits_per_second(objective: Logistic, half: np.ndarray, candidates: np.ndarray) -> float:
    """Candidates fitted one by one onto a set."""
    fit = objective.fitted(half, np.zeros(len(half)))
    start = time.perf_counter()
    with one_thread():
        for row in candidates:
            objective.grow(fit, half, row)
    return len(candidates) / (time.perf_counter() - start)


def near_copies() -> None:
    """Print what selectors make of 1,000 features in 40 groups of near copies, 10 groups of which matter."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(40, 400))
    order = rng.permutation(1000)
    rows = (np.repeat(groups, 25, axis=0) + 0.2 * rng.normal(size=(1000, 400)))[order]
    eta = np.linspace(2, 0.4, 10) @ groups[:10]
    logistic = Logistic(rng.random(400) < 1 / (1 + np.exp(-eta)), signed=True, ridge=1 / 400)
    squares = LeastSquares(eta + rng.normal(size=400), signed=True)
    print("\n| near copies | m | kept | residual | groups |\n|---|---|---|---|---|")
    runs = [(selector, logistic) for selector in (ProtoBasic, ProtoStream, ProtoDash)]
    for selector, objective in [*runs, (ProtoSwap, squares), (ProtoDash, squares)]:
        for m in (10, 30):
            result = selector(m, objective=objective, random_state=0).fit(rows).result_
            name = f"{selector.__name__}, {type(objective).__name__}"
            found = len(set(order[result.indices] // 25))
            print(f"| {name} | {m} | {len(result)} | {result.residual:.3f} | {found} |")
    pull = np.abs(logistic.block(0, rows).mu)
    for name, turned in (("rising", np.argsort(pull)), ("falling", np.argsort(-pull))):
        left = ProtoStream(10, objective=logistic).fit(rows[turned]).result_.residual
        print(f"| ProtoStream, gradients {name} | 10 | | {left:.3f} | |")


def main() -> None:
    """Print features per second, memory and what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.features", description=__doc__)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--m", type=int, default=30)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ProtosieveWarning)
    features, samples, m = options.features, options.samples, options.m
    y = labels(features, samples)
    objective = Logistic(y, signed=True)
    print("| | features/s | MB after a tenth | growth, MB | kept | deviance left |\n|---|---|---|---|---|---|")
    rates = {}
    for selector in (ProtoBasic(m, objective=objective), ProtoStream(m, objective=objective)):
        seconds, early = 0.0, 0.0
        for number, chunk in enumerate(chunks(features, samples)):
            start = time.perf_counter()
            selector.partial_fit(chunk)
            seconds += time.perf_counter() - start
            early = resident_mb() if number == features // CHUNK // 10 else early
        start = time.perf_counter()
        result, grown = selector.result_, resident_mb() - early
        name = type(selector).__name__
        rates[name] = features / (seconds + time.perf_counter() - start)
        print(f"| {name} | {rates[name]:,.0f} | {early:.0f} | {grown:.1f} | {len(result)} | {result.residual:.4f} |")
    start = time.perf_counter()
    first = chunk_of(0, samples)[:200]
    Streak(m, objective=objective).fit(first)
    streak = len(first) / (time.perf_counter() - start)
    one = fits_per_second(objective, result.rows[: m // 2], first[:100])
    times = rates["ProtoStream"] / one
    print(f"\nA fit per candidate, one set of {m // 2}: {one:,.0f} features/s; ProtoStream is {times:.0f} x as fast.")
    print(f"Streak, 200 features: {streak:,.1f} features/s, {rates['ProtoStream'] / streak:,.0f} x.")
    print(f"Making the features is not counted; peak {peak_mb():.0f} MB.")
    near_copies()


if __name__ == "__main__":
    main()
