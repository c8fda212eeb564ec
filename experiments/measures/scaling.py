"""Seconds and memory against the number of rows, each measured in a process of its own."""

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._measure import clocked_mean, forget_peak, mixture, peak_mb, resident_mb
from experiments._task import Result, Task
from experiments.measures.choose import METHODS
from protosieve.errors import ProtosieveWarning
from protosieve.kernels import Gaussian

__all__ = ["COLUMNS", "SCALED", "M", "scale_up", "scaled"]

SCALED = ("ProtoBasic", "ProtoStream", "Streak", "ProtoSwap", "ProtoDash")
COLUMNS, M, _CHUNK = 64, 100, 10_000


def scaled(method: str, rows: int) -> Task:
    """The task of `scale_up`."""
    return Task(scale_up, (method, rows), alone=True)


def scale_up(method: str, rows: int) -> Result:
    """Seconds of one thread, the result included, and the peak of memory beyond what the imports take."""
    command = [sys.executable, "-m", __name__, method, str(rows)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    if run.returncode:
        raise RuntimeError(f"{method} on {rows:,} rows: {run.stderr}")
    return json.loads(run.stdout)


def _measure(method: str, rows: int) -> Result:
    """A method that streams sees chunks, made as it goes; one that does not sees all rows at once."""
    selector = METHODS[method](M, kernel=Gaussian(), random_state=0)
    streams = hasattr(selector, "partial_fit")
    next(mixture(_CHUNK, COLUMNS))  # what a process does once
    forget_peak()
    before, seconds = resident_mb(), 0.0
    with clocked_mean():  # in one thread
        for chunk in _chunks(rows) if streams else mixture(rows, COLUMNS):
            start = time.perf_counter()
            selector = selector.partial_fit(chunk) if streams else selector.fit(chunk)
            seconds += time.perf_counter() - start
        start = time.perf_counter()
        result = selector.result_
        seconds += time.perf_counter() - start
    taken = max(0.0, peak_mb() - before)  # the system's counters lag by a few pages
    return {"seconds": seconds, "peak_mb": taken, "kept": len(result), "residual": result.residual}


def _chunks(rows: int) -> Iterator[np.ndarray]:
    return mixture(rows, COLUMNS, max(1, rows // _CHUNK))


if __name__ == "__main__":
    warnings.simplefilter("ignore", ProtosieveWarning)
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]))))  # the parent reads it
