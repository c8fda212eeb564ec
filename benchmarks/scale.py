"""``make bench-scale``: a run over files, in this process and on 1 and 2 workers: seconds of each pass, memory of each.

Each line comes from a process of its own with its own workers, which are started, and have loaded the library, before
the clock is. "0 workers" is the run in this process, whose threads share the work. The driver's memory has Dask's
scheduler in it where there are workers.
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
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._measure import mixture, peak_mb

COLUMNS, PARTITION_ROWS = 64, 250_000
PART_NUMBERS, GROUP_NUMBERS = 64_000_000, 1_600_000  # in a file, and in a row group
FOLDER = Path(".bench/scale")
SPENT = ("survey", "settle", "sum", "choose", "all")  # in seconds
HEADS = ("rows", "partitions", "workers", *(f"{name} s" for name in SPENT), "speed-up", "MB here", "MB of each worker")


def main() -> None:
    """Print a line per number of rows and workers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--m", type=int, default=100)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--embedding", action="store_true", help="one column of lists")
    parser.add_argument("--partition-rows", type=int, default=PARTITION_ROWS)
    parser.add_argument("--kernel", default="multiscale")
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
        told = "; ".join(f"{name} {sent:,} -> {back:,}" for name, (sent, back) in found["sizes"].items())
        here, worker = found["foreseen"]
        print(f"foreseen: {here} MB here, {worker} MB per worker; a task and its result, in bytes: {told or '-'}")


def line(rows: int, workers: int, found: dict[str, Any], first: dict[str, Any]) -> str:
    """One line of the table."""
    seconds = found["seconds"]
    spent = " | ".join(f"{seconds.get(name, 0):.1f}" for name in SPENT)
    memory = f"{found['here_mb']:.0f} | {', '.join(f'{one:.0f}' for one in found['worker_mb']) or '-'}"
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
    flags = ["--embedding"] if options.embedding else []
    words = ["--m", options.m, "--partition-rows", options.partition_rows, "--kernel", options.kernel]
    command = [sys.executable, "-m", "benchmarks.scale", *flags, *words, "--child", folder, workers]
    return json.loads(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout)


def child(folder: Path, workers: int, options: argparse.Namespace) -> dict[str, Any]:
    """Do it, and say what it took."""
    from protosieve import select
    from protosieve.passes import Options, kernel_of
    from protosieve.run import LocalWorkers, begin, estimate, window_of

    kernel, shape = kernel_of(options.kernel, None), {"partition_rows": options.partition_rows}
    if options.embedding:
        shape["embedding"] = "vector"
    with LocalWorkers(workers) if workers else nullcontext() as executor:
        everywhere, sizes = (nowhere, None) if executor is None else (started(executor), Sizes(executor))
        clock = Clock()
        result = select(folder, options.m, kernel=kernel, **shape, executor=sizes, progress=clock)
        seconds = clock.stop()
        job, _ = begin(Options([str(folder)], options.m, kernel, **shape))
        foreseen = estimate(job, 1 if sizes is None else window_of(sizes))
        return {
            "seconds": seconds,
            "partitions": len(job.inputs),
            "here_mb": peak_mb(),
            "worker_mb": list(everywhere(peak_mb).values()),
            "foreseen": [round(foreseen.driver_bytes / 1e6), round(foreseen.worker_bytes / 1e6)],
            "sizes": {} if sizes is None else sizes.first,
            "residual": result.residual,
        }


def nowhere(_: Callable[[], Any]) -> dict[str, Any]:
    """What no worker says."""
    return {}


def started(executor: Any) -> Callable[[Callable[[], Any]], dict[str, Any]]:
    """What calls a function on every worker; all have loaded the library."""
    executor.submit(ready).result()  # the first task starts them
    everywhere = executor._client.run
    everywhere(ready)
    return everywhere


def ready() -> bool:
    """Load what a task needs."""
    import protosieve.passes

    return bool(protosieve.passes.SumsPass)


class Clock:
    """Seconds of every pass, and of what is done between them."""

    before: ClassVar = {"survey": "begin", "sum": "settle", "fetch": "choose"}  # what is done before a pass

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._spent: dict[str, float] = {}
        self._phase = 0

    def __call__(self, tick: Any) -> None:
        """A pass begins, or goes on."""
        self._add(tick.label if tick.phase == self._phase else self.before[tick.label])
        self._phase = tick.phase

    def stop(self) -> dict[str, float]:
        """All of it is done."""
        self._add("choose")
        return {**self._spent, "all": time.perf_counter() - self._start}

    def _add(self, label: str) -> None:
        now = time.perf_counter()
        self._spent[label] = self._spent.get(label, 0) + now - self._last
        self._last = now


class Sizes(Executor):
    """Another executor; notes how large the first task of each pass and its result are, pickled."""

    def __init__(self, inner: Executor) -> None:
        self._inner, self.first = inner, dict[str, list[int]]()
        self._max_workers = inner._max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send it on."""
        future, label = self._inner.submit(fn, *args, **kwargs), fn.function.__self__.label
        if label not in self.first:
            self.first[label] = [len(pickle.dumps((fn, args))), 0]
            future.add_done_callback(lambda done: self._note(label, done))
        return future

    def _note(self, label: str, done: Future[Any]) -> None:
        self.first[label][1] = len(pickle.dumps(done.result()))


if __name__ == "__main__":
    main()
