"""``make bench-report``: what the page about 500 prototypes of a million rows costs, against the run that chose them.

Both are timed in one process, one BLAS thread each; rows have 64 columns and a label, or are images of 28 x 28 pixels.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import protosieve
from benchmarks._measure import mixture

CHUNKS = 16
T = TypeVar("T")


def main() -> None:
    """Write the rows, choose, and report, best of a few times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--m", type=int, default=500)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compare(folder / "table.parquet", options.rows, 64, options, {})
        compare(folder / "images.parquet", options.rows // 10, 784, options, {"image_shape": "28x28"})


def compare(path: Path, rows: int, columns: int, options: argparse.Namespace, shown: dict[str, str]) -> None:
    """One data set: the run, its report, and what both came to."""
    write(path, rows, columns)
    run, result = timed(lambda: protosieve.select(path, options.m, label="kind", embedding="x", **shown))
    page = path.with_suffix(".html")
    report = min(timed(lambda: result.report(page))[0] for _ in range(options.times))
    size = page.stat().st_size / 1e6
    print(
        f"{rows:,} x {columns}, {len(result)} prototypes: run {run:.1f} s, report {report:.2f} s, "
        f"{100 * report / run:.0f} % of it; page {size:.2f} MB"
    )


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what came of it."""
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def write(path: Path, rows: int, columns: int) -> None:
    """A mixture of Gaussians as one column of lists, with a label."""
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, pa.schema([("kind", pa.int64()), ("x", pa.list_(pa.float32(), columns))])) as writer:
        for chunk in mixture(rows, columns, CHUNKS):
            lists = pa.FixedSizeListArray.from_arrays(pa.array(chunk.ravel(), pa.float32()), columns)
            writer.write_table(pa.table({"kind": rng.integers(10, size=len(chunk)), "x": lists}, writer.schema))


if __name__ == "__main__":
    main()
