"""One step ahead: an iterator that works in a thread of its own while its results are being used."""

import math
import queue
import threading
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any, TypeVar

T = TypeVar("T")

_END = object()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def prefetched(
    items: Generator[T, None, None], depth: int = 2, patience: float = math.inf, pause: float | None = None
) -> Generator[T | None, None, None]:
    """The same items in the same order, up to ``depth`` of them made before they are asked for.

    Reading and parsing release Python's lock, so they cost no time of whoever uses the rows. An error is raised where
    its item would have come. Where ``pause`` seconds go by without an item, there is a ``None``. Closing the iterator
    stops the thread after the item it is at; one that has not come to its end after ``patience`` seconds, waiting for
    input that may never come, is left behind.
    """
    ready: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_work, args=(items, ready, stopped), name="protosieve prefetch", daemon=True)
    thread.start()
    try:
        while (item := _next(ready, pause)) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        stopped.set()
        late = time.monotonic() + patience
        while thread.is_alive() and time.monotonic() < late:  # it may be waiting for room
            _discard(ready)
            thread.join(0.01)


def _next(ready: queue.Queue[Any], pause: float | None) -> Any:
    try:
        return ready.get(timeout=pause)
    except queue.Empty:
        return None


def _work(items: Generator[Any, None, None], ready: queue.Queue[Any], stopped: threading.Event) -> None:
    try:
        with closing(items):
            for item in items:
                if stopped.is_set():
                    return
                ready.put(item)
        ready.put(_END)
    except BaseException as error:
        ready.put(_Failure(error))


def _discard(ready: queue.Queue[Any]) -> None:
    while True:
        try:
            ready.get_nowait()
        except queue.Empty:
            return
