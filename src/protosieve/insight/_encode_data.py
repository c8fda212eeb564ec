"""Data in memory as the numbers the prototypes have."""

from typing import Any

import numpy as np

from protosieve._typing import Array
from protosieve.errors import InputError
from protosieve.insight._columns import Columns, as_columns
from protosieve.insight._features import list_column
from protosieve.insight._view import View
from protosieve.result import Prototypes
from protosieve.selectors import as_rows


def encode_data(result: Prototypes, data: Any, view: View) -> Array:
    """Rows of a table or an array, encoded as the prototypes were; O(cells).

    Where a selector chose from an array, a table's features are the columns of its names, or its one column of lists
    as long as a prototype, or its columns of numbers that are not named for something else.
    """
    columns, name = as_columns(data), list_column(result)
    if result.encoding is None:
        rows = as_rows(data if columns is None else _matrix(result, columns, view), "data", dtype=None)
    elif columns is not None:
        rows = np.asarray(result.encoding.encode(data))
    else:  # an array is what stood in an array file
        rows = as_rows(data, "data") if name is None else np.asarray(result.encoding.encode({name: np.asarray(data)}))
    if rows.shape[1] != result.rows.shape[1]:
        raise InputError(
            f"data has {rows.shape[1]} columns and the prototypes have {result.rows.shape[1]}; "
            "give the rows they were chosen from, with the same columns"
        )
    return rows


def _matrix(result: Prototypes, columns: Columns, view: View) -> Any:
    wanted, d = result.feature_names, result.rows.shape[1]
    if wanted is None or not all(name in columns for name in wanted):
        others = [name for name in columns.names if name not in view.columns]
        lists = next((found for name in others if (found := _lists(columns, name, d)) is not None), None)
        if lists is not None:
            return lists
        wanted = tuple(name for name in others if np.asarray(columns.part(name)).dtype.kind in "biuf")
        if len(wanted) != d:
            raise InputError(
                f"data has {len(wanted)} columns of numbers ({', '.join(map(repr, wanted[:20]))}) and the prototypes "
                f"have {d} columns; give the rows they were chosen from, with labels and texts as further columns"
            )
    return np.column_stack([np.asarray(columns.part(name)) for name in wanted])


def _lists(columns: Columns, name: str, length: int) -> Any:
    """A matrix of that width, or a column of lists of that length as one; None where it is neither."""
    part = columns.part(name)
    if getattr(part, "ndim", 1) == 2:
        return part if part.shape[1] == length else None
    if not any(word in columns.kind(name) for word in ("list", "object")):
        return None
    cells = columns.cells(name)
    fit = all(isinstance(cell, list | tuple | np.ndarray) and np.ndim(cell) == 1 for cell in cells)
    return np.array(cells) if fit and {len(cell) for cell in cells} == {length} else None
