"""Which columns of a table are features, and their cells as a matrix of floats."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._pictures import Folders
from protosieve._state import storable
from protosieve._typed import require
from protosieve._typing import Array
from protosieve.errors import InputError, arg
from protosieve.preprocess._categories import CategoryColumn
from protosieve.preprocess._cells import is_rounded, whole
from protosieve.preprocess._columns import (
    Column,
    DateColumn,
    EmbeddedColumn,
    ImageColumn,
    ListColumn,
    Measure,
    Problems,
    TextColumn,
)
from protosieve.preprocess._embed import Embed, model_named
from protosieve.preprocess._features import choose_features, dtype_of
from protosieve.preprocess._wording import as_names, listing

Names = str | Sequence[str]

_ROWS = 2048
_NUMBERS = ("number", "matrix", "embedding")  # kinds of columns that may hold whole numbers


@storable
@dataclass
class Layout:
    """Which columns are features, and of what kind.

    ============= ================================================= ==========================================
    kind          columns                                           in the raw matrix
    ============= ================================================= ==========================================
    ``number``    integers, floats, decimals                        the value; a null is NaN
    ``date``      dates, timestamps, times, durations               seconds; a null is NaN
    ``category``  text, booleans, numbers named in ``categorical``  a code; a null is -1, an unknown value -2
    ``embedding`` lists of numbers named as such                    one column per value
    ``text``      text named as such                                256 columns at most: see `TextFeatures`
    ``image``     images named as such                              320 columns: see `_image_features`
    ``embedded``  text named as such, and a model                   one column per number that the model gives
    ``matrix``    the rows of an array file (``x0``, ``x1`` ...)    one column per value; a null is NaN
    ============= ================================================= ==========================================

    It learns from each table: the vocabulary of each category, in order of first appearance, and the length of lists
    that the schema leaves open. Both depend on the order of the rows only, not on how they are cut into tables.
    ``left_out`` says of columns that could not be used why not; ``dtype`` is float32 where no column needs more;
    ``rounded`` names columns of whole numbers beyond 2**53, some of which no float64 holds; ``named``
    are the columns that were asked for, which are compared even where they seem to name rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [31, None, 44], "colour": ["red", "blue", "red"], "photo": [b"", b"", b""]})
    >>> layout = Layout.of(table.schema)
    >>> layout.columns, layout.left_out
    (['age', 'colour'], {'photo': 'binary, neither numbers nor text'})
    >>> rows, problems = layout.raw(table, grow=True)
    >>> rows
    array([[31.,  0.],
           [nan,  1.],
           [44.,  0.]])
    >>> layout.raw(pa.table({"age": ["27", "abc"], "colour": ["green", "red"]}), grow=False)
    (array([[27., -2.],
            [ 0.,  0.]]), [(1, "column 'age' holds 'abc', not a number")])
    """

    items: list[Column]
    left_out: dict[str, str]
    dtype: str
    rounded: dict[str, bool] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)

    def _check_form(self) -> None:
        require(self.dtype in ("float32", "float64"), "the kind of numbers")
        require(len(set(self.columns)) == len(self.columns) > 0, "a column is there twice")

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        *,
        features: Names | None = None,
        exclude: Names = (),
        id: Names = (),
        label: Names | None = None,
        embedding: Names | None = None,
        categorical: Names = (),
        image: Names | None = None,
        text: Names = (),
        coordinates: Names | None = None,
        day_first: bool = False,
        cycles: Sequence[str] = (),
        per: Names | None = None,
        embed: str | None = None,
    ) -> "Layout":
        """Choose features from a schema.

        Every usable column is one but those named in ``exclude``, ``id`` and ``label``, or to be shown as
        ``coordinates``, or to group rows by, ``per``; or exactly those named in ``features`` and ``embedding``. Lists
        must be named to be used, ``text`` to be compared by its words, or by what a model makes of it, whose name is
        ``embed``, and ``image`` by its looks. ``categorical`` names number and date columns whose values are names
        rather than measures. Features keep the schema's order. ``day_first`` is how dates such as 01/02/2012 are read
        where the first rows do not tell, and ``cycles`` are those that dates are compared by, too.
        """
        given: dict[str, object] = {
            "features": features, "exclude": exclude, "id": id, "label": label,
            "embedding": embedding, "categorical": categorical, "image": image, "text": text,
            "coordinates": coordinates, "per": per,
        }  # fmt: skip
        names = {option: as_names(option, said) for option, said in given.items()}
        items, left_out = choose_features(schema, names, day_first, embed)
        if cycles:
            _go_round(schema, items, list(dict.fromkeys(cycles)))
        return cls(items, left_out, dtype_of(schema, items), named=[*names["features"], *names["categorical"]])

    @property
    def columns(self) -> list[str]:
        """The source's columns to read."""
        return [column.name for column in self.items]

    @property
    def width(self) -> int:
        """Columns of the raw matrix; it may still grow until the first lists of variable length have been seen."""
        return sum(column.width for column in self.items)

    @property
    def scaled(self) -> NDArray[np.int64]:
        """Places of the raw columns that are numbers to be centred and scaled."""
        widths = [column.width for column in self.items]
        return np.flatnonzero(np.repeat([column.scaled for column in self.items], widths))

    def placed(self) -> Iterator[tuple[Column, int]]:
        """Each column with the first place it takes in the raw matrix."""
        place = 0
        for column in self.items:
            yield column, place
            place += column.width

    def categories(self) -> list[tuple[CategoryColumn, int]]:
        """The columns of categories with their places in the raw matrix."""
        return [(column, place) for column, place in self.placed() if isinstance(column, CategoryColumn)]

    def raw(self, table: pa.Table, grow: bool, folders: Folders = (".",)) -> tuple[Array, list[tuple[int, str]]]:
        """The rows as a matrix of floats, and those that cannot be used: position in the table, and why.

        With ``grow`` new values of categories join the vocabulary, else their code is -2; and ``rounded`` is learnt.
        Paths of images are looked for in ``folders``, and nowhere else; anywhere, where that is None.
        Rows with a problem hold zeros and must be dropped; they leave nothing in the vocabulary. Before any list of a
        variable-length column has been seen, every row has a problem and ``width`` is not known: skip such tables.

        Time and memory are O(rows x width), and one look-up per distinct category of the table.
        """
        _check_columns(table, self.columns)
        self.meet(table)
        cells = {name: whole(table.column(name)) for name in self.columns}
        problems: Problems = {}
        parts: dict[str, Array] = {}
        with np.errstate(all="ignore"):  # what overflows here is infinite, and found
            # categories last: they must know which rows are used
            for column in sorted(self.items, key=lambda column: isinstance(column, CategoryColumn)):
                parts[column.name] = self._part(column, cells[column.name], problems, grow, folders)
        out = _side_by_side([parts[name] for name in self.columns], (table.num_rows, self.width), self.dtype)
        out[list(problems)] = 0
        return out, sorted(problems.items())

    @property
    def unmet(self) -> list[str]:
        """Columns of lists whose length is not known yet."""
        lists = [column for column in self.items if isinstance(column, ListColumn) and column.name not in self.embedded]
        return [column.name for column in lists if not column.length]

    @property
    def embedded(self) -> list[str]:
        """Columns that a model turns into vectors."""
        return [column.name for column in self.items if isinstance(column, EmbeddedColumn)]

    @property
    def is_slow(self) -> bool:
        """Whether some rows take as long as many do elsewhere."""
        return any(isinstance(column, EmbeddedColumn | ImageColumn) for column in self.items)

    def by_model(self, embed: str | Embed | None) -> "Layout":
        """The same, with this model in place of one whose name was read from a file; None changes nothing."""
        if embed is None:
            return self
        name = model_named(embed)
        items = [replace(one, model=name) if isinstance(one, EmbeddedColumn) else one for one in self.items]
        return replace(self, items=items)

    @property
    def unlearnt(self) -> list[str]:
        """Columns of text of which nothing is learnt yet."""
        return [column.name for column in self.items if isinstance(column, TextColumn) and column.features is None]

    def learn(self, table: pa.Table) -> None:
        """Learn what the rows of a table tell of texts; `unlearnt` names its columns."""
        for column in self.items:
            if isinstance(column, TextColumn) and column.features is None:
                column.learn(whole(table.column(column.name)))

    def by_words(self, names: Sequence[str]) -> "Layout":
        """The same, with these columns compared by their words."""
        return replace(self, items=[TextColumn(one.name) if one.name in names else one for one in self.items])

    def meet(self, table: pa.Table) -> None:
        """Learn unknown list lengths from the first list in a table."""
        self.learn(table)
        for column in self.items:
            if isinstance(column, ListColumn) and not column.length and table.num_rows:
                column.meet(whole(table.column(column.name)))

    def agree(self, later: "Layout") -> None:
        """Learn what the other has learnt of lengths of lists and of large numbers; `InputError` where two lengths of
        a column differ.
        """
        for mine, theirs in zip(self.items, later.items, strict=True):
            if isinstance(mine, ListColumn) and isinstance(theirs, ListColumn):
                mine.agree(theirs)
            if isinstance(mine, Measure) and isinstance(theirs, Measure):
                mine.agree(theirs)
        self.rounded |= later.rounded

    def _part(self, column: Column, cells: pa.Array, problems: Problems, grow: bool, folders: Folders) -> Array:
        if isinstance(column, ImageColumn):
            return column.read(cells, problems, grow, folders)[0].astype(self.dtype, copy=False)
        read, nulls = column.read(cells, problems, grow)
        if grow and column.kind in _NUMBERS and column.name not in self.rounded and is_rounded(cells, read):
            self.rounded = {**self.rounded, column.name: True}  # a run may be stored while another thread reads
        values = read.astype(self.dtype, copy=False)
        if not np.isfinite(values.sum()):  # NaN and infinity survive a sum, so most columns need no mask
            faults = ~np.isfinite(values)
            for row, place in np.argwhere(faults).tolist():
                problems.setdefault(row, column.not_finite(place, read[row, place]))
            values = np.where(faults, values.dtype.type(0), values)
        return values if nulls is None else np.where(nulls, values.dtype.type(np.nan), values)


