"""Data in memory as the numbers the prototypes have."""

from typing import Any

import numpy as np

from protosieve._prototypes import Prototypes
from protosieve._typing import Array
from protosieve.errors import InputError
from protosieve.report._columns import Columns, as_columns
from protosieve.report._features import list_column
from protosieve.report._view import View
from protosieve.selectors import as_rows

__all__ = ["rows_of"]


def rows_of(result: Prototypes, data: Any, view: View) -> Array:
    """Rows of a table or an array, encoded as the prototypes were; O(cells).

    Where a selector chose from an array, a table's features are the columns of its names, or its one column of lists
    as long as a prototype, or its columns of numbers that are not named for something else.
    """
    columns = as_columns(data)
    if result.encoding is not None:
        rows = _encoded(result, data, columns)
    else:
        rows = as_rows(data if columns is None else _matrix(result, columns, view), "data", dtype=None)
    if rows.shape[1] != result.rows.shape[1]:
        raise InputError(
            f"data has {rows.shape[1]} columns and the prototypes have {result.rows.shape[1]}; "
            "give the rows they were chosen from, with the same columns"
        )
    return rows


def _encoded(result: Prototypes, data: Any, columns: Columns | None) -> Array:
    """By the run's own encoding; an array is what stood in an array file."""
    name = list_column(result)
    if columns is not None:
        return np.asarray(result.encoding.encode(data))
    return as_rows(data, "data") if name is None else np.asarray(result.encoding.encode({name: np.asarray(data)}))


def _matrix(result: Prototypes, columns: Columns, view: View) -> Any:
    wanted, d = result.feature_names, result.rows.shape[1]
    if wanted is not None and all(name in columns for name in wanted):
        return np.column_stack([_numbers(columns.part(name)) for name in wanted])
    others = [name for name in columns.names if name not in view.columns]
    for name in others:
        lists = _lists(columns, name)
        if lists is not None and lists.shape[1] == d:
            return lists
    numbers = [name for name in others if _numbers(columns.part(name)).dtype.kind in "biuf"]
    if len(numbers) != d:
        raise InputError(
            f"data has {len(numbers)} columns of numbers ({', '.join(map(repr, numbers[:20]))}) and the prototypes "
            f"have {d} columns; give the rows they were chosen from, with labels and texts as further columns"
        )
    return np.column_stack([_numbers(columns.part(name)) for name in numbers])


def _lists(columns: Columns, name: str) -> Any:
    """A matrix, or a column of lists as one; None where it is neither, or they differ in length."""
    part = columns.part(name)
    if getattr(part, "ndim", 1) == 2:
        return part
    if not any(word in str(getattr(part, "type", getattr(part, "dtype", "object"))) for word in ("list", "object")):
        return None
    cells = columns.cells(name)
    if not all(isinstance(cell, list | tuple | np.ndarray) and np.ndim(cell) == 1 for cell in cells):
        return None
    return np.array(cells) if len({len(cell) for cell in cells}) == 1 else None


def _numbers(part: Any) -> Array:
    return np.asarray(part)
