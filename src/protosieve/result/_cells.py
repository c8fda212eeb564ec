"""Cells of Arrow columns as Python values, also where Python has no such value."""

from typing import Any


def arrow_values(column: Any) -> list[Any]:
    """The column's cells; all as text where Python cannot hold one of them, such as a date beyond its years.

    >>> import pyarrow as pa
    >>> arrow_values(pa.array([0, None, 10**7], pa.date32()))
    ['1970-01-01', None, '29349-01-26']
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        pass
    try:
        return list(column.cast("string").to_pylist())
    except (ValueError, NotImplementedError):  # dates inside of lists and structs
        return [_value(cell) for cell in column]


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return f"a {cell.type}"
