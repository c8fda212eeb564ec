"""Plain values back to Arrow columns: the inverse of `_plain`, for formats that have no types of their own."""

import base64
import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve.io._plain import is_binary, is_list, per_second

__all__ = ["from_numpy", "from_values"]


def from_values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """What `as_values` made of a column of this type.

    >>> from_values(["2024-02-29T12:00:00", None], pa.timestamp("s")).to_pylist()
    [datetime.datetime(2024, 2, 29, 12, 0), None]
    """
    if isinstance(kind, pa.BaseExtensionType):
        return from_values(values, kind.storage_type)
    if pa.types.is_dictionary(kind):
        return from_values(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_timestamp(kind):
        text = pa.array([None if value is None else value.removesuffix("Z") for value in values], pa.string())
        return text.cast(pa.timestamp(kind.unit)).view(kind)
    if pa.types.is_time(kind):
        return _times(values, kind)
    if pa.types.is_date(kind) or pa.types.is_decimal(kind):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_duration(kind):
        ticks = [None if value is None else round(value * per_second(kind)) for value in values]
        return pa.array(ticks, pa.int64()).cast(kind)
    if is_binary(kind):
        return pa.array([None if value is None else base64.b64decode(value, validate=True) for value in values], kind)
    if pa.types.is_floating(kind):
        return pa.array(values, pa.float64()).cast(kind, safe=False)
    if pa.types.is_struct(kind):
        return _structs(values, kind)
    return _lists(values, kind) if is_list(kind) else pa.array(values, kind)


def from_numpy(values: NDArray[Any], kind: pa.DataType, nulls: list[int]) -> pa.Array:
    """What `as_numpy` made of a column of this type, with nulls in these rows."""
    missing = np.zeros(len(values), np.bool_)
    missing[nulls] = True
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if values.dtype.kind == "M":
        wide = values.astype(f"M8[{plain.unit}]") if pa.types.is_timestamp(plain) else values
        found = pa.array(wide, mask=missing)
        return (found.view(plain) if pa.types.is_timestamp(plain) else found.cast(plain)).cast(kind)
    cells = [_cell(value, plain) for value in values.tolist()]
    return from_values([None if null else cell for cell, null in zip(cells, missing, strict=True)], kind)


def _cell(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, str):
        spelt = is_list(kind) or pa.types.is_struct(kind) or pa.types.is_duration(kind) or pa.types.is_map(kind)
        return json.loads(value) if spelt and value else value
    if isinstance(value, float) and value == value and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return int(value) if pa.types.is_integer(kind) else bool(value)  # beside nulls they are floats
    return value


def _times(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Arrow reads no time of day, but the moment it is on the first of days."""
    text = pa.array([None if value is None else f"1970-01-01T{value}" for value in values], pa.string())
    ticks = text.cast(pa.timestamp(kind.unit)).view(pa.int64())
    return (ticks.cast(pa.int32()) if kind.bit_width == 32 else ticks).view(kind)


def _structs(values: list[Any], kind: pa.DataType) -> pa.Array:
    fields = [kind.field(i) for i in range(kind.num_fields)]
    parts = [from_values([None if v is None else v[field.name] for v in values], field.type) for field in fields]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=pa.array([value is None for value in values]))


def _lists(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(kind):
        filled = [[None] * kind.list_size if value is None else value for value in values]
        flat = from_values([cell for value in filled for cell in value], kind.value_type)
        mask = pa.array([value is None for value in values])
        return pa.FixedSizeListArray.from_arrays(flat, type=kind, mask=mask)
    flat = from_values([cell for value in values for cell in value or ()], kind.value_type)
    ends = np.cumsum([0, *(len(value or ()) for value in values)])
    starts = [None if value is None else int(end) for value, end in zip(values, ends[:-1], strict=True)]
    large = pa.types.is_large_list(kind)
    offsets = pa.array([*starts, int(ends[-1])], pa.int64() if large else pa.int32())
    return (pa.LargeListArray if large else pa.ListArray).from_arrays(offsets, flat, type=kind)
