"""The rows a user passes, checked and converted to a matrix; errors name the row in the whole stream."""

import numbers
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from protosieve._rounded import EXACT, are_rounded, is_rounded
from protosieve._typing import Array
from protosieve.errors import InputError, warn
from protosieve.means import Mean
from protosieve.selectors._not_rows import ENCODES, mistaken

NO_ROWS = "X: 0 row(s) (shape={}) while a minimum of 1 is required; give at least one row"

_SLICE = 1 << 16  # rows tested for finiteness at once: the test's memory does not follow the chunk's size


def as_rows(X: Any, name: str, first: int = 0, dtype: Any = None) -> Array:
    """``X`` as a float32 or float64 matrix without NaN or infinity, possibly with no rows.

    ``dtype`` is the stream's where it is settled. Otherwise float32 stays, float16 becomes float32, and everything else
    that is numeric becomes float64. ``first`` is the number of the chunk's first row in the whole stream.
    """
    _refuse(X, name, first)
    if isinstance(X, list | tuple) and not len(X):
        return np.empty((0, 1), dtype or np.float64)
    try:
        rows = check_array(
            X,
            dtype=_wanted(X) if dtype is None else dtype,
            order="C",  # sums over rows depend, in the last bits, on how they lie in memory
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name=name,
        )
    except TypeError as error:
        if "sparse" in str(error).lower():
            raise InputError(f"{name} is a sparse matrix, which is not supported; pass {name}.toarray()") from error
        why = _explain(X, name, first, error)
        if np.ndim(X) != 2:
            raise InputError(why) from error
        raise _CellError(why if str(error) in why else f"{why} ({error})") from error
    except (OverflowError, ValueError) as error:
        raise InputError(_explain(X, name, first, error)) from error
    _check_finite(rows, name, first, X)
    _note_rounded(X, rows, name)
    return np.asarray(rows)


def some_rows(X: Any, dtype: Any = None) -> Array:
    """`as_rows`; `InputError` where there are none."""
    rows = as_rows(X, "X", dtype=dtype)
    if not len(rows):
        raise InputError(NO_ROWS.format(rows.shape))
    return rows


def new_rows(fitted: Any, X: Any) -> Array:
    """Rows with the columns of those that an estimator was fitted to."""
    rows = some_rows(X)
    remember_columns(fitted, X, reset=False)
    return rows


def remember_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Remember how many columns there are, and their names; or, without ``reset``, check that they are those."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise InputError(str(error)) from error


def target_rows(target: Any, mean: Mean | None, rows: Array, columns: Sequence[object] | None = None) -> Array | None:
    """A copy of the target that was given to a call or to the mean; ``None`` if there is none.

    It is a copy because the arrays of a stream are often reused. ``columns`` are the column names of the rows, if any.
    """
    given = None if mean is None else mean.target
    if given is not None and target is not None:
        raise InputError(
            f"there are two targets: mean has one of shape {np.shape(given)}, target= is of shape "
            f"{np.shape(target)}; give one of them"
        )
    target = given if target is None else target
    if target is None:
        return None
    found = rows_like(target, "target", rows, columns)
    if not len(found):
        raise InputError("target has no rows; give the rows to match, or leave target out to match X itself")
    return found


def rows_like(given: Any, name: str, rows: Array, columns: Sequence[object] | None = None) -> Array:
    """A copy of other rows of the user's, with the columns of ``rows``; without rows they may have any."""
    found = as_rows(given, name, dtype=rows.dtype)
    if not len(found):
        return rows[:0].copy()
    found = found.copy() if np.may_share_memory(found, given) else found
    if found.shape[1] != rows.shape[1]:
        raise InputError(
            f"{name} has {found.shape[1]} columns and X has {rows.shape[1]}; they must be the same columns"
        )
    names = column_names(given)
    if names is not None and columns is not None and names != list(map(str, columns)):
        raise InputError(
            f"{name} has the columns {names} and X has {list(map(str, columns))}; give the same in the same order"
        )
    return found


def column_names(X: Any) -> list[str] | None:
    """Of a DataFrame or an Arrow table; arrays have none."""
    columns = _columns(X)
    return None if columns is None else list(map(str, columns))


def _columns(X: Any) -> Any:
    arrow = type(X).__module__.partition(".")[0] == "pyarrow"  # whose columns are their cells
    return getattr(X, "column_names" if arrow else "columns", None)


_CHUNKS = "give its chunks to partial_fit, one after the other, or to fit as one array, np.concatenate"
_DATES = "say what they should count, e.g. days since the first"


class _CellError(InputError, TypeError):
    """Cells that are neither numbers nor text; scikit-learn's conventions want a `TypeError`."""


