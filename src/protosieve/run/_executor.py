"""Passes at an executor: a window of partitions at a time, and their values in the order of the partitions."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from protosieve._blas import one_thread
from protosieve.errors import ProtosieveError, arg
from protosieve.passes import Job, Partition, Pass, Value
from protosieve.run._attempt import Attempt, Refusal
from protosieve.run._engine import Engine
from protosieve.run._progress import RunProgress
from protosieve.run._signals import Stop
from protosieve.run._store import Store
from protosieve.selectors import whole_number

V = TypeVar("V", bound=Value)

_FEWEST = 4
_LOOK, _PATIENCE = 5.0, 60.0  # seconds between looks at whether there are workers, and without any


def window_of(executor: Executor, wished: int | None = None) -> int:
    """How many partitions may be at an executor at a time: two per worker and no fewer than 4, unless wished.

    The pools of Python and Dask tell how many workers they have; if an executor does not, the processors of this
    machine count.
    """
    if wished is not None:
        whole_number(1).check("select", "window", wished)
        return wished
    return max(_FEWEST, 2 * _workers(executor))


def _workers(executor: Executor) -> int:
    client = getattr(executor, "_client", None)  # neither Dask's executors nor Python's tell it in another way
    known = getattr(executor, "_max_workers", None) if client is None else sum(client.nthreads().values())
    return known if isinstance(known, int) else os.cpu_count() or 1


@dataclass(eq=False)
class _Sent:
    """A partition at an executor."""

    partition: Partition
    work: Pass[Any]
    future: Future[Any]
    is_noted: bool = False

    @property
    def failed(self) -> bool:
        if not self.future.done():
            return False
        is_lost = self.future.cancelled() or self.future.exception() is not None
        return is_lost or isinstance(self.future.result(), Refusal)

    @property
    def is_killed(self) -> bool:
        """Whether its worker died, more than once."""
        return self.failed and not self.future.cancelled() and _is_killed(self.future.exception())

    def outcome(self) -> Any:
        """Its value; raises if it failed."""
        try:
            found = self.future.result()
        except Exception as error:
            loss = _loss(error)
            if loss is None:
                raise
            raise ProtosieveError(
                f"partition {self.partition.number} of the pass to {self.work.label} {loss}. A run with "
                f"{arg('work', 'DIR')} can go on"
            ) from error
        if isinstance(found, Refusal):
            raise found.error
        return found


class OnExecutor(Engine):
    """Makes passes at an executor; leaving the block cancels what is there.

    A value that comes before its turn waits, and counts, so that no more than a window of them is ever held
    (`window_of`, asked again for every value, because workers may join).
    """

    def __init__(
        self, job: Job, progress: RunProgress, stop: Stop, store: Store | None, executor: Executor, window: int | None
    ) -> None:
        super().__init__(job, progress, stop, store)
        window_of(executor, window)  # refuse a bad window now
        self._executor, self._wished = executor, window
        self._sent: deque[_Sent] = deque()
        self._came: SimpleQueue[Future[Any]] = SimpleQueue()

    def __enter__(self) -> "OnExecutor":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        """Cancel what has not begun. After an error the rest is waited for, so that none of it goes on after the error
        was told, and kept; a user who asked to stop does not wait. (Dask cancels all of it.)
        """
        left = [one for one in self._sent if one.future.done() or not one.future.cancel()]
        self._sent.clear()
        with one_thread():
            if isinstance(error, Exception):
                with self._stop.at_once():
                    wait([one.future for one in left])
            for one in left:
                self._keep_new(one)

    def _each(self, work: Pass[V], partitions: Sequence[Partition]) -> Iterator[V]:
        """The error of the first partition that failed is raised, and after any failure nothing more is begun."""
        left = iter(partitions)
        while True:
            self._stop.check()
            self._fill(work, left)
            if not self._sent:
                return
            self._wait_for(self._sent[0])
            if self._sent[0].is_killed:
                self._try_alone(work)
            yield self._sent.popleft().outcome()  # not held here while the next is waited for

    def _fill(self, work: Pass[V], left: Iterator[Partition]) -> None:
        window = window_of(self._executor, self._wished)
        while len(self._sent) < window and not any(one.failed for one in self._sent):
            partition = next(left, None)
            if partition is None:
                return
            self._sent.append(self._begin(work, partition))

    def _begin(self, work: Pass[V], partition: Partition) -> _Sent:
        kept = self._kept(work, partition)
        if kept is not None and kept.until is None:
            future: Future[Any] = Future()
            future.set_result(kept)
            self._progress.passed(partition, kept.rows)
            return _Sent(partition, work, future, is_noted=True)
        with self._stop.at_once():
            future = self._executor.submit(Attempt(work.over, work.stage), partition, kept)
        # `concurrent.futures.wait` may not hear of one that is cancelled
        future.add_done_callback(self._came.put)
        return _Sent(partition, work, future)

    def _try_alone(self, work: Pass[V]) -> None:
        """Dask gives up all that a worker had when it died, if that happens a few times. So the first is begun again
        with nothing beside it: if it is lost again it is the one that kills, or needs more memory than a worker has.
        """
        for one in self._sent:
            self._wait_for(one)
        self._sent[0] = self._begin(work, self._sent[0].partition)
        self._wait_for(self._sent[0])

    def _wait_for(self, awaited: _Sent) -> None:
        """Wait for one result, and store all that arrive meanwhile."""
        while not awaited.is_noted:
            with self._stop.at_once():
                future = self._next()
            one = next(one for one in self._sent if one.future is future)
            self._keep_new(one)
            if not one.failed:
                self._progress.passed(one.partition, one.future.result().rows)

    def _next(self) -> Future[Any]:
        """The next result to arrive; `ProtosieveError` if there are no workers for a minute."""
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

    def _keep_new(self, one: _Sent) -> None:
        """Store the result of a partition, if there is one and it is not stored yet."""
        if one.future.done() and not (one.is_noted or one.failed):
            self._keep(one.work, one.partition, one.future.result())
        one.is_noted = True


def _loss(error: Exception) -> str | None:
    """Why a partition was lost although it raised no error of its own; ``None`` for other errors."""
    if isinstance(error, CancelledError):
        return "was cancelled by the executor, which may not be running any more"
    if isinstance(error, BrokenExecutor):
        return "was lost: a worker process died and this executor does not replace it; protosieve.run.LocalWorkers does"
    if _is_killed(error):
        return (
            "was started several times, and each time the worker died; give workers more memory, or fewer "
            f"{arg('partition_rows')}"
        )
    return None


def _is_killed(error: BaseException | None) -> bool:
    return type(error).__name__ == "KilledWorker"  # Dask's, which may not be installed
