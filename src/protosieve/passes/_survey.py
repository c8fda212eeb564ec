"""Pass A: what rows are like, how many there are, and a uniform sample of them with their columns."""

import copy
from dataclasses import dataclass, field
from typing import ClassVar

from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve._typed import are_counts, are_raw, require
from protosieve.errors import InputError
from protosieve.passes._blocks import FEWEST, LeftOut, RowBlock
from protosieve.passes._groups import GroupSamples
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, Value
from protosieve.passes._row_sample import RowSample
from protosieve.preprocess import Layout, Moments, Survey
from protosieve.sampling import EVERY


@storable
@dataclass
class Summary(Value):
    """What is known of one or more partitions after a first look.

    Memory is that of the sample and of the vocabularies, however many rows and partitions it stands for.
    """

    name: str  # of the first file
    survey: Survey
    sample: RowSample
    ends: dict[int, int] = field(default_factory=dict)  # of each partition, its rows, unusable ones among them
    counts: dict[int, int] = field(default_factory=dict)  # and its usable ones
    skipped: LeftOut = field(default_factory=LeftOut)
    groups: GroupSamples | None = None  # where prototypes are chosen for each

    def _check_form(self) -> None:
        held = self.sample.rows
        require(held is None or are_raw(held.rows, self.survey.layout.width), "a sample of other columns")
        counts = [*self.ends, *self.ends.values(), *self.counts, *self.counts.values(), self.rows]
        require(are_counts(*counts), "the counts of a partition")
        require(self.sample.seen == self.survey.rows == self.rows, "a sample of other rows")
        for part in () if self.groups is None else self.groups.samples:
            require(are_raw(part.rows, self.survey.layout.width) and part.seen <= self.rows, "a sample of other rows")

    def merge(self, later: "Summary") -> None:
        """O(sample log sample + categories)."""
        self.learn(later)
        self.ends |= later.ends
        self.counts |= later.counts
        self.rows += later.rows

    def learn(self, later: "Summary", is_same: bool = True) -> None:
        """What rows are like; where they are the target's, which has files of its own, it keeps its own sample."""
        try:
            recode = self.survey.merge(later.survey)
        except InputError as error:
            raise InputError(f"{self.name} and {later.name}: {error}") from error
        if is_same:
            self.sample.merge(later.sample, recode)
            if self.groups is not None and later.groups is not None:
                self.groups.merge(later.groups, recode, self.sample.row_bytes)
        elif later.sample.rows is not None:
            later.sample.rows = later.sample.rows.mapped(recode, lambda numbers: numbers)
            if later.groups is not None:
                later.groups.recode(recode)
        self.skipped.merge(later.skipped)


@storable
@dataclass(frozen=True)
class SurveyPass(Pass[Summary]):
    """Read all columns once: statistics, categories, counts, and a sample by hash. O(rows x columns).

    Hashes above ``limit`` are not needed: with many partitions each then returns a few rows, not a whole sample.
    """

    label: ClassVar[str] = "survey"

    stage: str
    seed: int
    start: Layout
    skip: bool
    size: int  # of the sample
    limit: int = EVERY
    groups: GroupSamples | None = None  # of no rows yet

    @property
    def grows(self) -> bool:
        return True

    def begin(self, partition: Partition) -> Summary:
        layout = copy.deepcopy(self.start)  # it grows, and other threads may have the same
        sample = RowSample.empty(self.seed, self.size, self.limit)
        return Summary(partition.names[0], Survey.of(layout), sample, groups=copy.deepcopy(self.groups))

    def layout(self, value: Summary) -> Layout:
        return value.survey.layout

    @property
    def in_threads(self) -> bool:
        return True

    def look(self, block: RowBlock, partition: Partition) -> list[Moments]:
        # blocks are cut short where rows are heavy or late, and the bits of a survey follow its strips
        with one_thread():
            return Moments.of_strips(block.rows, FEWEST)

    def take(self, value: Summary, block: RowBlock, seen: list[Moments], partition: Partition) -> None:
        value.survey.update(block.rows, seen)
        value.sample.take(block, partition.first_file)
        if value.groups is not None:
            value.groups.take(block, partition.first_file, value.sample.row_bytes)

    def left_out(self, value: Summary, block: RowBlock) -> None:
        value.skipped.merge(block.left_out)

    def end(self, value: Summary, partition: Partition) -> None:
        value.sample.join()
        if value.groups is not None:
            value.groups.join()
        last = partition.start if value.until is None else value.until
        value.ends[partition.number] = last.before + last.row - partition.key
        value.counts[partition.number] = value.rows
