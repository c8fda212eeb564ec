"""From the text of an option to the value `protosieve.select` takes. What is no value is left to `select` to refuse."""

import csv
from collections.abc import Callable
from typing import Any

__all__ = ["arguments"]


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as arguments of Python, by the same names."""
    return {name: _VALUES[name](value) if name in _VALUES else value for name, value in given.items()}


def _count(text: str) -> int | str:
    """A number where it is one.

    >>> _count("500"), _count("1%"), _count("many")
    (500, '1%', 'many')
    """
    return int(text) if text.lstrip("+-").isdecimal() else text


def _count_if_any(text: str | None) -> int | str | None:
    return None if text is None else _count(text)


def _seed(text: str) -> int | str | None:
    return None if text == "none" else _count(text)


def _width(text: str | None) -> float | str | None:
    """A number where it is one.

    >>> _width("2.5"), _width("median")
    (2.5, 'median')
    """
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _names(given: list[str] | None) -> list[str] | None:
    """Names separated by commas; one that has a comma goes in double quotes, as in a CSV file.

    >>> _names(["age, height", "city"]), _names(['"size, in cm",age'])
    (['age', 'height', 'city'], ['size, in cm', 'age'])
    """
    if not given:
        return None
    return [name for line in csv.reader(given, skipinitialspace=True, strict=False) for name in line if name]


def _both(given: str | None) -> list[str] | None:
    return None if given is None else _names([given])


def _files(given: list[str] | None) -> list[str] | None:
    return given or None


_VALUES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("n_prototypes", "max_categories", "partition_rows"), _count),
    **dict.fromkeys(("sample", "workers"), _count_if_any),
    "random_state": _seed,
    "width": _width,
    "target": _files,
    "methods": _names,
    "coordinates": _both,
    **dict.fromkeys(("features", "exclude", "id", "categorical"), _names),
}
