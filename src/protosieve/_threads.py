"""Work that does not wait for other work, done beside it: NumPy lets go of Python's lock while it computes."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import TypeVar

import numpy as np

__all__ = ["ahead_of", "n_threads"]

S = TypeVar("S")
T = TypeVar("T")

_MOST = 8  # beyond, what is done in order decides


@cache
def n_threads() -> int:
    """Processors this process may use, at most ``OMP_NUM_THREADS`` where that is set, as for the BLAS library."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wished = os.environ.get("OMP_NUM_THREADS", "")
    return min(mine, _MOST, int(wished) if wished.isdecimal() and int(wished) else mine)


def ahead_of(function: Callable[[S], T], items: Iterable[S], *, in_threads: bool = True) -> Iterator[T]:
    """``map(function, items)``, computed in other threads a few items before they are asked for.

    Results, and errors, come in order. With one processor, or where threads are not wanted, it is ``map``.
    """
    if n_threads() == 1 or not in_threads:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads()) as pool:  # who asks mostly waits
        left = iter(items)
        at_work: deque[Future[T]] = deque(
            pool.submit(_at_ease, function, item) for item in islice(left, 2 * n_threads())
        )
        while at_work:
            result = at_work.popleft().result()
            at_work.extend(pool.submit(_at_ease, function, item) for item in islice(left, 1))
            yield result


def _at_ease(function: Callable[[S], T], item: S) -> T:
    with np.errstate(invalid="ignore"):  # as `one_thread` has it; NumPy keeps this for each thread
        return function(item)
