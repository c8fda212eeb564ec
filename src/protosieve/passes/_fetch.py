"""The users' own columns of selected rows, if they were not kept: the columns of heavy rows are not all kept."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve.passes._blocks import RowBlock
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, Value
from protosieve.passes._tables import Records
from protosieve.preprocess import Encoding, Layout


@storable
@dataclass
class Fetched(Value):
    """Some rows with their columns."""

    records: list[Records] = field(default_factory=list)

    def _check_form(self) -> None:
        require(are_counts(self.rows), "rows that were fetched")

    def merge(self, later: "Fetched") -> None:
        self.records += later.records
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

    def begin(self, partition: Partition) -> Fetched:
        return Fetched()

    def layout(self, value: Fetched) -> Layout:
        return self.encoding.layout

    def take(self, value: Fetched, block: RowBlock, seen: None, partition: Partition) -> None:
        here = np.flatnonzero(np.isin(block.numbers, self.keys))
        if len(here):
            value.records.append(Records.of_block(block, here, partition.first_file))
