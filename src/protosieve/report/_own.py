"""The prototypes' own columns in a result's table, under the names their files have."""

import re
from typing import Any

from protosieve._prototypes import Prototypes
from protosieve.report._columns import Columns

__all__ = ["files_of", "own_columns"]

_OURS = ("row", "file", "weight", "share")


def own_columns(result: Prototypes) -> Columns:
    """All but ours; none where the result has no table."""
    if result.table is None:
        return Columns()
    names = list(result.table.column_names)
    kept = range(len(_OURS) if tuple(names[: len(_OURS)]) == _OURS else 0, len(names))
    return Columns(_theirs([names[i] for i in kept]), [result.table.column(i) for i in kept])


def _theirs(names: list[str]) -> list[str]:
    """A user's column called like one of ours stands there as ``input_...``, longer than any other of that form."""
    found = list(names)
    for ours in _OURS:
        like = [name for name in names if re.fullmatch(f"(input_)+{ours}", name)]
        if like and ours not in names:
            found[names.index(max(like, key=len))] = ours
    return found


def files_of(result: Prototypes) -> list[Any]:
    """The file of each prototype; None where rows came from memory."""
    if result.table is None or tuple(result.table.column_names[: len(_OURS)]) != _OURS:
        return [None] * len(result)
    return list(result.table.column(1).to_pylist())
