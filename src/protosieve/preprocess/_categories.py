"""Columns of categories: values become codes in order of first appearance."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._arrow_types import is_number, is_text, is_time
from protosieve._rounded import EXACT
from protosieve._state import storable
from protosieve._typed import require
from protosieve._typing import Array
from protosieve.preprocess._cells import seconds, text_of
from protosieve.preprocess._columns import Column, Problems

MISSING, UNKNOWN = -1, -2  # codes of a null, and of a value that is not in the vocabulary
MAX_DISTINCT = 10_000  # beyond it a column names rows; the vocabulary's memory is bounded by it
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")  # not 007: that is a name


@storable
@dataclass
class CategoryColumn(Column):
    """Text, booleans ("false", "true"), and numbers or dates that name things rather than measure them.

    ``values`` is the vocabulary: a value's code is its position. Numbers are spelt alike whatever type they come in:
    the integer 3, the float 3.0 and, where the schema is ``typed`` (numbers or booleans), the text "3.0" are one
    category, "3".

    A column with more than `MAX_DISTINCT` values is ``full``: it names rows. Its vocabulary is then forgotten, every
    value is unknown, and no encoding of all rows uses it.
    """

    typed: bool = False
    values: list[str] = field(default_factory=list)
    full: bool = False
    codes: dict[str, int] = field(init=False, repr=False, compare=False)
    kind: ClassVar[str] = "category"
    scaled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.codes = {value: code for code, value in enumerate(self.values)}

    def _check_form(self) -> None:
        require(len(self.codes) == len(self.values) <= MAX_DISTINCT, "a vocabulary")

    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        if not _can_name(cells.type):
            self._refuse(cells, problems)
        usable = np.ones(len(cells), bool)
        usable[list(problems)] = False  # what is dropped must not leave its values in the vocabulary
        if usable.all():
            return self._coded(cells, grow)[:, None], None
        codes = np.zeros((len(cells), 1))
        codes[usable, 0] = self._coded(cells.filter(pa.array(usable)), grow)
        return codes, None

    def _refuse(self, cells: pa.Array, problems: Problems) -> None:
        for row in np.flatnonzero(cells.is_valid().to_numpy(zero_copy_only=False)):
            problems.setdefault(int(row), f"column {self.name!r} holds {cells.type}, not a category")

    def _coded(self, cells: pa.Array, grow: bool) -> Array:
        if cells.null_count == len(cells):
            return np.full(len(cells), MISSING)
        if not self.full:
            encoded = cells.dictionary_encode()
            codes = [self._code(value, grow) for value in _spelt(encoded.dictionary, self.typed)]
        if self.full:  # perhaps by these cells
            return np.where(cells.is_null().to_numpy(zero_copy_only=False), MISSING, UNKNOWN)
        places = encoded.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*codes, MISSING])[places])

    def _code(self, value: str, grow: bool) -> int:
        code = self.codes.get(value, UNKNOWN)
        if code == UNKNOWN and grow and not self.full:
            code = self.codes[value] = len(self.values)
            self.values.append(value)
            if len(self.values) > MAX_DISTINCT:
                self._overflow()
        return code

    def adopt(self, other: "CategoryColumn") -> NDArray[np.int64] | None:
        """Values of another vocabulary join this one; returns the code here of each of its codes. O(its values).

        ``None`` where this is ``full`` then.
        """
        codes = [self._code(value, grow=True) for value in other.values]
        if other.full:
            self._overflow()
        return None if self.full else np.array(codes, np.int64)

    def _overflow(self) -> None:
        self.full = True
        self.values.clear()
        self.codes.clear()


def _can_name(kind: pa.DataType) -> bool:
    tests = (is_text, is_number, is_time, pa.types.is_boolean, pa.types.is_null)
    return any(test(kind) for test in tests)


def _spelt(values: pa.Array, typed: bool) -> Sequence[str]:
    """Distinct values as text."""
    kind = values.type
    if is_text(kind):
        return [_tidy(text) for text in _texts(values)] if typed else _texts(values)
    if pa.types.is_floating(kind):
        return [_spelt_float(value) for value in values.to_numpy(zero_copy_only=False)]
    if pa.types.is_decimal(kind):
        return [_tidy(str(text)) for text in values.cast(pa.string()).to_pylist()]
    if pa.types.is_duration(kind):
        return [_spelt_float(value) for value in seconds(values)[0]]
    if is_time(kind):
        return _spelt_times(values)
    return list(values.cast(pa.string()).to_pylist())


def _spelt_times(values: pa.Array) -> list[str]:
    """Alike in every unit: no zeros at the end of a fraction, and no midnight; moments with a zone in UTC."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp(values.type.unit))
    texts = [text.rstrip("0").rstrip(".") if "." in text else text for text in values.cast(pa.string()).to_pylist()]
    return [text.removesuffix(" 00:00:00") for text in texts]


def _texts(values: pa.Array) -> list[str]:
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        return [text_of(value) for value in values]


def _tidy(text: str) -> str:
    """The text of a number or a boolean as the typed value is spelt; any other as it is."""
    text = text.strip()
    if text.lower() in ("false", "true"):
        return text.lower()
    if not _NUMBER.fullmatch(text):
        return text
    return str(int(text)) if text.lstrip("-").isdigit() else _spelt_float(np.float64(text))


def _spelt_float(value: Any) -> str:
    """Shortest digits that give the value back; whole numbers without a point."""
    if np.isnan(value):
        return "NaN"
    return str(int(value)) if value.is_integer() and abs(value) < EXACT else str(value)
