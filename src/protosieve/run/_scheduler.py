"""Tasks at an executor, never more than a window of them, and their results in the order in which they were given."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from protosieve.errors import ProtosieveError, arg
from protosieve.run._signals import Stop
from protosieve.run._store import Store
from protosieve.run._task import Attempt, Refusal, Task, loss_of
from protosieve.selectors import whole_number

__all__ = ["Scheduler", "window_of"]

_FEWEST = 4
_LOOK, _PATIENCE = 5.0, 60.0  # seconds between looks at whether there are workers, and without any


@dataclass(eq=False)
class _Sent:
    task: Task
    future: Future[Any]
    is_noted: bool = False

    @property
    def failed(self) -> bool:
        if not self.future.done():
            return False
        return self.future.cancelled() or self.future.exception() is not None or isinstance(self.result(), Refusal)

    def result(self) -> Any:
        return self.future.result()


def window_of(executor: Executor, wished: int | None = None) -> int:
    """How many tasks may be at an executor at a time: two for each of its workers and no fewer than 4, unless wished.

    The pools of Python and Dask's tell how many workers they have; where that is not known it is the processors of this
    machine that count.
    """
    if wished is not None:
        whole_number(1).check("select", "window", wished)
        return wished
    return max(_FEWEST, 2 * _workers(executor))


def _workers(executor: Executor) -> int:
    client = getattr(executor, "_client", None)  # Dask's have no other word of it, nor have those of Python
    known = getattr(executor, "_max_workers", None) if client is None else sum(client.nthreads().values())
    return known if isinstance(known, int) else os.cpu_count() or 1


class Scheduler:
    """Tasks now at an executor; `close` cancels them.

    A result that comes before its turn waits, and counts, so that no more than ``window`` are ever held (`window_of`,
    asked again for every result, for workers may join). ``arrived`` is called with each result as it comes.
    """

    def __init__(
        self,
        executor: Executor,
        window: int | None,
        stop: Stop,
        store: Store | None,
        arrived: Callable[[Task, Any], None],
    ) -> None:
        window_of(executor, window)  # a wish that cannot be met is told at once
        self._executor, self._wished, self._stop, self._store, self._arrived = executor, window, stop, store, arrived
        self._sent: deque[_Sent] = deque()
        self._came: SimpleQueue[Future[Any]] = SimpleQueue()

    def close(self, error: BaseException | None) -> None:
        """Cancel what has not begun. What has is waited for, so that none of it goes on after an error was told, and
        kept; but not by a user who asked to stop. (Dask cancels all of it; what a worker is at it ends in vain.)
        """
        left = [one for one in self._sent if one.future.done() or not one.future.cancel()]
        self._sent.clear()
        if isinstance(error, Exception):
            with self._stop.at_once():
                wait([one.future for one in left])
        for one in left:
            self._keep(one)

    def each(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """The results of tasks, in their order.

        The error of the first task that failed is raised, and after any failure nothing more is begun.
        """
        left = iter(tasks)
        while True:
            self._stop.check()
            self._fill(left)
            if not self._sent:
                return
            self._wait_for_first()
            yield _outcome(self._sent.popleft())  # not held here while the next is waited for

    def _fill(self, left: Iterator[Task]) -> None:
        window = window_of(self._executor, self._wished)
        while len(self._sent) < window and not any(one.failed for one in self._sent):
            task = next(left, None)
            if task is None:
                return
            self._sent.append(self._begun(task))

    def _begun(self, task: Task) -> _Sent:
        kept = None if self._store is None else self._store.found(task.work.stage, task.partition.number)
        if kept is not None and kept.until is None:
            future: Future[Any] = Future()
            future.set_result(kept)
            self._arrived(task, kept)
            return _Sent(task, future, is_noted=True)
        with self._stop.at_once():
            future = self._executor.submit(Attempt(task.work.over, task.work.stage), task.partition, kept)
        # of one that is cancelled, `concurrent.futures.wait` may not hear
        future.add_done_callback(self._came.put)
        return _Sent(task, future)

    def _wait_for_first(self) -> None:
        """Until the first has come; what comes meanwhile is noted, and kept, as it does."""
        while not self._sent[0].is_noted:
            with self._stop.at_once():
                future = self._next()
            self._note(next(one for one in self._sent if one.future is future))

    def _next(self) -> Future[Any]:
        """What comes next, if there is anybody it could come from."""
        alone = 0.0
        while True:
            try:
                return self._came.get(timeout=_LOOK)
            except Empty:
                alone = 0.0 if _workers(self._executor) else alone + _LOOK
            if alone >= _PATIENCE:
                raise ProtosieveError(
                    f"all workers are gone, and none has come back for {_PATIENCE:g} seconds. A run with "
                    f"{arg('work', 'DIR')} can go on"
                )

    def _note(self, one: _Sent) -> None:
        self._keep(one)
        if not one.failed:
            self._arrived(one.task, one.result())

    def _keep(self, one: _Sent) -> None:
        """What came of a partition, if it has come and is not kept."""
        if self._store is not None and one.future.done() and not (one.is_noted or one.failed):
            self._store.keep(one.task.work.stage, one.task.partition.number, one.result())
        one.is_noted = True


def _outcome(one: _Sent) -> Any:
    try:
        found = one.result()
    except Exception as error:
        loss = loss_of(error)
        if loss is None:
            raise
        raise ProtosieveError(f"{one.task} {loss}. A run with {arg('work', 'DIR')} can go on") from error
    if isinstance(found, Refusal):
        raise found.error
    return found
