"""Arrow columns as plain values: those that JSON, CSV and NumPy have."""

import base64
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protosieve._arrow_types import is_binary, is_list
from protosieve._rounded import are_rounded

_TICKS = {"s": 1e0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # of a second


def as_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Cells as JSON knows them. Dates are ISO 8601 text, decimals text, bytes base64; float32 has its short spelling.

    >>> import datetime
    >>> as_values(pa.array([0.1, None], pa.float32())), as_values(pa.array([datetime.datetime(2024, 2, 29, 12)]))
    ([0.1, None], ['2024-02-29T12:00:00.000000'])
    """
    cells = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = cells.type
    if isinstance(cells, pa.ExtensionArray):
        return as_values(cells.storage)
    if pa.types.is_dictionary(kind):
        return as_values(cells.dictionary_decode())
    if pa.types.is_map(kind):
        return _pairs(cells)
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return _short(cells.cast(pa.float32()))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _dates(cells)
    if pa.types.is_time(kind) or pa.types.is_decimal(kind):
        return list(cells.cast(pa.string()).to_pylist())
    if pa.types.is_duration(kind):
        return list(pc.divide(cells.cast(pa.int64()).cast(pa.float64()), _TICKS[kind.unit]).to_pylist())
    if is_binary(kind):
        return [None if cell is None else base64.b64encode(cell).decode() for cell in cells.to_pylist()]
    if pa.types.is_struct(kind):
        return _structs(cells)
    if is_list(kind):
        return _lists(cells)
    return list(cells.to_pylist())


def as_json(value: object) -> str:
    """One line of JSON. It has no NaN and no infinity: they are null."""
    return json.dumps(without_nan(value), ensure_ascii=False, allow_nan=False, default=str)


def without_nan(value: Any) -> Any:
    """The same value, with null for NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): without_nan(item) for key, item in value.items()}
    return [without_nan(item) for item in value] if isinstance(value, list | tuple) else value


def as_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    """One array without objects: numbers (null is NaN), dates (null is NaT), lists of one length as rows, else text.

    Integers beside nulls are text where NaN would cost their last digits.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if _is_number(kind) or pa.types.is_boolean(kind):
        return _numbers(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        return np.asarray(column.to_numpy()).astype(f"M8[{_unit(kind)}]")
    if is_list(kind) and _is_number(kind.value_type):
        matrix = _matrix(column.combine_chunks())
        if matrix is not None:
            return matrix
    cells = (cell if cell is None or isinstance(cell, str) else as_json(cell) for cell in as_values(column))
    return np.array(["" if cell is None else cell for cell in cells], dtype=np.str_)


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    if not column.null_count:
        return np.asarray(column.to_numpy())
    if pa.types.is_integer(column.type) and are_rounded(column.drop_null().to_numpy()):
        return np.array(["" if cell is None else str(cell) for cell in column.to_pylist()], dtype=np.str_)
    wide = column.type if pa.types.is_floating(column.type) else pa.float64()
    plain = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return np.asarray(plain.cast(wide, safe=False).to_numpy())


def _matrix(lists: Any) -> NDArray[Any] | None:
    """Lists of one length as rows; ``None`` where there is a null or another length."""
    lengths = pc.unique(pc.list_value_length(lists))
    values = lists.flatten()
    if len(lengths) != 1 or lists.null_count or values.null_count:
        return None
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(lists), -1)


def _short(cells: Any) -> list[Any]:
    """0.1 rather than 0.10000000149011612: Arrow spells a float32 with as few digits as tell it from others."""
    return list(cells.cast(pa.string()).cast(pa.float64()).to_pylist())


def _dates(cells: Any) -> list[Any]:
    """In any year, which Arrow does not write; with a zone as UTC: local time would need the machine's table of zones.

    >>> _dates(pa.array([2**31 - 1, None], pa.date32()))
    ['5881580-07-11', None]
    """
    whole = pa.int32() if pa.types.is_date32(cells.type) else pa.int64()
    ticks = np.asarray(cells.view(whole).fill_null(0).to_numpy(), np.int64)
    spelt = np.datetime_as_string(ticks.view(f"M8[{_unit(cells.type)}]"))
    if pa.types.is_date64(cells.type):
        spelt = np.array([moment.partition("T")[0] for moment in spelt.tolist()], dtype=np.str_)
    zone = "Z" if pa.types.is_timestamp(cells.type) and cells.type.tz is not None else ""
    return [day + zone if valid else None for day, valid in zip(spelt.tolist(), cells.is_valid(), strict=True)]


def _unit(kind: pa.DataType) -> str:
    """Of dates and timestamps, as NumPy calls it."""
    return str(kind.unit) if pa.types.is_timestamp(kind) else "D" if pa.types.is_date32(kind) else "ms"


def _structs(cells: Any) -> list[Any]:
    names = [field.name for field in cells.type]
    columns = [as_values(column) for column in cells.flatten()]  # unlike .field(), it heeds nulls and offsets
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [{}] * len(cells)
    return [row if valid else None for row, valid in zip(rows, cells.is_valid().to_pylist(), strict=True)]


def _lists(cells: Any) -> list[Any]:
    values, at, rows = as_values(cells.flatten()), 0, []
    for length in pc.list_value_length(cells).to_pylist():
        rows.append(None if length is None else values[at : at + length])
        at += length or 0
    return rows


def _pairs(cells: Any) -> list[Any]:
    """Maps, as lists of a key and its value each."""
    kind = cells.type
    entries = cells.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    return [row and [[entry["key"], entry["value"]] for entry in row] for row in _lists(entries)]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
