"""Plain values back to Arrow columns: the inverse of `_plain`, for formats that have no types of their own."""

import base64
import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve.io._plain import day_or_tick, is_binary, is_list, is_list_view, per_second

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
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _dates(values, kind)
    if pa.types.is_time(kind):
        return _times(values, kind)
    if pa.types.is_decimal(kind):
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
    if pa.types.is_map(kind):
        return _maps(values, kind)
    return _lists(values, kind) if is_list(kind) else pa.array(values, kind)


def from_numpy(values: NDArray[Any], kind: pa.DataType, nulls: list[int], quoted: bool = False) -> pa.Array:
    """What `as_numpy` made of a column of this type, with nulls in these rows; ``quoted`` is text as JSON text."""
    missing = np.zeros(len(values), np.bool_)
    missing[nulls] = True
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if values.dtype.kind == "M":
        wide = values.astype(f"M8[{plain.unit}]") if pa.types.is_timestamp(plain) else values
        found = pa.array(wide, mask=missing)
        return (found.view(plain) if pa.types.is_timestamp(plain) else found.cast(plain)).cast(kind)
    cells = [json.loads(value) if quoted else _cell(value, plain) for value in values.tolist()]
    return from_values([None if null else cell for cell, null in zip(cells, missing, strict=True)], kind)


def _cell(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, str):
        return json.loads(value) if _is_spelt(kind) and value else value
    if isinstance(value, float) and value == value and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return int(value) if pa.types.is_integer(kind) else bool(value)  # beside nulls they are floats
    return value


def _is_spelt(kind: pa.DataType) -> bool:
    """What is JSON text where it has no array of its own."""
    tests = (pa.types.is_struct, pa.types.is_duration, pa.types.is_map, pa.types.is_integer)
    return is_list(kind) or any(test(kind) for test in tests)


def _dates(values: list[Any], kind: pa.DataType) -> pa.Array:
    """In any year, which Arrow does not read."""
    spelt = ["1970-01-01" if value is None else value.removesuffix("Z") for value in values]
    ticks = np.array(spelt, f"M8[{day_or_tick(kind)}]").astype(np.int64)
    missing = np.array([value is None for value in values], np.bool_)
    return pa.array(ticks, pa.int32() if pa.types.is_date32(kind) else pa.int64(), mask=missing).view(kind)


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
    if is_list_view(kind):
        return _list_views(values, flat, kind)
    large = pa.types.is_large_list(kind)
    offsets = pa.array(_starts(values), pa.int64() if large else pa.int32())
    return (pa.LargeListArray if large else pa.ListArray).from_arrays(offsets, flat, type=kind)


def _list_views(values: list[Any], flat: pa.Array, kind: pa.DataType) -> pa.Array:
    large = pa.types.is_large_list_view(kind)
    whole = pa.int64() if large else pa.int32()
    sizes = [len(value or ()) for value in values]
    starts = pa.array(np.cumsum([0, *sizes])[:-1], whole)
    mask = pa.array([value is None for value in values], pa.bool_())
    of = pa.LargeListViewArray if large else pa.ListViewArray
    return of.from_arrays(starts, pa.array(sizes, whole), flat, type=kind, mask=mask)


def _maps(values: list[Any], kind: pa.DataType) -> pa.Array:
    pairs = [pair for value in values for pair in value or ()]
    keys = from_values([key for key, _ in pairs], kind.key_type)
    items = from_values([item for _, item in pairs], kind.item_type)
    return pa.MapArray.from_arrays(pa.array(_starts(values), pa.int32()), keys, items, type=kind)


def _starts(values: list[Any]) -> list[int | None]:
    """Where each list begins among the items of all, null where it is; and the end of the last."""
    ends = np.cumsum([0, *(len(value or ()) for value in values)]).tolist()
    return [*(None if value is None else end for value, end in zip(values, ends[:-1], strict=True)), ends[-1]]
