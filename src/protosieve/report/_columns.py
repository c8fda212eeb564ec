"""The users' own columns of some rows, whatever holds them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._cells import arrow_values
from protosieve.errors import InputError

__all__ = ["Columns", "as_columns", "is_line", "rows_in", "taken"]


class Columns:
    """Named columns, of Arrow, pandas, NumPy or plain lists; cells become Python values only when asked for.

    >>> Columns(["a", "b"], [[1, 2, 3], np.array([0.5, 1.5, 2.5])]).take([2, 0]).cells("b")
    [2.5, 0.5]
    """

    def __init__(self, names: Sequence[str] = (), parts: Sequence[Any] = ()) -> None:
        self.names, self._parts = list(names), list(parts)
        self._places = {name: place for place, name in reversed(list(enumerate(self.names)))}
        self._known: dict[str, list[Any]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def part(self, name: str) -> Any:
        """The column as it was given; of several of one name the first."""
        return self._parts[self._places[name]]

    def cells(self, name: str) -> list[Any]:
        """The column as Python values."""
        if name not in self._known:
            self._known[name] = _values(self.part(name))
        return self._known[name]

    def take(self, rows: Any) -> "Columns":
        """Some of the rows, in the order asked for."""
        return Columns(self.names, [_taken(part, np.asarray(rows, np.int64)) for part in self._parts])


def as_columns(data: Any) -> Columns | None:
    """The columns of a table: Arrow's, a DataFrame, a dict; None where it is an array or a list of rows."""
    if isinstance(data, Columns):
        return data
    if isinstance(data, Mapping):
        return Columns([str(name) for name in data], list(data.values()))
    if hasattr(data, "column_names"):
        return Columns(list(data.column_names), [data.column(i) for i in range(len(data.column_names))])
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        return Columns([str(name) for name in data.columns], [data.iloc[:, i] for i in range(data.shape[1])])
    return None


def rows_in(data: Any) -> int:
    """How many rows a table or an array has; `InputError` for what is neither."""
    columns = as_columns(data)
    if columns is not None:
        return _length(columns)
    if not is_line(data):
        kind = type(data).__name__
        remedy = "give data.toarray()" if hasattr(data, "toarray") else "give rows that can be counted and taken"
        raise InputError(
            f"data must be an array, a DataFrame, an Arrow table or a dict of columns, got a {kind}; {remedy}"
        )
    return len(data)


def is_line(given: Any) -> bool:
    """Whether it has a length and an order: a list, an array, a column; no text, set, dict nor generator.

    >>> is_line([1, 2]), is_line(np.zeros(2)), is_line(np.zeros(())), is_line({1, 2}), is_line("12")
    (True, True, False, False, False)
    """
    if isinstance(given, str | bytes | bytearray):
        return False
    return isinstance(given, Sequence) or (hasattr(given, "__array__") and getattr(given, "ndim", 1) > 0)


def _length(columns: Columns) -> int:
    """That of every column."""
    parts = [(name, columns.part(name)) for name in columns.names]
    for name, part in parts:
        if not is_line(part):
            raise InputError(f"data: column {name!r} is a {type(part).__name__}; give a value for each row")
        if len(part) != len(parts[0][1]):
            raise InputError(
                f"data: column {name!r} has {len(part):,} values and {parts[0][0]!r} {len(parts[0][1]):,}; "
                "give one for each row"
            )
    return len(parts[0][1]) if parts else 0


def taken(data: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table or an array, as the same kind of thing."""
    if isinstance(data, Mapping):
        return {name: _taken(part, rows) for name, part in data.items()}
    return _taken(data, rows)


def _taken(part: Any, rows: NDArray[np.int64]) -> Any:
    if isinstance(part, list | tuple):
        return [part[row] for row in rows.tolist()]
    if hasattr(part, "iloc"):
        return part.iloc[rows]
    return part.take(rows) if hasattr(part, "to_pylist") else np.asarray(part)[rows]


def _values(part: Any) -> list[Any]:
    if hasattr(part, "to_pylist"):
        return arrow_values(part)
    return list(part.tolist()) if hasattr(part, "tolist") else list(part)
