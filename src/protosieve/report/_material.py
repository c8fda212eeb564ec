"""Result and data in one form, wherever they come from."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._prototypes import DataSample, Prototypes
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError, arg
from protosieve.report._columns import Columns, as_columns, rows_in, taken
from protosieve.report._features import Feature, features_of, spread_of
from protosieve.report._given import rows_of
from protosieve.report._own import own_columns
from protosieve.report._text import is_missing, label_of, named
from protosieve.report._view import View

__all__ = ["Material", "Sample"]

_MOST = 8192  # rows of the data that are looked at
_CELLS = 1 << 23  # and of wide rows fewer
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of the data: numbers, own columns, labels as text, and places on the user's map."""

    indices: NDArray[np.int64]
    rows: Array
    own: Columns
    n_rows: int
    is_target: bool
    labels: list[str] | None = None
    coordinates: Float64 | None = None

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True, eq=False)
class Material:
    """All that a report is made of. ``own``, ``labels`` and ``coordinates`` are the prototypes', where they are known.

    ``is_given`` says that the sample is of data given with the result, not the run's own; ``in_memory`` that the user
    holds that data. ``folders`` are where a picture may lie whose path stands in a row: none, unless a user (of this
    report, or of the run that made the result just now) has named the column. Files are sent around, and edited:
    neither a column nor a folder that a file names makes us read others.
    """

    result: Prototypes
    view: View
    own: Columns
    labels: list[str] | None
    coordinates: Float64 | None
    sample: Sample | None
    is_given: bool = False
    in_memory: bool = False
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: Prototypes, data: Any, view: View) -> "Material":
        """From a result and ``data``: None for the result's own sample, a `DataSample`, or a table or array in memory,
        of which at most 8,192 rows are drawn, the same ones every time. O(sample x columns).
        """
        wished = view.over((result.provenance or {}).get("parameters", {}))
        data = result.sample if data is None else data
        if data is None or isinstance(data, DataSample):
            _needs_rows(view)
            found = _from_sample(result, data, view, wished)
        else:
            found = _from_memory(result, data, view, wished)
        return replace(found, folders=_folders(result, data, view))

    def heaviest(self, n: int) -> "Material":
        """Of the first ``n`` prototypes alone; what is usual stays what it is of all. O(n d)."""
        if n >= len(self.result):
            return self
        fewer = replace(
            self,
            result=_first(self.result, n),
            own=self.own.take(range(n)),
            labels=self.labels and self.labels[:n],
            coordinates=None if self.coordinates is None else self.coordinates[:n],
        )
        vars(fewer)["usual"] = self.usual  # where a cached property keeps it
        return fewer

    @cached_property
    def nearest(self) -> Indices | None:
        """The position of the prototype nearest to each row of the sample; O(sample m d), once."""
        kernel = self.result.kernel
        if self.sample is None or kernel is None:
            return None
        rows = self.sample.rows
        with one_thread():
            prototypes = kernel.prepare(self.result.rows.astype(rows.dtype, copy=False))
            parts = [kernel.prepare(rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK)]
            return np.concatenate([kernel.nearness(part, prototypes).argmax(axis=1) for part in parts])

    @cached_property
    def shares(self) -> Float64 | None:
        """How much of the data is nearest to each prototype: as the run counted it, or of the sample that was given."""
        if self.nearest is None or (self.result.shares is not None and not self.is_given):
            return self.result.shares
        return np.bincount(self.nearest, minlength=len(self.result)) / len(self.nearest)

    @cached_property
    def parts(self) -> Float64:
        """The weights as shares of their sum; equal ones where there is none."""
        weights = np.maximum(self.result.weights, 0.0)
        total = weights.sum()
        return np.asarray(weights / total) if total > 0 else np.full(len(weights), 1 / len(weights))

    @cached_property
    def features(self) -> list[Feature]:
        return features_of(self.result)

    @cached_property
    def usual(self) -> tuple[Float64, Float64]:
        """Mean and standard deviation of the encoded columns: of the sample, else of the weighted prototypes."""
        if self.sample is None:
            return spread_of(self.result.rows, self.parts)
        return spread_of(self.sample.rows, np.full(len(self.sample), 1 / len(self.sample)))


def _folders(result: Prototypes, data: Any, view: View) -> tuple[str, ...]:
    """The working folder, those of the run that made the result just now, and those of the data that is given."""
    if view.image is None and not result.folders:
        return ()
    beside = data.folders if isinstance(data, DataSample) else ()
    return tuple(dict.fromkeys([".", *result.folders, *beside]))


