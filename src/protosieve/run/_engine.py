"""Where passes are made. What comes of them is the same everywhere."""

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from protosieve._blas import one_thread
from protosieve.passes import Job, Partition, Pass, RowBlock, Streamed, Summary, Value, unchanged
from protosieve.result import Prototypes
from protosieve.run._drive import snapshot
from protosieve.run._progress import RunProgress
from protosieve.run._signals import Stop, Stopped
from protosieve.run._store import Store

V = TypeVar("V", bound=Value)

_PAUSE = 5.0  # seconds between two values of a partition that is not done, at least
_REST = 20  # times what storing the last one took


class Engine(ABC):
    """Makes the passes of a job, and takes their values in the order of the partitions."""

    def __init__(self, job: Job, progress: RunProgress, stop: Stop, store: Store | None) -> None:
        self._job, self._progress, self._stop, self._store = job, progress, stop, store
        self._whole: Any = None  # the value of the partitions so far
        self._part: Any = None  # that of the partition read now or last, until it is merged

    def gather(self, work: Pass[V], partitions: Sequence[Partition]) -> V:
        """One value of all partitions."""
        self._whole = None
        with self._stop.held_back(), one_thread(), self._begun(work, partitions):
            for value in self._each(work, partitions):
                if self._whole is None:
                    self._whole = copy.deepcopy(value)  # an executor may return arrays that are read-only
                else:
                    self._whole.merge(value)
                self._part = None
        whole: V = self._whole
        return whole

    def one_by_one(self, work: Pass[V], partition: Partition) -> V:
        """A pass that cannot be split: in this process, wherever other passes are made."""
        with self._stop.held_back(), self._begun(work, [partition]):
            return self._here(work, partition)

    def look(self) -> Prototypes | None:
        """What the result would be if no more rows came; None where that is not known."""
        if isinstance(self._part, Streamed):
            return self._part.look()
        known = [copy.deepcopy(one) for one in (self._whole, self._part) if isinstance(one, Summary)]
        return snapshot(self._job, Pass.merged(known)) if known else None

    @abstractmethod
    def _each(self, work: Pass[V], partitions: Sequence[Partition]) -> Iterator[V]:
        """The value of each partition, in their order."""

    def _begun(self, work: Pass[V], partitions: Sequence[Partition]) -> AbstractContextManager[None]:
        if self._store is not None:
            self._store.begin(work)
        self._progress.begin(work.label, partitions)
        return unchanged([s for one in partitions for s in one.row_ranges], [*self._job.files, *self._job.target_files])

    def _kept(self, work: Pass[V], partition: Partition) -> V | None:
        """The value of a partition that an earlier run has kept, perhaps of its first rows only."""
        found: V | None = None if self._store is None else self._store.found(work.stage, partition.number)
        return found

    def _keep(self, work: Pass[V], partition: Partition, value: V) -> None:
        if self._store is not None:
            self._store.keep(work.stage, partition.number, value)

    def _here(self, work: Pass[V], partition: Partition) -> V:
        """The value of a partition, made in this process, from where an earlier run left it."""
        begun = self._kept(work, partition)
        if begun is not None and begun.until is None:
            self._stop.check()
            self._part = begun
            self._progress.passed(partition, begun.rows)
            return begun
        keeping = _Keeping(self._store, work, partition)

        def watch(value: V, block: RowBlock | None) -> None:
            if block is not None:
                self._part = value
                keeping.passed(value)
            self._progress.at(partition, value.rows, None if block is None else block.bytes_read, value.standing)

        try:
            value = work.over(partition, begun, waiting=self._stop.at_once, watch=watch, alone=True)
        except Stopped as stopped:
            if stopped.whole:
                keeping.leave()
            raise
        self._keep(work, partition, value)
        self._progress.passed(partition, value.rows)
        return value


class Here(Engine):
    """One partition after the other, in this process; threads look at the next blocks while one is taken in."""

    def _each(self, work: Pass[V], partitions: Sequence[Partition]) -> Iterator[V]:
        return (self._here(work, partition) for partition in partitions)


class _Keeping:
    """Stores the unfinished value of a partition from time to time."""

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
        """Store the value as it is now."""
        if self._store is None or self._value is None:
            return
        before = time.monotonic()
        self._store.keep(self._work.stage, self._partition.number, self._value)
        now = time.monotonic()
        self._next = now + max(_PAUSE, _REST * (now - before))
