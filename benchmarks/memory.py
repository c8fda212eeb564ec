"""``make bench-memory``: a million rows of 64 columns in chunks: rows per second, and memory that stays flat."""

import argparse
import time

import numpy as np

from benchmarks._measure import resident_mb
from protosieve import ProtoBasic, ProtoStream, Streak
from protosieve.means import ReservoirMean

COLUMNS, CHUNK, SETTLED = 64, 10_000, 50_000


def main() -> None:
    """Stream, watching resident memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--m", type=int, default=100)
    parser.add_argument("--sample", type=int, default=4096)
    options = parser.parse_args()
    for selector in (ProtoBasic, ProtoStream, Streak):
        stream(selector(options.m, mean=ReservoirMean(options.sample), random_state=0), options.rows)


def stream(selector: ProtoBasic, n: int) -> None:
    """Feed n rows of a mixture of 50 Gaussians and print what it cost."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=1.5, size=(50, COLUMNS)).astype(np.float32)
    spent, memory = 0.0, []
    for _ in range(0, n, CHUNK):
        rows = centres[rng.integers(50, size=CHUNK)] + rng.standard_normal((CHUNK, COLUMNS), dtype=np.float32)
        start = time.perf_counter()
        selector.partial_fit(rows)
        spent += time.perf_counter() - start
        memory.append(resident_mb())
    settled = memory[min(SETTLED // CHUNK, len(memory)) - 1]
    start = time.perf_counter()
    result = selector.result_
    finish = time.perf_counter() - start
    print(
        f"{type(selector).__name__:12} {n:,} x {COLUMNS} float32: {n / spent:,.0f} rows/s, "
        f"resident {settled:.0f} MB after {SETTLED:,} rows, at most {max(memory) - settled:+.1f} MB from there; "
        f"result in {finish:.2f} s: {len(result)} rows, residual {result.residual:.4f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
