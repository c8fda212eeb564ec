"""The users' own columns of rows that were chosen and not kept: of heavy rows only some are."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array
from protosieve.passes._blocks import Block, Position
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass
from protosieve.passes._row_sample import Records
from protosieve.passes._tables import compact, packed, taken, unpacked
from protosieve.preprocess import Encoding, Layout

__all__ = ["FetchPass", "Fetched"]


@storable
@dataclass
class Fetched:
    """Some rows with their columns. In a state file these are an Arrow stream, kept as bytes."""

    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # of those that are packed
    files: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    packed: NDArray[np.uint8] | None = None
    rows: int = 0
    until: Position | None = None

    def __post_init__(self) -> None:
        self._parts: list[Records] = []
        if self.packed is not None:
            self._parts = [Records(self.numbers, self.files, unpacked(self.packed))]
        self.numbers, self.files, self.packed = self.numbers[:0], self.files[:0], None

    def _check_form(self) -> None:
        require(are_counts(self.rows), "rows that were fetched")
        for numbers, files, table in self._parts:
            require(numbers.shape == files.shape == (len(table),), "rows that were fetched")

    def storable(self) -> "Fetched":
        twin = Fetched(rows=self.rows, until=self.until)
        if self._parts:
            twin.numbers, twin.files, table = Records.joined(self._parts)
            twin.packed = packed(table)
        return twin

    def records(self) -> list[Records]:
        """In parts."""
        return self._parts

    def add(self, more: Records) -> None:
        self._parts.append(more)

    def merge(self, later: "Fetched") -> None:
        self._parts += later.records()
        self.rows += later.rows


@storable
@dataclass(frozen=True, eq=False)
class FetchPass(Pass[Fetched]):
    """Read all columns of partitions that have such rows once more."""

    label: ClassVar[str] = "fetch"

    stage: str
    encoding: Encoding
    keys: NDArray[np.int64]
    skip: bool

    @property
    def given(self) -> list[object]:
        return [self]

    def begin(self, partition: Partition) -> Fetched:
        return Fetched()

    def layout(self, value: Fetched) -> Layout:
        return self.encoding.layout

    def convert(self, raw: Array) -> Array:
        return raw

    def take(self, value: Fetched, block: Block, partition: Partition) -> None:
        here = np.flatnonzero(np.isin(block.numbers, self.keys))
        if len(here):
            files = block.sources[here] + partition.first_file
            value.add(Records(block.numbers[here], files, compact(taken(block.tables, here))))
