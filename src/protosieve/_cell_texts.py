"""What the text of a cell means beyond numbers and ISO 8601: dates as people write them, and words for "missing"."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from protosieve._typing import Float64

MISSING_WORDS = [
    "-", "--", "---", "–", "—", ".", "..", "...", "?", "??", "???", "*", "#n/a", "n/a", "n.a.", "n.a", "na", "<na>",  # noqa: RUF001
    "nil", "none", "null", "(null)", "\\n", "missing", "unknown", "unk", "undefined", "unspecified", "not available",
    "not applicable", "not known", "no data", "tba", "tbd", "k.a.", "s/d",
]  # fmt: skip

DAY_FIRST, MONTH_FIRST, EITHER_FIRST = "day-first", "month-first", "either-first"
ORDERS = (DAY_FIRST, MONTH_FIRST, EITHER_FIRST)

_TIME = (
    r"(?:(?:T|,? +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,6}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?$"
)
_NAME, _DAY, _YEAR = r"(?P<name>[A-Za-z]{3,9})\.?", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_NUMBERS = r"^(?P<first>\d{1,2})[/.-](?P<then>\d{1,2})[/.-]" + _YEAR + _TIME
_FORMS = [
    r"^(?P<year>\d{4})[/.-](?P<month>\d{1,2})[/.-](?P<day>\d{1,2})" + _TIME,
    _NUMBERS,
    f"^{_NAME}[ -]+{_DAY},?[ -]+{_YEAR}{_TIME}",
    rf"^{_DAY}\.?[ -]+{_NAME},?[ -]+{_YEAR}{_TIME}",
]
_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
]  # fmt: skip
_SPELT = [*_MONTHS, *(month[:3] for month in _MONTHS), "sept"]
_OF_SPELT = np.array([*range(1, 13), *range(1, 13), 9, 0])  # the last for what is no month


def are_missing(cells: Any) -> Any:
    """Which cells are words for "missing", whatever the case and the space around them."""
    return pc.is_in(pc.ascii_lower(pc.ascii_trim_whitespace(cells)), pa.array(MISSING_WORDS))


def usual_dates(cells: pa.Array, day_first: bool) -> tuple[Float64, NDArray[np.bool_]]:
    """Seconds since 1970 of text cells without nulls, and which of them are dates in one of the usual forms.

    >>> texts = ["2012/01/31", "31.01.2012", "Jan 31, 2012", "31 January 2012 2:30 pm", "30 Feb 2012", "soon"]
    >>> seconds, good = usual_dates(pa.array(texts), day_first=True)
    >>> (seconds[good] / 86400).round(2).tolist(), good.tolist()
    ([15370.0, 15370.0, 15370.0, 15370.6], [True, True, True, True, False, False])
    """
    trimmed = pc.ascii_trim_whitespace(cells)
    found, good = np.zeros(len(cells)), np.zeros(len(cells), np.bool_)
    for form in _FORMS:
        parts = pc.extract_regex(trimmed, form)
        fits = parts.is_valid().to_numpy(zero_copy_only=False) & ~good
        if fits.any():
            at = np.flatnonzero(fits)
            found[at], good[at] = _seconds(parts.filter(pa.array(fits)), day_first)
    return found, good


def order_of(cells: pa.Array) -> str | None:
    """Whether dates such as 01/02/2012 begin with the day, which a number above 12 is; `EITHER_FIRST` where there is
    none, unless all have dots (01.02.2012), which go with the day first; ``None`` where no date begins so.
    """
    trimmed = pc.ascii_trim_whitespace(cells)
    parts = pc.extract_regex(trimmed, _NUMBERS).drop_null()
    if not len(parts):
        return None
    first, second = _number(parts, "first").max(), _number(parts, "then").max()
    if first > 12 or (second <= 12 and bool(pc.all(pc.match_substring_regex(trimmed, r"^\d+\.")).as_py())):
        return DAY_FIRST
    return MONTH_FIRST if second > 12 else EITHER_FIRST


def _seconds(parts: pa.Array, day_first: bool) -> tuple[Float64, NDArray[np.bool_]]:
    """Of the parts of dates in one form; and which are no 30 February."""
    names = {field.name for field in parts.type}
    if "first" in names:
        both = _number(parts, "first"), _number(parts, "then")
        day, month = both if day_first else both[::-1]
    else:
        day = _number(parts, "day")
        month = _number(parts, "month") if "month" in names else _month(pc.struct_field(parts, "name"))
    hour, minute, second = (_number(parts, name) for name in ("hour", "minute", "second"))
    half = pc.ascii_lower(pc.struct_field(parts, "half")).to_numpy(zero_copy_only=False)
    good = np.where(half == "", hour < 24, (hour >= 1) & (hour <= 12)) & (minute < 60) & (second < 60)
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    months = (12 * (_number(parts, "year") - 1970) + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    good &= (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("M8[M]") == months)
    fraction = pc.binary_join_element_wise("0.", pc.struct_field(parts, "fraction"), "0", "").cast(pa.float64())
    whole = days.astype(np.int64) * 86_400 + hour * 3600 + minute * 60 + second
    return whole + fraction.to_numpy(zero_copy_only=False), good


def _number(parts: pa.Array, name: str) -> NDArray[np.int64]:
    """A part as whole numbers, 0 where it is empty."""
    digits = pc.binary_join_element_wise("0", pc.struct_field(parts, name), "")
    return np.asarray(digits.cast(pa.int64()).to_numpy(zero_copy_only=False))


def _month(names: pa.Array) -> NDArray[np.int64]:
    """The number of the month of each name, 0 of what is none."""
    places = pc.index_in(pc.ascii_lower(names), pa.array(_SPELT)).fill_null(len(_SPELT))
    return np.asarray(_OF_SPELT[places.to_numpy(zero_copy_only=False)])
