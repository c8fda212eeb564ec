"""A result and rows of its data in one form, wherever they come from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError, arg
from protosieve.insight._columns import Columns, as_columns, count_rows, files_of, own_columns, take_rows
from protosieve.insight._encode_data import encode_data
from protosieve.insight._features import Feature, features_of
from protosieve.insight._sample_judge import SampleJudge, thinned
from protosieve.insight._text import distinct_labels, is_missing, label_of
from protosieve.insight._view import View
from protosieve.result import DataSample, Prototypes

_MOST = 8192  # rows of the data that are looked at
_CELLS = 1 << 23  # and of wide rows fewer
_BLOCK = 1024
_STRANGE = 0.05  # a residual by the data that is this much above the result's own: other data


@dataclass(frozen=True, eq=False)
class DescribedRows:
    """Rows to describe: their encoded numbers, the user's own columns, and where known file, label and coordinates."""

    indices: NDArray[np.int64]
    numbers: Array
    own: Columns
    files: Sequence[Any]
    labels: list[str] | None
    coordinates: Float64 | None

    def __len__(self) -> int:
        return len(self.indices)

    def take(self, places: Any) -> "DescribedRows":
        """Some of them, in the order asked for."""
        at = np.asarray(places, np.int64)
        return DescribedRows(
            self.indices[at],
            self.numbers[at],
            self.own.take(at),
            [self.files[i] for i in at.tolist()],
            None if self.labels is None else [self.labels[i] for i in at.tolist()],
            None if self.coordinates is None else self.coordinates[at],
        )


@dataclass(frozen=True, eq=False)
class ResultWithData:
    """All that is described: a result, and a sample of the ``n_rows`` rows of its data, or of its target.

    ``is_given`` says that the sample is of data given with the result, not the run's own. ``folders`` are where a
    picture may lie whose path stands in a row: none, unless a user (of this report, or of the run that made the result
    just now) has named the column. Files are sent around, and edited: neither a column nor a folder that a file names
    makes us read others.
    """

    result: Prototypes
    view: View
    prototypes: DescribedRows
    sample: DescribedRows | None
    n_rows: int
    is_target: bool
    is_given: bool
    folders: tuple[str, ...]

    @classmethod
    def of(cls, result: Prototypes, data: Any = None, view: View | None = None) -> "ResultWithData":
        """From a result and ``data``: None for the result's own sample, a `DataSample`, or a table or array in memory,
        of which at most 8,192 rows are drawn, the same ones every time. O(sample x columns).
        """
        asked = view or View()
        wished = asked.over((result.provenance or {}).get("parameters", {}))
        given = result.sample if data is None else data
        sample, own = given, own_columns(result)
        count, at, mine = None, None, None  # rows in memory; those of the sample and of the prototypes among them
        if not isinstance(given, DataSample | None):
            sample = _draw(result, given, wished)
            count, at = sample.n_rows, sample.indices
            if _is_aligned(result, given, count, wished):
                mine = result.indices
                own = own if own.names else as_columns(take_rows(given, mine)) or Columns()
        theirs = Columns() if sample is None else as_columns(sample.table) or Columns()
        _check(asked, [*own.names, *theirs.names], count)
        labels, their_labels = distinct_labels(_labels(wished, own, mine), _labels(wished, theirs, at))
        rows = None
        if sample is not None and len(sample):
            files, places = [None] * len(sample), _coordinates(wished, theirs, at)
            rows = DescribedRows(sample.indices, sample.rows, theirs, files, their_labels, places)
        return cls(
            result,
            wished,
            DescribedRows(result.indices, result.rows, own, files_of(result), labels, _coordinates(wished, own, mine)),
            rows,
            n_rows=0 if sample is None else sample.n_rows,
            is_target=sample is not None and sample.is_target,
            is_given=rows is not None and given is not result.sample,
            folders=_folders(result, sample, asked),
        )

    @cached_property
    def nearest(self) -> Indices | None:
        """The position of the prototype nearest to each row of the sample; O(sample m d), once."""
        kernel = self.result.kernel
        if self.sample is None or kernel is None:
            return None
        rows = self.sample.numbers
        with one_thread():
            return kernel.nearest(rows, self.result.rows, _BLOCK)

    @cached_property
    def similarity(self) -> Float64 | None:
        """Of each row of the sample, to the prototype that is most similar to it; O(sample m d), once."""
        kernel = self.result.kernel
        if self.sample is None or kernel is None:
            return None
        rows = self.sample.numbers if kernel.nonnegative else self.sample.numbers.astype(np.float64)
        with one_thread():
            prototypes = kernel.prepare(self.result.rows.astype(rows.dtype, copy=False))
            parts = [kernel.prepare(rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK)]
            return np.concatenate([kernel.block(part, prototypes).max(axis=1) for part in parts]).astype(np.float64)

    @cached_property
    def shares(self) -> Float64 | None:
        """How much of the data is nearest to each prototype: as the run counted it, or of the sample that was given."""
        if self.nearest is None or (self.result.shares is not None and not self.is_given):
            return self.result.shares
        return np.bincount(self.nearest, minlength=len(self.result)) / len(self.nearest)

    @cached_property
    def weight_shares(self) -> Float64:
        """The weights as shares of their sum; equal ones where there is none."""
        weights = np.maximum(self.result.weights, 0.0)
        total = weights.sum()
        return np.asarray(weights / total) if total > 0 else np.full(len(weights), 1 / len(weights))

    @cached_property
    def features(self) -> list[Feature]:
        return features_of(self.result)

    @cached_property
    def mean_and_deviation(self) -> tuple[Float64, Float64]:
        """Of the encoded columns: of the sample, else of the weighted prototypes. O(n d)."""
        rows = self.result.rows if self.sample is None else self.sample.numbers
        weights = self.weight_shares if self.sample is None else np.full(len(rows), 1 / len(rows))
        exact = rows.astype(np.float64)
        mean = weights @ exact
        return mean, np.sqrt(weights @ (exact - mean) ** 2)

    @cached_property
    def judge(self) -> SampleJudge | None:
        """The sample, to judge by in place of the mean that chose."""
        kernel = self.result.kernel
        if kernel is None or self.sample is None:
            return None
        rows = self.sample.numbers if kernel.nonnegative else self.sample.numbers.astype(np.float64)
        return SampleJudge.of(kernel, rows, self.result.covers)

    @cached_property
    def residual_by_sample(self) -> float:
        """What the prototypes leave by the judge; O(m^2 d)."""
        assert self.judge is not None
        return self.judge.residual(self.result.rows, self.result.weights)

    @property
    def is_other_data(self) -> bool:
        """Whether the data that was given is plainly not what the prototypes were to match."""
        if not self.is_given or self.judge is None:
            return False
        return self.residual_by_sample > 2 * self.result.residual + _STRANGE

    @cached_property
    def random_by_sample(self) -> float | None:
        """What as many random rows of the sample leave by the judge.

        None where it has fewer, where it is of a target, from which nothing is chosen, and where it is plainly of
        other data than was to be matched.
        """
        sample, count = self.sample, allowed(self.result)
        if sample is None or self.judge is None or self.is_target or count > len(sample) or self.is_other_data:
            return None
        return self.judge.residual_of_random(sample.numbers, count)


