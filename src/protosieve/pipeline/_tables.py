"""Tables of the users' own columns, kept for the few rows that may be chosen."""

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._state import storable

__all__ = ["Records", "joined"]


def joined(tables: list[pa.Table]) -> pa.Table:
    """One after the other; where the types of a column differ, wide enough for both, if need be text."""
    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.concat_tables([_as_text(table, _clashing(tables)) for table in tables], promote_options="permissive")


def _clashing(tables: list[pa.Table]) -> set[str]:
    """Columns whose types have nothing in common."""
    clashing = set()
    for name in tables[0].column_names:
        try:
            pa.unify_schemas(
                [pa.schema([table.schema.field(name).remove_metadata()]) for table in tables],
                promote_options="permissive",
            )
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            clashing.add(name)
    return clashing


def _as_text(table: pa.Table, names: set[str]) -> pa.Table:
    for name in names:
        place = table.schema.get_field_index(name)
        cells = [_cell(value) for value in table.column(place).to_pylist()]
        table = table.set_column(place, name, pa.array(cells, pa.string()))
    return table


def _cell(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


@storable
@dataclass
class Records:
    """The users' own columns of some rows, by row number in the stream of usable rows, rising.

    In a state file they are an Arrow stream, kept as bytes.
    """

    packed: NDArray[np.uint8] | None = None
    indices: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        self._table: pa.Table | None = None if self.packed is None else _unpacked(self.packed)
        self.packed = None

    def update(self, first: int, table: pa.Table, held: NDArray[np.int64]) -> None:
        """Rows ``first`` and on have come, with these columns; of all rows only the ``held`` ones are still needed."""
        own = held[(held >= first) & (held < first + len(table))]
        new = table.take(pa.array(own - first))
        if self._table is None or self.indices is None:
            self._table, self.indices = new.combine_chunks(), own
            return
        keep = np.isin(self.indices, held)
        if len(own) or not keep.all():
            kept = self._table.filter(pa.array(keep))
            self._table = joined([kept, new]).combine_chunks()
            self.indices = np.concatenate([self.indices[keep], own])

    def of(self, indices: NDArray[np.int64]) -> pa.Table:
        """The columns of rows, in the order asked for."""
        assert self._table is not None
        assert self.indices is not None
        return self._table.take(pa.array(np.searchsorted(self.indices, indices)))

    def pack(self) -> "Records":
        """The same as a value that can be stored."""
        if self._table is None:
            return Records()
        packed = Records(None, self.indices)
        packed.packed = _packed(self._table)
        return packed


def _packed(table: pa.Table) -> NDArray[np.uint8]:
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(stream.getvalue(), np.uint8)


def _unpacked(packed: NDArray[np.uint8]) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(packed.tobytes())) as reader:
        return reader.read_all()
