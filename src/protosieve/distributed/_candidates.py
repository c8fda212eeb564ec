"""Pass B: what a partition offers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_rows, require
from protosieve._typing import Array
from protosieve.distributed._partitions import Partition
from protosieve.distributed._plan import Plan
from protosieve.pipeline._blocks import Block, Position, read_blocks
from protosieve.pipeline._run import check_count
from protosieve.pipeline._tables import Records, compact, joined, packed, taken, unpacked
from protosieve.sampling import hashes
from protosieve.selectors import StreamSelector

__all__ = ["Candidates", "select_partition"]


class Rows(NamedTuple):
    """Some rows, with all that is known of them."""

    numbers: NDArray[np.int64]  # in the whole input
    files: NDArray[np.int64]
    rows: Array  # encoded
    table: pa.Table  # the users' own columns

    def taken(self, which: NDArray[np.int64]) -> "Rows":
        """Those at these positions."""
        return Rows(self.numbers[which], self.files[which], self.rows[which], self.table.take(pa.array(which)))

    @classmethod
    def joined(cls, parts: Sequence["Rows"]) -> "Rows":
        """By rising number, each once."""
        numbers = np.concatenate([part.numbers for part in parts])
        _, order = np.unique(numbers, return_index=True)
        files, rows = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        table = joined([part.table for part in parts]).take(pa.array(order))
        return cls(numbers[order], files[order], rows[order], compact(table))


@storable
@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows of one or more partitions that a result may be made of, by rising number.

    They are of two kinds, and may be both: those a selector has ``chosen``, and a uniform sample of all rows, those
    whose hashes are below the plan's limit. The users' own columns come with them, as an Arrow stream kept as bytes.
    """

    partition: int  # the first
    seen: int  # rows they are candidates of
    numbers: NDArray[np.int64]
    files: NDArray[np.int64]
    rows: Array
    chosen: NDArray[np.bool_]
    packed: NDArray[np.uint8] | None  # None where there are no rows

    @classmethod
    def of(cls, partition: int, seen: int, found: Rows, chosen: NDArray[np.int64]) -> "Candidates":
        """Rows, and the numbers of those that were chosen."""
        is_chosen = np.isin(found.numbers, chosen)
        return cls(partition, seen, found.numbers, found.files, found.rows, is_chosen, packed(found.table))

    @classmethod
    def none(cls, partition: int, width: int) -> "Candidates":
        """Of a partition without usable rows."""
        nothing = np.zeros(0, np.int64)
        return cls(partition, 0, nothing, nothing, np.zeros((0, width), np.float32), nothing.astype(np.bool_), None)

    def unpacked(self) -> Rows:
        assert self.packed is not None
        return Rows(self.numbers, self.files, self.rows, unpacked(self.packed))

    def __len__(self) -> int:
        return len(self.numbers)

    def _check_form(self) -> None:
        lengths = {len(self.rows), 0 if self.packed is None else len(unpacked(self.packed))}
        require(are_rows(self.rows) and lengths == {len(self.numbers)}, "the rows of candidates")
        require(self.numbers.shape == self.files.shape == self.chosen.shape == (len(self.rows),), "candidates")
        require((np.diff(self.numbers) > 0).all() and (self.numbers >= 0).all(), "the numbers of candidates")
        require((self.files >= 0).all() and are_counts(self.partition, self.seen), "where candidates are from")

    def _check(self) -> None:
        assert len(self.numbers) == len(self.files) == len(self.rows) == len(self.chosen)
        assert (np.diff(self.numbers) > 0).all()


def select_partition(partition: Partition, plan: Plan) -> Candidates:
    """Read a partition once more, with all columns, and choose rows of it that match the target as a whole.

    Cost and memory are those of the selector over the partition's rows. `InputError` where there are not as many usable
    rows as before.
    """
    selector, records, seen = plan.selector(4, partition.number), Records(), 0
    looked: list[Rows] = []
    for block in encoded(partition, plan, before=plan.before[partition.first_file]):
        if len(block):
            selector.partial_fit(block.rows)
            sources = block.sources + partition.first_file
            records.follow(selector.held_indices_, seen, block.numbers, sources, block.tables)
            looked += _looked_at(block, sources, plan)
            seen += len(block)
    check_count(partition.names, seen, plan.counts.get(partition.number, 0))
    if not seen:
        return Candidates.none(partition.number, len(plan.encoding.names))
    chosen = _chosen(selector, records)
    return Candidates.of(partition.number, seen, Rows.joined([chosen, *looked]), chosen.numbers)


def encoded(partition: Partition, plan: Plan, columns: list[str] | None = None, before: int = 0) -> Iterator[Block]:
    """The rows of a partition by the plan's encoding, with their columns (all by default), numbered from its first in
    its file and those ``before`` that file.
    """
    start, encoding = Position(0, partition.first_row, before), plan.encoding
    return read_blocks(partition.stretches, encoding.layout, columns, start, plan.skip, _never, encoding.transform)


def _never() -> bool:
    return False


def _looked_at(block: Block, sources: NDArray[np.int64], plan: Plan) -> list[Rows]:
    """The rows of a block, if any, that the last merge will see whether they are chosen or not."""
    low = np.flatnonzero(hashes(plan.seed, block.numbers) <= np.uint64(plan.limit))
    return [Rows(block.numbers[low], sources[low], block.rows[low], taken(block.tables, low))] if len(low) else []


def _chosen(selector: StreamSelector[Any, Any], records: Records) -> Rows:
    """What a selector would make its result of."""
    found = selector._chosen()
    numbers, files, table = records.of(found.indices)
    return Rows(numbers, files, found.rows.astype(np.float32, copy=False), table)
