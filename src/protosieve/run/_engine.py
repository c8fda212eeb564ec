"""Where passes are made: here, or at an executor. What comes of them is the same."""

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from protosieve._blas import one_thread
from protosieve.passes import Block, Choice, Job, Partition, Pass, Summary, Value, unchanged
from protosieve.run._progress import Progress
from protosieve.run._scheduler import Scheduler
from protosieve.run._signals import Stop, Stopped
from protosieve.run._store import Store
from protosieve.run._task import Task

__all__ = ["Engine", "Here", "OnExecutor"]

V = TypeVar("V", bound=Value)

_PAUSE = 5.0  # seconds between two values of a partition that is not done, at least
_REST = 20  # times what storing the last one took


class Engine(ABC):
    """Makes the passes of a job, and takes their values in the order of the partitions."""

    def __init__(self, job: Job, progress: Progress, stop: Stop, store: Store | None) -> None:
        self._job, self._progress, self._stop, self._store = job, progress, stop, store
        self._whole: Any = None  # the value of the partitions so far,
        self._part: Any = None  # and that of one that was read last, or is being read, before it is among them

    def gather(self, work: Pass[V], partitions: Sequence[Partition]) -> V:
        """One value of all partitions."""
        self._whole = None
        with self._stop.held_back(), one_thread(), self._begun(work, partitions):
            for value in self._each(work, partitions):
                if self._whole is None:
                    self._whole = copy.deepcopy(value)  # an engine may hand out arrays that must not be written to
                else:
                    self._whole.merge(value)
                self._part = None
        whole: V = self._whole
        return whole

    def one_by_one(self, work: Pass[V], partition: Partition) -> V:
        """A pass that cannot be cut: in this process, wherever others are made."""
        with self._stop.held_back(), self._begun(work, [partition]):
            return self._here(work, partition)

    def surveyed(self) -> Summary | None:
        """While rows are surveyed, a copy of what is known so far: for a look at a run on its way."""
        known = [copy.deepcopy(one) for one in (self._whole, self._part) if isinstance(one, Summary)]
        return Pass.merged(known) if known else None

    @abstractmethod
    def _each(self, work: Pass[V], partitions: Sequence[Partition]) -> Iterator[V]:
        """The value of each partition, in their order."""

    def _begun(self, work: Pass[V], partitions: Sequence[Partition]) -> AbstractContextManager[None]:
        if self._store is not None:
            self._store.begin(*work.given)
        self._progress.begin(work.label, partitions)
        return unchanged([s for one in partitions for s in one.stretches], [*self._job.files, *self._job.target_files])

    def _here(self, work: Pass[V], partition: Partition) -> V:
        """The value of a partition, made in this process, from where it was left if it was begun before."""
        begun: V | None = None if self._store is None else self._store.found(work.stage, partition.number)
        if begun is not None and begun.until is None:
            self._stop.check()
            self._part = begun
            self._progress.passed(partition, begun.rows)
            return begun
        keeping = _Keeping(self._store, work, partition)

        def watch(value: V, block: Block | None) -> None:
            if block is not None:
                self._part = value
                keeping.passed(value)
            standing = value.selector.standing_ if isinstance(value, Choice) else None
            self._progress.at(partition, value.rows, None if block is None else block.bytes_read, standing)

        try:
            value = work.over(partition, begun, waiting=self._stop.at_once, watch=watch)
        except Stopped as stopped:
            if stopped.whole:
                keeping.leave()
            raise
        if self._store is not None:
            self._store.keep(work.stage, partition.number, value)
        self._progress.passed(partition, value.rows)
        return value


class Here(Engine):
    """One partition after the other, in this process; its threads share the work on a block."""

    def _each(self, work: Pass[V], partitions: Sequence[Partition]) -> Iterator[V]:
        return (self._here(work, partition) for partition in partitions)


class _Keeping:
    """The value of a partition on its way, stored now and then."""

    def __init__(self, store: Store | None, work: Pass[Any], partition: Partition) -> None:
        self._store, self._work, self._partition = store, work, partition
        self._value: Any = None
        self._next = time.monotonic() + _PAUSE

    def passed(self, value: Any) -> None:
        """One more block."""
        self._value = value
        if self._store is not None and time.monotonic() >= self._next:
            self.leave()

    def leave(self) -> None:
        """What there is, now."""
        if self._store is None or self._value is None:
            return
        before = time.monotonic()
        self._store.keep(self._work.stage, self._partition.number, self._value)
        now = time.monotonic()
        self._next = now + max(_PAUSE, _REST * (now - before))


class OnExecutor(Engine):
    """Partitions at an executor, a window of them at a time."""

    def __init__(
        self, job: Job, progress: Progress, stop: Stop, store: Store | None, executor: Executor, window: int | None
    ) -> None:
        super().__init__(job, progress, stop, store)
        self._scheduler = Scheduler(executor, window, stop, store, self._arrived)

    def __enter__(self) -> "OnExecutor":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        with one_thread():
            self._scheduler.close(error)

    def _arrived(self, task: Task, value: Any) -> None:
        self._progress.passed(task.partition, value.rows)

    def _each(self, work: Pass[V], partitions: Sequence[Partition]) -> Iterator[V]:
        return self._scheduler.each(Task(work, partition) for partition in partitions)
