"""A layout from what an encoding's plain form says of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from protosieve.preprocess._categories import CategoryColumn
from protosieve.preprocess._columns import Column, DateColumn, NumberColumn
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._lists import EmbeddingColumn, MatrixColumn
from protosieve.preprocess._steps import LONGEST, OneHot, Step

__all__ = ["layout_of"]


def layout_of(stored: Mapping[str, Any], steps: Sequence[Step]) -> Layout:
    """Columns with their kinds, and of categories those that the steps tell apart.

    What is no layout's is some `ValueError`, `KeyError` or `TypeError`.
    """
    kept = {step.name: step.categories for step in steps if isinstance(step, OneHot)}
    typed = set(stored["typed"])
    items = [_column(name, kind, stored, name in typed, kept.get(name, [])) for name, kind in stored["columns"].items()]
    if stored["dtype"] not in ("float32", "float64"):
        raise ValueError(f"dtype is {stored['dtype']!r:.40}")
    layout = Layout(
        items, dict(stored["left_out"]), stored["dtype"], _known(stored.get("rounded", []), stored["columns"])
    )
    _check_categories(layout, steps)
    return layout


def _column(name: str, kind: str, stored: Mapping[str, Any], typed: bool, categories: list[str]) -> Column:
    if kind == "category":
        return CategoryColumn(name, typed, list(categories))
    if kind in ("embedding", "matrix"):
        length = stored["lengths"][name]
        if type(length) is not int or not 0 < length <= LONGEST:
            raise ValueError(f"column {name!r:.40} has a length of {length!r:.40}")
        return (EmbeddingColumn if kind == "embedding" else MatrixColumn)(name, length)
    return {"number": NumberColumn, "date": DateColumn}[kind](name)


def _known(names: Any, columns: Mapping[str, Any]) -> dict[str, bool]:
    if not isinstance(names, list) or not all(isinstance(name, str) and name in columns for name in names):
        raise ValueError("columns of rounded numbers must be columns")
    return dict.fromkeys(names, True)


def _check_categories(layout: Layout, steps: Sequence[Step]) -> None:
    """Codes are looked up by them: a step that took other numbers for codes would look beyond its table."""
    homes = {place: column for column, place in layout.placed() if isinstance(column, CategoryColumn)}
    for step in steps:
        if isinstance(step, OneHot) and (step.source not in homes or homes[step.source].name != step.name):
            raise ValueError(f"{step.name!r:.40} is no column of categories")
