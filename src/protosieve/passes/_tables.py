"""Tables of the users' own columns, kept for the few rows that may be chosen."""

import io
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protosieve import _state
from protosieve._state import storable
from protosieve._typed import require
from protosieve.passes._blocks import RowBlock
from protosieve.preprocess import Layout

_LONG = r"^-?[0-9]{16,}$"  # a whole number that float64 may not hold


def joined(tables: list[pa.Table]) -> pa.Table:
    """One after the other; where the types of a column differ, wide enough for both, if need be text."""
    if len(tables) == 1:
        return tables[0]
    schema = tables[0].schema
    if all(table.schema.equals(schema) for table in tables) and not any(map(pa.types.is_dictionary, schema.types)):
        return pa.concat_tables(tables)
    names = tables[0].column_names
    columns = [_joined([table.column(name) for table in tables]) for name in names]
    return pa.table(columns, names=names)


def taken(tables: Sequence[pa.Table], rows: NDArray[np.int64]) -> pa.Table:
    """Some rows, rising, of tables that stand one after the other."""
    ends = np.cumsum([len(table) for table in tables])
    parts = [
        table.take(pa.array(rows[(rows >= end - len(table)) & (rows < end)] - (end - len(table))))
        for table, end in zip(tables, ends, strict=True)
    ]
    return joined(parts)


