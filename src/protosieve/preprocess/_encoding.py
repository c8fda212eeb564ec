"""How rows are encoded: fixed once, then used on every row."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._pictures import Folders
from protosieve._state import built, storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array
from protosieve.errors import InputError, arg, plain
from protosieve.preprocess._categories import CategoryColumn
from protosieve.preprocess._cells import whole
from protosieve.preprocess._columns import (
    Column,
    DateColumn,
    EmbeddedColumn,
    EmbeddingColumn,
    ImageColumn,
    ListColumn,
    MatrixColumn,
    Measure,
    NumberColumn,
    TextColumn,
    as_text,
)
from protosieve.preprocess._describe import description
from protosieve.preprocess._embed import Embed, EmbedError
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import SCALES
from protosieve.preprocess._steps import OneHot, Step, step_of
from protosieve.preprocess._text_features import SpeltWords, TextFeatures

_CELLS, _FEWEST = 1 << 18, 512  # cells encoded at once stay in the cache; of few rows each step takes as long
_LONGEST = 1 << 20  # numbers of an embedding: a damaged file must not ask for more memory


@storable
@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table become the columns of a float32 matrix; made by `Survey.settle`.

    - **Numbers and dates** are ``(x - shift) * factor``; a null becomes the column's mean. Heavy-tailed ones become
      normal by their ranks, and a null their median. Where a tenth of a column is null, one more says which are.
    - **Categories** are columns of 0 and 1, one per frequent value. These are not standardised, and need not be: of
      two rows drawn at random, a standardised number differs by 2 in expected squared distance (twice its variance),
      and two different values of a category by exactly 2 (1 in each of two columns). A mismatch thus weighs as much
      as a usual difference of a number. Standardised, a rare value would weigh more the rarer it is.
    - **Embeddings** are copied as they are.
    - **Texts**, by their words or by a model, are rows of length one, so that two that share nothing differ by 2 in
      squared distance; beside other columns they are weighed: by default as much as all of these together.
    - **Images** are rows of length one at most, and are weighed as texts are.
    - What is the same in every row tells no rows apart, and is dropped.

    A category not seen in the survey is "other" where there is such a column, else zeros; so is a null where there
    were none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from protosieve.preprocess import Layout, Survey
    >>> table = pa.table({"height": [150.0, 170.0, 190.0], "smoker": [True, False, False]})
    >>> layout = Layout.of(table.schema)
    >>> survey = Survey.of(layout)
    >>> survey.update(layout.raw(table, grow=True)[0])
    >>> encoding = survey.settle(scale="minmax")
    >>> encoding.names
    ['height', 'smoker=false', 'smoker=true']
    >>> encoding.encode({"height": [160, None], "smoker": [True, None]})
    array([[0.25, 0.  , 1.  ],
           [0.5 , 0.  , 0.  ]], dtype=float32)
    """

    layout: Layout
    rows: int
    scale: str
    steps: list[Step]
    dropped: dict[str, str]
    filled: dict[str, int]

    def _check_form(self) -> None:
        require(self.scale in SCALES and are_counts(self.rows, *self.filled.values()), "scales and counts")
        width = self.layout.width
        require(self.steps and all(step.sources[-1] < width for step in self.steps), "steps of these columns")
        # codes are looked up by vocabularies: a step that took other numbers for codes would look beyond its table
        categories = {place: column.name for column, place in self.layout.categories()}
        for step in self.steps:
            if isinstance(step, OneHot):
                require(categories.get(step.source) == step.column, f"{step.column!r:.40} is no column of categories")

    @property
    def _measures(self) -> list[Measure]:
        return [column for column in self.layout.items if isinstance(column, Measure)]

    @property
    def names(self) -> list[str]:
        """Of the encoded columns: ``age``, ``colour=red``, ``colour=other``, ``vec[0]``."""
        return [name for step in self.steps for name in step.names]

    def transform(self, raw: Array) -> NDArray[np.float32]:
        """Raw rows (see `Layout.raw`) encoded: O(rows x columns), in float64 before the result is rounded."""
        if raw.ndim != 2 or raw.shape[1] != self.layout.width:
            raise InputError(f"raw rows must have {self.layout.width} columns, got an array of shape {raw.shape}")
        out = np.empty((len(raw), sum(len(step.names) for step in self.steps)), np.float32)
        size = max(_FEWEST, _CELLS // max(out.shape[1], 1))
        with np.errstate(all="ignore"):  # overflow is found below
            for start in range(0, len(raw), size):
                part = out[start : start + size]
                for step, first in self._placed():
                    step.apply(raw[start : start + size], part[:, first : first + len(step.names)])
                if not np.isfinite(part.sum()):
                    self._check_finite(raw, part, start)
        return out

    def _placed(self) -> Iterator[tuple[Step, int]]:
        first = 0
        for step in self.steps:
            yield step, first
            first += len(step.names)

    def _check_finite(self, raw: Array, out: NDArray[np.float32], start: int) -> None:
        for row, place in np.argwhere(~np.isfinite(out)).tolist():
            step, first = [(step, first) for step, first in self._placed() if first <= place][-1]
            name, value = step.names[place - first], raw[start + row, step.sources[place - first]]
            raise InputError(
                f"row {start + row} of these: column {name!r} holds {value:g}, which single precision cannot hold with "
                f"{arg('scale', self.scale)}; fix the value, or leave the row out"
            )

    def encode(self, table: Any, folders: Folders = (".",), embed: str | Embed | None = None) -> NDArray[np.float32]:
        """New rows encoded as the surveyed ones were: a pyarrow table, a DataFrame or a dict of columns.

        Order does not matter, and other columns are ignored, as are those that were dropped. The first row that cannot
        be used is an `InputError`. In a DataFrame NaN is null, as pandas means it; elsewhere NaN is a fault. Paths of
        images are looked for in ``folders``, and nowhere else. ``embed`` is the model that embedded texts, where
        the encoding was read from a file: names in files are not run.
        """
        used = self._used()
        layout = replace(self.layout, items=[column for column, _ in used]).by_model(embed)
        try:
            found, problems = layout.raw(_as_table(table, dict.fromkeys(layout.columns)), grow=False, folders=folders)
        except EmbedError as error:
            raise InputError(f"{error.at(range(error.last + 1))}: {error.marked}") from error
        for row, problem in problems:
            raise InputError(f"row {row}: {problem}; fix the row, or leave it out")
        raw = np.zeros((len(found), self.layout.width), found.dtype)
        raw[:, [place for _, places in used for place in places]] = found
        return self.transform(raw)

    def _used(self) -> list[tuple[Column, range]]:
        """The columns that are not dropped, with their places in the raw matrix."""
        sources = {source for step in self.steps for source in step.sources}
        placed = [(column, range(first, first + column.width)) for column, first in self.layout.placed()]
        return [(column, places) for column, places in placed if not sources.isdisjoint(places)]

    def words(self, table: Mapping[str, Any]) -> SpeltWords | None:
        """The words of the texts by which rows are compared; None where the table has none of these."""
        names = [column.name for column, _ in self._used() if isinstance(column, TextColumn) and column.name in table]
        texts = [as_text(whole(column)) for column in _as_table(table, names).columns] if names else []
        return SpeltWords.of(texts) if texts else None

    def describe(self) -> list[str]:
        """What is done with which columns, in plain lines."""
        return list(map(plain, self.marked()))

    def marked(self) -> list[str]:
        """The same with arguments marked, for readers that call them otherwise: see `protosieve.errors`."""
        return description(self.layout, self.rows, self.scale, self.steps, self.filled, self.dropped)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it: by this alone rows could be encoded again."""
        return {
            "rows_surveyed": self.rows,
            "scale": self.scale,
            "dtype": self.layout.dtype,
            "columns": {column.name: column.kind for column in self.layout.items},
            "lengths": {column.name: column.length for column in self.layout.items if isinstance(column, ListColumn)},
            "missing_words": {column.name: column.words for column in self._measures if column.words},
            "order_of_dates": {
                column.name: column.order
                for column in self._measures
                if isinstance(column, DateColumn) and column.order
            },
            "texts": {
                column.name: column.features.as_dict()
                for column in self.layout.items
                if isinstance(column, TextColumn) and column.features is not None
            },
            "models": {
                column.name: {"model": column.model, "version": column.version}
                for column in self.layout.items
                if isinstance(column, EmbeddedColumn)
            },
            "typed": [column.name for column in self.layout.items if getattr(column, "typed", False)],
            "steps": [step.as_dict() for step in self.steps],
            "nulls_replaced": dict(self.filled),
            "dropped": dict(self.dropped),
            "left_out": dict(self.layout.left_out),
            "rounded": list(self.layout.rounded),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Encoding":
        """The inverse of `as_dict`; the encoding encodes rows as that one did. `InputError` for any other dict.

        >>> import pyarrow as pa
        >>> from protosieve.preprocess import Layout, Survey
        >>> table = pa.table({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]})
        >>> survey = Survey.of(Layout.of(table.schema))
        >>> survey.update(survey.layout.raw(table, grow=True)[0])
        >>> encoding = survey.settle()
        >>> again = Encoding.from_dict(encoding.as_dict())
        >>> bool((again.encode(table) == encoding.encode(table)).all())
        True
        """
        try:
            steps = [step_of(step) for step in stored["steps"]]
            names = {"rows": "rows_surveyed", "scale": "scale", "dropped": "dropped", "filled": "nulls_replaced"}
            fields = {field: stored[name] for field, name in names.items()}
            made: Encoding = built(cls, {"layout": _layout_of(stored, steps), "steps": steps, **fields})
            return made
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise InputError(
                f"this is not how columns were encoded ({type(error).__name__}: {error}); give what Encoding.as_dict "
                "returned, or a result file as it was written"
            ) from error


def _layout_of(stored: Mapping[str, Any], steps: Sequence[Step]) -> Layout:
    """Columns with their kinds, and of categories those that the steps tell apart."""
    typed = set(stored["typed"])
    kept = {step.column: step.categories for step in steps if isinstance(step, OneHot)}
    items = []
    for name, kind in stored["columns"].items():
        fields = {"name": name}
        if kind == CategoryColumn.kind:
            fields |= {"typed": name in typed, "values": list(kept.get(name, []))}
        elif issubclass(_KINDS[kind], Measure):
            fields |= {"words": list(stored.get("missing_words", {}).get(name, []))}
            fields |= {"order": stored.get("order_of_dates", {}).get(name, "")} if kind == DateColumn.kind else {}
        elif kind == TextColumn.kind:
            fields |= {"features": TextFeatures.from_dict(stored["texts"][name])}
        elif issubclass(_KINDS[kind], ListColumn):
            fields |= {"length": stored["lengths"][name]}
            if kind == EmbeddedColumn.kind:
                fields |= {said: stored["models"][name][said] for said in ("model", "version")}
            require(0 < stored["lengths"][name] <= _LONGEST, f"the length of column {name!r:.40}")
        items.append(built(_KINDS[kind], fields))
    rounded = {name: name in stored["columns"] for name in stored.get("rounded", [])}
    require(all(rounded.values()), "columns of rounded numbers must be columns")
    layout: Layout = built(
        Layout, {"items": items, "left_out": stored["left_out"], "dtype": stored["dtype"], "rounded": rounded}
    )
    return layout


_KINDS: dict[str, type[Column]] = {
    column.kind: column
    for column in (
        NumberColumn,
        DateColumn,
        CategoryColumn,
        EmbeddingColumn,
        ImageColumn,
        MatrixColumn,
        TextColumn,
        EmbeddedColumn,
    )
}


def _as_table(table: Any, columns: Collection[str]) -> pa.Table:
    """What users pass as a table; of a DataFrame only ``columns``, for others may hold what Arrow cannot."""
    pandas = sys.modules.get("pandas")  # who passes a DataFrame has imported it
    try:
        if pandas is not None and isinstance(table, pandas.DataFrame):
            frame = table.rename(columns=str)
            return pa.Table.from_pandas(frame[[name for name in frame if name in columns]], preserve_index=False)
        if isinstance(table, Mapping):
            table = {str(name): _as_column(values) for name, values in table.items() if str(name) in columns}
        return table if isinstance(table, pa.Table) else pa.table(table)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"a {type(table).__name__} cannot be read as a table ({str(error).splitlines()[0]}); "
            "give a pyarrow Table, a DataFrame, or a dict of columns of one length"
        ) from error


def _as_column(values: Any) -> Any:
    """An array of two dimensions as a column of lists."""
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1]:
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
    return values
