"""What a run over partitions will take, told before it reads its rows."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from protosieve.distributed._merge import fan_in, levels
from protosieve.distributed._outline import SPARE, Job
from protosieve.distributed._partitions import ROW_BYTES, Partition
from protosieve.distributed._plan import looked_at
from protosieve.preprocess import Layout

__all__ = ["Estimate", "estimate"]

# In bytes, as `make bench-scale` measures them: Python with its libraries, and what reading takes: a few pieces of a
# file, and for each column that of a few blocks of rows and of the selector's products of them. None of it grows with
# rows, partitions or prototypes.
_PROCESS, _READING, _COLUMN = 200e6, 150e6, 300e3
_SETTLING = 6000  # for each row of the sample
_MATRICES = 4  # of m x m numbers, that a selector holds at a time
_COPIES = 4  # of candidates in a merge: as they came, joined, as they are offered, and what a result shows of them


@dataclass(frozen=True)
class Estimate:
    """The size of a run over partitions; ``str`` says it in a few lines.

    ``rows`` are ``None`` where only reading tells; ``prototypes`` where they are a share of such rows, and so is all
    that follows from them. ``columns`` are those of encoded rows, at most.
    """

    files: int
    rows: int | None
    partitions: int
    target_files: int  # none where the input is its own target
    target_rows: int | None
    target_partitions: int
    passes: int  # over the input
    target_passes: int
    window: int  # results that may wait for their turn
    columns: int
    prototypes: int | None
    sample: int
    row_bytes: float  # of a row's own columns, as stored

    @property
    def candidates(self) -> int | None:
        """Rows that partitions return, all together, at most: those they choose, and the sample of the last merge."""
        if self.prototypes is None:
            return None
        returned = self.partitions * self.prototypes + looked_at(self.prototypes)
        return returned if self.rows is None else min(returned, self.rows)

    @property
    def levels(self) -> int | None:
        """Steps in which they are merged, the last one among them."""
        return None if self.prototypes is None else 1 + len(levels(self.partitions, fan_in(self.prototypes)))

    @property
    def worker_bytes(self) -> float | None:
        """Memory of a worker, about: the larger of its sample and its selector, and a group of candidates it merges."""
        m = self.prototypes
        if m is None:
            return None
        merged = 0 if self.levels == 1 else fan_in(m) * m
        own = max(8 * self.columns * self.sample, 8 * _MATRICES * m**2 + _COPIES * self._candidate * (m + merged))
        return _PROCESS + _READING + _COLUMN * self.columns + own

    @property
    def driver_bytes(self) -> float | None:
        """Memory of the process that drives, about: the sample as it is read and encoded, or a group of candidates for
        each level of the tree.
        """
        m, levels = self.prototypes, self.levels
        if m is None or levels is None:
            return None
        held = levels * min(self.partitions, fan_in(m)) * m + looked_at(m)
        surveyed = 8 * self.columns * self._waiting + (16 * self.columns + _SETTLING) * self.sample
        return _PROCESS + surveyed + 8 * _MATRICES * m**2 + _COPIES * self._candidate * held

    @property
    def _waiting(self) -> float:
        """Rows of samples that wait for their turn; where files do not tell theirs, a whole one each."""
        rows, partitions = self.rows, self.partitions
        if self.target_files:
            rows, partitions = self.target_rows, self.target_partitions
        share = 1 if rows is None else min(1, SPARE / partitions)
        return min(self.window, partitions) * share * self.sample

    @property
    def _candidate(self) -> float:
        """Bytes of a row that is returned: encoded, and its own columns."""
        return 4 * self.columns + self.row_bytes

    def figures(self) -> dict[str, Any]:
        """All of it by name."""
        derived = ("candidates", "levels", "worker_bytes", "driver_bytes")
        return {**dataclasses.asdict(self), **{name: getattr(self, name) for name in derived}}

    def __str__(self) -> str:
        lines = [_size(self.rows, self.files, self.partitions, self.passes)]
        if self.target_files:
            target = _size(self.target_rows, self.target_files, self.target_partitions, self.target_passes)
            lines.append(f"the target: {target}")
        if self.candidates is not None and self.worker_bytes is not None and self.driver_bytes is not None:
            steps = "at once" if self.levels == 1 else f"in a tree of {self.levels} levels"
            lines += [
                f"about {self.candidates:,} candidates for {self.prototypes:,} prototypes, merged {steps}",
                f"about {self.worker_bytes / 1e9:.1f} GB of memory per worker and {self.driver_bytes / 1e9:.1f} GB "
                f"here, for {self.columns:,} columns",
            ]
        return "\n".join(lines)


def estimate(job: Job, window: int = 4) -> Estimate:
    """What `drive` will take for a job, with so many results at a time. No rows are read; docs/scale.md has the
    formulas.
    """
    options, rows = job.run.options, _rows(job.inputs)
    share = isinstance(options.n_prototypes, str) and rows is None
    m = None if share else options.count(rows or 0)
    return Estimate(
        files=len(job.run.files),
        rows=rows,
        partitions=len(job.inputs),
        target_files=len(job.run.target_files),
        target_rows=_rows(job.targets),
        target_partitions=len(job.targets),
        passes=2 + (options.exact_weights and not job.targets),
        target_passes=1 + options.exact_weights if job.targets else 0,
        window=window,
        columns=_columns(job.run.layout, options.max_categories),
        prototypes=m if m is None or rows is None else max(1, min(m, rows)),
        sample=options.sample if rows is None or job.targets else min(options.sample, rows),
        row_bytes=ROW_BYTES if not rows else sum(file["size"] or 0 for file in job.run.files) / rows,
    )


def _rows(partitions: Sequence[Partition]) -> int | None:
    known = [partition.rows for partition in partitions if partition.rows is not None]
    return sum(known) if len(known) == len(partitions) else None


def _columns(layout: Layout, max_categories: int) -> int:
    """Of encoded rows, if every category had as many values as are told apart, one for the rest and one for nulls."""
    return sum(max_categories + 2 if column.kind == "category" else column.width for column in layout.items)


def _size(rows: int | None, files: int, partitions: int, passes: int) -> str:
    counted = "rows that only reading will count," if rows is None else f"{rows:,} rows"
    times = "once" if passes == 1 else f"{passes} times"
    return f"{counted} in {_several(files, 'file')}: {_several(partitions, 'partition')}, read {times}"


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"
