"""What the runners share: the job, the clock, the gauge, and the two matrices that some peers ask for.

A runner is run by its peer's own interpreter, so this needs NumPy and the standard library only.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

WARM_UP = 64  # rows of a first call that is not counted: it pays for imports and compilers
REPEATS, PATIENCE = 3, 5.0  # the best of so many calls, but no further call once they have taken so many seconds


def run(select: Callable[..., object]) -> None:
    """``python runner.py rows.npy '{"m": ...}' result.json``: choose, and say which, how long and how much memory."""
    rows, parameters, result = sys.argv[1:]
    X, parameters = np.load(rows), json.loads(parameters)
    _limit_memory(parameters.pop("memory_gb"))
    select(X[:WARM_UP].copy(), **(parameters | {"m": 8}))
    before = _start_gauge()
    indices, *first = _timed(select, X, parameters)
    peak = _peak_mb() - before
    times = [first]
    while len(times) < REPEATS and sum(seconds for seconds, _ in times) < PATIENCE:
        times.append(_timed(select, X, parameters)[1:])
    seconds, cpu_seconds = map(min, zip(*times, strict=True))
    found = {"indices": indices, "seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mb": peak}
    Path(result).write_text(json.dumps(found))


def _timed(
    select: Callable[..., object], X: np.ndarray, parameters: dict[str, object]
) -> tuple[list[int], float, float]:
    """The rows chosen, seconds on the wall and seconds of the processor."""
    start, cpu_start = time.perf_counter(), time.process_time()
    indices = select(X, **parameters)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return np.unique(np.asarray(indices, dtype=int)).tolist(), seconds, cpu_seconds


def gaussian(X: np.ndarray, width: float, dtype: type = np.float64) -> np.ndarray:
    """The n x n matrix exp(-|x - y|^2 / (2 width^2)), in its own memory and hardly more."""
    K = _squared_distances(X.astype(dtype, copy=False))
    K /= -2 * width**2
    return np.exp(K, out=K)


def euclidean(X: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    """The n x n matrix |x - y|, in its own memory and hardly more."""
    D = _squared_distances(X.astype(dtype, copy=False))
    return np.sqrt(D, out=D)


def _squared_distances(X: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", X, X)
    D = X @ X.T
    D *= -2
    D += squares[:, None]
    D += squares
    np.maximum(D, 0, out=D)
    np.fill_diagonal(D, 0)
    return D


def _limit_memory(gigabytes: float) -> None:
    """A peer that asks for more gets a MemoryError, not the whole machine."""
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 1e9),) * 2)


def _start_gauge() -> float:
    """Resident MB now, where the system allows with the peak set back to it."""
    gauge = Path("/proc/self/clear_refs")
    if gauge.exists():
        gauge.write_text("5")
    return _peak_mb()


def _peak_mb() -> float:
    """Peak resident memory of this process in MB. ru_maxrss, the fallback, may start from the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
