"""How rows are encoded: settled once, used on every row since."""

import copy
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.errors import InputError, arg, plain
from protosieve.preprocess._columns import Column
from protosieve.preprocess._describe import description
from protosieve.preprocess._layout import Layout, check_columns
from protosieve.preprocess._lists import ListColumn
from protosieve.preprocess._settle import SCALES, Draft
from protosieve.preprocess._steps import Step, step_of
from protosieve.preprocess._stored import layout_of

__all__ = ["Encoding"]

_CELLS, _FEWEST = 1 << 18, 512  # cells encoded at once stay in the cache; of few rows each step takes as long


@storable
@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table become the columns of a float32 matrix; made by `Survey.settle`.

    - **Numbers and dates** are ``(x - shift) * factor``; a null becomes the column's mean.
    - **Categories** are columns of 0 and 1, one per frequent value. These are not standardised, and need not be: of
      two rows drawn at random, a standardised number differs by 2 in expected squared distance (twice its variance),
      and two different values of a category by exactly 2 (1 in each of two columns). A mismatch thus weighs as much
      as a usual difference of a number. Standardised, a rare value would weigh more the rarer it is.
    - **Embeddings** are copied as they are.
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

    @classmethod
    def of(cls, draft: Draft) -> "Encoding":
        """What was decided, with a vocabulary of its own that grows no more."""
        layout = copy.deepcopy(draft.layout)
        return cls(layout, draft.rows, draft.scale, draft.steps, draft.dropped, draft.filled)

    @property
    def names(self) -> list[str]:
        """Of the encoded columns: ``age``, ``colour=red``, ``colour=other``, ``vec[0]``."""
        return [name for step in self.steps for name in step.names]

    def transform(self, raw: Array) -> NDArray[np.float32]:
        """Raw rows (see `Layout.raw`) encoded: O(rows x columns), in float64 before the result is rounded."""
        if raw.ndim != 2 or raw.shape[1] != self.layout.width:
            raise InputError(f"raw rows must have {self.layout.width} columns, got an array of shape {raw.shape}")
        out = np.empty((len(raw), sum(len(step.names) for step in self.steps)), np.float32)
        stretch = max(_FEWEST, _CELLS // max(out.shape[1], 1))
        with np.errstate(all="ignore"):  # overflow is found below
            for start in range(0, len(raw), stretch):
                part = out[start : start + stretch]
                self._fill(raw[start : start + stretch], part)
                if not np.isfinite(part.sum()):
                    self._check_finite(raw, part, start)
        return out

    def _fill(self, raw: Array, out: NDArray[np.float32]) -> None:
        for step, first in self._placed():
            step.apply(raw, out[:, first : first + len(step.names)])

    def _placed(self) -> Iterator[tuple[Step, int]]:
        first = 0
        for step in self.steps:
            yield step, first
            first += len(step.names)

    def _check_finite(self, raw: Array, out: NDArray[np.float32], start: int) -> None:
        for row, place in np.argwhere(~np.isfinite(out)).tolist():
            step, first = [(step, first) for step, first in self._placed() if first <= place][-1]
            name, value = step.names[place - first], raw[start + row, step.source_of(place - first)]
            raise InputError(
                f"row {start + row} of these: column {name!r} holds {value:g}, which single precision cannot hold with "
                f"{arg('scale', self.scale)}; fix the value, or leave the row out"
            )

    def encode(self, table: Any) -> NDArray[np.float32]:
        """New rows encoded as the surveyed ones were: a pyarrow table, a DataFrame or a dict of columns.

        Order does not matter, and other columns are ignored, as are those that were dropped. The first row that cannot
        be used is an `InputError`. In a DataFrame NaN is null, as pandas means it; elsewhere NaN is a fault.
        """
        used = dict.fromkeys(self._used())
        table = _as_table(table, used)
        check_columns(table, list(used))
        cells = [
            table.column(column.name) if column.name in used else _unknown(column, table.num_rows)
            for column in self.layout.items
        ]
        raw, problems = self.layout.raw(pa.table(cells, names=self.layout.columns), grow=False)
        for row, problem in problems:
            raise InputError(f"row {row}: {problem}; fix the row, or leave it out")
        return self.transform(raw)

    def _used(self) -> list[str]:
        """The source's columns without those that were dropped as a whole."""
        places = {step.source_of(place) for step in self.steps for place in range(len(step.names))}
        return [
            column.name
            for column, first in self.layout.placed()
            if not places.isdisjoint(range(first, first + column.width))
        ]

    def describe(self) -> list[str]:
        """What is done with which columns, in plain lines."""
        return list(map(plain, self.marked()))

    def marked(self) -> list[str]:
        """The same with arguments marked, for readers that call them otherwise: see `protosieve.errors`."""
        return description(self.layout, self.scale, self.steps, self.filled, self.dropped)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it: by this alone rows could be encoded again."""
        return {
            "rows_surveyed": self.rows,
            "scale": self.scale,
            "dtype": self.layout.dtype,
            "columns": {column.name: column.kind for column in self.layout.items},
            "lengths": {column.name: column.length for column in self.layout.items if isinstance(column, ListColumn)},
            "typed": [column.name for column in self.layout.items if getattr(column, "typed", False)],
            "steps": [step.as_dict() for step in self.steps],
            "nulls_replaced": dict(self.filled),
            "dropped": dict(self.dropped),
            "left_out": dict(self.layout.left_out),
            "rounded": list(self.layout.rounded),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Encoding":
        """The encoding `as_dict` is of: it encodes rows alike. `InputError` for a dict that is none's.

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
            layout = layout_of(stored, steps)
            _check_steps(layout, steps)
            dropped, filled = dict(stored["dropped"]), dict(stored["nulls_replaced"])
            _check_said(stored["scale"], dropped, filled)
            return cls(layout, int(stored["rows_surveyed"]), stored["scale"], steps, dropped, filled)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise InputError(
                f"this is not how columns were encoded ({type(error).__name__}: {error}); give what Encoding.as_dict "
                "returned, or a result file that nobody has changed"
            ) from error


def _check_steps(layout: Layout, steps: list[Step]) -> None:
    if not steps or any(place >= layout.width for step in steps for place in step.sources):
        raise ValueError("there must be steps, and columns for all of them")


def _check_said(scale: Any, dropped: Mapping[str, Any], filled: Mapping[str, Any]) -> None:
    """What `describe` says."""
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r:.40}")
    if not all(isinstance(why, str) for why in dropped.values()):
        raise ValueError("columns are dropped for reasons, which are text")
    if not all(type(nulls) is int for nulls in filled.values()):
        raise ValueError("nulls that are replaced are counted")


def _unknown(column: Column, rows: int) -> pa.Array:
    """Cells of a column that is not looked at."""
    if isinstance(column, ListColumn):
        return pa.FixedSizeListArray.from_arrays(pa.nulls(rows * column.width, pa.float64()), column.width)
    return pa.nulls(rows)


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
