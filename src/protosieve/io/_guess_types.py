"""What text cells mean: numbers, truth values, dates, or just text."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from protosieve._cell_texts import are_missing, order_of, usual_dates

HEAD_ROWS = 10_000  # a guess looks at that many rows,
HEAD_BYTES = 1 << 20  # or at that many bytes, whichever is less

NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_MOST = 0.9  # of the cells

_DATE = re.compile(r"\s*(\d|[A-Za-z]{3,9}\.? +\d)")
_DATES = [pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]


def guessed(cells: pa.ChunkedArray) -> pa.DataType:
    """The type that all cells agree on; or numbers, if all but a few are: the few are then bad rows. Words for
    "missing", such as "?", are of every type.

    >>> import pyarrow as pa
    >>> columns = ["1", "2.5", "?"], ["true", "False"], ["2024-02-29"], ["Feb 29 2024"], ["1", "x"], ["1"] * 19 + ["x"]
    >>> [str(guessed(pa.chunked_array([cells]))) for cells in columns]
    ['double', 'bool', 'timestamp[us]', 'timestamp[us]', 'string', 'double']
    """
    found = cells.drop_null()
    if not len(found):
        return pa.null()
    trimmed = pc.ascii_trim_whitespace(found)
    trimmed = trimmed.filter(pc.invert(are_missing(trimmed)))
    if not len(trimmed):
        return pa.string()
    if _casts(trimmed, pa.float64()) or _mostly_numbers(trimmed):
        return pa.float64()
    if pc.all(pc.is_in(pc.utf8_lower(trimmed), pa.array(["true", "false"]))).as_py():
        return pa.bool_()
    return date_type(trimmed) or pa.string()


def as_field(name: str, kind: pa.DataType, cells: pa.ChunkedArray) -> pa.Field:
    """A column of this type; of dates spelt in ``cells`` it tells the order of day and month."""
    order = order_of(cells.combine_chunks()) if pa.types.is_timestamp(kind) else None
    return pa.field(name, kind, metadata=order and {"protosieve": order})


def has_decimal_commas(cells: pa.ChunkedArray) -> bool:
    """Whether most cells are numbers such as 2,5."""
    found = pc.ascii_trim_whitespace(cells.drop_null())
    return _mostly_numbers(pc.replace_substring(found, ",", ".", max_replacements=1))


def _mostly_numbers(cells: pa.ChunkedArray) -> bool:
    return bool(pc.sum(pc.match_substring_regex(cells, NUMBER)).as_py() >= _MOST * len(cells))


def date_type(cells: pa.ChunkedArray) -> pa.DataType | None:
    """The timestamps that all cells spell in ISO 8601, all with a zone or all without, or all in forms that people use;
    ``None`` if they do not. Words for "missing" aside.
    """
    cells = cells.filter(pc.invert(are_missing(cells)))
    if not len(cells) or not _DATE.match(cells[0].as_py()):  # most text is seen to be no date by its first cell
        return None
    found = next((dates for dates in _DATES if _casts(cells, dates)), None)
    return found or next((_DATES[0] for day_first in (False, True) if _are_dates(cells, day_first)), None)


def _are_dates(cells: pa.ChunkedArray, day_first: bool) -> bool:
    return bool(usual_dates(cells.combine_chunks(), day_first)[1].all())


def _casts(cells: pa.ChunkedArray, wanted: pa.DataType) -> bool:
    try:
        cells.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True
