"""Pass B: every row counts, in the sums of the mean at its points, and as one of the best rows."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, require
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.objectives import Coverage, KernelMean
from protosieve.passes._blocks import RowBlock
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, Value, check_count
from protosieve.preprocess import Encoding, Layout
from protosieve.selectors import Best

_STRIP = 512  # rows at a time, whatever the blocks: the bits of sums follow it


@storable
@dataclass
class Sums(Value):
    """Of all rows so far: their sums at the points of the mean, and those with the largest mean."""

    sums: Float64  # none where they are not of the target
    best: Best
    most: int  # best rows that are wanted: none where these are of no input

    def _check_form(self) -> None:
        require(self.sums.ndim == 1 and are_finite(self.sums) and are_counts(self.rows, self.most), "the sums of rows")
        require(len(self.best.indices) <= self.most, "the best rows")

    def merge(self, later: "Sums") -> None:
        self.sums = self.sums + later.sums
        if self.most:
            self.best.take(later.best.pull, later.best.indices, later.best.rows, self.most)
        self.rows += later.rows


class _Seen(NamedTuple):
    """Rows of a block as they are encoded, the sums of each strip of them, and what each is to the mean."""

    rows: Array
    sums: list[Float64]
    pull: Float64


@storable
@dataclass(frozen=True, eq=False)
class SumsPass(Pass[Sums]):
    """Read the features once more. O(rows points d)."""

    label: ClassVar[str] = "sum"

    stage: str
    encoding: Encoding
    objective: KernelMean | Coverage
    most: int  # best rows that are wanted; 0 for rows that cannot be chosen
    n_points: int  # 0 for rows of no target
    dtype: str  # of rows
    counts: dict[int, int]  # usable rows of each partition, when it was surveyed
    skip: bool

    @property
    def columns(self) -> list[str]:
        return self.encoding.layout.columns

    def begin(self, partition: Partition) -> Sums:
        like = np.zeros((0, len(self.encoding.names)), self.dtype)
        return Sums(np.zeros(self.n_points), Best.none(like), self.most)

    def layout(self, value: Sums) -> Layout:
        return self.encoding.layout

    @property
    def in_threads(self) -> bool:
        return self.objective.in_threads

    def look(self, block: RowBlock, partition: Partition) -> _Seen:
        """O(rows points d)."""
        rows = self.encoding.transform(block.rows).astype(self.dtype, copy=False)
        strips = [rows[start : start + _STRIP] for start in range(0, len(rows), _STRIP)]
        try:
            with one_thread():
                found = [(one.sums, one.pull) for one in map(partial(self.objective.block, 0), strips)]
        except InputError as error:
            raise self._first_error(block, rows, partition) or error from error
        sums, pull = zip(*found, strict=True)
        return _Seen(rows, [one for one in sums if one is not None], np.concatenate(pull))

    def take(self, value: Sums, block: RowBlock, seen: _Seen, partition: Partition) -> None:
        for sums in seen.sums if self.n_points else ():
            value.sums = value.sums + sums
        if self.most:
            value.best.take(seen.pull, block.numbers, seen.rows, self.most)

    def _first_error(self, block: RowBlock, rows: Array, partition: Partition) -> InputError | None:
        """Of the first row that cannot be judged: which it is."""
        for i in range(len(rows)):
            try:
                self.objective.block(int(block.in_file[i]), rows[i : i + 1])
            except InputError as error:
                return InputError(f"{partition.names[block.sources[i]]}, {error}")
        return None

    def end(self, value: Sums, partition: Partition) -> None:
        check_count(partition.names, value.rows, self.counts.get(partition.number, 0))
