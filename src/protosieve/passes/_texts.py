"""Before the survey, where columns of text are compared: a uniform sample of these, by which texts become numbers."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from protosieve._state import storable
from protosieve.errors import arg, warn
from protosieve.passes._blocks import RowBlock
from protosieve.passes._job import DEVIATIONS, Job, limit_of, rows_of
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, Value
from protosieve.passes._row_sample import RowSample
from protosieve.passes._survey import Summary
from protosieve.preprocess import LEARNT_FROM, Layout, listing, whole


@storable
@dataclass
class Texts(Value):
    """A sample of the columns of text of some partitions."""

    sample: RowSample

    def merge(self, later: "Texts") -> None:
        self.sample.merge(later.sample, lambda rows: rows)
        self.rows += later.rows


@storable
@dataclass(frozen=True, eq=False)
class TextsPass(Pass[Texts]):
    """Read the columns of text, and nothing else."""

    label: ClassVar[str] = "texts"

    stage: str
    names: list[str]
    seed: int
    skip: bool
    limit: int

    @classmethod
    def of(cls, job: Job, columns: Sequence[str] = ()) -> "TextsPass":
        """That over the inputs of a job, which reads these columns too."""
        limit = limit_of(LEARNT_FROM + DEVIATIONS * math.sqrt(LEARNT_FROM), rows_of(job.inputs))
        names = list(dict.fromkeys([*job.layout.unlearnt, *columns]))
        return cls("texts", names, job.seed, job.skip, limit)

    @property
    def columns(self) -> list[str]:
        return self.names

    def begin(self, partition: Partition) -> Texts:
        return Texts(RowSample.empty(self.seed, LEARNT_FROM, self.limit))

    def layout(self, value: Texts) -> Layout:
        return Layout([], {}, "float32")

    def take(self, value: Texts, block: RowBlock, seen: None, partition: Partition) -> None:
        value.sample.take(block)

    def end(self, value: Texts, partition: Partition) -> None:
        value.sample.join()


def learnt(job: Job, found: Texts) -> Job:
    """The job, once it is known how texts become numbers."""
    layout = copy.deepcopy(job.layout)
    if found.rows:  # else the survey tells that there are none
        layout.learn(found.sample.records().table)
    return replace(job, layout=layout)


def by_words(job: Job, inputs: Summary, columns: Sequence[str]) -> Job:
    """The job, with columns of text compared by their words where rows differ by nothing else: those of several words,
    if there are any, for others may be names of the rows.
    """
    table = inputs.sample.records().table
    found = [name for name in columns if _has_words(table.column(name))] or list(columns)
    warn(
        f"rows differ by nothing but text, so {listing(list(map(repr, found)))} {'is' if len(found) == 1 else 'are'} "
        f"compared by words, as {arg('text')} would; {arg('exclude')} leaves a column out"
    )
    return replace(job, layout=job.layout.by_words(found), by_words=True)


def _has_words(cells: pa.ChunkedArray) -> bool:
    """Whether most cells have several words."""
    several = pc.match_substring_regex(whole(cells).cast(pa.string()), r"\S\s+\S")
    return bool((pc.mean(several).as_py() or 0) > 0.5)
