"""A run over partitions before its first row: what a first look needs to know."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from protosieve._state import storable
from protosieve.distributed._drawn import limit_of
from protosieve.distributed._partitions import PARTITION_ROWS, Partition, partitions_of
from protosieve.errors import ParameterError
from protosieve.io import BadRows, Source, Stretch, find_sources
from protosieve.pipeline._fresh import fresh
from protosieve.pipeline._gallery import MOST
from protosieve.pipeline._options import Options
from protosieve.pipeline._run import Run
from protosieve.preprocess import Layout

__all__ = ["SPARE", "Job", "Outline", "begin", "job_of", "seed_for"]

# With so many times more rows within the limit than are wanted, three of four may turn out to be unusable.
SPARE = 4


def seed_for(seed: int, *purpose: int) -> int:
    """A seed of its own for one purpose of a run."""
    return int(np.random.default_rng([seed, *purpose]).integers(2**63))


@storable
@dataclass(frozen=True)
class Outline:
    """What `summarise` needs to know, and no more.

    Of the target ``sample`` rows are wanted, and where it has files of its own (``has_target``), some with all columns.
    Hashes above ``limit`` are not needed: with many partitions each then returns a few rows, and not a whole sample.
    """

    seed: int
    layout: Layout
    skip: bool  # rows that cannot be used
    sample: int
    has_target: bool
    is_target: bool  # whether these are its rows
    limit: int

    @property
    def columns(self) -> list[str] | None:
        """To be read; ``None`` for all."""
        return None if self.has_target and self.is_target else self.layout.columns

    @property
    def sample_seed(self) -> int:
        """Another than that of the rows which may be chosen: no row should be judged by itself more than by chance."""
        return seed_for(self.seed, 1)


@dataclass
class Job:
    """A run, its partitions, and what to look for in them. ``targets`` are those of a target with files of its own."""

    run: Run
    inputs: list[Partition]
    targets: list[Partition]

    @property
    def sources(self) -> list[Stretch]:
        """All that is read."""
        return [stretch for partition in (*self.inputs, *self.targets) for stretch in partition.stretches]

    def outline(self) -> Outline:
        """For the partitions of the input."""
        return _outline(self.run, self.inputs, has_target=bool(self.targets), is_target=not self.targets)

    def target_outline(self) -> Outline:
        """For those of the target."""
        return _outline(self.run, self.targets, has_target=True, is_target=True)


def begin(options: Options) -> Job:
    """Look at the heads of all files and cut them into partitions: of `PARTITION_ROWS`, unless the options say."""
    options, _ = _cut(options)  # which refuse standard input, before it is looked at
    inputs = find_sources(options.inputs, options.format)
    target = [] if options.target is None else find_sources(options.target, options.format)
    return job_of(options, inputs, target)


def job_of(options: Options, inputs: Sequence[Source], target: Sequence[Source]) -> Job:
    """The same, of sources that were found already."""
    options, rows = _cut(options)
    _check([*inputs, *target])
    run = fresh(options, inputs, target)
    _meet(run.layout, [*inputs, *target])
    return Job(run, partitions_of(inputs, rows), partitions_of(target, rows) if target else [])


def _cut(options: Options) -> tuple[Options, int]:
    """Those of a run over partitions, and how many rows these have."""
    rows = PARTITION_ROWS if options.partition_rows is None else options.partition_rows
    return replace(options, partition_rows=rows), rows


def _check(sources: Sequence[Source]) -> None:
    for source in sources:
        if source.comes_once:
            raise ParameterError(f"{source.name}: comes once, and partitions are read twice; store its rows in a file")


def _meet(layout: Layout, sources: Sequence[Source]) -> None:
    """The length of lists is that of the first there is, as in one stream: others are rows that cannot be used."""
    for source in sources:
        for piece in source.pieces(layout.unmet, 0, BadRows(skip=True)) if layout.unmet else ():
            layout.meet(piece.table)
            if not layout.unmet:
                return


def _outline(run: Run, partitions: Sequence[Partition], has_target: bool, is_target: bool) -> Outline:
    rows = [partition.rows for partition in partitions]
    known = None if None in rows else sum(count for count in rows if count is not None)
    return Outline(
        seed=run.seed,
        layout=run.layout,
        skip=run.options.bad_rows == "skip",
        sample=run.options.sample,
        has_target=has_target,
        is_target=is_target,
        limit=limit_of(SPARE * (max(run.options.sample, MOST) if has_target else run.options.sample), known),
    )
