"""Tables of the users' own columns, kept for the few rows that may be chosen."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import require

__all__ = ["HeldRows", "compact", "joined", "packed", "taken", "unpacked"]


def joined(tables: list[pa.Table]) -> pa.Table:
    """One after the other; where the types of a column differ, wide enough for both, if need be text."""
    if len(tables) == 1:
        return tables[0]
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


def compact(table: pa.Table) -> pa.Table:
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
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


@storable
@dataclass
class HeldRows:
    """The users' own columns of some rows, by row number in the stream of usable rows, rising.

    ``places`` has a line for each: that number, the row's number in the whole input, and its file's. In a state file
    the columns are an Arrow stream, kept as bytes.
    """

    packed: NDArray[np.uint8] | None = None
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), np.int64))

    def __post_init__(self) -> None:
        self._table: pa.Table | None = None if self.packed is None else unpacked(self.packed)
        self.packed = None

    def _check_form(self) -> None:
        length = 0 if self._table is None else len(self._table)
        require(self.places.shape == (length, 3) and (self.places >= 0).all(), "the places of rows")
        require((np.diff(self.places[:, 0]) > 0).all(), "the numbers of rows do not rise")

    def follow(
        self,
        held: NDArray[np.int64],
        first: int,
        numbers: NDArray[np.int64],
        sources: NDArray[np.int64],
        tables: Sequence[pa.Table],
    ) -> None:
        """Of all rows the ``held`` ones are needed; some may be in this block, whose first row is number ``first``."""
        own = held[(held >= first) & (held < first + len(numbers))] - first
        self.update(held, np.column_stack([own + first, numbers[own], sources[own]]), taken(tables, own))

    def update(self, held: NDArray[np.int64], places: NDArray[np.int64], table: pa.Table) -> None:
        """Of all rows the ``held`` ones are still needed; some are new, here are their places and columns."""
        if self._table is None:
            self._table, self.places = table.combine_chunks(), places
            return
        keep, fresh = np.isin(self.places[:, 0], held), ~np.isin(places[:, 0], self.places[:, 0])
        if fresh.any() or not keep.all():
            both = np.concatenate([self.places[keep], places[fresh]])
            order = np.argsort(both[:, 0])  # a review brings rows from before those that are held
            table = joined([self._table.filter(pa.array(keep)), table.filter(pa.array(fresh))])
            self._table, self.places = table.take(pa.array(order)).combine_chunks(), both[order]

    def of(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Table]:
        """Of rows, in the order asked for: numbers in the whole input, files, columns."""
        assert self._table is not None
        found = np.searchsorted(self.places[:, 0], indices)
        assert (self.places[found, 0] == indices).all(), "a prototype's own columns were forgotten"
        return self.places[found, 1], self.places[found, 2], self._table.take(pa.array(found))

    def storable(self) -> "HeldRows":
        """The same as a value that can be stored."""
        twin = HeldRows(places=self.places)
        twin.packed = None if self._table is None else packed(self._table)
        return twin


def packed(table: pa.Table) -> NDArray[np.uint8]:
    """A table as bytes: an Arrow stream."""
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(stream.getvalue(), np.uint8)


def unpacked(data: NDArray[np.uint8]) -> pa.Table:
    """The table of such bytes; anything else is an error, for they may come from a file that somebody has forged."""
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
