"""Pass C, for exact weights: the chosen rows against all of the target."""

import copy
from collections.abc import Iterable

import numpy as np

from protosieve._blas import one_thread
from protosieve._typing import Array
from protosieve.distributed._candidates import encoded
from protosieve.distributed._partitions import Partition
from protosieve.distributed._plan import Plan
from protosieve.pipeline._run import Weighing

__all__ = ["merge_weights", "weigh_partition"]

_BLOCK = 512


def weigh_partition(partition: Partition, plan: Plan, prototypes: Array) -> Weighing:
    """Summed similarities of a partition's rows to each prototype, and how many it is nearest to. O(rows m d)."""
    weighing = Weighing(np.zeros(len(prototypes)), np.zeros(len(prototypes), np.int64))
    with one_thread():
        for block in encoded(partition, plan, plan.encoding.layout.columns):
            for first in range(0, len(block), _BLOCK):
                _add(weighing, plan, block.rows[first : first + _BLOCK].astype(prototypes.dtype), prototypes)
    return weighing


def _add(weighing: Weighing, plan: Plan, rows: Array, prototypes: Array) -> None:
    kernel = plan.objective.kernel
    ours, theirs = kernel.prepare(prototypes), kernel.prepare(rows)
    weighing.similarity += kernel.block(theirs, ours).sum(axis=0, dtype=np.float64)
    nearest = kernel.nearness(theirs, ours).argmax(axis=1)
    weighing.nearest += np.bincount(nearest, minlength=len(prototypes))
    weighing.rows += len(rows)


def merge_weights(weighings: Iterable[Weighing]) -> Weighing:
    """Their sum, in the order of the partitions."""
    found = iter(weighings)
    whole = copy.deepcopy(next(found))
    for later in found:
        whole.similarity += later.similarity
        whole.nearest += later.nearest
        whole.rows += later.rows
    return whole
