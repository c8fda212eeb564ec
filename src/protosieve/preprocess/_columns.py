"""Kinds of columns: numbers and dates, one float per cell, and lists, several."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protosieve._arrow_types import is_list, is_number, is_text
from protosieve._cell_texts import DAY_FIRST, ORDERS, are_missing
from protosieve._pictures import Folders, called, on_grey, picture
from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typed import require
from protosieve._typing import Array
from protosieve.errors import InputError
from protosieve.preprocess._cells import numbers, scattered, seconds, shown
from protosieve.preprocess._embed import BATCH, EmbedError, is_known, model_named, vectors
from protosieve.preprocess._image_features import IMAGE_COLUMNS, SIDE, rows_of_images
from protosieve.preprocess._text_features import TextFeatures

CYCLES = {"day": 86_400.0, "week": 604_800.0, "year": 365.2425 * 86_400}  # seconds

_NULL = -1  # the length of a null
_WORDS = 5  # for "missing" that are told of
_STRIP = 32  # images at once
_LONGEST = 1 << 31  # values of a list, as Arrow counts them

Problems = dict[int, str]  # position of a row in its table -> why it cannot be used


@dataclass
class Column(ABC):
    """A column of the source that is a feature: how its cells become floats.

    ``kind`` is its name for people; ``scaled`` says whether its values are numbers to be centred and scaled.
    """

    name: str
    kind: ClassVar[str]
    scaled: ClassVar[bool]

    @property
    def width(self) -> int:
        """How many columns of the raw matrix it takes."""
        return 1

    def label(self, place: int) -> str:
        """The name of one of its raw columns."""
        return self.name

    @abstractmethod
    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        """The values (rows x width), and which of them are nulls, if any; notes rows that cannot be used.

        Nulls and cells of unusable rows are finite here: NaN and infinity are the source's own, and faults.
        """

    def not_finite(self, place: int, value: float) -> str:
        """What to say of a value that is NaN, infinite, or becomes so in single precision."""
        if np.isfinite(value):
            return f"column {self.label(place)!r} holds {value:g}, beyond single precision"
        found = "NaN" if np.isnan(value) else "infinite, or too large for double precision"
        return f"column {self.label(place)!r} is {found}"


@dataclass
class Measure(Column):
    """One float per cell. Words for "missing", such as "n/a", are nulls; ``words`` are the first that were met."""

    words: list[str] = field(default_factory=list)
    scaled: ClassVar[bool] = True
    article: ClassVar[str]

    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        values, nulls, failed = scattered(cells, self._values)
        missing = np.zeros(len(cells), np.bool_)
        if failed and is_text(cells.type):
            missing[failed] = are_missing(cells.take(failed)).to_numpy(zero_copy_only=False)
        for row in failed:
            if not missing[row]:
                problems.setdefault(row, f"column {self.name!r} holds {shown(cells, row)}, not {self.article}")
        if missing.any():
            self._note(cells.filter(pa.array(missing)), grow)
            nulls = missing if nulls is None else nulls | missing
        return values[:, None], None if nulls is None else nulls[:, None]

    def agree(self, other: "Measure") -> None:
        """Learn the words of the rows that come after."""
        self.words = list(dict.fromkeys([*self.words, *other.words]))[:_WORDS]

    def _note(self, cells: pa.Array, grow: bool) -> None:
        if grow and len(self.words) < _WORDS:  # replaced: a run may be stored while another thread reads
            found = [text.strip() for text in cells.unique().to_pylist()]
            self.words = list(dict.fromkeys([*self.words, *found]))[:_WORDS]

    @abstractmethod
    def _values(self, cells: pa.Array) -> tuple[Array, list[int]]:
        """Cells without nulls as numbers, and which of them are none."""


@storable
@dataclass
class NumberColumn(Measure):
    """Integers, floats and decimals."""

    kind: ClassVar[str] = "number"
    article: ClassVar[str] = "a number"

    def _values(self, cells: pa.Array) -> tuple[Array, list[int]]:
        return numbers(cells)


@storable
@dataclass
class DateColumn(Measure):
    """Dates, timestamps, times and durations, as seconds. ``order`` is that of text such as 01/02/2012: day-first,
    month-first, or either-first, which is read as month-first; empty where there is none. ``cycles`` are those that it
    is compared by, too.
    """

    order: str = ""
    cycles: list[str] = field(default_factory=list)
    kind: ClassVar[str] = "date"
    article: ClassVar[str] = "a date"

    def _check_form(self) -> None:
        require(self.order in ("", *ORDERS), "the order of day and month")
        require(set(self.cycles) <= set(CYCLES), "the cycles of dates")

    def _values(self, cells: pa.Array) -> tuple[Array, list[int]]:
        return seconds(cells, self.order == DAY_FIRST)


@dataclass
class ListColumn(Column):
    """Lists of one length; 0 until the first list has been seen."""

    length: int = 0

    def _check_form(self) -> None:
        require(0 <= self.length <= _LONGEST, "the length of lists")

    @property
    def width(self) -> int:
        return self.length

    def meet(self, cells: pa.Array) -> None:
        """Learn the length from the first list there is, where the schema does not say."""
        if _of_numbers(cells.type):
            lengths = _lengths(cells)
            self.length = int(lengths[np.argmax(lengths > 0)]) if (lengths > 0).any() else 0

    def agree(self, other: "ListColumn") -> None:
        """Make the lengths agree; `InputError` if both are known and differ."""
        if self.length and other.length and self.length != other.length:
            raise InputError(
                f"column {self.name!r} begins with lists of {self.length} values in one place and of {other.length} in "
                "another; give lists of one length"
            )
        self.length = self.length or other.length

    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        if not _of_numbers(cells.type):
            self._refuse(cells, problems)
            return np.zeros((len(cells), self.length)), None
        lengths = _lengths(cells)
        good = (lengths == self.length) & (lengths > 0)
        for row in np.flatnonzero(~good):
            problems.setdefault(int(row), self._ragged(int(lengths[row])))
        flat, nulls = _flat(cells)
        values = _rows(flat, np.maximum(lengths, 0), good, self.length)
        if nulls is None:
            return values, None
        return values, self._nulls(_rows(nulls, np.maximum(lengths, 0), good, self.length), problems)

    @abstractmethod
    def _nulls(self, nulls: Array, problems: Problems) -> Array | None:
        """Handle nulls inside lists: note the rows as problems, or return the mask."""

    def _refuse(self, cells: pa.Array, problems: Problems) -> None:
        valid = cells.is_valid().to_numpy(zero_copy_only=False)
        for row in range(len(cells)):
            found = f"holds {shown(cells, row)}, not a list of numbers" if valid[row] else "is null"
            problems.setdefault(row, f"column {self.name!r} {found}")

    def _ragged(self, length: int) -> str:
        if length == _NULL:
            return f"column {self.name!r} is null"
        if not length:
            return f"column {self.name!r} is an empty list"
        return f"column {self.name!r} has {length} values here and {self.length} in the first row"


@storable
@dataclass
class EmbeddingColumn(ListColumn):
    """A vector whose geometry means something already: neither centred nor scaled."""

    kind: ClassVar[str] = "embedding"
    scaled: ClassVar[bool] = False

    def label(self, place: int) -> str:
        return f"{self.name}[{place}]"

    def _nulls(self, nulls: Array, problems: Problems) -> Array | None:
        for row in np.flatnonzero(nulls.any(axis=1)):
            problems.setdefault(int(row), f"column {self.label(int(np.argmax(nulls[row])))!r} is null")
        return None


@storable
@dataclass
class MatrixColumn(ListColumn):
    """The rows of an array file: as many number columns as they are long."""

    kind: ClassVar[str] = "matrix"
    scaled: ClassVar[bool] = True

    def label(self, place: int) -> str:
        return f"{self.name}{place}"

    def _nulls(self, nulls: Array, problems: Problems) -> Array | None:
        return nulls


@storable
@dataclass
class TextColumn(Column):
    """Text, compared by its words once their ``features`` are learnt. A null is an empty text."""

    features: TextFeatures | None = None
    kind: ClassVar[str] = "text"
    scaled: ClassVar[bool] = False

    @property
    def width(self) -> int:
        return 0 if self.features is None else self.features.width

    def label(self, place: int) -> str:
        return f"{self.name}[{place}]"

    def learn(self, cells: pa.Array) -> None:
        """What a sample of the column tells."""
        self.features = TextFeatures.learnt(as_text(cells))

    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        assert self.features is not None
        return self.features.rows(as_text(cells)), None


@storable
@dataclass
class ImageColumn(Column):
    """Images, compared by their looks: bytes, base64, or paths, which are looked for in ``folders``."""

    kind: ClassVar[str] = "image"
    scaled: ClassVar[bool] = False

    @property
    def width(self) -> int:
        return IMAGE_COLUMNS

    def label(self, place: int) -> str:
        return f"{self.name}[{place}]"

    def read(
        self, cells: pa.Array, problems: Problems, grow: bool, folders: Folders = ()
    ) -> tuple[Array, Array | None]:
        """Some at a time, in threads: memory is that of a few images beside the rows."""
        strips = [cells[start : start + _STRIP] for start in range(0, len(cells), _STRIP)]
        found = [np.zeros((0, self.width), np.float32)]
        for rows, wrong in ahead_of(partial(_compared, folders=folders), strips):
            before = sum(map(len, found))
            for row, why in wrong.items():
                problems.setdefault(before + row, f"column {self.name!r} {why}")
            found.append(rows)
        return np.concatenate(found), None


def _compared(cells: pa.Array, folders: Folders) -> tuple[Array, Problems]:
    """Images as rows, and what is wrong with those that are none."""
    pixels, wrong = np.zeros((len(cells), SIDE, SIDE, 3), np.uint8), Problems()
    for row, cell in enumerate(cells.to_pylist()):
        image = "is null" if cell is None else picture(cell, folders, SIDE, square=True)
        if isinstance(image, str):
            wrong[row] = image if cell is None else f"holds {called(cell)}: {image}"
        else:
            pixels[row] = on_grey(image)
    return rows_of_images(pixels), wrong


@storable
@dataclass
class EmbeddedColumn(EmbeddingColumn):
    """Text that a model turns into vectors, which have length one here; ``version`` is what is known of the model
    besides its name. A null is an empty text. Only names that were given in this process are run (`_embed.py`).
    """

    model: str = ""
    version: str = ""
    kind: ClassVar[str] = "embedded"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (vars(self), is_known(self.model))

    def meet(self, cells: pa.Array) -> None:
        self.length = self._vectors(cells[:BATCH]).shape[1]

    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        found = self._vectors(cells)
        if len(found) and found.shape[1] != self.length:
            raise EmbedError(
                f"{self.model} gives vectors of {found.shape[1]} numbers, and of {self.length} before; all must be as "
                "long",
                last=len(found) - 1,
            )
        return found.reshape(len(cells), self.length), None

    def not_finite(self, place: int, value: float) -> str:
        return f"column {self.name!r} has no vector: {self.model} gives NaN or infinite values"

    def _vectors(self, cells: pa.Array) -> Array:
        texts = as_text(cells).cast(pa.large_binary()).fill_null(b"").to_pylist()
        return vectors(self.model, self.version, texts)


def _unpickled(fields: dict[str, Any], is_known: bool) -> EmbeddedColumn:
    """A column that came from another process, where its model may be run, or not."""
    if is_known:
        model_named(fields["model"])
    return EmbeddedColumn(**fields)


def as_text(cells: pa.Array) -> pa.Array:
    """Text as it is; a piece of a file whose values look like numbers has those as text."""
    return cells if is_text(cells.type) else cells.cast(pa.string())


def _of_numbers(kind: pa.DataType) -> bool:
    return is_list(kind) and (is_number(kind.value_type) or pa.types.is_null(kind.value_type))


def _lengths(cells: pa.Array) -> Array:
    lengths = pc.list_value_length(cells)
    return np.asarray((lengths.fill_null(_NULL) if lengths.null_count else lengths).to_numpy(zero_copy_only=False))


def _flat(cells: pa.Array) -> tuple[Array, Array | None]:
    """All values one after the other, with 0 for nulls, and where these are, if there are any.

    ``flatten`` minds slices, and leaves out what may lie in the slots of null lists.
    """
    flat = cells.flatten()
    if pa.types.is_decimal(flat.type) or pa.types.is_null(flat.type):
        flat = flat.cast(pa.float64())
    values = flat.to_numpy(zero_copy_only=False)
    if not flat.null_count:
        return values, None
    nulls = flat.is_null().to_numpy(zero_copy_only=False)
    return np.where(nulls, 0, values), nulls


def _rows(flat: Array, lengths: Array, good: Array, length: int) -> Array:
    """Flat values as rows of one length, with zeros for rows that have another; no copy where none has."""
    if good.all():
        return flat.reshape(len(good), length)
    rows = np.zeros((len(good), length), flat.dtype)
    rows[good] = flat[np.repeat(good, lengths)].reshape(int(good.sum()), length)
    return rows
