"""What every kind of column is, and the plain ones: numbers and dates."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.preprocess._cells import Reader, numbers, scattered, seconds, shown

__all__ = ["Column", "DateColumn", "NumberColumn", "Problems"]

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
        """The name of one of them."""
        return self.name

    @abstractmethod
    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        """The values (rows x width), and where those are that nulls will be, if any; notes rows that cannot be used.

        Nulls and cells of unusable rows are finite here: NaN and infinity are the source's own, and faults.
        """

    def not_finite(self, place: int, value: float) -> str:
        """What to say of a value that is NaN, infinite, or becomes so in single precision."""
        if np.isfinite(value):
            return f"column {self.label(place)!r} holds {value:g}, beyond single precision"
        found = "NaN" if np.isnan(value) else "infinite, or too large for double precision"
        return f"column {self.label(place)!r} is {found}"


@dataclass
class _Measure(Column):
    """One float per cell."""

    scaled: ClassVar[bool] = True
    reader: ClassVar[Reader]
    article: ClassVar[str]

    def read(self, cells: pa.Array, problems: Problems, grow: bool) -> tuple[Array, Array | None]:
        values, nulls, failed = scattered(cells, type(self).reader)
        for row in failed:
            problems.setdefault(row, f"column {self.name!r} holds {shown(cells, row)}, not {self.article}")
        return values[:, None], None if nulls is None else nulls[:, None]


@storable
@dataclass
class NumberColumn(_Measure):
    """Integers, floats and decimals."""

    kind: ClassVar[str] = "number"
    reader: ClassVar[Reader] = staticmethod(numbers)
    article: ClassVar[str] = "a number"


@storable
@dataclass
class DateColumn(_Measure):
    """Dates, timestamps, times and durations, as seconds."""

    kind: ClassVar[str] = "date"
    reader: ClassVar[Reader] = staticmethod(seconds)
    article: ClassVar[str] = "a date"
