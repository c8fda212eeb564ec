"""The partition list: which rows of which files are worked on together."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve import _defaults as default
from protosieve.io import RowRange, Source
from protosieve.passes._blocks import Position
from protosieve.selectors import whole_number

_BITS = 40  # of a key count the rows of a partition: a million million of them
ROW_BYTES = 256  # of a file that says nothing about its rows


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows that follow one another, in one file or several: the unit of work, and of what is done again.

    A value without open handles, which can be pickled. ``rows`` is ``None`` where only reading tells.

    >>> import pyarrow as pa
    >>> from protosieve.passes import partitions_of
    >>> from protosieve.io import BatchSource
    >>> first, second = (BatchSource.of(name, pa.table({"x": range(100)})) for name in ("first", "second"))
    >>> [partition.rows for partition in partitions_of([first, second], partition_rows=100)]
    [100, 100]
    """

    number: int
    first_file: int  # the place of its first file among all
    row_ranges: list[RowRange]
    rows: int | None
    key: int  # what its first row is known by until all rows are counted

    @property
    def start(self) -> Position:
        """Where reading begins: in its first file, of which all others it reads from their beginning."""
        first = self.row_ranges[0].first
        return Position(0, first, self.key - first)

    @property
    def names(self) -> list[str]:
        return [stretch.name for stretch in self.row_ranges]

    def files(self) -> Iterator[tuple[int, RowRange]]:
        """Each stretch with the place of its file among all."""
        return enumerate(self.row_ranges, self.first_file)


def partitions_of(sources: Sequence[Source], partition_rows: int = default.PARTITION_ROWS) -> list[Partition]:
    """Cut files, in their order, into partitions of about ``partition_rows`` rows.

    Parquet is cut at row groups; of other formats a file stays whole, and where it does not tell its rows they are
    guessed by its size and the first rows of the first such file. Small files share a partition. The list follows
    from the files and ``partition_rows`` alone, so that any number of workers gives the same answer; it is as even as
    whole groups allow: no partition is more than one group larger than the average. Reads the heads of all files.
    """
    whole_number(1).check("select", "partition_rows", partition_rows)
    groups = list(_groups(sources))
    total = sum(group.weight for group in groups)
    parts = max(1, math.ceil(total / partition_rows))
    begins = itertools.accumulate((group.weight for group in groups[:-1]), initial=0.0)
    shares = [_share_of(place, group.weight, total, parts) for group, place in zip(groups, begins, strict=True)]
    found = itertools.groupby(zip(shares, groups, strict=True), key=lambda one: one[0])
    made, before = list[Partition](), 0 if sources else None
    for number, (_, run) in enumerate(found):
        made.append(_partition(number, sources, [group for _, group in run], key_of(number, before)))
        before = None if before is None or made[-1].rows is None else before + made[-1].rows
    return made


def key_of(number: int, before: int | None) -> int:
    """The key of a partition's first row: its number in the whole, where the rows ``before`` it are known."""
    return number << _BITS if before is None else before


def joined_partition(partitions: Sequence[Partition]) -> Partition:
    """All rows of all partitions, as one."""
    files = {file: stretch.source for one in partitions for file, stretch in one.files()}
    return Partition(0, 0, [RowRange(source) for source in files.values()], None, 0)


@dataclass(frozen=True)
class Numbering:
    """Which rows are which, once all partitions are counted. Keys rise from partition to partition, as numbers do."""

    keys: list[int]  # of the first row of each partition
    ends: list[int]  # rows in each

    @classmethod
    def of(cls, partitions: Sequence[Partition], ends: Mapping[int, int]) -> "Numbering":
        """By the rows of each partition, under its number."""
        return cls([one.key for one in partitions], [ends.get(one.number, 0) for one in partitions])

    def numbers(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row numbers in the whole.

        >>> Numbering([0, 2 << 40], [10, 5]).numbers(np.array([3, (2 << 40) + 1]))
        array([ 3, 11])
        """
        firsts = np.array(self.keys, np.int64)
        home = np.searchsorted(firsts, keys, "right") - 1
        found: NDArray[np.int64] = self._before[home] + keys - firsts[home]
        return found

    def homes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place among all partitions of each row."""
        return np.searchsorted(self._before, numbers, "right") - 1

    @property
    def _before(self) -> NDArray[np.int64]:
        return np.cumsum([0, *self.ends[:-1]], dtype=np.int64)

    def key(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The keys of rows by their numbers."""
        home = self.homes(numbers)
        found: NDArray[np.int64] = np.array(self.keys, np.int64)[home] + numbers - self._before[home]
        return found


@dataclass(frozen=True)
class _Group:
    """The least that is read: a row group of a file, or all of it."""

    file: int
    first: int
    rows: int | None
    weight: float  # in rows


def _groups(sources: Sequence[Source]) -> Iterator[_Group]:
    row_bytes: float | None = None
    for file, source in enumerate(sources):
        known = source.groups()
        if known is None:
            if source.size is not None:  # a pipe is not waited for: its rows are not counted by their bytes
                row_bytes = row_bytes or source.row_bytes()
            yield _Group(file, 0, None, (source.size or 0) / (row_bytes or ROW_BYTES))
            continue
        firsts = itertools.accumulate(known, initial=0)
        yield from (_Group(file, first, rows, rows) for first, rows in zip(firsts, known or [0], strict=False))


def _share_of(begin: float, weight: float, total: float, parts: int) -> int:
    """The partition that holds the middle of a group; it never falls from one group to the next."""
    return min(parts - 1, int(parts * (begin + weight / 2) / total)) if total else 0


def _partition(number: int, sources: Sequence[Source], groups: list[_Group], key: int) -> Partition:
    files = [list(run) for _, run in itertools.groupby(groups, key=lambda group: group.file)]
    rows = [group.rows for group in groups]
    return Partition(
        number=number,
        first_file=groups[0].file,
        row_ranges=[_stretch(sources[run[0].file], run) for run in files],
        rows=None if None in rows else sum(count for count in rows if count is not None),
        key=key,
    )


def _stretch(source: Source, run: list[_Group]) -> RowRange:
    rows = run[-1].rows
    return RowRange(source, run[0].first, None if rows is None else run[-1].first + rows)
