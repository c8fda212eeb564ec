"""The steps of an encoding: raw columns are scaled, spread over columns of 0 and 1, or copied."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from protosieve._state import built, storable
from protosieve._typed import are_counts, are_finite, fits, hints_of, require
from protosieve._typing import Array, Float64
from protosieve.preprocess._categories import MISSING, UNKNOWN

_SCORES = np.linspace(-3, 3, 121)  # of the quantiles of a column that is encoded by its ranks
_CELLS = 1 << 18  # scaled at once: float64 scratch of 2 MB, however wide the rows


class Step(ABC):
    """Some columns of the raw matrix to some neighbouring columns of the encoded one, called ``names``.

    Every step is a dataclass. `as_dict` calls it ``kind`` and has its fields, those that are not shown left out.
    """

    kind: ClassVar[str]
    names: list[str]

    @property
    @abstractmethod
    def sources(self) -> Sequence[int]:
        """The raw column behind each encoded column."""

    @abstractmethod
    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        """Fill ``out``, which has a column per name."""

    @abstractmethod
    def _check_form(self) -> None:
        """`ValueError` for values that the methods cannot handle."""

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}  # type: ignore[arg-type]
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
        return {"step": self.kind, **plain}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`; `ValueError`, `KeyError` or `TypeError` for any other dict."""
        values = {name: _array_for(hint, stored[name]) for name, hint in hints_of(cls).items()}
        made: Self = built(cls, values)
        return made


def _array_for(hint: Any, value: Any) -> Any:
    """A list of numbers as an array, where the field is declared as one."""
    if isinstance(value, list) and fits(np.zeros(0), hint):
        return np.array(value, np.float64)
    return np.array(value) if isinstance(value, list) and fits(np.zeros(0, np.int64), hint) else value


