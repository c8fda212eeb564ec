"""What text cells mean: numbers, truth values, dates, or just text."""

import pyarrow as pa
import pyarrow.compute as pc

HEAD_ROWS = 10_000  # a guess looks at that many rows,
HEAD_BYTES = 1 << 20  # or at that many bytes, whichever is less

NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_MOST = 0.9  # of the cells

_DATES = [pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]


def guessed(cells: pa.ChunkedArray) -> pa.DataType:
    """The type that all cells agree on; or numbers, if all but a few are: the few are then bad rows.

    >>> import pyarrow as pa
    >>> columns = ["1", "2.5"], ["true", "False"], ["2024-02-29"], ["1", "x"], ["1"] * 19 + ["?"]
    >>> [str(guessed(pa.chunked_array([cells]))) for cells in columns]
    ['double', 'bool', 'timestamp[us]', 'string', 'double']
    """
    found = cells.drop_null()
    if not len(found):
        return pa.null()
    trimmed = pc.ascii_trim_whitespace(found)
    if _casts(trimmed, pa.float64()) or _mostly_numbers(trimmed):
        return pa.float64()
    if pc.all(pc.is_in(pc.utf8_lower(trimmed), pa.array(["true", "false"]))).as_py():
        return pa.bool_()
    return date_type(trimmed) or pa.string()


def has_decimal_commas(cells: pa.ChunkedArray) -> bool:
    """Whether most cells are numbers such as 2,5."""
    found = pc.ascii_trim_whitespace(cells.drop_null())
    return _mostly_numbers(pc.replace_substring(found, ",", ".", max_replacements=1))


def _mostly_numbers(cells: pa.ChunkedArray) -> bool:
    return bool(pc.sum(pc.match_substring_regex(cells, NUMBER)).as_py() >= _MOST * len(cells))


def date_type(cells: pa.ChunkedArray) -> pa.DataType | None:
    """The timestamps that all cells spell in ISO 8601, all with a zone or all without; ``None`` if they do not."""
    if not cells[0].as_py()[:1].isdigit():  # most text is seen to be no date by its first letter
        return None
    return next((dates for dates in _DATES if _casts(cells, dates)), None)


def _casts(cells: pa.ChunkedArray, wanted: pa.DataType) -> bool:
    try:
        cells.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True
