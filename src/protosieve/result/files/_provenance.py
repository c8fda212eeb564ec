"""What a result file says of its run is checked when it is read: files are sent around, and edited."""

from collections.abc import Mapping
from typing import Any

from protosieve._typed import fits, require

__all__ = ["check_provenance"]

_LARGEST, _SEEDS = 1 << 63, ("seed", "random_state")  # of counts, sizes and figures; seeds may be larger
_RUN = {
    "command": str | None,
    "version": str,
    "seed": int,
    "files": list[dict[str, Any]],
    "target_files": list[dict[str, Any]],
    "rows": int,
    "rows_left_out": dict[str, Any],
    "unlike_head": dict[str, Any] | None,
    "parameters": dict[str, Any],
    "encoding": dict[str, Any],
    "renamed": dict[str, str],
    "selector": str,
    "n_prototypes": int,
    "residual": float,
    "residual_of_random_rows": float | None,
}
_FILE = {"name": str, "size": int | None}
_LEFT_OUT = {"count": int, "first": list[str]}
_UNLIKE_HEAD = {"rows": int, "differences": list[str], "chosen_from": int | None, "why_not": str | None}
_PARAMETERS = {
    "id": list[str],
    "label": str | None,
    "target": list[str] | None,
    "image": str | None,
    "image_shape": str | None,
    "text": str | None,
    "coordinates": list[str] | None,
    "format": str | None,
    "bad_rows": str,
    "partition_rows": int,
    "random_state": int | None,
}


def check_provenance(known: Mapping[str, Any]) -> None:
    """Raise `ValueError` that names the first value of a wrong type, `KeyError` for one that is not there.

    The report, the summary and `draw_sample` can then rely on it. O(files).

    >>> check_provenance({"command": 7})
    Traceback (most recent call last):
    ValueError: command is 7
    """
    _check(known, _RUN)
    _check(known["parameters"], _PARAMETERS)
    _check(known["rows_left_out"], _LEFT_OUT)
    for file in [*known["files"], *known["target_files"]]:
        _check(file, _FILE)
    if known["unlike_head"]:
        _check(known["unlike_head"], _UNLIKE_HEAD)
    require(known["n_prototypes"] and known["parameters"]["partition_rows"], "a number of rows is 0")
    require(len(known["parameters"]["coordinates"] or "xy") == 2, "coordinates are two columns")


def _check(known: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for name, kind in types.items():
        value = known[name]
        is_small = not isinstance(value, int | float) or 0 <= value < _LARGEST or (name in _SEEDS and value >= 0)
        require(fits(value, kind) and is_small, f"{name} is {value!r:.60}")