def _compact(table: pa.Table) -> pa.Table:
    """The same with dictionaries of the values that are there only: those of a file may be large."""
    columns = [
        _decoded(column).combine_chunks().dictionary_encode() if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _joined(parts: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    types = {part.type for part in parts}
    if any(map(pa.types.is_dictionary, types)) and not _share_dictionary(parts):
        found = _joined([_decoded(part) for part in parts]).combine_chunks()
        return pa.chunked_array([found.dictionary_encode() if all(map(pa.types.is_dictionary, types)) else found])
    if len(types) == 1:
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    try:
        tables = [pa.table([part], names=["x"]) for part in _parsed(parts)]
        return pa.concat_tables(tables, promote_options="permissive").column(0)
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.chunked_array([pa.array(map(_cell, part.to_pylist()), pa.string()) for part in parts])


def _share_dictionary(parts: list[pa.ChunkedArray]) -> bool:
    """Else one for all of them would come to hold every value of a column, and may exceed the type of its codes."""
    if len({part.type for part in parts}) > 1:
        return False
    dictionaries = [chunk.dictionary for part in parts for chunk in part.chunks]
    return all(one.equals(dictionaries[0]) for one in dictionaries)


def _decoded(part: pa.ChunkedArray) -> pa.ChunkedArray:
    return part.cast(part.type.value_type) if pa.types.is_dictionary(part.type) else part


def _parsed(parts: list[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """Cells of text formats as what they are elsewhere, where all of them can be."""
    typed = [part.type for part in parts if not (pa.types.is_string(part.type) or pa.types.is_null(part.type))]
    return [part.cast(typed[0]) if typed and pa.types.is_string(part.type) else part for part in parts]


def _cell(value: Any) -> str | None:
    """Text as it is, else JSON: whole numbers alike, whether they were joined to fractions before or not."""
    value = int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


@storable
@dataclass(frozen=True, eq=False)
class Records:
    """Some rows with the users' own columns."""

    numbers: NDArray[np.int64]
    files: NDArray[np.int64]
    table: pa.Table

    def _check_form(self) -> None:
        lengths = {self.numbers.shape, self.files.shape, (len(self.table),)}
        require(len(lengths) == 1 and (self.numbers >= 0).all() and (self.files >= 0).all(), "the columns of rows")

    def __len__(self) -> int:
        return len(self.numbers)

    def taken(self, which: NDArray[np.int64]) -> "Records":
        """Those at these positions, with no values of others: what is written follows from the rows alone."""
        return Records(self.numbers[which], self.files[which], _compact(self.table.take(pa.array(which))))

    def where(self, mask: NDArray[np.bool_]) -> "Records":
        """Those that a mask marks."""
        return Records(self.numbers[mask], self.files[mask], self.table.filter(pa.array(mask)))

    def of(self, numbers: NDArray[np.int64]) -> "Records":
        """Those of these numbers, which are there, in their order."""
        order = np.argsort(self.numbers)
        found = order[np.searchsorted(self.numbers, numbers, sorter=order)]
        assert np.array_equal(self.numbers[found], numbers), "a row's own columns were forgotten"
        return self.taken(found)

    def under(self, number: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> "Records":
        """The same rows under other numbers."""
        return replace(self, numbers=number(self.numbers))

    @classmethod
    def of_block(cls, block: RowBlock, rows: NDArray[np.int64], first_file: int) -> "Records":
        """Some rows of a block, whose files are counted from ``first_file`` on."""
        table = _compact(taken(block.tables, rows)).combine_chunks()
        return cls(block.numbers[rows], block.sources[rows] + first_file, table)

    @classmethod
    def joined(cls, parts: Sequence["Records"]) -> "Records":
        """By rising number."""
        numbers, files = (np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "files"))
        order = np.argsort(numbers)
        table = joined([part.table for part in parts]).take(pa.array(order))
        return cls(numbers[order], files[order], _compact(table).combine_chunks())


@storable
@dataclass
class HeldRows:
    """The rows a selector holds, with the users' own columns.

    ``places`` are their numbers in the stream of usable rows, rising; ``records`` has a row for each.
    """

    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    records: Records | None = None  # None before the first row

    def _check_form(self) -> None:
        require(self.places.shape == (0 if self.records is None else len(self.records),), "the places of rows")
        require((self.places >= 0).all() and (np.diff(self.places) > 0).all(), "the numbers of rows do not rise")

    def follow(self, held: NDArray[np.int64], first: int, block: RowBlock) -> None:
        """Of all rows the ``held`` ones are needed; some may be in this block, which begins at place ``first``."""
        own = held[(held >= first) & (held < first + len(block))] - first
        self.update(held, own + first, Records(block.numbers[own], block.sources[own], taken(block.tables, own)))

    def update(self, held: NDArray[np.int64], places: NDArray[np.int64], records: Records) -> None:
        """Of all rows the ``held`` ones are still needed; some are new, here are their places and columns."""
        if self.records is None:
            self.places, self.records = places, Records.joined([records])
            return
        keep, fresh = np.isin(self.places, held), ~np.isin(places, self.places)
        if fresh.any() or not keep.all():  # numbers rise as places do; a review brings rows from before those held
            self.places = np.sort(np.concatenate([self.places[keep], places[fresh]]))
            self.records = Records.joined([self.records.where(keep), records.where(fresh)])

    def of(self, places: NDArray[np.int64]) -> Records:
        """Those at these places, which are held, in this order."""
        assert self.records is not None
        found = np.searchsorted(self.places, places)
        assert (self.places[found] == places).all(), "a prototype's own columns were forgotten"
        return self.records.taken(found)


def typed(table: pa.Table, layout: Layout) -> pa.Table:
    """Number columns of text formats as numbers; all other text stays what it is."""
    numbers = {column.name for column in layout.items if column.kind == "number"}
    columns = [
        _numbers(cells) if field.name in numbers and pa.types.is_string(field.type) else cells
        for field, cells in zip(table.schema, table.columns, strict=True)
    ]
    fields = [field.with_type(cells.type) for field, cells in zip(table.schema, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def _numbers(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers keep all their digits, or stay text."""
    trimmed = pc.ascii_trim_whitespace(cells)
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return trimmed.cast(kind)
    if not pc.any(pc.match_substring_regex(trimmed, _LONG)).as_py():
        with suppress(pa.ArrowInvalid):
            return trimmed.cast(pa.float64())
    return cells


def packed(table: pa.Table) -> NDArray[np.uint8]:
    """A table as bytes: an Arrow stream."""
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(stream.getvalue(), np.uint8)


def unpacked(data: NDArray[np.uint8]) -> pa.Table:
    """The table of such bytes; anything else is an error: they may come from a forged file."""
    require(data.ndim == 1, "a table is a line of bytes")
    stream = pa.py_buffer(data.tobytes())
    for message in pa.ipc.MessageReader.open_stream(stream):
        require(not _is_compressed(message), "a table is compressed, which .save() never does")
    with pa.ipc.open_stream(stream) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table


def _is_compressed(message: pa.Message) -> bool:
    """Whether its buffers would grow when read. pyarrow does not tell, but Arrow's format says where it stands: in a
    ``Message`` field 2 is the header; of a ``DictionaryBatch`` field 1 is a ``RecordBatch``, of which field 3 is the
    compression.
    """
    data = message.metadata.to_pybytes()
    header = _field(data, _followed(data, 0), 2)
    if header is None or message.type not in ("dictionary", "record batch"):
        return False
    if message.type == "dictionary":
        header = _field(data, header, 1)
    return header is not None and _field(data, header, 3) is not None


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a table begins that a table of flatbuffers has in one of its fields; None where that is empty."""
    slots = table - int.from_bytes(data[table : table + 4], "little", signed=True)
    place = slots + 4 + 2 * number
    if place >= slots + int.from_bytes(data[slots : slots + 2], "little"):
        return None
    offset = int.from_bytes(data[place : place + 2], "little")
    return _followed(data, table + offset) if offset else None


def _followed(data: bytes, place: int) -> int:
    return place + int.from_bytes(data[place : place + 4], "little")


_state.store_as(pa.Table, packed, unpacked)
