"""Nested parameters in scikit-learn's notation, such as ``kernel__width``, of values that never change in place."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from protosieve.errors import ParameterError, arg


def split(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Separate plain parameters from nested ones.

    >>> split({"n_prototypes": 5, "kernel__width": 2.0})
    ({'n_prototypes': 5}, {'kernel': {'width': 2.0}})
    """
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for key, value in params.items():
        name, delimiter, part = key.partition("__")
        (parts.setdefault(name, {}) if delimiter else whole)[part or name] = value
    return whole, parts


def parts_of(value: object) -> dict[str, Any]:
    """The parameters of a kernel, mean or objective, without the rows it may hold; none of anything else."""
    return {name: getattr(value, name) for name in _names(value)}


def with_parts(owner: str, name: str, value: Any, parts: Mapping[str, Any]) -> Any:
    """A copy of the value with some of its parameters changed."""
    known = _names(value)
    for part in parts:
        if part not in known:
            has = f"has {', '.join(known)}" if known else "has no parameters"
            raise ParameterError(
                f"{owner}: {arg(f'{name}__{part}')} was given, and {name} is {value!r}, which {has}; "
                f"set {name} itself, or leave {name}__{part} out"
            )
    return dataclasses.replace(value, **parts)


def _names(value: object) -> list[str]:
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else ()
    return [field.name for field in fields if field.init and field.repr]
