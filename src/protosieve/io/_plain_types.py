"""Arrow's newer layouts as the older ones, of which rows can be taken: Arrow has no such function for the newer."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protosieve._arrow_types import is_list, is_list_view


def plain_table(table: pa.Table) -> pa.Table:
    """The table with plain text, bytes and lists where it has views, and values where it has runs.

    O(cells) for such columns, nothing for others.

    >>> plain_table(pa.table({"a": pa.array(["x", None], pa.string_view())})).schema.field("a").type
    DataType(string)
    """
    if all(_plain(kind, top=True) == kind for kind in dict.fromkeys(table.schema.types)):
        return table
    schema = plain_schema(table.schema)
    pairs = zip(table.columns, schema, strict=True)
    return pa.table([_as_plain(column, field.type) for column, field in pairs], schema=schema)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that `plain_table` gives a table of this one."""
    return pa.schema([field.with_type(_plain(field.type, top=True)) for field in schema], schema.metadata)


def _plain(kind: pa.DataType, top: bool = False) -> pa.DataType:
    """Lists in views and runs are made plain only at the ``top``, where they are not inside of others."""
    if top and pa.types.is_run_end_encoded(kind):
        return _plain(kind.value_type, top)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain(kind.value_type), kind.ordered)
    if not is_list(kind) or (is_list_view(kind) and not top):
        return kind
    inside = kind.value_field.with_type(_plain(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inside, kind.list_size)
    is_large = pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind)
    return (pa.large_list if is_large else pa.list_)(inside)


def _as_plain(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    chunks = column.chunks
    if pa.types.is_run_end_encoded(column.type):
        chunks = [pc.run_end_decode(cells) for cells in chunks]
    chunks = [_as_lists(cells) if is_list_view(cells.type) else cells for cells in chunks]
    return pa.chunked_array([_cast(cells, kind) for cells in chunks], kind)


def _cast(cells: Any, kind: pa.DataType) -> Any:
    """Of a dictionary its values only."""
    if not pa.types.is_dictionary(kind) or not pa.types.is_dictionary(cells.type):
        return cells.cast(kind)
    return pa.DictionaryArray.from_arrays(cells.indices, cells.dictionary.cast(kind.value_type), ordered=kind.ordered)


def _as_lists(cells: Any) -> Any:
    """By hand: Arrow's cast of list views mixes up the places of lists (as of pyarrow 26)."""
    large = pa.types.is_large_list_view(cells.type)
    ends = np.cumsum([0, *pc.fill_null(pc.list_value_length(cells), 0).to_pylist()])
    of, whole = (pa.LargeListArray, pa.int64()) if large else (pa.ListArray, pa.int32())
    kind = (pa.large_list if large else pa.list_)(cells.type.value_field)
    return of.from_arrays(pa.array(ends, whole), cells.flatten(), type=kind, mask=cells.is_null())
