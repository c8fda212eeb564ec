"""Arrow cells as float64 numbers, whatever type they arrive in.

A column has one kind, but its cells may come in several types: a CSV file gives text, a block of JSON lines integers
where the next gives floats, one Parquet file dates where another has timestamps. Each value has one meaning whatever
its type and its neighbours, so that a table gives the same bits however it is cut.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protosieve._arrow_types import is_number, is_text, is_time
from protosieve._cell_texts import usual_dates
from protosieve._rounded import EXACT, are_rounded
from protosieve._typing import Array, Float64

Reader: TypeAlias = Callable[[Any], tuple[Array, list[int]]]  # cells without nulls -> values, and which are none

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_WHOLE = re.compile(r"-?[0-9]+")
_SHOWN = 40  # characters of a cell that an error repeats


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array of plain values: neither chunks, nor dictionaries, nor extension types."""
    cells = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(cells, pa.ExtensionArray):
        cells = cells.storage
    if isinstance(cells, pa.DictionaryArray):
        cells = cells.dictionary_decode()
    return cells.cast(pa.string()) if pa.types.is_string_view(cells.type) else cells


def scattered(cells: pa.Array, read: Reader) -> tuple[Array, Array | None, list[int]]:
    """Read all cells: their values, 0 for nulls and failures; a mask of nulls, if any; and the rows that failed."""
    if not cells.null_count:
        values, failed = read(cells)
        return values, None, failed
    valid = cells.is_valid().to_numpy(zero_copy_only=False)
    found, failed = read(cells.drop_null())
    values = np.zeros(len(cells), found.dtype)
    values[valid] = found
    return values, ~valid, [int(row) for row in np.flatnonzero(valid)[failed]]


def numbers(cells: pa.Array) -> tuple[Array, list[int]]:
    """Cells without nulls as numbers."""
    if pa.types.is_decimal(cells.type):
        cells = cells.cast(pa.float64())
    if is_number(cells.type):
        return cells.to_numpy(zero_copy_only=False), []
    return _parsed(cells, [_to_number])


def is_rounded(cells: pa.Array, found: Array) -> bool:
    """Whether a whole number among the cells is another one as a float64; ``found`` is what was read of them.

    Fractions are rounded as ever; that is what floats are for.
    """
    if are_rounded(found):
        return True
    if not (pa.types.is_decimal(cells.type) or is_text(cells.type)):
        return False
    large = np.flatnonzero((np.abs(found[:, 0]) >= EXACT) & np.isfinite(found[:, 0]))
    return any(_is_another(cells[row].as_py(), float(found[row, 0])) for row in large.tolist())


def _is_another(cell: Any, value: float) -> bool:
    if isinstance(cell, str):
        return _WHOLE.fullmatch(cell.strip()) is not None and int(cell) != int(value)
    return bool(cell != Decimal(value))


def seconds(cells: pa.Array, day_first: bool = False) -> tuple[Array, list[int]]:
    """Cells without nulls as seconds: since 1970 in UTC, since midnight, or of a duration; no zone means UTC.

    ``day_first`` is for text such as 01/02/2012.
    """
    if is_time(cells.type):
        return _from_ticks(cells), []
    return _parsed(cells, [*_DATES, partial(_to_usual_date, day_first=day_first)])


def shown(cells: pa.Array, row: int) -> str:
    """A cell as errors show it: text in quotes, anything else by its type."""
    if not is_text(cells.type):
        return str(cells.type)
    text = text_of(cells[row])
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def text_of(cell: pa.Scalar) -> str:
    """The text of a cell, even where its bytes are not UTF-8 (Parquet does not check)."""
    return bytes(cell.as_buffer()).decode("utf-8", "backslashreplace")


def _from_ticks(cells: pa.Array) -> Float64:
    """Whole seconds and their fraction apart: a nanosecond count exceeds 2**53, and rounding it first would give
    one moment different bits in different units.
    """
    ticks = cells.view(pa.int32() if cells.type.bit_width == 32 else pa.int64()).to_numpy(zero_copy_only=False)
    if pa.types.is_date32(cells.type):
        return np.asarray(ticks * float(_DAY))
    per_second = 1000 if pa.types.is_date64(cells.type) else _TICKS[cells.type.unit]
    full, rest = np.divmod(ticks, per_second)
    return np.asarray(full + rest / float(per_second))


def _to_number(cells: pa.Array) -> Float64:
    return np.asarray(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))


def _to_date(cells: pa.Array, unit: str, zone: str | None) -> Float64:
    if unit == "ns":
        _check_years(cells)
    return _from_ticks(cells.cast(pa.timestamp(unit, zone)))


def _to_usual_date(cells: pa.Array, day_first: bool) -> Float64:
    found, good = usual_dates(cells, day_first)
    if not good.all():
        raise pa.ArrowInvalid("no date")
    return found


def _check_years(cells: pa.Array) -> None:
    """Nanoseconds reach from 1677 to 2262; beyond, older versions of Arrow wrap around silently."""
    years = pc.utf8_slice_codeunits(cells, 0, 4)
    if pc.any(pc.or_(pc.less(years, "1678"), pc.greater(years, "2261"))).as_py():
        raise pa.ArrowInvalid("a year beyond nanoseconds")


# Microseconds take every year, nanoseconds a longer fraction; with "UTC" Arrow wants an offset, without it refuses one.
_DATES = [partial(_to_date, unit=unit, zone=zone) for unit in ("us", "ns") for zone in (None, "UTC")]


def _parsed(cells: pa.Array, casts: Sequence[Callable[[Any], Float64]]) -> tuple[Float64, list[int]]:
    """Text read by the first cast that takes all of it; if none does, the cells that fail are found."""
    if not is_text(cells.type):
        return np.zeros(len(cells)), list(range(len(cells)))
    found = _first(cells, casts)
    if found is not None:
        return found, []
    distinct = pc.ascii_trim_whitespace(cells).dictionary_encode()  # often a file's own word for null, many times
    values, failed = _bisected(distinct.dictionary, casts)
    places = distinct.indices.to_numpy(zero_copy_only=False)
    return values[places], np.flatnonzero(np.isin(places, failed)).tolist()


def _first(cells: pa.Array, casts: Sequence[Callable[[Any], Float64]]) -> Float64 | None:
    for cast in casts:
        try:
            return cast(cells)
        except pa.ArrowInvalid:
            continue
    return None


def _bisected(cells: pa.Array, casts: Sequence[Callable[[Any], Float64]]) -> tuple[Float64, list[int]]:
    """Find the cells that fail by bisection: k failures among n cells take O(k log n) casts."""
    found = _first(cells, casts)
    if found is not None:
        return found, []
    if len(cells) == 1:
        return np.zeros(1), [0]
    half = len(cells) // 2
    left, failed_left = _bisected(cells[:half], casts)
    right, failed_right = _bisected(cells[half:], casts)
    return np.concatenate([left, right]), failed_left + [half + row for row in failed_right]
