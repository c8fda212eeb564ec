"""Rows by their value of one column: a sample of each group, and the sums of each, in the passes over all rows."""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array, Indices
from protosieve.errors import InputError, ParameterError, arg
from protosieve.passes._blocks import RowBlock
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, Value, check_count
from protosieve.passes._sums import Sums, SumsPass
from protosieve.passes._tables import Records
from protosieve.preprocess import Layout
from protosieve.sampling import UniformSample

Name = str | None  # of a group: its value as text, None where that is null

MOST_GROUPS = 1000
_PARTS = 64  # tables of columns
_HELD = 1 << 27  # bytes of columns


def group_layout(schema: pa.Schema, column: str) -> Layout:
    """How the values of a column are read: as those of categories, so that 3, 3.0 and the text of either are one."""
    try:
        return Layout.of(pa.schema([schema.field(column)]), categorical=column)
    except InputError as error:
        kind = schema.field(column).type
        raise ParameterError(
            f"{arg('per')}: column {column!r} holds {kind}, whose values are no groups; name a column of text, "
            "numbers, dates or booleans"
        ) from error


def names_in(layout: Layout, table: pa.Table) -> list[Name]:
    """The group of every row of a table, by the one column of a layout."""
    own = copy.deepcopy(layout)
    raw, _ = own.raw(table, grow=True)
    ((column, _),) = own.categories()
    return [None if code < 0 else column.values[code] for code in raw[:, 0].astype(np.int64).tolist()]


def groups_in(layout: Layout, block: RowBlock) -> list[tuple[Name, Indices]]:
    """The rows of a block by their value of the one column of a layout. O(B log B)."""
    own, codes = copy.deepcopy(layout), list[Array]()
    for table in block.tables:
        raw, problems = own.raw(table, grow=True)
        for row, problem in problems:
            place = int(block.in_file[sum(map(len, codes)) + row])
            raise InputError(f"{arg('per', own.columns[0])}: row {place}: {problem}; fix the row, or leave it out")
        codes.append(raw[:, 0])
    ((column, _),) = own.categories()
    if column.full:
        raise _too_many(own, len(block))
    found = np.concatenate(codes).astype(np.int64)
    order = np.argsort(found, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(found[order])) + 1)
    return [(None if found[part[0]] < 0 else column.values[found[part[0]]], part) for part in parts]


def _too_many(layout: Layout, values: int) -> InputError:
    name = layout.columns[0]
    return InputError(
        f"{arg('per', name)}: column {name!r} has {values:,} different values so far, and there can be {MOST_GROUPS:,} "
        "groups at most; name a column of fewer values, or make one first, such as ranges of a number"
    )


