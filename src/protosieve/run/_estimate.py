"""What a run over files will need, estimated before it reads rows."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from protosieve._formatting import counted
from protosieve.means import points_for
from protosieve.objectives import covering_for
from protosieve.passes import ROW_BYTES, SPARE, Job, rows_of, sample_size
from protosieve.preprocess import COLUMNS, Layout

# In bytes, as `make bench-scale` measures them: Python with its libraries, and what reading takes: a few pieces of a
# file, and for each column that of a few blocks of rows and of their products. None of it grows with rows, partitions
# or prototypes.
_PROCESS, _READING, _COLUMN = 200e6, 150e6, 300e3
_MATRICES = 4  # of m x m numbers, that a selector holds at a time
_FACTORS = 3  # of numbers between all points
_EMBEDDED = 1024  # numbers that a model gives: many give fewer
_COPIES = 4  # of the sample: as it was read, joined, encoded, and what a result shows of it


@dataclass(frozen=True)
class Estimate:
    """The size of a run over files; ``str`` says it in a few lines.

    ``rows`` are ``None`` where only reading tells; ``prototypes`` where they are a share of such rows, and so is all
    that follows from them. ``columns`` are those of encoded rows, at most.
    """

    files: int
    rows: int | None
    partitions: int
    target_files: int  # none where the input is its own target
    target_rows: int | None
    target_partitions: int
    window: int  # results that may wait for their turn
    columns: int
    prototypes: int | None
    sample: int
    row_bytes: float  # of a row's own columns, as stored
    judges_rows: bool = False  # whether the method does, one by one
    covers: bool = False  # whether that is the goal, for which a sample is enough
    per: str | None = None  # the column for each of whose values there are so many prototypes, or that share them
    grouped: int = 0  # rows in the samples of all groups

    @property
    def passes(self) -> int:
        """Over the input: one where the sample is enough; one more for a method that judges rows one by one."""
        is_whole = self._holds(self.rows)
        if self.covers:
            known = is_whole and (not self.judges_rows or self._holds(self.target_rows or 0))
            return 2 if (self.judges_rows or self.target_files) and not known else 1
        if self.judges_rows and not (is_whole and (self.target_passes <= 1)):
            return 2 if self.target_files else 3
        return 1 if is_whole else 2

    @property
    def target_passes(self) -> int:
        if not self.target_files:
            return 0
        return 1 if self.covers or self._holds(self.target_rows) else 2

    def _holds(self, rows: int | None) -> bool:
        """Whether the sample has room for so many rows."""
        return rows is not None and rows <= self.sample

    @property
    def worker_bytes(self) -> float | None:
        """Memory of a worker, about: the sample of a partition, and a few blocks of rows."""
        return _PROCESS + _READING + _COLUMN * self.columns + 2 * self._sampled * (self.sample + self.grouped)

    @property
    def driver_bytes(self) -> float | None:
        """Memory of the process that drives, about: the sample, those that wait for their turn, points and prototypes.

        Where there are no workers it reads too.
        """
        m = self.prototypes
        if m is None:
            return None
        share = 1 if self.rows is None else min(1, SPARE / max(self.partitions, 1))
        waiting = min(self.window, self.partitions) * (share * self.sample + self.grouped) * self._sampled
        judged = covering_for(m) * m if self.covers else _FACTORS * points_for(m) ** 2
        held = _COPIES * self._sampled * (self.sample + self.grouped) + 8 * (_MATRICES * m**2 + judged)
        return _PROCESS + _READING + _COLUMN * self.columns + waiting + held

    @property
    def _sampled(self) -> float:
        """Bytes of a sampled row: as numbers, and its own columns."""
        return 8 * self.columns + self.row_bytes

    @property
    def _groups(self) -> str:
        return f" for the values of {self.per}" if self.per else ""

    def figures(self) -> dict[str, Any]:
        """All of it by name."""
        derived = ("passes", "target_passes", "worker_bytes", "driver_bytes")
        return {**dataclasses.asdict(self), **{name: getattr(self, name) for name in derived}}

    def __str__(self) -> str:
        lines = [_size(self.rows, self.files, self.partitions, self.passes)]
        if self.target_files:
            target = _size(self.target_rows, self.target_files, self.target_partitions, self.target_passes)
            lines.append(f"the target: {target}")
        if self.worker_bytes is not None and self.driver_bytes is not None:
            lines += [
                f"{self.prototypes:,} prototypes{self._groups}, chosen from a sample of {self.sample:,} rows",
                f"about {self.driver_bytes / 1e9:.1f} GB of memory here and {self.worker_bytes / 1e9:.1f} GB per "
                f"worker, if there are any, for {self.columns:,} columns",
            ]
        return "\n".join(lines)


def estimate(job: Job, window: int = 1) -> Estimate:
    """What a run will need, with ``window`` results at a time. Reads no rows; docs/scale.md has the formulas."""
    options, rows = job.options, rows_of(job.inputs)
    m = None if options.is_share and rows is None else options.count(rows)
    columns = _columns(job.layout, options.max_categories)
    return Estimate(
        files=len(job.files),
        rows=rows,
        partitions=len(job.inputs),
        target_files=len(job.target_files),
        target_rows=rows_of(job.targets),
        target_partitions=len(job.targets),
        window=window,
        columns=columns,
        prototypes=m if m is None or rows is None else max(1, min(m, rows)),
        sample=min(sample_size(options, columns, rows), rows or 2**62)
        if not job.targets
        else sample_size(options, columns, rows),
        row_bytes=ROW_BYTES if not rows else sum(file["size"] or 0 for file in job.files) / rows,
        judges_rows=options.judges_rows,
        covers=options.covers,
        per=options.per,
        grouped=min(job.grouped, rows or job.grouped),
    )


def _columns(layout: Layout, max_categories: int) -> int:
    """Of encoded rows, if every category had as many values as are told apart, one for the rest and one for nulls, and
    every text had all words. What a model gives is not known before it is loaded.
    """
    most = {"category": max_categories + 2, "text": COLUMNS, "embedded": _EMBEDDED}
    return sum(most.get(column.kind, column.width) for column in layout.items)


def _size(rows: int | None, files: int, partitions: int, passes: int) -> str:
    there = "rows that only reading will count," if rows is None else counted(rows, "row")
    times = "once" if passes == 1 else f"{passes} times"
    return f"{there} in {counted(files, 'file')}: {counted(partitions, 'partition')}, read {times}"
