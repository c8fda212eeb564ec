"""The prototypes' own columns in a result's table, under the names their files have."""

from collections.abc import Mapping, Sequence
from typing import Any

from protosieve._prototypes import OURS, Prototypes
from protosieve.report._columns import Columns

__all__ = ["files_of", "own_columns", "own_names"]


def own_columns(result: Prototypes) -> Columns:
    """All but ours; none where the result has no table."""
    if result.table is None:
        return Columns()
    found = own_names(result.table.column_names, (result.provenance or {}).get("renamed") or {})
    return Columns(list(found.values()), [result.table.column(i) for i in found])


def own_names(names: Sequence[str], renamed: Mapping[str, str]) -> dict[int, str]:
    """The users' columns by their place in a table: a column called like one of ours was ``renamed`` there.

    >>> own_names(["row", "file", "weight", "share", "input_row", "x"], {"row": "input_row"})
    {4: 'row', 5: 'x'}
    """
    back = {new: name for name, new in renamed.items()}
    return {i: back.get(names[i], names[i]) for i in range(len(OURS) if _has_ours(names) else 0, len(names))}


def files_of(result: Prototypes) -> list[Any]:
    """The file of each prototype; None where rows came from memory."""
    if result.table is None or not _has_ours(result.table.column_names):
        return [None] * len(result)
    return list(result.table.column(OURS.index("file")).to_pylist())


def _has_ours(names: Sequence[str]) -> bool:
    return tuple(names[: len(OURS)]) == OURS
