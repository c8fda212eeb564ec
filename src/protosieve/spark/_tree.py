"""What many partitions offer, merged where there are many machines before it comes to the driver."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from protosieve._blas import one_thread
from protosieve.distributed import Candidates, Plan, merge_candidates
from protosieve.errors import InputError
from protosieve.spark._returned import Returned
from protosieve.spark._tasks import CELLS, failed, sent

__all__ = ["Merging"]


@dataclass(frozen=True)
class Merging:
    """A step of the tree: the rows of `CELLS` that one group of partitions, or of groups, has sent, made those of one.

    ``numbers`` are all there are, of which ``at_once`` that follow one another are a group.
    """

    plan: Plan
    title: str
    at_once: int
    numbers: Sequence[int]

    def __call__(self, cells: pa.Table) -> pa.Table:
        """What `applyInArrow` calls."""
        group = cells.column("partition")[0].as_py() // self.at_once
        try:
            value = self._merged(group, Returned(self.title, [], cells))
        except InputError as error:
            return pa.Table.from_batches([failed(group, error)], CELLS)
        return pa.Table.from_batches(sent(group, b"", value), CELLS)

    def _merged(self, group: int, found: Returned) -> Candidates:
        found.check_all([number for number in self.numbers if number // self.at_once == group])
        with one_thread():
            return merge_candidates([value for _, value in found.values()], self.plan)
