"""Rows with files or tables of their own that stand beside the inputs: chosen before, or never to be chosen."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protosieve._arrow_types import is_list
from protosieve._formatting import counted
from protosieve._pictures import Folders
from protosieve._typing import Array
from protosieve.errors import InputError, arg, warn
from protosieve.io import BadRows, Source
from protosieve.passes._fingerprints import fingerprint
from protosieve.passes._groups import Name, names_in
from protosieve.passes._tables import Records, joined, typed
from protosieve.preprocess import Encoding, Layout
from protosieve.selectors import Beside

T = TypeVar("T")


_WHOLE = re.compile(r"(-?\d+)\.0+")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(?:Z|\+00:00)?")


@dataclass(frozen=True, eq=False)
class NamedRows:
    """All rows of some files, in memory. They need the columns that rows are compared by, and may have others."""

    argument: str
    files: list[dict[str, Any]] = field(default_factory=list)
    parts: list[pa.Table] = field(default_factory=list)  # one for each file
    places: NDArray[np.int64] | None = None  # among all rows, if these are some of them
    folders: list[Folders] = field(default_factory=list)  # of each file, where its paths may lead

    @classmethod
    def read(cls, argument: str, sources: Sequence[Source]) -> "NamedRows":
        parts = []
        for source in sources:
            pieces = [piece.table for piece in source.pieces(None, 0, BadRows(skip=False))]
            parts.append(_rows_of_tasks(joined(pieces) if pieces else source.schema().empty_table()))
        files, folders = [fingerprint(source) for source in sources], [source.folders for source in sources]
        return cls(argument, files, parts, folders=folders)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def like(self, schema: pa.Schema) -> "NamedRows":
        """With lists where these columns hold lists, and files of text have them spelt as JSON."""
        return replace(self, parts=[_with_lists(part, schema) for part in self.parts])

    def of_group(self, layout: Layout, name: Name) -> "NamedRows":
        """Those of a group."""
        found = self._each(lambda part, _: names_in(layout, part))
        masks = [np.array([one == name for one in of_part], np.bool_) for of_part in found]
        parts = [part.filter(pa.array(mask)) for part, mask in zip(self.parts, masks, strict=True)]
        return replace(self, parts=parts, places=np.flatnonzero(np.concatenate([np.zeros(0, np.bool_), *masks])))

    @property
    def names(self) -> list[str]:
        return [file["name"] for file in self.files]

    def encoded(self, encoding: Encoding) -> Array:
        """As the inputs are."""
        none = np.zeros((0, len(encoding.names)), np.float32)

        def read(part: pa.Table, folders: Folders) -> Array:
            return encoding.encode(typed(part, encoding.layout), folders) if len(part) else none

        found = self._each(read)
        return np.concatenate([none, *found])

    def _each(self, read: Callable[[pa.Table, Folders], T]) -> list[T]:
        """What is read of each file; an `InputError` where that cannot be, which names the file."""
        found = []
        for name, part, folders in zip(self.names, self.parts, self.folders, strict=True):
            try:
                found.append(read(part, folders))
            except InputError as error:
                where = arg(self.argument) if name == self.argument else f"{arg(self.argument)}: {name}"
                raise InputError(f"{where}: {error}") from error
        return found

    def ids(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """What stands in these columns, of files that have them all; a row in which nothing does has no id."""
        there = [part for part in self.parts if set(columns) <= set(part.column_names)]
        return [row for part in there for row in rows_of_cells(part, columns) if any(row)]

    def records(self, places: NDArray[np.int64], names: Sequence[str], first_file: int) -> Records:
        """Some of the rows, with columns of these names; what a file does not have is null."""
        tables = [
            pa.table([part[name] if name in part.column_names else pa.nulls(len(part)) for name in names], names=names)
            for part in self.parts
        ]
        files = np.repeat(np.arange(len(tables)), [len(part) for part in tables])
        return Records(-1 - places, first_file + files[places], joined(tables).take(pa.array(places)))


@dataclass(frozen=True, eq=False)
class Aside:
    """``keep`` are members of the result. Rows equal to them or to those to ``exclude`` are not chosen, nor are rows
    with one of their ids, if rows have ids.
    """

    keep: NamedRows = field(default_factory=lambda: NamedRows("keep"))
    exclude: NamedRows = field(default_factory=lambda: NamedRows("exclude_rows"))

    @property
    def is_empty(self) -> bool:
        return not (self.keep.files or self.exclude.files)

    def like(self, schema: pa.Schema) -> "Aside":
        """With values as columns of the inputs have them."""
        return Aside(self.keep.like(schema), self.exclude.like(schema))

    @property
    def files(self) -> list[dict[str, Any]]:
        return [*self.keep.files, *self.exclude.files]

    def note_twice(self, ids: Sequence[str]) -> None:
        """A note on rows to keep that have the id of another: two files of rounds, and the later has both rounds."""
        named = self.keep.ids(ids) if ids else []
        twice = len(named) - len(set(named))
        if twice:
            warn(
                f"{arg('keep')}: {counted(twice, 'row')} {'has' if twice == 1 else 'have'} the id of another, and each "
                "is in the result; where the file of a round has the rows that it kept too, give the last one only"
            )

    def of_group(self, layout: Layout, name: Name) -> "Aside":
        """What stands beside the rows of a group: of the rows to keep its own, and none of the others can be chosen."""
        files, parts = [*self.exclude.files, *self.keep.files], [*self.exclude.parts, *self.keep.parts]
        folders = [*self.exclude.folders, *self.keep.folders]
        return Aside(self.keep.of_group(layout, name), replace(self.exclude, files=files, parts=parts, folders=folders))

    def numbered(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The indices of prototypes of a group, with those of rows to keep as they are among all of these."""
        if self.keep.places is None:
            return indices
        found = indices.copy()
        found[indices < 0] = -1 - self.keep.places[-1 - indices[indices < 0]]
        return found

    def barred(self, records: Records, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Of rows with their columns, those that have an id of a row that is kept or excluded."""
        known = {*self.keep.ids(ids), *self.exclude.ids(ids)}
        return np.array([row in known for row in rows_of_cells(records.table, ids)], np.bool_)

    def encoded(self, encoding: Encoding, same: Array) -> dict[str, Array]:
        """As arguments of a selector, if there are any; ``same`` are rows of the inputs that have one of the ids."""
        if self.is_empty:
            return {}
        exclude = np.concatenate([self.exclude.encoded(encoding), same])
        return {"keep": self.keep.encoded(encoding), "exclude": exclude}

    def allowed(self, encoding: Encoding, rows: Array) -> Array:
        """Of some rows as they are encoded, those that may be chosen, whatever their ids."""
        given = self.encoded(encoding, rows[:0])
        beside = Beside.of(given.get("keep"), given.get("exclude"), rows, None)
        return rows if beside is None else rows[beside.allowed(rows)]

    def beside(self, records: Records, indices: NDArray[np.int64], first_file: int) -> Records:
        """The columns of chosen rows and, after them, those of the rows to keep among these ``indices``."""
        places = -1 - indices[indices < 0]
        if not len(places):
            return records
        kept = self.keep.records(places, records.table.column_names, first_file)
        numbers, files = (np.append(getattr(records, name), getattr(kept, name)) for name in ("numbers", "files"))
        return Records(numbers, files, joined([records.table, kept.table]))


def _rows_of_tasks(part: pa.Table) -> pa.Table:
    """Of a list of tasks for Label Studio the rows in its ``data``, empty text as null; else the table as it is."""
    kind = part.schema.field("data").type if part.column_names.count("data") == 1 else pa.null()
    if not (pa.types.is_struct(kind) and kind.get_field_index("protosieve_row") >= 0):
        return part
    cells = part["data"].combine_chunks().flatten()
    cells = [pc.if_else(pc.equal(one, ""), None, one) if pa.types.is_string(one.type) else one for one in cells]
    return pa.table(cells, names=[field.name for field in kind])


def _with_lists(part: pa.Table, schema: pa.Schema) -> pa.Table:
    """A column that cannot be read as lists stays text, and is told of where it is needed."""
    for place, name in enumerate(part.column_names):
        kind = schema.field(name).type if name in schema.names else pa.null()
        if pa.types.is_string(part.column(place).type) and is_list(kind):
            with suppress(ValueError, pa.ArrowException):
                cells = [None if cell is None else json.loads(cell) for cell in part.column(place).to_pylist()]
                part = part.set_column(place, name, pa.array(cells, kind))
    return part


def rows_of_cells(table: pa.Table, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The cells of these columns, row by row, as text: ids of a CSV file are that of a Parquet file."""
    cells = [[None if cell is None else _as_id(str(cell)) for cell in table[name].to_pylist()] for name in columns]
    return list(zip(*cells, strict=True))


def _as_id(text: str) -> str:
    """Whole numbers and moments alike, whatever type they came in and whoever wrote them.

    >>> _as_id("17.0"), _as_id("2024-02-29T00:00:00.000Z"), _as_id("2024-02-29 07:30:00.500"), _as_id("v1.0")
    ('17', '2024-02-29', '2024-02-29 07:30:00.5', 'v1.0')
    """
    if found := _WHOLE.fullmatch(text):
        return found[1]
    if found := _MOMENT.fullmatch(text):
        time = f"{found[2]}{(found[3] or '').rstrip('0').rstrip('.')}"
        return found[1] if time == "00:00:00" else f"{found[1]} {time}"
    return text