def _go_round(schema: pa.Schema, items: Sequence[Column], cycles: list[str]) -> None:
    """Dates are compared by these cycles, times of day by that of the day; `InputError` where there is neither."""
    found = False
    for column in items:
        kind = schema.field(column.name).type
        if isinstance(column, DateColumn) and not pa.types.is_duration(kind):
            column.cycles = [cycle for cycle in cycles if cycle == "day" or not pa.types.is_time(kind)]
            found = found or bool(column.cycles)
    if not found:
        raise InputError(f"{arg('cycles', cycles[0])}: rows are compared by no column of dates; leave it out")


def _check_columns(table: pa.Table, columns: Sequence[str]) -> None:
    """Every column must be there, once."""
    times = Counter(table.column_names)
    missing = [repr(name) for name in columns if not times[name]]
    if missing:
        raise InputError(
            f"the table has no column {listing(missing)} (it has {listing(table.column_names)}); "
            "give the columns that were surveyed, under the same names"
        )
    for name in columns:
        if times[name] > 1:
            raise InputError(f"the table has {times[name]} columns named {name!r}; rename them")


def _side_by_side(parts: Sequence[Array], shape: tuple[int, int], dtype: str) -> Array:
    """Columns to a matrix in C order, some rows at a time: a whole column at once would miss the cache at
    every row, and take twice as long.
    """
    out = np.empty(shape, dtype)
    for start in range(0, shape[0], _ROWS):
        rows, place = slice(start, start + _ROWS), 0
        for part in parts:
            out[rows, place : place + part.shape[1]] = part[rows]
            place += part.shape[1]
    return out
