"""``make bench-scale``: a run over partitions on 1 and 2 workers: seconds of each pass, memory of workers and driver.

Each figure comes from a process of its own with its own workers, which are started, and have loaded the library, before
the clock is. The driver's memory has Dask's scheduler in it.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._measure import mixture, peak_mb

COLUMNS, PARTITION_ROWS = 64, 250_000
PART_NUMBERS, GROUP_NUMBERS = 64_000_000, 1_600_000  # in a file, and in a row group
FOLDER = Path(".bench/scale")
HEADS = (
    *("rows", "partitions", "workers", "survey s", "settle s", "select s", "weigh s", "end s", "all s", "speed-up"),
    *("worker MB", "driver MB"),
)


def main() -> None:
    """Print a line per number of rows and workers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--m", type=int, default=100)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--embedding", action="store_true", help="one column of lists")
    parser.add_argument("--partition-rows", type=int, default=PARTITION_ROWS)
    parser.add_argument("--exact-weights", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "WORKERS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(Path(options.child[0]), int(options.child[1]), options)))
        return
    how = "in lists" if options.embedding else "in columns"
    print(f"rows x {options.columns} float32 {how}, m={options.m}, on {os.cpu_count()} processors")
    print(f"| {' | '.join(HEADS)} |")
    print("|---" * len(HEADS) + "|")
    for rows in options.rows:
        first = None
        for workers in options.workers:
            found = measured(written(rows, options.columns, options.embedding), workers, options)
            first = first or found
            print(line(rows, workers, found, first), flush=True)
        told = ", ".join(f"{name} {sent:,} -> {back:,}" for name, (sent, back) in found["sizes"].items())
        worker, driver = found["foreseen"]
        print(f"a task and its result, in bytes: {told}; foreseen {worker} MB per worker, {driver} MB here", flush=True)


def line(rows: int, workers: int, found: dict[str, Any], first: dict[str, Any]) -> str:
    """One line of the table."""
    seconds = found["seconds"]
    spent = " | ".join(f"{seconds.get(name, 0):.1f}" for name in ("survey", "settle", "select", "weigh", "end", "all"))
    memory = f"{max(found['worker_mb']):.0f} | {found['driver_mb']:.0f}"
    speed = first["seconds"]["all"] / seconds["all"]
    return f"| {rows:,} | {found['partitions']} | {workers} | {spent} | {speed:.2f} | {memory} |"


def written(rows: int, columns: int, embedding: bool) -> Path:
    """A folder of Parquet parts of a mixture of 50 Gaussians, written once."""
    folder = FOLDER / f"{rows}x{columns}{'-lists' if embedding else ''}"
    if not folder.exists():
        making = folder.with_suffix(".making")
        making.mkdir(parents=True, exist_ok=True)
        for i, chunk in enumerate(mixture(rows, columns, max(1, rows * columns // PART_NUMBERS))):
            table = lists(chunk) if embedding else pa.table({f"c{j}": chunk[:, j] for j in range(columns)})
            pq.write_table(table, making / f"part-{i:04}.parquet", row_group_size=GROUP_NUMBERS // columns)
        making.rename(folder)
    return folder


def lists(rows: np.ndarray) -> pa.Table:
    """Rows as lists of one length, in one column."""
    return pa.table({"vector": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])})


def measured(folder: Path, workers: int, options: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own."""
    flags = [f"--{name}" for name in ("exact-weights", "embedding") if getattr(options, name.replace("-", "_"))]
    counts = ["--m", options.m, "--partition-rows", options.partition_rows, "--child", folder, workers]
    command = [sys.executable, "-m", "benchmarks.scale", *flags, *map(str, counts)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def child(folder: Path, workers: int, options: argparse.Namespace) -> dict[str, Any]:
    """Do it, and say what it took."""
    from protosieve.distributed import LocalWorkers, begin, drive, estimate
    from protosieve.pipeline._options import Options

    from protosieve.kernels import Gaussian

    asked = Options(
        [str(folder)],
        options.m,
        Gaussian(),
        exact_weights=options.exact_weights,
        partition_rows=options.partition_rows,
        embedding="vector" if options.embedding else None,
    )
    with LocalWorkers(workers) as executor:
        everywhere = executor.submit(ready).result() and executor._inner._client.run
        everywhere(ready)
        clock, sizes = Clock(), Sizes(executor)
        job = begin(asked)
        result = drive(job, sizes, watcher=clock)
        seconds = clock.stop()
        return {
            "seconds": seconds,
            "partitions": len(job.inputs),
            "worker_mb": list(everywhere(peak_mb).values()),
            "driver_mb": peak_mb(),
            "sizes": sizes.largest,
            "foreseen": [round(estimate(job).worker_bytes / 1e6), round(estimate(job).driver_bytes / 1e6)],
            "residual": result.residual,
        }


def ready() -> bool:
    """Load what a task needs."""
    import protosieve.distributed

    return bool(protosieve.distributed.drive)


class Clock:
    """Seconds of every pass, and of what is done between them."""

    before: ClassVar = {"survey": "begin", "select": "settle", "weigh": "end"}  # what is done before a pass

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._spent: dict[str, float] = {}

    def __call__(self, tick: Any) -> None:
        """A pass begins, or goes on."""
        self._add(self.before[tick.label] if tick.rows == 0 else tick.label)

    def stop(self) -> dict[str, float]:
        """All of it is done."""
        self._add("end")
        return {**self._spent, "all": time.perf_counter() - self._start}

    def _add(self, label: str) -> None:
        now = time.perf_counter()
        self._spent[label] = self._spent.get(label, 0) + now - self._last
        self._last = now


class Sizes(Executor):
    """Another executor; notes how large the first task of each kind and its result are, pickled."""

    def __init__(self, inner: Executor) -> None:
        self._inner, self.largest = inner, {}
        self._max_workers = inner._max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send it on."""
        future = self._inner.submit(fn, *args, **kwargs)
        if fn.__name__ not in self.largest:
            self.largest[fn.__name__] = [len(pickle.dumps(args)), 0]
            future.add_done_callback(lambda done: self._note(fn.__name__, done))
        return future

    def _note(self, name: str, done: Future[Any]) -> None:
        self.largest[name][1] = len(pickle.dumps(done.result()))


if __name__ == "__main__":
    main()
