"""Pass B: every row counts, in the sums of the mean at its points, and as one of the best rows."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typed import are_counts, are_finite, require
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.objectives import Block as Judged
from protosieve.objectives import KernelMean
from protosieve.passes._blocks import Block, Position
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, check_count
from protosieve.preprocess import Encoding, Layout
from protosieve.selectors import Best

__all__ = ["Sums", "SumsPass"]

_STRIP = 512  # rows at a time, whatever the blocks: the bits of sums follow it


@storable
@dataclass
class Sums:
    """Of all rows so far: their sums at the points of the mean, and those with the largest mean."""

    sums: Float64  # none where they are not of the target
    best: Best
    most: int  # best rows that are wanted: none where these are of no input
    rows: int = 0
    until: Position | None = None

    def _check_form(self) -> None:
        require(self.sums.ndim == 1 and are_finite(self.sums) and are_counts(self.rows, self.most), "the sums of rows")
        require(len(self.best.indices) <= self.most, "the best rows")

    def storable(self) -> "Sums":
        return self

    def merge(self, later: "Sums") -> None:
        self.sums = self.sums + later.sums
        if self.most:
            self.best.take(later.best.pull, later.best.indices, later.best.rows, self.most)
        self.rows += later.rows


@storable
@dataclass(frozen=True, eq=False)
class SumsPass(Pass[Sums]):
    """Read the features once more. O(rows points d)."""

    label: ClassVar[str] = "sum"

    stage: str
    encoding: Encoding
    objective: KernelMean
    most: int  # best rows that are wanted; 0 for rows that cannot be chosen
    n_points: int  # 0 for rows of no target
    dtype: str  # of rows
    counts: dict[int, int]  # usable rows of each partition, when it was surveyed
    skip: bool

    @property
    def given(self) -> list[object]:
        return [self]

    @property
    def columns(self) -> list[str]:
        return self.encoding.layout.columns

    def begin(self, partition: Partition) -> Sums:
        like = np.zeros((0, len(self.encoding.names)), self.dtype)
        return Sums(np.zeros(self.n_points), Best.none(like), self.most)

    def layout(self, value: Sums) -> Layout:
        return self.encoding.layout

    def convert(self, raw: Array) -> Array:
        return self.encoding.transform(raw).astype(self.dtype, copy=False)

    def take(self, value: Sums, block: Block, partition: Partition) -> None:
        judge = partial(self._judged, block, partition)
        starts = range(0, len(block), _STRIP)
        with one_thread():
            for start, found in zip(starts, ahead_of(judge, starts, in_threads=self.objective.in_threads), strict=True):
                if self.n_points:
                    assert found.sums is not None
                    value.sums = value.sums + found.sums
                if self.most:
                    numbers = block.numbers[start : start + _STRIP]
                    value.best.take(found.pull, numbers, found.rows, self.most)

    def _judged(self, block: Block, partition: Partition, start: int) -> Judged:
        try:
            return self.objective.block(0, block.rows[start : start + _STRIP])
        except InputError as error:
            raise self._first_error(block, partition, start) or error from error

    def _first_error(self, block: Block, partition: Partition, start: int) -> InputError | None:
        """Of the first row of a strip that cannot be judged: which it is."""
        for i in range(start, min(start + _STRIP, len(block))):
            try:
                self.objective.block(int(block.in_file[i]), block.rows[i : i + 1])
            except InputError as error:
                return InputError(f"{partition.names[block.sources[i]]}, {error}")
        return None

    def end(self, value: Sums, partition: Partition) -> None:
        check_count(partition.names, value.rows, self.counts.get(partition.number, 0))
