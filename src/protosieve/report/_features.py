"""The features as the user knows them: names, values and units, behind the encoded columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from protosieve._prototypes import Prototypes
from protosieve._typing import Array, Float64

__all__ = ["Feature", "as_date", "encoding_of", "features_of", "list_column", "number_columns", "spread_of"]

_LISTS = ("embedding", "matrix")


@dataclass(frozen=True)
class Feature:
    """A number or date, one encoded column; or a category, a column of 0 and 1 for each value.

    ``kind`` is number, date or category. An encoded number is ``(x - shift) * factor``.
    """

    name: str
    kind: str
    first: int
    values: tuple[str, ...] = ()
    shift: float = 0.0
    factor: float = 1.0

    @property
    def places(self) -> slice:
        return slice(self.first, self.first + max(1, len(self.values)))

    def raw(self, encoded: Any) -> Any:
        """Encoded numbers in the user's own units."""
        return np.asarray(encoded, np.float64) / self.factor + self.shift


def encoding_of(result: Prototypes) -> Mapping[str, Any] | None:
    """How the columns were encoded, as plain values: from the result, or from what its file says."""
    if result.encoding is not None:
        found: Mapping[str, Any] = result.encoding.as_dict()
        return found
    return (result.provenance or {}).get("encoding")


def features_of(result: Prototypes) -> list[Feature]:
    """All features but the values of embeddings, whose single numbers mean nothing to anybody."""
    encoding = encoding_of(result)
    if result.kernel is None:
        return []
    if encoding is None:
        names = result.feature_names or tuple(f"x{i}" for i in range(result.rows.shape[1]))
        return [Feature(name, "number", i) for i, name in enumerate(names)]
    found, first = list[Feature](), 0
    for step in encoding["steps"]:
        found += _features(step, encoding["columns"], first)
        first += len(step["names"]) if "names" in step else step["length"]
    return found


def _features(step: Mapping[str, Any], kinds: Mapping[str, str], first: int) -> list[Feature]:
    if step["step"] == "one-hot":
        return [Feature(step["column"], "category", first, _values(step))]
    if step["step"] != "scaled":
        return []
    scales: Sequence[tuple[str, float, float]] = list(zip(step["names"], step["shift"], step["factor"], strict=True))
    return [
        Feature(name, "date" if kinds.get(name) == "date" else "number", first + i, (), shift, factor)
        for i, (name, shift, factor) in enumerate(scales)
    ]


def _values(step: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of a category; ``colour=red`` is the encoded column of one."""
    return tuple(name[len(step["column"]) + 1 :] for name in step["names"])


def list_column(result: Prototypes) -> str | None:
    """The column of lists that the rows were made of, where there is just that one."""
    encoding = encoding_of(result)
    lists = [name for name, kind in (encoding or {"columns": {}})["columns"].items() if kind in _LISTS]
    return lists[0] if len(lists) == 1 else None


def spread_of(rows: Array, weights: Float64) -> tuple[Float64, Float64]:
    """Mean and standard deviation of the columns of weighted rows; O(n d)."""
    exact = rows.astype(np.float64)
    mean = weights @ exact
    return mean, np.sqrt(weights @ (exact - mean) ** 2)


def number_columns(result: Prototypes) -> list[str]:
    """The columns of numbers that were looked at, those that turned out to be constant included."""
    encoding = encoding_of(result)
    return [name for name, kind in (encoding or {"columns": {}})["columns"].items() if kind == "number"]


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
