"""A run before its first row: what is asked for, of which partitions, and what to look for in them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from protosieve._arrow_types import is_number
from protosieve.errors import InputError, ParameterError, arg
from protosieve.io import BadRows, ImageSource, Source, check_schemas
from protosieve.means import sample_for
from protosieve.passes._aside import Aside
from protosieve.passes._fingerprints import fingerprint
from protosieve.passes._groups import GroupSamples, group_layout
from protosieve.passes._options import Options
from protosieve.passes._partitions import Partition, partitions_of
from protosieve.passes._pass import together
from protosieve.passes._survey import SurveyPass
from protosieve.preprocess import Layout
from protosieve.sampling import EVERY

# With so many times more rows within the limit than are wanted, three of four may turn out to be unusable. Where all
# are used, there are enough of them but for one run in a thousand million.
SPARE = 4
DEVIATIONS = 6
_IN_ALL, _NUMBERS = 1 << 17, 1 << 25  # rows in the samples of all groups, and numbers in wide ones
_MANY = 2**31  # prototypes: more than there will be


@dataclass(frozen=True, eq=False)
class Job:
    """What a run is to do. ``targets`` are the partitions of a target with files of its own."""

    options: Options
    seed: int
    layout: Layout  # as it begins: passes grow copies of it
    files: list[dict[str, Any]]  # what the inputs were like when it began
    target_files: list[dict[str, Any]]
    inputs: list[Partition]
    targets: list[Partition]
    command: str | None = None  # the command line that began it, if one did
    aside: Aside = field(default_factory=Aside)
    groups: Layout | None = None  # of the column for each of whose values prototypes are chosen
    by_words: bool = False  # whether texts that no option names are compared by these, for there is nothing else

    @property
    def skip(self) -> bool:
        """Whether rows that cannot be used are skipped."""
        return self.options.bad_rows == "skip"

    @property
    def names(self) -> list[str]:
        return [file["name"] for file in self.files]

    @property
    def passes(self) -> int:
        """Over the files, at most: a sample that holds all rows leaves nothing to sum up."""
        each = 1 if self.options.covers else 2  # a sample is enough to cover the target: there is nothing to sum up
        if self.options.is_stream:
            return 1 + (each if self.targets else 0)
        return (2 * each if self.targets else each) + self.options.judges_rows + bool(self.layout.unlearnt)

    def survey(self, of_target: bool = False) -> SurveyPass:
        """The first pass, over the inputs or the target."""
        partitions = self.targets if of_target else self.inputs
        rows = rows_of(partitions)
        size = sample_size(self.options, self.layout.width, rows_of(self.inputs))
        return SurveyPass(
            stage="target-" * of_target + "survey" + "-by-words" * self.by_words,
            seed=sample_seed(self.seed, of_target),
            start=self.layout,
            skip=self.skip,
            size=size,
            limit=limit_of(SPARE * size if self.skip else size + DEVIATIONS * math.sqrt(size), rows),
            groups=self._samples(sample_seed(self.seed, of_target), size),
        )

    @property
    def grouped(self) -> int:
        """Rows in the samples of all groups together: four for each prototype at least. There may be more where each
        group has so many prototypes that it needs them.
        """
        if self.groups is None:
            return 0
        size = sample_size(self.options, self.layout.width, rows_of(self.inputs))
        return max(size, min(_IN_ALL, _NUMBERS // max(self.layout.width, 1)), 4 * self._count)

    @property
    def _count(self) -> int:
        """Prototypes that are asked for; 0 where that is not known yet."""
        rows = rows_of(self.inputs)
        return 0 if self.options.is_share and rows is None else self.options.count(rows)

    def _samples(self, seed: int, size: int) -> GroupSamples | None:
        """Those of the groups, of no rows yet, and of ``size`` rows each."""
        if self.groups is None:
            return None
        quotas = self.options.quotas.values()
        each = self.options.split == "each" and not self.options.is_share
        least = max(low for low, _ in quotas) if quotas else self._count if each else 0
        return GroupSamples(self.groups, seed, size, self.grouped, least)


def sample_seed(seed: int, of_target: bool) -> int:
    """Target and inputs have different seeds: they may share rows with the same numbers, and a row that judges must not
    be a candidate because it judges.
    """
    return seed + of_target


def rows_of(partitions: Sequence[Partition]) -> int | None:
    """In all; ``None`` where only reading tells."""
    known = [partition.rows for partition in partitions if partition.rows is not None]
    return sum(known) if len(known) == len(partitions) else None


def limit_of(wanted: float, rows: int | None) -> int:
    """About ``wanted`` of so many rows have hashes up to this; all, where their number is not known."""
    return EVERY if not rows or wanted >= rows else int(wanted / rows * EVERY)


def sample_size(options: Options, width: int, rows: int | None) -> int:
    """Rows of the uniform sample: those that may be chosen, and those held out to judge. At most, before ``rows``, the
    number of prototypes that follows from them, or the ``width`` of encoded rows are known.
    """
    m = None if options.is_share and rows is None else options.count(rows)
    wanted = sample_for(_MANY if m is None else m, max(width, 1)) if options.sample is None else options.sample
    least = 0 if m is None else 2 * m  # twice as many rows to choose from as prototypes
    return max(wanted, least if rows is None else min(least, rows))


def job_of(
    options: Options,
    inputs: Sequence[Source],
    target: Sequence[Source],
    command: str | None = None,
    aside: Aside | None = None,
) -> Job:
    """Look at the heads of all files, cut them into partitions, and settle what can be before rows are read."""
    for source in inputs:
        if source.comes_once and not options.is_stream:
            raise InputError(
                f"{source.name}: comes once, and this run would read it twice; store its rows in a file "
                "first, or pipe inputs to standard input, -"
            )
    if options.image is None and any(isinstance(source, ImageSource) for source in inputs):
        options = replace(options, image=ImageSource.column)
    layout = layout_of([*inputs, *target], options)
    return Job(
        options=options,
        seed=seed_of(options),
        layout=layout,
        files=[fingerprint(source) for source in inputs],
        target_files=[fingerprint(source) for source in target],
        inputs=partitions_of(inputs, options.partition_rows),
        targets=partitions_of(target, options.partition_rows) if target else [],
        command=command,
        aside=Aside() if aside is None else aside.like(check_schemas(inputs)),
        groups=groups_of([*inputs, *target], options),
    )


def seed_of(options: Options) -> int:
    """The one that was given, or another every time."""
    seed = options.random_state
    return int(np.random.default_rng().integers(2**31)) if seed is None else seed


def groups_of(sources: Sequence[Source], options: Options) -> Layout | None:
    """How the values of the column are read for each of which prototypes are chosen, if one was named."""
    return None if options.per is None else group_layout(check_schemas(sources), options.per)


def layout_of(sources: Sequence[Source], options: Options) -> Layout:
    """The columns of files, by their heads."""
    schema = check_schemas(sources)
    _check_places(schema, options)
    if len(schema) and all(pa.types.is_null(field.type) for field in schema):
        raise InputError(f"{together([source.name for source in sources])}: there is no value in any column; give rows")
    layout = Layout.of(
        schema,
        features=options.features,
        exclude=options.exclude,
        id=options.id,
        label=options.label,
        embedding=options.embedding,
        categorical=options.categorical,
        image=options.image,
        text=options.text,
        coordinates=options.coordinates,
        day_first=options.day_first,
        cycles=options.cycles,
        per=options.per,
        embed=options.embed,
    )
    _meet(layout, sources)
    return layout


def _meet(layout: Layout, sources: Sequence[Source]) -> None:
    """The first list settles the length of lists, as in a stream; rows with others cannot be used."""
    for source in sources:
        for piece in (
            source.pieces(layout.unmet, 0, BadRows(skip=True)) if layout.unmet and not source.comes_once else ()
        ):
            layout.meet(piece.table)
            if not layout.unmet:
                return


def _check_places(schema: pa.Schema, options: Options) -> None:
    """`ParameterError` if columns for the map hold no numbers, before rows are read."""
    for name in options.coordinates or []:
        field = schema.field(name) if name in schema.names else None
        if field is not None and not is_number(field.type):
            raise ParameterError(
                f"{arg('coordinates')}: column {name!r} holds {field.type}; a place on the map is two numbers"
            )