def allowed(result: Prototypes) -> int:
    """How many prototypes there could have been."""
    return min(int(result.parameters["n_prototypes"]), result.n_seen)


def _draw(result: Prototypes, data: Any, view: View) -> DataSample:
    """A uniform sample of data in memory, the same every time."""
    count = count_rows(data)
    if not count:
        raise InputError("data has no rows; give those the prototypes were chosen from, or leave it out")
    drawn = thinned(np.arange(count), min(_MOST, max(1024, _CELLS // result.rows.shape[1])))
    part = take_rows(data, drawn)
    return DataSample(drawn, encode_data(result, part, view), part, count, is_target=False)


def _is_aligned(result: Prototypes, data: Any, count: int, view: View) -> bool:
    """Whether the row numbers of the prototypes are those of the data."""
    if count != result.n_seen or not len(result) or result.indices.max() >= count:
        return False
    rows = encode_data(result, take_rows(data, result.indices), view)
    return np.array_equal(rows.astype(result.rows.dtype), result.rows)


def _folders(result: Prototypes, sample: DataSample | None, view: View) -> tuple[str, ...]:
    """The working folder, those of the run that made the result just now, and those of the data that is given."""
    folders = result.source.folders if result.source else ()
    if view.image is None and not folders:
        return ()
    return tuple(dict.fromkeys([".", *folders, *(() if sample is None else sample.folders)]))


def _check(view: View, known: list[str], count: int | None) -> None:
    """A name is that of a column, and values per row are as many as the rows that are given."""
    for name, is_name in (("label", isinstance(view.label, str)), ("coordinates", isinstance(view.coordinates, tuple))):
        values = getattr(view, name)
        if values is None or is_name:
            continue
        if count is None:
            raise InputError(f"{name} has a value per row, and no rows are given; give data=, or the name of a column")
        if len(values) != count:
            raise InputError(f"{arg(name)} has {len(values):,} values and data {count:,} rows; give one for each row")
    for name in view.columns:
        if name not in known:
            there = ", ".join(map(repr, dict.fromkeys(known))) if known else "none is known: give data="
            raise InputError(f"there is no column {name!r} to show (columns: {there[:500]})")


def _labels(view: View, own: Columns, at: NDArray[np.int64] | None) -> list[str | None] | None:
    """As text, of the column that was named, or of the values per row at the rows ``at``; None where not known."""
    if isinstance(view.label, str):
        return [label_of(value) for value in own.cells(view.label)] if view.label in own else None
    if view.label is None or at is None:
        return None
    return [label_of(value) for value in Columns([("label", view.label)]).take(at).cells("label")]


def _coordinates(view: View, own: Columns, at: NDArray[np.int64] | None) -> Float64 | None:
    if isinstance(view.coordinates, tuple):
        named = all(name in own for name in view.coordinates)
        return np.column_stack([_floats(own, name) for name in view.coordinates]) if named else None
    return None if view.coordinates is None or at is None else np.asarray(view.coordinates[at], np.float64)


def _floats(own: Columns, name: str) -> Float64:
    try:
        cells = [np.nan if is_missing(cell) or cell == "" else float(cell) for cell in own.cells(name)]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{arg('coordinates')}: column {name!r} does not hold numbers ({error}); name another"
        ) from error
    return np.array(cells, np.float64)
