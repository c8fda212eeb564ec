"""The users' own columns of some rows, whatever holds them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve.errors import InputError
from protosieve.result import OURS, Prototypes, arrow_values, own_names


class Columns:
    """Named columns, of Arrow, pandas, NumPy or plain lists; cells become Python values only when asked for.

    Of several columns of one name the first counts.

    >>> Columns([("a", [1, 2, 3]), ("b", np.array([0.5, 1.5, 2.5]))]).take([2, 0]).cells("b")
    [2.5, 0.5]
    """

    def __init__(self, parts: Iterable[tuple[str, Any]] = ()) -> None:
        self._parts: dict[str, Any] = {}
        for name, part in parts:
            self._parts.setdefault(name, part)
        self._known: dict[str, list[Any]] = {}

    @property
    def names(self) -> list[str]:
        return list(self._parts)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def part(self, name: str) -> Any:
        """The column as it was given."""
        return self._parts[name]

    def kind(self, name: str) -> str:
        """Its type as Arrow, pandas or NumPy call it; "object" for a list."""
        part = self._parts[name]
        return str(getattr(part, "type", getattr(part, "dtype", "object")))

    def cells(self, name: str) -> list[Any]:
        """The column as Python values."""
        if name not in self._known:
            part = self._parts[name]
            values = arrow_values(part) if hasattr(part, "to_pylist") else getattr(part, "tolist", lambda: part)()
            self._known[name] = list(values)
        return self._known[name]

    def take(self, rows: Any) -> "Columns":
        """Some of the rows, in the order asked for."""
        return Columns((name, _take(part, np.asarray(rows, np.int64))) for name, part in self._parts.items())


def as_columns(data: Any) -> Columns | None:
    """The columns of a table: Arrow's, a DataFrame, a dict; None where it is an array or a list of rows."""
    if isinstance(data, Mapping):
        return Columns((str(name), part) for name, part in data.items())
    if hasattr(data, "column_names"):
        return Columns((name, data.column(i)) for i, name in enumerate(data.column_names))
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        return Columns((str(name), data.iloc[:, i]) for i, name in enumerate(data.columns))
    return None


def own_columns(result: Prototypes) -> Columns:
    """The users' columns of the prototypes; none where the result has no table."""
    if result.table is None:
        return Columns()
    found = own_names(result.table.column_names, (result.provenance or {}).get("renamed") or {})
    return Columns((name, result.table.column(i)) for i, name in found.items())


def files_of(result: Prototypes) -> list[Any]:
    """The file of each prototype; None where rows came from memory."""
    if result.table is None or tuple(result.table.column_names[: len(OURS)]) != OURS:
        return [None] * len(result)
    return list(result.table.column(OURS.index("file")).to_pylist())


def count_rows(data: Any) -> int:
    """How many rows a table or an array has; `InputError` for what is neither."""
    columns = as_columns(data)
    if columns is None:
        if is_sequence(data):
            return len(data)
        kind = type(data).__name__
        remedy = "give data.toarray()" if hasattr(data, "toarray") else "give rows that can be counted and taken"
        raise InputError(
            f"data must be an array, a DataFrame, an Arrow table or a dict of columns, got a {kind}; {remedy}"
        )
    parts = [(name, columns.part(name)) for name in columns.names]
    for name, part in parts:
        if not is_sequence(part):
            raise InputError(f"data: column {name!r} is a {type(part).__name__}; give a value for each row")
        if len(part) != len(parts[0][1]):
            raise InputError(
                f"data: column {name!r} has {len(part):,} values and {parts[0][0]!r} {len(parts[0][1]):,}; "
                "give one for each row"
            )
    return len(parts[0][1]) if parts else 0


def is_sequence(given: Any) -> bool:
    """Whether it has a length and an order: a list, an array, a column; no text, set, dict nor generator.

    >>> is_sequence([1, 2]), is_sequence(np.zeros(2)), is_sequence(np.zeros(())), is_sequence({1, 2}), is_sequence("12")
    (True, True, False, False, False)
    """
    if isinstance(given, str | bytes | bytearray):
        return False
    return isinstance(given, Sequence) or (hasattr(given, "__array__") and getattr(given, "ndim", 1) > 0)


def take_rows(data: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table or an array, as the same kind of thing."""
    if isinstance(data, Mapping):
        return {name: _take(part, rows) for name, part in data.items()}
    return _take(data, rows)


def _take(part: Any, rows: NDArray[np.int64]) -> Any:
    if isinstance(part, list | tuple):
        return [part[row] for row in rows.tolist()]
    if hasattr(part, "iloc"):
        return part.iloc[rows]
    return part.take(rows) if hasattr(part, "to_pylist") else np.asarray(part)[rows]
