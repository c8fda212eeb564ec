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
from protosieve import ProtoBasic, ProtoStream, Streak
from protosieve._blas import one_thread
from protosieve.errors import ProtosieveWarning
from protosieve.objectives import Logistic

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


if __name__ == "__main__":
    main()