def _refuse(X: Any, name: str, first: int) -> None:
    """Refuse what NumPy would silently turn into numbers, and should not."""
    why = mistaken(X, name)
    if why is not None:
        raise InputError(why)
    if isinstance(X, Iterator):
        raise InputError(f"{name} is a {type(X).__name__}; {_CHUNKS}")
    if isinstance(X, list | tuple) and len(X) and getattr(X[0], "ndim", 0) == 2:
        raise InputError(
            f"{name} is a {type(X).__name__} of {len(X)} tables; {_CHUNKS}; if each is one row, such as an image, "
            f"flatten them: np.reshape({name}, (len({name}), -1))"
        )
    if column_names(X) == []:
        raise InputError(f"{name} has no columns; give at least one")
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in "mM" and kind:
        raise InputError(f"{name} holds dates ({X.dtype}); {_DATES}")
    for column, dtype in getattr(getattr(X, "dtypes", None), "items", dict)():
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise InputError(f"{name}: column {column!r} holds dates ({dtype}); {_DATES}")
    if kind in "US" and kind:
        raise InputError(_explain(X, name, first, ValueError(f"holds text ({X.dtype}); convert it with astype(float)")))
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        row, column = np.argwhere(np.ma.getmaskarray(X))[0][:2]
        raise InputError(f"{name}: row {first + row}, column {column} is masked; drop the row or fill the value in")


def _wanted(X: Any) -> Any:
    return np.float32 if getattr(X, "dtype", None) == np.float16 else [np.float64, np.float32]


def _explain(X: Any, name: str, first: int, error: Exception) -> str:
    try:
        cells = np.asarray(X)
    except ValueError:
        if not hasattr(X, "__len__"):
            return _not_rows(X, name)
        return f"{name}: rows {first} to {first + len(X) - 1} do not all have the same number of columns"
    if cells.ndim > 2:
        return (
            f"{name} has {cells.ndim} dimensions (shape {cells.shape}) and needs two, rows and columns; flatten each "
            f"item to a row: np.reshape({name}, (len({name}), -1))"
        )
    if not (hasattr(X, "__array__") or isinstance(X, list | tuple | numbers.Number)):
        return _not_rows(X, name)
    return _bad_cell(X, cells, name, first) or f"{name}: {error}"


def _not_rows(X: Any, name: str) -> str:
    return (
        f"{name} is a {type(X).__name__}, which is not rows of numbers; pass an array of two dimensions or a DataFrame"
    )


def _bad_cell(X: Any, cells: Array, name: str, first: int) -> str | None:
    """An error message for the first cell that is not a number, if there is one."""
    for (row, column), cell in np.ndenumerate(cells) if cells.ndim == 2 and cells.dtype.kind in "OUS" else ():
        try:
            float(cell)
        except OverflowError:
            return (
                f"{name}: row {first + row}, {_column(X, column)} holds a number beyond 1e308, too large for "
                "float64; leave the column out, or give its logarithm"
            )
        except (TypeError, ValueError):
            frame = "" if _columns(X) is None else f", {ENCODES}"
            return (
                f"{name}: row {first + row}, {_column(X, column)} holds {cell!r}, which is not a number; "
                f"encode text as numbers or leave the column out{frame}"
            )
    return None


def _column(X: Any, column: int) -> str:
    """A column by its name where it has one."""
    names = _columns(X)
    return f"column {column}" if names is None else f"column {names[column]!r}"


def _note_rounded(X: Any, rows: Array, name: str) -> None:
    """Warn of whole numbers that float64 cannot represent: different ids would become equal."""
    if getattr(getattr(X, "dtype", None), "kind", "i") not in "iuO":
        return
    large = (rows.max(axis=0, initial=0) >= EXACT) | (rows.min(axis=0, initial=0) <= -EXACT)
    for column in np.flatnonzero(large).tolist():
        cells = _cells(X, column)
        if are_rounded(cells) or (cells.dtype.kind == "O" and any(map(is_rounded, cells))):
            warn(
                f"{name}: {_column(X, column)} holds whole numbers beyond 2**53, which are rounded to 16 digits; "
                "leave the column out if they name rows, else subtract what they have in common"
            )


def _cells(X: Any, column: int) -> Array:
    """A column as it was given, before conversion: of a table with columns of several types, or of lists."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, column])
    names = _columns(X)
    if names is not None:
        return np.asarray(X[names[column]])
    return np.array([row[column] for row in X], object) if isinstance(X, list | tuple) else np.asarray(X)[:, column]


def _check_finite(rows: Array, name: str, first: int, X: Any) -> None:
    for start in range(0, len(rows), _SLICE):
        part = rows[start : start + _SLICE]
        if np.isfinite(part.sum(dtype=np.float64)):  # NaN and inf survive a sum, so most chunks need no mask
            continue
        bad = np.argwhere(~np.isfinite(part))
        if len(bad):
            row, column = bad[0]
            found = "NaN" if np.isnan(part[row, column]) else f"{part[row, column]} (infinity)"
            raise InputError(
                f"{name}: row {first + start + row}, {_column(X, column)} is {found}; drop the row or fill the value in"
            )
