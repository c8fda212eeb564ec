"""``make bench-latency``: how long one call makes its caller wait, at the median, at worst and in between.

A stream of 32 columns comes in chunks of 10,000 rows. Most chunks are quick; those in which the mean's points are
chosen anew, or many rows are exchanged, are not, and a service that feeds a selector waits for these too.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks._measure import mixture
from protosieve import ProtoSwap

COLUMNS, CHUNK = 32, 10_000


def latencies(m: int, chunks: int, every: int) -> tuple[list[float], list[float]]:
    """Seconds of each ``partial_fit``, and of ``result_`` after every few of them."""
    selector = ProtoSwap(m, random_state=0)
    fed, asked = [], []
    for number, rows in enumerate(mixture(chunks * CHUNK, COLUMNS, chunks), 1):
        fed.append(_seconds(lambda rows=rows: selector.partial_fit(rows)))
        if number % every == 0:
            asked.append(_seconds(lambda: selector.result_))
    return fed, asked


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def line(call: str, m: int, seconds: Sequence[float]) -> str:
    """A line of the table."""
    p50, p99, worst = np.quantile(seconds, [0.5, 0.99, 1.0])
    return f"| {call} | {m:,} | {len(seconds)} | {p50:.3f} | {p99:.3f} | {worst:.3f} |"


def main() -> None:
    """Print a table, in seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--chunks", type=int, default=100)
    parser.add_argument("--every", type=int, default=5, help="chunks between two results")
    parser.add_argument("--m", type=int, nargs="+", default=[100, 1000])
    options = parser.parse_args()
    print("| call | m | calls | p50 s | p99 s | worst s |\n|---|---|---|---|---|---|")
    for m in options.m:
        fed, asked = latencies(m, options.chunks, options.every)
        print(line(f"`partial_fit` of {CHUNK:,} rows", m, fed), flush=True)
        print(line(f"`result_` after {CHUNK:,} new rows", m, asked), flush=True)


if __name__ == "__main__":
    main()
