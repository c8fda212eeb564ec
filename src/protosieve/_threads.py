"""Independent work in other threads: NumPy releases Python's lock while it computes."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import TypeVar

import numpy as np

S = TypeVar("S")
T = TypeVar("T")

_MOST = 8  # more threads would wait for the work that is done in order


@cache
def n_threads() -> int:
    """Processors this process may use, at most ``OMP_NUM_THREADS`` where that is set, as for the BLAS library."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wished = os.environ.get("OMP_NUM_THREADS", "")
    return min(mine, _MOST, int(wished) if wished.isdecimal() and int(wished) else mine)


def ahead_of(function: Callable[[S], T], items: Iterable[S], *, in_threads: bool = True) -> Generator[T, None, None]:
    """``map(function, items)``, computed in other threads a few items before they are asked for.

    Results and errors come in order, those of reading ``items`` too. Closing it early waits for the calls under way,
    and makes no others. With one processor or one item, or where threads are not wanted, it is ``map``.
    """
    if n_threads() == 1 or not in_threads or (isinstance(items, Sized) and len(items) < 2):
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(n_threads())  # the caller's own thread mostly waits
    try:
        calls = _submitted(pool, function, items)
        at_work = deque(islice(calls, n_threads() + 1))
        while at_work:
            result = at_work.popleft().result()
            at_work.extend(islice(calls, 1))
            yield result
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(pool: ThreadPoolExecutor, function: Callable[[S], T], items: Iterable[S]) -> Iterator[Future[T]]:
    """A call for each item; the last is an error, where reading the next item is."""
    try:
        for item in items:
            yield pool.submit(_without_warnings, function, item)
    except Exception as error:
        failed: Future[T] = Future()
        failed.set_exception(error)
        yield failed


def _without_warnings(function: Callable[[S], T], item: S) -> T:
    with np.errstate(invalid="ignore"):  # as `one_thread` has it; NumPy keeps this for each thread
        return function(item)