@storable
@dataclass(frozen=True, eq=False)
class Scaled(Step):
    """``(x - shift) * factor``, in float64 whatever the input; ``null`` replaces nulls."""

    kind: ClassVar[str] = "scaled"
    names: list[str]
    source: NDArray[np.int64]
    shift: Float64
    factor: Float64
    null: Float64

    def _check_form(self) -> None:
        parts = (self.source, self.shift, self.factor, self.null)
        require(self.names and all(part.shape == (len(self.names),) for part in parts), "a number for each column")
        require(are_counts(*self.sources) and self.sources == sorted(set(self.sources)), "the places of columns")
        require(are_finite(self.shift, self.factor, self.null), "finite scales")

    @property
    def sources(self) -> list[int]:
        return [int(place) for place in self.source]

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        size = max(1, _CELLS // len(self.names))
        for start in range(0, len(raw), size):
            rows = slice(start, start + size)
            out[rows] = self._scaled(self._columns(raw[rows]))

    def _scaled(self, columns: Array) -> Float64:
        values = np.subtract(columns, self.shift, dtype=np.float64)
        values *= self.factor
        if np.isnan(values.sum()):
            nulls = np.isnan(values)
            values[nulls] = np.broadcast_to(self.null, values.shape)[nulls]
        return values

    def _columns(self, raw: Array) -> Array:
        first, last = self.source[0], self.source[-1] + 1
        return raw[:, first:last] if last - first == len(self.source) else raw[:, self.source]


@storable
@dataclass(frozen=True, eq=False)
class Ranked(Step):
    """A heavy-tailed column by its ranks: the quantiles ``knots`` become ``scores``, those of a normal, and values
    between two knots lie between their scores. What is beyond the knots gets the first or the last score, null 0.

    Scores rise strictly with knots, so that encoded values can be told in the column's own units.

    >>> values = np.exp(np.random.default_rng(0).normal(size=1000))
    >>> step, out = Ranked.of("x", 0, values, values.min(), values.max()), np.zeros((3, 1), np.float32)
    >>> step.apply(np.array([[np.exp(-1)], [np.median(values)], [np.nan]]), out)
    >>> out[:, 0].round(1) + 0
    array([-1.,  0.,  0.], dtype=float32)
    """

    kind: ClassVar[str] = "ranked"
    column: str
    source: int
    knots: Float64
    scores: Float64

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        return [self.column]

    @property
    def sources(self) -> list[int]:
        return [self.source]

    def _check_form(self) -> None:
        parts = (self.knots, self.scores)
        require(are_counts(self.source), "the place of a column")
        require(all(part.shape == (len(self.knots),) and len(part) > 1 for part in parts), "a score for each knot")
        require(are_finite(*parts) and all((np.diff(part) > 0).all() for part in parts), "knots and scores that rise")

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        values = raw[:, self.source].astype(np.float64)
        out[:, 0] = np.where(np.isnan(values), 0, np.interp(values, self.knots, self.scores))

    @classmethod
    def of(cls, column: str, source: int, values: Float64, low: float, high: float) -> "Ranked":
        """By sampled values, and the ends of all. O(n log n).

        Knots that fall on one value, of which there are many, become one at the middle of their ranks.
        """
        knots = np.clip(np.quantile(values, ndtr(_SCORES)), low, high)
        knots[[0, -1]] = low, high
        knots, place = np.unique(knots, return_inverse=True)
        ranks = np.bincount(place, ndtr(_SCORES)) / np.bincount(place)
        return cls(column, source, knots, ndtri(ranks))


@storable
@dataclass(frozen=True, eq=False)
class Missing(Step):
    """``height`` where a number is null, else 0."""

    kind: ClassVar[str] = "missing"
    column: str
    source: int
    height: float

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        return [f"{self.column}=missing"]

    @property
    def sources(self) -> list[int]:
        return [self.source]

    def _check_form(self) -> None:
        require(are_counts(self.source) and 0 < self.height < np.inf, "the place and height of a column")

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        out[:, 0] = np.where(np.isnan(raw[:, self.source]), self.height, 0)


@storable
@dataclass(frozen=True, eq=False)
class Cycle(Step):
    """Where in a cycle a date is: a point on a circle of radius 1, so that 23:59 is near 00:01. A null is its centre.

    >>> step, out = Cycle("at", 0, "day", 86_400), np.zeros((4, 2), np.float32)
    >>> step.apply(np.array([[0], [86_400 * 1.25], [-86_400 / 2], [np.nan]]), out)
    >>> out.round(6) + 0
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1.,  0.],
           [ 0.,  0.]], dtype=float32)
    """

    kind: ClassVar[str] = "cycle"
    column: str
    source: int
    cycle: str
    seconds: float
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", [f"{self.column} in the {self.cycle}, {axis}" for axis in "xy"])

    def _check_form(self) -> None:
        require(are_counts(self.source) and 0 < self.seconds < np.inf, "the place and length of a cycle")

    @property
    def sources(self) -> list[int]:
        return [self.source] * 2

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        values = raw[:, self.source].astype(np.float64)
        angle = np.mod(values, self.seconds) * (2 * np.pi / self.seconds)
        is_null = np.isnan(angle)
        out[:, 0], out[:, 1] = np.where(is_null, 0, np.cos(angle)), np.where(is_null, 0, np.sin(angle))


@storable
@dataclass(frozen=True, eq=False)
class OneHot(Step):
    """A column of 0 and 1 per frequent category, perhaps one for all others and one for nulls.

    ``places`` has the output column of each code, from `UNKNOWN` on; -1 for none. ``distinct`` counts all categories.
    """

    kind: ClassVar[str] = "one-hot"
    column: str
    source: int
    categories: list[str]
    distinct: int
    other: bool
    missing: bool
    places: NDArray[np.int64] = field(repr=False)
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        extra = ["other"] * self.other + ["missing"] * self.missing
        words = [*self.categories, *(f"({word})" if word in self.categories else word for word in extra)]
        object.__setattr__(self, "names", [f"{self.column}={word}" for word in words])

    def _check_form(self) -> None:
        require(are_counts(self.source, self.distinct) and self.names, "counts of categories")
        require(len(set(self.categories)) == len(self.categories), "a category is there twice")
        require(self.places.ndim == 1 and len(self.places) >= -UNKNOWN, "places of categories")
        require(((self.places >= -1) & (self.places < len(self.names))).all(), "places of categories")

    @property
    def sources(self) -> list[int]:
        return [self.source] * len(self.names)

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        codes = raw[:, self.source].astype(np.int64) - UNKNOWN
        codes[codes >= len(self.places)] = 0  # a vocabulary may have grown since
        places = self.places[codes]
        rows = np.flatnonzero(places >= 0)
        out[:] = 0
        out[rows, places[rows]] = 1

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """With a vocabulary of the kept categories alone: others are "other", or nothing, as new ones are."""
        kept = np.arange(len(stored["categories"]))
        return super().from_dict({**stored, "places": _places(kept, bool(stored["other"]), bool(stored["missing"]))})

    @classmethod
    def of(cls, column: str, source: int, vocabulary: list[str], tally: NDArray[np.int64], most: int) -> "OneHot":
        """For the ``most`` frequent values; ``tally`` counts nulls first, then each value of the vocabulary."""
        seen = tally[1:]
        order = np.argsort(-seen, kind="stable")[: np.count_nonzero(seen)]  # ties: by first appearance
        kept, missing = order[:most], bool(tally[0])
        other, categories = len(order) > len(kept), [vocabulary[code] for code in kept]
        return cls(column, source, categories, len(order), other, missing, _places(kept, other, missing))


def _places(kept: NDArray[np.int64], other: bool, missing: bool) -> NDArray[np.int64]:
    """The output column of each code, from `UNKNOWN` to the last that is kept: the rest are as good as unknown."""
    places = np.full(kept.max(initial=MISSING) + 1 - UNKNOWN, len(kept) if other else -1)
    places[kept - UNKNOWN] = np.arange(len(kept))
    places[MISSING - UNKNOWN] = len(kept) + other if missing else -1
    return places


@storable
@dataclass(frozen=True, eq=False)
class Copied(Step):
    """An embedding as it is, or the columns of a text times what it weighs."""

    kind: ClassVar[str] = "copied"
    column: str
    length: int
    source: int
    factor: float = 1.0

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return super().from_dict({"factor": 1.0, **stored})  # which earlier files do not have

    @cached_property
    def names(self) -> list[str]:  # type: ignore[override]  # made when needed: a damaged file may claim any length
        return [f"{self.column}[{i}]" for i in range(self.length)]

    def _check_form(self) -> None:
        require(are_counts(self.source, self.length) and self.length, "the length of embeddings")
        require(0 < self.factor < np.inf, "what a text weighs")

    @property
    def sources(self) -> range:
        return range(self.source, self.source + self.length)

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        found = raw[:, self.source : self.source + self.length]
        out[:] = found if self.factor == 1 else found * self.factor


_STEPS: dict[str, type[Step]] = {step.kind: step for step in (Scaled, Ranked, Missing, Cycle, OneHot, Copied)}


def step_of(stored: Mapping[str, Any]) -> Step:
    """The step whose `as_dict` this is."""
    return _STEPS[stored["step"]].from_dict(stored)
