"""Arrow's newer layouts as the older ones, of which rows can be taken: Arrow itself has no such function for them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["settled", "settled_schema"]


def settled(table: pa.Table) -> pa.Table:
    """The table with plain text, bytes and lists where it has views, and values where it has runs.

    O(cells) for such columns, nothing for others.

    >>> settled(pa.table({"a": pa.array(["x", None], pa.string_view())})).schema.field("a").type
    DataType(string)
    """
    if all(_settled(kind) == kind for kind in dict.fromkeys(table.schema.types)):
        return table
    schema = settled_schema(table.schema)
    pairs = zip(table.columns, schema, strict=True)
    return pa.table([_settled_column(column, field.type) for column, field in pairs], schema=schema)


def settled_schema(schema: pa.Schema) -> pa.Schema:
    """The columns that `settled` makes of these."""
    return pa.schema([field.with_type(_settled(field.type)) for field in schema], schema.metadata)


def _settled_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == kind else pa.chunked_array(map(_as_plain, column.chunks), kind)


def _settled(kind: pa.DataType) -> pa.DataType:
    """Of a column: lists in views and runs only where they are not inside of others."""
    if pa.types.is_run_end_encoded(kind):
        return _settled(kind.value_type)
    if pa.types.is_list_view(kind):
        return pa.list_(_inside(kind))
    return pa.large_list(_inside(kind)) if pa.types.is_large_list_view(kind) else _plain(kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_inside(kind), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(_inside(kind))
    return pa.large_list(_inside(kind)) if pa.types.is_large_list(kind) else kind


def _inside(kind: pa.DataType) -> pa.Field:
    return kind.value_field.with_type(_plain(kind.value_type))


def _as_plain(cells: Any) -> Any:
    if pa.types.is_run_end_encoded(cells.type):
        return _as_plain(pc.run_end_decode(cells))
    if pa.types.is_list_view(cells.type) or pa.types.is_large_list_view(cells.type):
        return _lists(cells)
    return cells.cast(_plain(cells.type))


def _lists(cells: Any) -> Any:
    """By hand: Arrow's cast of list views mixes up the places of lists (as of pyarrow 26)."""
    large = pa.types.is_large_list_view(cells.type)
    ends = np.cumsum([0, *pc.fill_null(pc.list_value_length(cells), 0).to_pylist()])
    of, whole = (pa.LargeListArray, pa.int64()) if large else (pa.ListArray, pa.int32())
    kind = (pa.large_list if large else pa.list_)(cells.type.value_field)
    lists = of.from_arrays(pa.array(ends, whole), cells.flatten(), type=kind, mask=cells.is_null())
    return lists.cast(_plain(kind))
