"""How far a run has come."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

from protosieve.passes import Job, Partition
from protosieve.selectors import Standing


@dataclass(frozen=True)
class Tick:
    """How far a run over files has come.

    ``label`` is the pass: "survey", "sum", "select" or "fetch"; it is number ``phase`` of ``phases``, has used
    ``rows`` rows and read ``bytes_read`` of ``bytes_in_all`` (``None`` for standard input). ``residual`` and
    ``exchanged`` are those of the set held, where they are known.
    """

    label: str
    phase: int
    phases: int
    rows: int
    bytes_read: int
    bytes_in_all: int | None
    residual: float | None
    exchanged: int | None


Watcher: TypeAlias = Callable[[Tick], None]


@contextmanager
def watching(quiet: bool, progress: Watcher | None = None) -> Iterator[Watcher]:
    """The watcher of a run: the given callable; else, unless it is ``quiet``, the bar of the command line."""
    if progress is not None or quiet:
        yield progress or (lambda _: None)
        return
    from protosieve.cli import bar  # needs rich, which not all have

    with bar() as watcher:
        yield watcher


def tell(line: str) -> None:
    """Print a line to standard error; the run goes on if that is closed."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class RunProgress:
    """Counts rows and partitions of a pass, in any order, and tells the watchers."""

    def __init__(self, job: Job, *watchers: Watcher) -> None:
        self._watchers = watchers
        self._phase, self._phases = 0, job.passes
        self._label, self._partitions, self._done, self._rows, self._read = "survey", 0, 0, 0, 0
        self._size: int | None = None
        self._now = 0  # rows of a partition that is being read

    def begin(self, label: str, partitions: Sequence[Partition]) -> None:
        """A pass over partitions."""
        self._label, self._phase, self._partitions = label, self._phase + 1, len(partitions)
        self._phases = max(self._phases, self._phase)
        self._done = self._rows = self._read = self._now = 0
        sizes = {file: s.size for one in partitions for file, s in one.files()}
        self._size = None if None in sizes.values() else sum(size for size in sizes.values() if size is not None)
        self._firsts, total = dict[int, int](), 0
        for file in sorted(sizes):
            self._firsts[file] = total
            total += sizes[file] or 0
        self._tell(None)

    def at(self, partition: Partition, rows: int, bytes_read: int | None, standing: Standing | None) -> None:
        """Some way into a partition."""
        self._now = rows
        if bytes_read is not None:
            self._read = self._firsts[partition.first_file] + bytes_read
        self._tell(standing)

    def passed(self, partition: Partition, rows: int) -> None:
        """One more partition is done."""
        self._now = 0
        self._done += 1
        self._rows += rows
        share = (self._size or 0) * self._done // max(self._partitions, 1)  # they are about as large
        self._read = max(self._read, share)
        self._tell(None)

    @property
    def place(self) -> str:
        """In words."""
        of = f"of pass {self._phase} of {self._phases}"
        if self._partitions > 1:
            return f"stopped after {self._done:,} of {self._partitions:,} partitions {of}"
        return f"stopped at row {self._rows + self._now:,} {of}"

    def _tell(self, standing: Standing | None) -> None:
        tick = Tick(
            label=self._label,
            phase=self._phase,
            phases=self._phases,
            rows=self._rows + self._now,
            bytes_read=self._read,
            bytes_in_all=self._size,
            residual=None if standing is None else standing.residual,
            exchanged=None if standing is None else standing.exchanged,
        )
        for watcher in self._watchers:
            watcher(tick)
