"""Pass A: what a partition is like, and what all of them are."""

import copy
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

from protosieve._state import storable
from protosieve._typed import are_counts, are_raw, require
from protosieve._typing import Array
from protosieve.distributed._drawn import Drawn, key_of
from protosieve.distributed._outline import Outline
from protosieve.distributed._partitions import Partition
from protosieve.errors import InputError
from protosieve.io import Stretch
from protosieve.pipeline._blocks import FEWEST, Block, LeftOut, Position, read_blocks
from protosieve.pipeline._gallery import Gallery
from protosieve.preprocess import Survey
from protosieve.sampling import Bottom

__all__ = ["Summary", "merge_summaries", "summarise"]


@storable
@dataclass
class Summary:
    """What is known of one or more partitions after a first look.

    Memory is that of the sample and of the vocabularies, however many rows and partitions it stands for.
    """

    name: str  # of the first file
    survey: Survey
    drawn: Drawn  # rows of the target, for the mean
    gallery: Gallery | None  # rows to look at, where the target has files of its own
    ends: dict[int, int] = field(default_factory=dict)  # of each file, its rows as far as they were read
    counts: dict[int, int] = field(default_factory=dict)  # of each partition, its usable rows
    left_out: LeftOut = field(default_factory=LeftOut)

    def _check_form(self) -> None:
        width, rows = self.survey.layout.width, self.drawn.rows
        require(rows is None or are_raw(rows, width), "a sample of other columns")
        counts = [*self.ends, *self.ends.values(), *self.counts, *self.counts.values()]
        require(are_counts(*counts), "the counts of a partition")
        require(self.drawn.bottom.seen in (0, self.survey.rows), "a sample of other rows")

    @classmethod
    def empty(cls, name: str, outline: Outline) -> "Summary":
        """Of no rows yet."""
        layout = copy.deepcopy(outline.layout)  # it grows, and other threads may have the same
        drawn = Drawn(Bottom(outline.sample_seed, outline.sample, limit=outline.limit))
        return cls(
            name, Survey.of(layout), drawn, Gallery.empty(outline.seed, outline.limit) if outline.has_target else None
        )

    def storable(self) -> "Summary":
        """The same, as `protosieve._state` can write it."""
        return dataclasses.replace(self, gallery=None if self.gallery is None else self.gallery.pack())

    def take(self, block: Block, length: int) -> None:
        """The next rows, to be surveyed so many at a time."""
        for start in range(0, len(block), length):
            self.survey.update(block.rows[start : start + length])
        self.left_out.merge(block.left_out)

    def draw(self, file: int, block: Block) -> None:
        """The same rows, if they are of the target."""
        keys = key_of(file, block.numbers)
        self.drawn.take(keys, block.rows)
        if self.gallery is not None:
            self.gallery.take(keys, block.rows, block.tables)

    def merge(self, later: "Summary") -> None:
        """Take in the partitions that come after these. O(sample log sample + categories)."""
        self.learn(later)
        self.ends |= {file: max(end, self.ends.get(file, 0)) for file, end in later.ends.items()}
        self.counts |= later.counts

    def learn(self, later: "Summary") -> None:
        """The same, of rows in other files than ours are: those of the target."""
        try:
            recode = self.survey.merge(later.survey)
        except InputError as error:
            raise InputError(f"{self.name} and {later.name}: {error}") from error
        self.drawn.merge(later.drawn, recode)
        if self.gallery is not None and later.gallery is not None:
            self.gallery.merge(later.gallery, recode)
        self.left_out.merge(later.left_out)


def summarise(partition: Partition, outline: Outline) -> Summary:
    """Read a partition once: statistics, categories, the number of rows, a sample by hash. O(rows x columns)."""
    summary = Summary.empty(partition.names[0], outline)
    for file, stretch in partition.files():
        summary.ends[file] = _read(summary, file, stretch, outline)
    summary.counts[partition.number] = summary.survey.rows
    summary.drawn.trim()  # it is sent, and stored
    return summary


def _read(summary: Summary, file: int, stretch: Stretch, outline: Outline) -> int:
    """The rows of one file; returns where they end."""
    end = Position(0, stretch.first)
    blocks = read_blocks([stretch], summary.survey.layout, outline.columns, end, outline.skip, _always, _as_read)
    for block in blocks:
        # the bits of a survey follow its blocks, and those of all columns are cut short where rows are heavy
        summary.take(block, FEWEST if outline.columns is None else max(len(block), 1))
        if outline.is_target and len(block):
            summary.draw(file, block)
        end = block.until
    return end.row


def _always() -> bool:
    return True


def _as_read(raw: Array) -> Array:
    return raw


def merge_summaries(summaries: Iterable[Summary]) -> Summary:
    """One summary of all, which must come in the order of their partitions.

    They are taken in one after the other, so that an iterator need not hold two of them. Rows, categories and the
    sample are the same however partitions are grouped; means and spreads are so to rounding, so that a run must always
    group them alike to give the same bits.
    """
    found = iter(summaries)
    whole = copy.deepcopy(next(found))  # an engine may hand out arrays that must not be written to
    for later in found:
        whole.merge(later)
    return whole
