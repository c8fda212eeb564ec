"""How far a run over partitions has come, over all workers."""

from collections.abc import Callable, Sequence
from typing import Any

from protosieve.distributed._outline import Job
from protosieve.distributed._partitions import Partition
from protosieve.pipeline._progress import Tick, Watcher

__all__ = ["Progress"]

File = dict[str, Any]  # its fingerprint


class Progress:
    """Counts the partitions of a pass as they come, in whatever order, and tells of them."""

    def __init__(self, job: Job, watcher: Watcher | None) -> None:
        self._watcher = watcher
        self._phase, self._phases = 0, 2 + bool(job.targets) + job.run.options.exact_weights
        self._label, self._done, self._partitions, self._rows = "survey", 0, 0, 0
        self._size: int | None = None
        self._rows_of: Callable[[Any], int] = int

    def begin(
        self, label: str, partitions: Sequence[Partition], files: Sequence[File], rows_of: Callable[[Any], int]
    ) -> None:
        """A pass over partitions of these files; ``rows_of`` says how many rows a result is of."""
        self._label, self._phase, self._rows_of = label, self._phase + 1, rows_of
        self._done, self._rows, self._partitions = 0, 0, len(partitions)
        self._size = _bytes(files)
        self._tell()

    def arrived(self, result: Any) -> None:
        """One more partition."""
        self._done += 1
        self._rows += self._rows_of(result)
        self._tell()

    @property
    def place(self) -> str:
        """In words."""
        where = f"{self._done:,} of {self._partitions:,} partitions of pass {self._phase} of {self._phases}"
        return f"stopped after {where}"

    def _tell(self) -> None:
        if self._watcher is not None:
            self._watcher(self._tick())

    def _tick(self) -> Tick:
        return Tick(
            label=self._label,
            phase=self._phase,
            phases=self._phases,
            rows=self._rows,
            bytes_read=(self._size or 0) * self._done // max(self._partitions, 1),  # they are about as large
            bytes_in_all=self._size,
            residual=None,
            exchanged=None,
        )


def _bytes(files: Sequence[File]) -> int | None:
    sizes = [file["size"] for file in files]
    return None if None in sizes else sum(sizes)
