"""A stream that is its own target: what a running estimate of the mean costs."""

import time
import warnings

from experiments._scale import Data
from experiments._task import Result, Task
from experiments.measures._data import dataset, judge
from experiments.measures._judge import KERNEL
from experiments.measures.choose import METHODS
from protosieve.errors import ProtosieveWarning
from protosieve.means import Mean

__all__ = ["bound", "bounded", "follow", "followed", "sample_error", "sampled", "sampled_before"]

_CHUNK = 1000


def followed(data: Data, method: str, m: int, mean: Mean, seed: int) -> Task:
    """The task of `follow`."""
    return Task(follow, (data, method, m, mean, seed))


def sampled(data: Data, method: str, m: int, mean: Mean, seed: int) -> Task:
    """The task of `sampled_before`."""
    return Task(sampled_before, (data, method, m, mean, seed))


def bounded(data: Data) -> Task:
    """The task of `bound`."""
    return Task(bound, (data,))


def follow(data: Data, method: str, m: int, mean: Mean, seed: int) -> Result:
    """A true single pass, chunk by chunk: no row is seen before it comes, and its target is what has come so far.

    ``residual`` is against the exact mean of all rows, at the weights the method ended with.
    """
    X = dataset(data).base
    selector = METHODS[method](m, kernel=KERNEL, mean=mean, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProtosieveWarning)  # fewer rows than asked for
        start = time.perf_counter()
        for first in range(0, len(X), _CHUNK):
            selector.partial_fit(X[first : first + _CHUNK])
        found = selector.result_
        seconds = time.perf_counter() - start
    residual = judge(data).residual(found.rows, found.weights)
    return {"residual": residual, "told": found.residual, "kept": len(found.indices), "seconds": seconds}


def sampled_before(data: Data, method: str, m: int, mean: Mean, seed: int) -> Result:
    """As `follow`, where the sample was drawn from all rows before the first was judged."""
    X = dataset(data).base
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProtosieveWarning)
        found = METHODS[method](m, kernel=KERNEL, mean=mean, random_state=seed).fit(X).result_
    return {"residual": judge(data).residual(found.rows, found.weights), "kept": len(found.indices)}


def bound(data: Data) -> Result:
    """``|mu|^2`` of the base set, and its rows."""
    return {"norm": 2 * judge(data).upper_bound, "rows": len(dataset(data).base)}


def sample_error(norm: float, rows: int, size: int) -> float:
    """The expected squared MMD between all rows and ``size`` of them, as a share of ``norm``, which is ``|mu|^2``.

    The mean of a sample without replacement varies by ``(1 / size - 1 / rows)`` times the variance of one row, which is
    ``rows / (rows - 1) (1 - |mu|^2)`` where k(x, x) = 1.
    """
    return (1 / size - 1 / rows) * rows / (rows - 1) * (1 - norm) / norm
