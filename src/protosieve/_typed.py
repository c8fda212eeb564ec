"""Whether a value is of the type that an annotation names, down to the items of lists and the kind of an array."""

import dataclasses
import types
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

_MOST = 1 << 62  # rows, and what is counted of them


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """The types of the fields that a dataclass is made of."""
    known = get_type_hints(cls)
    return {field.name: known[field.name] for field in dataclasses.fields(cls) if field.init}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type ``hint``; integers count as floats, booleans not as numbers. O(items).

    >>> fits([1, None], list[int | None]), fits([1, "2"], list[int]), fits(True, int), fits(1, float)
    (True, False, False, True)
    """
    if hint is Any:
        return True
    if isinstance(hint, TypeVar):
        return hint.__bound__ is None or fits(value, hint.__bound__)
    if hint is None:
        return value is None
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None:
        return _is(value, hint)
    if isinstance(origin, type) and dataclasses.is_dataclass(origin):
        return isinstance(value, origin)
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in inner)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in inner)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _holds(value, get_args(inner[1])[0])
    if origin is list:
        return isinstance(value, list) and all(fits(item, inner[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    raise TypeError(f"a state file cannot hold a {hint}")


def _is(value: Any, kind: type) -> bool:
    if kind in (int, float):
        return type(value) in (int, kind)
    return isinstance(value, kind)


def _holds(array: np.ndarray[Any, Any], kind: Any) -> bool:
    """Numbers, as this machine has them; of some kind, where that is declared."""
    plain = array.dtype.kind in "biuf" and array.dtype.isnative
    return plain and (kind is Any or issubclass(array.dtype.type, kind))


def are_rows(rows: Any, width: int | None = None) -> bool:
    """Whether these are finite rows of floats, of some width."""
    return are_raw(rows, width) and are_finite(rows)


def are_raw(rows: Any, width: int | None = None) -> bool:
    """As `are_rows`, but NaN is allowed."""
    return bool(rows.ndim == 2 and rows.dtype.kind == "f" and width in (None, rows.shape[1]))


def are_finite(*values: Any) -> bool:
    return all(bool(np.isfinite(value).all()) for value in values)


def are_counts(*values: int) -> bool:
    """Whether all values are between 0 and 2**62."""
    return all(0 <= value < _MOST for value in values)


def require(fact: Any, what: str) -> None:
    """Raise `ValueError` where a fact does not hold of a value that was read; ``python -O`` keeps it."""
    if not fact:
        raise ValueError(what)
