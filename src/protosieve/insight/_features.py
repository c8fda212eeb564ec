"""The features as the user knows them: names, values and units, behind the encoded columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from protosieve.result import Prototypes


@dataclass(frozen=True)
class Feature:
    """A number or date, one encoded column; or a category, a column of 0 and 1 for each value.

    ``kind`` is number, date or category. An encoded number is ``(x - shift) * factor``, or where there are ``knots``
    what lies between their ``scores`` as it does between them. A value of a category is ``factor`` high.
    """

    name: str
    kind: str
    first: int
    values: tuple[str, ...] = ()
    shift: float = 0.0
    factor: float = 1.0
    knots: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def places(self) -> slice:
        return slice(self.first, self.first + max(1, len(self.values)))

    def raw(self, encoded: Any) -> Any:
        """Encoded numbers in the user's own units."""
        values = np.asarray(encoded, np.float64)
        return np.interp(values, self.scores, self.knots) if self.knots else values / self.factor + self.shift


def encoding_of(result: Prototypes) -> Mapping[str, Any]:
    """How the columns were encoded, as plain values: from the result, or from what its file says; else empty."""
    found: Mapping[str, Any] | None = (result.provenance or {}).get("encoding")
    return (found or {}) if result.encoding is None else result.encoding.as_dict()


def features_of(result: Prototypes) -> list[Feature]:
    """All features but the values of embeddings, whose single numbers have no meaning."""
    encoding = encoding_of(result)
    if result.kernel is None:
        return []
    if not encoding:
        names = result.feature_names or tuple(f"x{i}" for i in range(result.rows.shape[1]))
        return [Feature(name, "number", i) for i, name in enumerate(names)]
    found, first = list[Feature](), 0
    for step in encoding["steps"]:
        found += _features(step, encoding["columns"], first)
        first += len(step["names"]) if "names" in step else step.get("length", 1)
    return found


def _features(step: Mapping[str, Any], kinds: Mapping[str, str], first: int) -> list[Feature]:
    if step["step"] == "one-hot":  # ``colour=red`` is the encoded column of a value
        values = tuple(name[len(step["column"]) + 1 :] for name in step["names"])
        return [Feature(step["column"], "category", first, values)]
    if step["step"] == "missing":
        return [Feature(f"{step['column']}=missing", "category", first, ("missing",), factor=step["height"])]
    if step["step"] == "ranked":
        kind, knots = _measure(kinds, step["column"]), (tuple(step["knots"]), tuple(step["scores"]))
        return [Feature(step["column"], kind, first, (), 0.0, 1.0, *knots)]
    if step["step"] != "scaled":
        return []
    return [
        Feature(name, _measure(kinds, name), first + i, (), shift, factor)
        for i, (name, shift, factor) in enumerate(zip(step["names"], step["shift"], step["factor"], strict=True))
    ]


def _measure(kinds: Mapping[str, str], name: str) -> str:
    return "date" if kinds.get(name) == "date" else "number"


def list_column(result: Prototypes) -> str | None:
    """The column of lists that the rows were made of, where there is just that one."""
    lists = _columns_of(result, "embedding", "matrix")
    return lists[0] if len(lists) == 1 else None


def number_columns(result: Prototypes) -> list[str]:
    """The columns of numbers that were looked at, those that turned out to be constant included."""
    return _columns_of(result, "number")


def _columns_of(result: Prototypes, *kinds: str) -> list[str]:
    return [name for name, kind in encoding_of(result).get("columns", {}).items() if kind in kinds]


def as_date(seconds: float) -> str:
    """Seconds since 1970 as people write them.

    >>> as_date(0.0), as_date(1e9), as_date(1e20)
    ('1970-01-01', '2001-09-09 01:47', '1e+20 s')
    """
    try:
        day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=round(seconds / 60))  # encoded in single precision
    except (OverflowError, ValueError):
        return f"{seconds:.4g} s"
    return f"{day:%Y-%m-%d}" if not (day.hour or day.minute) else f"{day:%Y-%m-%d %H:%M}"
