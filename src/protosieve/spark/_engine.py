"""The passes of a run over DataFrames: each is a `mapInArrow`, whose few rows are merged on the driver."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from protosieve.errors import InputError
from protosieve.passes import Job, Options, Partition, Pass, Summary, Value, groups_of, layout_of, seed_of
from protosieve.result import Prototypes
from protosieve.run import conclude, settled
from protosieve.spark._frame import Frame
from protosieve.spark._tasks import not_the_same, partition_of, title_of

V = TypeVar("V", bound=Value)


class OnSpark:
    """A run over a DataFrame, and perhaps another that it is to represent: a pass of Spark's to survey each, and one to
    sum it up. Before them it has counted the rows and, of lists, looked for the first.
    """

    def __init__(self, options: Options, inputs: Frame, target: Frame | None) -> None:
        self._inputs, self._target = inputs, target
        frames = [inputs] if target is None else [inputs, target]
        heads = [frame.source() for frame in frames]
        layout = layout_of(heads, options)
        for frame in frames:
            if layout.unmet:  # the length of lists, which Spark's types leave open, is that of the first there is
                layout.meet(frame.first_lists(layout.unmet))
        parts = [[replace(partition_of(0, frame.source()), rows=_count(frame))] for frame in frames]
        groups = groups_of(heads, options)
        targets = [] if target is None else parts[1]
        self._job = Job(options, seed_of(options), layout, [], [], parts[0], targets, groups=groups)
        self._features = list(dict.fromkeys([*layout.columns, *(groups.columns if groups else ())]))
        self._digests: dict[Frame, dict[int, bytes]] = {}

    def result(self) -> Prototypes:
        """All of it. Only the first pass tells which partitions there are."""
        known_by = self._features  # by which rows are known again
        return conclude(self, *settled(self._job, self, self._surveyed, known_by))

    def _surveyed(self, job: Job) -> tuple[Job, Summary, Summary | None]:
        self._job = job
        inputs = self._gathered(self._job.survey(), self._inputs)
        surveyed = None
        if self._target is not None:
            surveyed = self._gathered(self._job.survey(of_target=True), self._target)
            targets, files = self._partitions(self._target), self._files(self._target)
            self._job = replace(self._job, targets=targets, target_files=files)
        partitions, files = self._partitions(self._inputs), self._files(self._inputs)
        self._job = replace(self._job, inputs=partitions, files=files)
        return self._job, inputs, surveyed

    def gather(self, work: Pass[V], partitions: Sequence[Partition]) -> V:
        """A pass over all rows of a DataFrame, which are the same as before."""
        is_target = self._target is not None and partitions is self._job.targets
        return self._gathered(work, self._target if is_target and self._target is not None else self._inputs)

    def one_by_one(self, work: Pass[V], partition: Partition) -> V:
        raise NotImplementedError("rows of Spark's are in many places")

    def _gathered(self, work: Pass[V], frame: Frame) -> V:
        found = frame.over(work, self._features, self._digests.get(frame))
        if not found.digests:
            raise not_the_same(f"{frame.title}s", "there are none any more")
        self._digests[frame] = found.digests
        return work.merged(value for _, value in found.values())

    def _numbers(self, frame: Frame) -> range:
        return range(max(self._digests[frame]) + 1)

    def _partitions(self, frame: Frame) -> list[Partition]:
        return [partition_of(number, frame.source()) for number in self._numbers(frame)]

    def _files(self, frame: Frame) -> list[dict[str, object]]:
        """Partitions stand where files do in other runs."""
        return [{"name": title_of(frame.title, number), "size": None} for number in self._numbers(frame)]


def _count(frame: Frame) -> int:
    """There are some, or nothing is to be done."""
    rows = frame.count()
    if not rows:
        raise InputError(f"{frame.name}: the DataFrame has no rows; give one that has some")
    return rows
