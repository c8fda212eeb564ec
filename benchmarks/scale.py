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
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._measure import mixture, peak_mb

COLUMNS, PART_ROWS, GROUP_ROWS, PARTITION_ROWS = 64, 1_000_000, 25_000, 50_000
FOLDER = Path(".bench/scale")
HEADS = (
    *("rows", "partitions", "workers", "survey s", "select s", "weigh s", "merge s", "all s", "speed-up"),
    *("worker MB", "driver MB"),
)


def main() -> None:
    """Print a line per number of rows and workers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--m", type=int, default=100)
    parser.add_argument("--partition-rows", type=int, default=PARTITION_ROWS)
    parser.add_argument("--exact-weights", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "WORKERS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(Path(options.child[0]), int(options.child[1]), options)))
        return
    print(f"rows x {COLUMNS} float32, m={options.m}, on {os.cpu_count()} processors")
    print(f"| {' | '.join(HEADS)} |")
    print("|---" * len(HEADS) + "|")
    for rows in options.rows:
        first = None
        for workers in options.workers:
            found = measured(written(rows), workers, options)
            first = first or found
            print(line(rows, workers, found, first), flush=True)
        told = ", ".join(f"{name} {sent:,} -> {back:,}" for name, (sent, back) in found["sizes"].items())
        worker, driver = found["foreseen"]
        print(f"a task and its result, in bytes: {told}; foreseen {worker} MB per worker, {driver} MB here", flush=True)


def line(rows: int, workers: int, found: dict[str, Any], first: dict[str, Any]) -> str:
    """One line of the table."""
    seconds = found["seconds"]
    spent = " | ".join(f"{seconds.get(name, 0):.1f}" for name in ("survey", "select", "weigh", "merge", "all"))
    memory = f"{max(found['worker_mb']):.0f} | {found['driver_mb']:.0f}"
    speed = first["seconds"]["all"] / seconds["all"]
    return f"| {rows:,} | {found['partitions']} | {workers} | {spent} | {speed:.2f} | {memory} |"


def written(rows: int) -> Path:
    """A folder of Parquet parts of a mixture of 50 Gaussians, written once."""
    folder = FOLDER / str(rows)
    if not folder.exists():
        making = FOLDER / f"{rows}.making"
        making.mkdir(parents=True, exist_ok=True)
        parts = max(1, rows // PART_ROWS)
        for i, chunk in enumerate(mixture(rows, COLUMNS, parts)):
            table = pa.table({f"c{j}": chunk[:, j] for j in range(COLUMNS)})
            pq.write_table(table, making / f"part-{i:04}.parquet", row_group_size=GROUP_ROWS)
        making.rename(folder)
    return folder


def measured(folder: Path, workers: int, options: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own."""
    words = [
        "--m",
        str(options.m),
        "--partition-rows",
        str(options.partition_rows),
        "--child",
        str(folder),
        str(workers),
    ]
    words += ["--exact-weights"] if options.exact_weights else []
    command = [sys.executable, "-m", "benchmarks.scale", *words]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def child(folder: Path, workers: int, options: argparse.Namespace) -> dict[str, Any]:
    """Do it, and say what it took."""
    from protosieve.distributed import LocalWorkers, begin, drive, estimate
    from protosieve.kernels import Gaussian
    from protosieve.pipeline._options import Options

    asked = Options(
        [str(folder)],
        options.m,
        Gaussian(),
        exact_weights=options.exact_weights,
        partition_rows=options.partition_rows,
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
    """Seconds of every pass, and of what comes after the last partition."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._spent: dict[str, float] = {}

    def __call__(self, tick: Any) -> None:
        """A pass begins or goes on; the time since the last partition is that of the next step: of a merge."""
        self._add("merge" if tick.rows == 0 else tick.label)

    def stop(self) -> dict[str, float]:
        """All of it is done."""
        self._add("merge")
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
