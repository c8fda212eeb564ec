"""Clocks and gauges shared by the benchmarks."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np

from experiments.datasets import Dataset, load_letters, load_mnist
from protosieve import _threads
from protosieve.errors import ProtosieveError
from protosieve.means import FixedMean


def paper_data(name: str, dtype: type = np.float32) -> np.ndarray:
    """The base rows of the paper's experiments: ``mnist`` (pixels in [0, 1]) or ``letters``."""
    return _paper(name, dtype).base


def paper_labels(name: str) -> np.ndarray:
    """What the base rows are: digits or letters."""
    return _paper(name, np.float32).base_labels


def _paper(name: str, dtype: type) -> Dataset:
    try:
        return {"letters": load_letters, "mnist": load_mnist}[name](dtype=dtype)
    except ProtosieveError as error:
        sys.exit(str(error))


def mixture(rows: int, columns: int, chunks: int = 1) -> Iterator[np.ndarray]:
    """Float32 rows of 50 Gaussians, the same in every run of as many chunks."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=1.5, size=(50, columns)).astype(np.float32)
    for _ in range(chunks):
        n = rows // chunks
        yield centres[rng.integers(50, size=n)] + rng.standard_normal((n, columns), dtype=np.float32)


def resident_mb() -> float:
    """Resident memory now, in MB; the peak where the system does not tell."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6
    return peak_mb()


def peak_mb() -> float:
    """Peak resident memory of this process, in MB; where only ``ru_maxrss`` tells, perhaps that of its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def forget_peak() -> None:
    """Let the peak begin anew, where the system can: what was loaded and dropped before is not of the measurement."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@contextmanager
def clocked_mean() -> Iterator[list[float]]:
    """Seconds of every evaluation of the mean inside the ``with``, all of it in one thread.

    A ``fit`` asks once per block, which together is one exact mean pass, and once more for the final weights.
    """
    at, spent = FixedMean.at, []

    def timed(mean: FixedMean, points: object) -> np.ndarray:
        start = time.perf_counter()
        result = at(mean, points)
        spent.append(time.perf_counter() - start)
        return result

    with patch.object(FixedMean, "at", timed), patch.object(_threads, "n_threads", lambda: 1):
        yield spent


def thresholds(selector: object) -> int:
    """Sets alive at the end of the stream; a batch selector has one."""
    return len(getattr(selector._stream.progress, "sets", [None])) if hasattr(selector, "_stream") else 1
