"""Common mistakes in place of rows of numbers, each with its remedy; checked before NumPy converts anything."""

import os
from collections.abc import Mapping
from typing import Any

from scipy.sparse import issparse

ENCODES = "or pass the table to protosieve.select, which encodes text and dates"
_FRAMES = {  # by a method they have: tables that are no arrays
    "mapInArrow": "pass it to protosieve.spark.select",
    "collect": f"call its collect() and pass the numeric columns, {ENCODES}",
    "to_pandas": f"call its to_pandas() and pass the numeric columns, {ENCODES}",
}


def mistaken(X: Any, name: str) -> str | None:
    """An error message that says what ``X`` is and what to do instead; ``None`` if it may be rows."""
    what = f"{name} is a {type(X).__name__}"
    if isinstance(X, str | bytes | os.PathLike):
        return f"{name} is {X!r:.80}, and selectors take rows of numbers; pass paths of files to protosieve.select"
    if isinstance(X, Mapping) and not issparse(X):  # a dok_matrix is a dict
        return f"{what}; {_of_mapping(X, name)}"
    if isinstance(X, list | tuple):
        return _of_items(what, X[0], name) if len(X) else None
    if hasattr(X, "__array__"):
        return None
    return next((f"{what}; {remedy}" for method, remedy in _FRAMES.items() if hasattr(X, method)), None)


def _of_mapping(X: Mapping[Any, Any], name: str) -> str:
    key, value = next(iter(X.items()), (None, None))
    if any(hasattr(value, method) for method in _FRAMES):
        return f"pass one of its tables, such as {name}[{key!r}]"
    return f"pass its numeric columns as one array, np.column_stack(list({name}.values())), or as a DataFrame"


def _of_items(what: str, first: object, name: str) -> str | None:
    if isinstance(first, Mapping):
        return f"{what} of {type(first).__name__}s; make it a DataFrame, pandas.DataFrame({name}), of numeric columns"
    if isinstance(first, str | os.PathLike):
        return f"{what} of text, {first!r:.60} first; pass paths to protosieve.select, and texts as their embeddings"
    return None