@storable
@dataclass
class GroupSamples:
    """A uniform sample of each group, drawn by the hashes of row numbers: the order in which rows come does not matter.

    All have room for ``size`` rows, and a group with no more rows is held whole. The size is halved while they would
    hold more than ``most`` rows together, but never below twice the ``least``, the prototypes of a group. The users'
    own columns of these rows are kept while they weigh less than 128 MiB, by the average of all rows.
    """

    layout: Layout  # of the column
    seed: int
    size: int
    most: int
    least: int = 0
    names: list[str | None] = field(default_factory=list)
    samples: list[UniformSample] = field(default_factory=list)
    parts: list[Records] = field(default_factory=list)
    is_heavy: bool = False  # then there are no columns
    _places: dict[Name, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._places = {name: place for place, name in enumerate(self.names)}

    def __deepcopy__(self, memo: object) -> "GroupSamples":
        samples = copy.deepcopy(self.samples)  # nothing changes the layout and the tables
        return replace(self, names=list(self.names), samples=samples, parts=list(self.parts))

    @property
    def column(self) -> str:
        return self.layout.columns[0]

    def take(self, block: RowBlock, first_file: int, row_bytes: float) -> None:
        """The next rows, which weigh so much on average; their files are counted from ``first_file`` on."""
        found = groups_in(self.layout, block)
        self._meet([name for name, _ in found], block.rows)
        entered = [
            rows[self.samples[self._places[name]].observe(block.rows[rows], block.numbers[rows])]
            for name, rows in found
        ]
        self._make_room(row_bytes)
        fresh = np.sort(np.concatenate(entered))
        if len(fresh) and not self.is_heavy:
            self.parts.append(Records.of_block(block, fresh, first_file))
            self._forget()

    def merge(self, later: "GroupSamples", recode: Callable[[Array], Array], row_bytes: float) -> None:
        """Take in the samples of other rows, drawn with the same seed."""
        for name, theirs in zip(later.names, later.samples, strict=True):
            self._meet([name], theirs.rows, among=later.names)
        self._lower(min(self.size, later.size))
        for name, theirs in zip(later.names, later.samples, strict=True):
            self.samples[self._places[name]].merge(theirs.first(self.size), recode)
        self.parts += later.parts
        self.is_heavy = self.is_heavy or later.is_heavy
        self._make_room(row_bytes)
        self._forget()

    def recode(self, recode: Callable[[Array], Array]) -> None:
        """Rows with the codes of another vocabulary."""
        self.samples = [sample.mapped(recode, lambda numbers: numbers) for sample in self.samples]

    def join(self) -> None:
        """Keep the columns in one table, without those of rows that have given way."""
        if self.parts:
            held = np.concatenate([sample.all_numbers for sample in self.samples])
            found = Records.joined(self.parts)
            self.parts = [found.where(np.isin(found.numbers, held))]

    def _meet(self, names: Iterable[Name], like: Array, among: Sequence[Name] = ()) -> None:
        """Make room for groups that are new, or raise where there are too many ``among`` these and ours."""
        new = [name for name in names if name not in self._places]
        if len(self.names) + len(new) > MOST_GROUPS:
            raise _too_many(self.layout, len({*self.names, *new, *among}))
        for name in new:
            self._places[name] = len(self.names)
            self.names.append(name)
            self.samples.append(UniformSample.empty(self.size, like, self.seed))

    def _make_room(self, row_bytes: float) -> None:
        size = self.size
        while self._rows(size) > self.most and size > max(4 * self.least, 1):
            size //= 2
        self._lower(size)
        if self.is_heavy or row_bytes * self._rows(size) > _HELD:
            self.is_heavy, self.parts = True, []

    def _rows(self, size: int) -> int:
        """How many there are in all samples of this size."""
        return sum(min(sample.seen, size) for sample in self.samples)

    def _lower(self, size: int) -> None:
        if size < self.size:
            self.size, self.samples = size, [sample.first(size) for sample in self.samples]

    def _forget(self) -> None:
        if len(self.parts) > _PARTS or sum(map(len, self.parts)) > 2 * self._rows(self.size):
            self.join()

    def _check_form(self) -> None:
        require(len(self.layout.categories()) == len(self.layout.items) == 1, "a column of groups")
        require(are_counts(self.seed, self.size, self.most, self.least) and self.size >= 1, "the size of a sample")
        require(len(self._places) == len(self.names) == len(self.samples) <= MOST_GROUPS, "the samples of groups")
        given = {(sample.seed, sample.size) for sample in self.samples}
        require(given <= {(self.seed, self.size)}, "samples of different sizes")


@storable
@dataclass
class GroupSums(Value):
    """The sums of some groups, in the order of their pass."""

    sums: list[Sums]

    def _check_form(self) -> None:
        require(are_counts(self.rows) and sum(one.rows for one in self.sums) <= self.rows, "the rows of groups")

    def merge(self, later: "GroupSums") -> None:
        for mine, theirs in zip(self.sums, later.sums, strict=True):
            mine.merge(theirs)
        self.rows += later.rows


@storable
@dataclass(frozen=True, eq=False)
class GroupSumsPass(Pass[GroupSums]):
    """One pass for many groups: each block is split, and each part goes to the pass of its group. O(rows points d).

    The rows of groups that need no sums are read and left alone.
    """

    label: ClassVar[str] = "sum"

    stage: str
    skip: bool
    groups: Layout
    names: list[str | None]
    passes: list[SumsPass]  # one for each of these names

    @classmethod
    def of(cls, groups: Layout, names: list[Name], passes: list[SumsPass]) -> "GroupSumsPass":
        return cls(passes[0].stage, passes[0].skip, groups, names, passes)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.passes[0].columns, *self.groups.columns]))

    def begin(self, partition: Partition) -> GroupSums:
        return GroupSums([one.begin(partition) for one in self.passes])

    def layout(self, value: GroupSums) -> Layout:
        return self.passes[0].encoding.layout

    @property
    def in_threads(self) -> bool:
        return all(one.in_threads for one in self.passes)

    def look(self, block: RowBlock, partition: Partition) -> list[tuple[int, RowBlock, Any]]:
        """Of each group its place, its rows, and what its pass has seen in them."""
        places, found = {name: place for place, name in enumerate(self.names)}, []
        for name, rows in groups_in(self.groups, block):
            if name in places:
                place, part = places[name], _part(block, rows)
                found.append((place, part, self.passes[place].look(part, partition)))
        return found

    def take(self, value: GroupSums, block: RowBlock, seen: Any, partition: Partition) -> None:
        for place, part, own in seen:
            value.sums[place].rows += len(part)
            self.passes[place].take(value.sums[place], part, own, partition)

    def end(self, value: GroupSums, partition: Partition) -> None:
        check_count(partition.names, value.rows, self.passes[0].counts.get(partition.number, 0))


def _part(block: RowBlock, rows: Indices) -> RowBlock:
    """Some rows of a block, without their tables."""
    arrays = {name: getattr(block, name)[rows] for name in ("rows", "numbers", "sources", "in_file")}
    return replace(block, tables=[], **arrays)