def _first(result: Prototypes, n: int) -> Prototypes:
    return replace(
        result,
        indices=result.indices[:n],
        rows=result.rows[:n],
        weights=result.weights[:n],
        shares=None if result.shares is None else result.shares[:n],
        table=None if result.table is None else result.table.slice(0, n),
    )


def _needs_rows(view: View) -> None:
    """One label or one place per row belongs to rows that are given with them."""
    for name in ("label", "coordinates"):
        if not isinstance(getattr(view, name), str | tuple | None):
            raise InputError(f"{name} has a value per row, and no rows are given; give data=, or the name of a column")


def _from_sample(result: Prototypes, drawn: DataSample | None, view: View, wished: View) -> Material:
    own = own_columns(result)
    theirs = Columns() if drawn is None else (as_columns(drawn.table) or Columns())
    _check_names(view, [*own.names, *theirs.names])
    mine, labels = named(_labels(own, wished), _labels(theirs, wished))
    sample = None
    if drawn is not None and len(drawn.indices):
        places = _places(theirs, wished)
        sample = Sample(drawn.indices, drawn.rows, theirs, drawn.n_rows, drawn.is_target, labels, places)
    is_given = sample is not None and drawn is not result.sample
    return Material(result, wished, own, mine, _places(own, wished), sample, is_given)


def _from_memory(result: Prototypes, data: Any, view: View, wished: View) -> Material:
    count = rows_in(data)
    if not count:
        raise InputError("data has no rows; give those the prototypes were chosen from, or leave it out")
    drawn = _drawn(count, result.rows.shape[1])
    part = taken(data, drawn)
    theirs = as_columns(part) or Columns()
    own, aligned = own_columns(result), _is_aligned(result, data, count, wished)
    if aligned and not own.names:
        own = as_columns(taken(data, result.indices)) or Columns()
    _check_names(view, [*own.names, *theirs.names])
    at = result.indices if aligned else None
    mine, labels = named(_labels(own, wished, at, count), _labels(theirs, wished, drawn, count))
    places = _places(theirs, wished, drawn, count)
    sample = Sample(drawn, rows_of(result, part, wished), theirs, count, False, labels, places)
    return Material(result, wished, own, mine, _places(own, wished, at, count), sample, is_given=True, in_memory=True)


def _drawn(count: int, d: int) -> NDArray[np.int64]:
    most = min(_MOST, max(1024, _CELLS // d))
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _is_aligned(result: Prototypes, data: Any, count: int, view: View) -> bool:
    """Whether the row numbers of the prototypes are those of the data."""
    if count != result.n_seen or not len(result) or result.indices.max() >= count:
        return False
    return np.array_equal(rows_of(result, taken(data, result.indices), view).astype(result.rows.dtype), result.rows)


def _check_names(view: View, known: list[str]) -> None:
    for name in view.columns:
        if name not in known:
            there = ", ".join(map(repr, dict.fromkeys(known))) if known else "none is known: give data="
            raise InputError(f"there is no column {name!r} to show (columns: {there[:500]})")


def _labels(own: Columns, view: View, at: NDArray[np.int64] | None = None, count: int = 0) -> list[str | None] | None:
    """As text; ``at`` are the rows meant where there is a label per row of ``count``."""
    if isinstance(view.label, str):
        return [label_of(value) for value in own.cells(view.label)] if view.label in own else None
    if view.label is None or at is None:
        return None
    return [label_of(value) for value in _per_row("label", view.label, at, count)]


def _places(own: Columns, view: View, at: NDArray[np.int64] | None = None, count: int = 0) -> Float64 | None:
    if isinstance(view.coordinates, tuple):
        if not all(name in own for name in view.coordinates):
            return None
        return np.column_stack([_floats(own, name) for name in view.coordinates])
    if view.coordinates is None or at is None:
        return None
    return np.array(_per_row("coordinates", view.coordinates, at, count), np.float64).reshape(-1, 2)


def _per_row(name: str, given: Any, at: NDArray[np.int64], count: int) -> list[Any]:
    found = len(given) if hasattr(given, "__len__") else 0
    if found != count:
        raise InputError(f"{arg(name)} has {found:,} values and data {count:,} rows; give one for each row")
    return Columns([name], [given]).take(at).cells(name)


def _floats(own: Columns, name: str) -> Float64:
    try:
        return np.array(
            [np.nan if is_missing(cell) or cell == "" else float(cell) for cell in own.cells(name)], np.float64
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{arg('coordinates')}: column {name!r} does not hold numbers ({error}); name another"
        ) from error
