"""What a result file says of its run is what `select` writes: files are sent around, and edited."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["check_known"]

Test: TypeAlias = Callable[[Any], bool]


def check_known(known: Mapping[str, Any]) -> None:
    """Raise `ValueError` that names the first thing that is not of its kind, `KeyError` for one that is not there.

    Whoever reads the provenance later need not ask: the report, the summary, `draw_sample`. O(files).

    >>> check_known({"command": 7})
    Traceback (most recent call last):
    ValueError: command is 7
    """
    _check(known, _RUN, "")
    _check(known["parameters"], _PARAMETERS, "parameters.")
    _check(known["rows_left_out"], _LEFT_OUT, "rows_left_out.")
    _check(known.get("unlike_head") or {}, _UNLIKE_HEAD if known.get("unlike_head") else {}, "unlike_head.")


def _check(known: Mapping[str, Any], tests: Mapping[str, Test], of: str) -> None:
    for name, test in tests.items():
        if not test(known[name]):
            raise ValueError(f"{of}{name} is {known[name]!r:.60}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_seed(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e300


def _maybe(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _all(test: Test) -> Test:
    return lambda value: isinstance(value, list | tuple) and all(test(item) for item in value)


def _is_names(value: Any) -> bool:
    """Of columns, what they are called, and what they are called here."""
    return isinstance(value, Mapping) and all(_is_text(name) and _is_text(of) for name, of in value.items())


def _is_file(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_text(value["name"]) and _maybe(_is_count)(value["size"])


def _is_any_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


_RUN: dict[str, Test] = {
    "command": _is_text,
    "seed": _is_seed,
    "files": _all(_is_file),
    "target_files": _all(_is_file),
    "rows": _is_count,
    "rows_left_out": _is_any_mapping,
    "parameters": _is_any_mapping,
    "renamed": _is_names,
    "selector": _is_text,
    "n_prototypes": lambda value: _is_count(value) and value > 0,
    "residual": _is_number,
    "residual_of_random_rows": _maybe(_is_number),
}
_PARAMETERS: dict[str, Test] = {
    "id": _all(_is_text),
    "label": _maybe(_is_text),
    "target": _maybe(_all(_is_text)),
    "image": _maybe(_is_text),
    "image_shape": _maybe(_is_text),
    "text": _maybe(_is_text),
    "coordinates": _maybe(lambda value: _all(_is_text)(value) and len(value) == 2),
    "format": _maybe(_is_text),
    "bad_rows": _is_text,
    "partition_rows": lambda value: _is_count(value) and value > 0,
    "random_state": _maybe(_is_seed),
}
_UNLIKE_HEAD: dict[str, Test] = {
    "rows": _is_count,
    "differences": _all(_is_text),
    "chosen_from": _maybe(_is_count),
    "why_not": _maybe(_is_text),
}
_LEFT_OUT: dict[str, Test] = {"count": _is_count, "first": _all(_is_text)}
