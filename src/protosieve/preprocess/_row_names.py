"""Whether a column of numbers only names the rows."""

import re

import numpy as np

from protosieve._typing import Array
from protosieve.sampling import SampledRows

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# the last word of a name
_NAMES = {
    "guid", "id", "ids", "idx", "index", "key", "no", "nr", "num", "number", "objectid", "oid", "pid", "pk", "row",
    "rowid", "rownum", "serial", "uid", "unnamed", "userid", "uuid",
}  # fmt: skip
_FIRST = ("id", "index", "unnamed")  # as in id_customer, and "Unnamed: 0", as pandas calls an index it has read
_MEASURES = {
    "age", "amount", "count", "date", "day", "days", "epoch", "hour", "level", "minute", "month", "of", "per", "price",
    "quantity", "quarter", "rank", "rate", "score", "second", "size", "time", "timestamp", "week", "year", "yr",
}  # fmt: skip
_DISTINCT = 0.95  # of the values: nearly all differ
_ROWS = 20  # in which values rise as row numbers do, before this is no accident
_STEADY = 2.0  # times the usual step from row to row, at most


def names_rows(name: str, sample: SampledRows, place: int) -> bool:
    """Whether a column holds whole numbers, nearly all different, that are named like ids or rise with the row numbers
    in steady steps; one that is named like a measure, such as a year, need not be one. O(n log n) for n sampled rows.

    >>> rows = SampledRows(np.stack([np.arange(1.0, 51), np.tile([3.0, 7.0], 25)], axis=1), np.arange(50), np.zeros(50))
    >>> names_rows("t", rows, 0), names_rows("year", rows, 0), names_rows("user_id", rows, 0), names_rows("id", rows, 1)
    (True, False, True, False)
    """
    values = sample.rows[:, place].astype(np.float64)
    known = values[~np.isnan(values)]
    if len(known) < 2 or (known != np.rint(known)).any() or not _MEASURES.isdisjoint(_words(name)):
        return False
    if is_named_like_id(name):
        return len(np.unique(known)) >= _DISTINCT * len(known)
    return len(known) == len(values) >= _ROWS and _rises_steadily(values, sample)


def is_named_like_id(name: str) -> bool:
    """Whether the words of a name end, or begin, as those of ids do, and none is of a measure."""
    words = _words(name)
    return bool(words) and (words[-1] in _NAMES or words[0] in _FIRST) and _MEASURES.isdisjoint(words)


def _words(name: str) -> list[str]:
    """The words of a name, however it is written.

    >>> _words("PassengerId"), _words("sample-NO. 2"), _words("Size (kB)")
    (['passenger', 'id'], ['sample', 'no'], ['size', 'k', 'b'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def _rises_steadily(values: Array, sample: SampledRows) -> bool:
    if len(np.unique(values[:_ROWS])) < _ROWS:  # most columns are told by these
        return False
    order = np.argsort(sample.numbers)
    steps = np.diff(values[order]) / np.diff(sample.numbers[order])
    usual = float(np.median(steps))
    return usual > 0 and bool(((steps >= usual / _STEADY) & (steps <= usual * _STEADY)).all())
