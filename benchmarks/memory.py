"""``make bench-memory``: a million rows of 64 columns in chunks: rows per second, and memory that stays flat."""

import argparse
import time

from benchmarks._measure import mixture, resident_mb
from protosieve import ProtoBasic, ProtoStream, ProtoSwap, Streak
from protosieve.kernels import Gaussian
from protosieve.means import ReservoirMean

COLUMNS, CHUNK, SETTLED = 64, 10_000, 50_000


def main() -> None:
    """Stream, watching resident memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--m", type=int, default=100)
    parser.add_argument("--sample", type=int, default=4096)
    options = parser.parse_args()
    for selector in (ProtoBasic, ProtoStream, ProtoSwap, Streak):
        mean = ReservoirMean(options.sample)
        stream(selector(options.m, kernel=Gaussian(), mean=mean, random_state=0), options.rows)


def stream(selector: ProtoBasic, n: int) -> None:
    """Feed n rows of a mixture of 50 Gaussians and print what it cost."""
    spent, memory = 0.0, []
    for rows in mixture(n, COLUMNS, n // CHUNK):
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
