"""The candidates of all partitions, merged in a tree as they come."""

from collections import deque
from collections.abc import Sequence

from protosieve.distributed._candidates import Candidates, select_partition
from protosieve.distributed._merge import levels, merge_candidates
from protosieve.distributed._partitions import Partition
from protosieve.distributed._plan import Plan
from protosieve.distributed._task import Task

__all__ = ["Gathering"]


class Gathering:
    """Which sets of candidates there are, and what is to be done next: a merge whose sets are all there, else a
    partition. At most the sets of a group for each level of the tree are held, and those of the window.
    """

    def __init__(self, partitions: Sequence[Partition], plan: Plan, at_once: int) -> None:
        self._plan, self._at_once = plan, at_once
        self._levels = levels(len(partitions), at_once)
        self._left = iter(partitions)
        self._there: dict[tuple[int, int], Candidates] = {}  # by level, 0 for partitions, and place in it
        self._ready: deque[Task] = deque()

    def next(self) -> Task | None:
        """A task that need not wait, if there is one."""
        if self._ready:
            return self._ready.popleft()
        partition = next(self._left, None)
        if partition is None:
            return None
        return Task("select", partition.number, select_partition, (partition, self._plan))

    def take(self, task: Task, found: Candidates) -> None:
        """What came of it; the last of a group makes its merge ready."""
        self._there[task.level, task.number] = found
        if task.level == len(self._levels):
            return
        place = task.number // self._at_once
        group = [(task.level, i) for i in self._levels[task.level][place]]
        if all(key in self._there for key in group):
            sets = [self._there.pop(key) for key in group]
            self._ready.append(Task("merge", place, merge_candidates, (sets, self._plan), task.level + 1))

    def top(self) -> list[Candidates]:
        """What is left for the last merge, in the order of the partitions."""
        return [self._there[key] for key in sorted(self._there)]
