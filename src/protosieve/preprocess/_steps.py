"""What is done with the columns of a raw matrix: scaled, spread over columns of 0 and 1, or copied."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typing import Array, Float64
from protosieve.preprocess._categories import MISSING, UNKNOWN

__all__ = ["Copied", "OneHot", "Scaled", "Step", "step_of"]

_CELLS = 1 << 18  # scaled at once: float64 scratch of 2 MB, however wide the rows
LONGEST = 1 << 20  # numbers of an embedding that anybody has: a damaged file must not ask for more memory


class Step(ABC):
    """Some columns of the raw matrix to some neighbouring columns of the encoded one."""

    names: list[str]

    @abstractmethod
    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        """Fill ``out``, which has a column per name."""

    @abstractmethod
    def source_of(self, place: int) -> int:
        """The raw column behind a column of ``out``."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON could hold it."""

    @classmethod
    @abstractmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`. What is no step's is some `ValueError`, `KeyError` or `TypeError`."""

    @property
    @abstractmethod
    def sources(self) -> range | list[int]:
        """The raw columns it looks at."""


@storable
@dataclass(frozen=True, eq=False)
class Scaled(Step):
    """``(x - shift) * factor``, in float64 whatever the input; ``fill`` stands for nulls."""

    names: list[str]
    source: NDArray[np.int64]
    shift: Float64
    factor: Float64
    fill: Float64

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        stretch = max(1, _CELLS // len(self.names))
        for start in range(0, len(raw), stretch):
            rows = slice(start, start + stretch)
            out[rows] = self._scaled(self._columns(raw[rows]))

    def _scaled(self, columns: Array) -> Float64:
        values = np.subtract(columns, self.shift, dtype=np.float64)
        values *= self.factor
        if np.isnan(values.sum()):
            nulls = np.isnan(values)
            values[nulls] = np.broadcast_to(self.fill, values.shape)[nulls]
        return values

    def _columns(self, raw: Array) -> Array:
        first, last = self.source[0], self.source[-1] + 1
        return raw[:, first:last] if last - first == len(self.source) else raw[:, self.source]

    def source_of(self, place: int) -> int:
        return int(self.source[place])

    def as_dict(self) -> dict[str, Any]:
        parts = {"shift": self.shift, "factor": self.factor, "null": self.fill}
        plain = {name: part.tolist() for name, part in parts.items()}
        return {"step": "scaled", "names": list(self.names), "source": self.source.tolist(), **plain}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        names = _texts(stored["names"])
        shift, factor, fill = (_floats(stored[name], len(names)) for name in ("shift", "factor", "null"))
        source = [_whole(place) for place in stored["source"]]
        _check(len(source) == len(names) > 0 and source == sorted(set(source)), "a place in the rows for each column")
        return cls(names, np.array(source), shift, factor, fill)

    @property
    def sources(self) -> list[int]:
        return [int(place) for place in self.source]


@storable
@dataclass(frozen=True, eq=False)
class OneHot(Step):
    """A column of 0 and 1 per frequent category, perhaps one for all others and one for nulls.

    ``places`` has the output column of each code, from `UNKNOWN` on; -1 for none. ``distinct`` is how many
    categories there were.
    """

    name: str
    names: list[str]
    source: int
    categories: list[str]
    places: NDArray[np.int64]
    distinct: int
    other: bool
    missing: bool

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        codes = raw[:, self.source].astype(np.int64) - UNKNOWN
        codes[codes >= len(self.places)] = 0  # a vocabulary may have grown since
        places = self.places[codes]
        rows = np.flatnonzero(places >= 0)
        out[:] = 0
        out[rows, places[rows]] = 1

    def source_of(self, place: int) -> int:
        return self.source

    def as_dict(self) -> dict[str, Any]:
        return {
            "step": "one-hot", "column": self.name, "names": list(self.names), "source": self.source,
            "categories": list(self.categories), "distinct": self.distinct, "other": self.other,
            "missing": self.missing,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """With a vocabulary of the kept categories alone: others are "other", or nothing, as new ones are."""
        name, names, categories = _text(stored["column"]), _texts(stored["names"]), _texts(stored["categories"])
        other, missing = _truth(stored["other"]), _truth(stored["missing"])
        _check(len(names) == len(categories) + other + missing > 0, "a name for each category")
        _check(len(set(categories)) == len(categories), "categories that differ")
        places = _places(len(categories), np.arange(len(categories)), other, missing)
        distinct = _whole(stored["distinct"])
        return cls(name, names, _whole(stored["source"]), categories, places, distinct, other, missing)

    @property
    def sources(self) -> list[int]:
        return [self.source]

    @classmethod
    def of(cls, name: str, source: int, vocabulary: list[str], tally: NDArray[np.int64], most: int) -> "OneHot":
        """For the ``most`` frequent values; ``tally`` counts nulls first, then each value of the vocabulary."""
        seen = tally[1:]
        order = np.argsort(-seen, kind="stable")[: np.count_nonzero(seen)]  # ties: by first appearance
        kept, missing = order[:most], bool(tally[0])
        other = len(order) > len(kept)
        places = _places(len(vocabulary), kept, other, missing)
        categories = [vocabulary[code] for code in kept]
        extra = ["other"] * other + ["missing"] * missing
        names = [f"{name}={value}" for value in categories]
        names += [f"{name}={f'({word})' if word in categories else word}" for word in extra]
        return cls(name, names, source, categories, places, len(order), other, missing)


@storable
@dataclass(frozen=True, eq=False)
class Copied(Step):
    """An embedding, as it is."""

    name: str
    names: list[str]
    source: int

    def apply(self, raw: Array, out: NDArray[np.float32]) -> None:
        out[:] = raw[:, self.source : self.source + len(self.names)]

    def source_of(self, place: int) -> int:
        return self.source + place

    def as_dict(self) -> dict[str, Any]:
        return {"step": "copied", "column": self.name, "length": len(self.names), "source": self.source}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        name, length = _text(stored["column"]), _whole(stored["length"])
        _check(0 < length <= LONGEST, "a length")
        return cls(name, [f"{name}[{i}]" for i in range(length)], _whole(stored["source"]))

    @property
    def sources(self) -> range:
        return range(self.source, self.source + len(self.names))


_STEPS: dict[str, type[Step]] = {"scaled": Scaled, "one-hot": OneHot, "copied": Copied}


def step_of(stored: Mapping[str, Any]) -> Step:
    """The step such a dict is of."""
    return _STEPS[stored["step"]].from_dict(stored)


def _places(codes: int, kept: NDArray[np.int64], other: bool, missing: bool) -> NDArray[np.int64]:
    """The output column of each code, from `UNKNOWN` on."""
    places = np.full(codes - UNKNOWN, len(kept) if other else -1)
    places[kept - UNKNOWN] = np.arange(len(kept))
    places[MISSING - UNKNOWN] = len(kept) + other if missing else -1
    return places


def _check(holds: bool, wanted: str) -> None:
    if not holds:
        raise ValueError(f"there must be {wanted}")


def _text(value: object) -> str:
    _check(isinstance(value, str), f"text in place of {value!r:.40}")
    return str(value)


def _texts(values: object) -> list[str]:
    _check(isinstance(values, list), f"a list in place of {values!r:.40}")
    assert isinstance(values, list)
    return [_text(value) for value in values]


def _truth(value: object) -> bool:
    _check(isinstance(value, bool), f"true or false in place of {value!r:.40}")
    return bool(value)


def _whole(value: Any) -> int:
    _check(isinstance(value, int) and not isinstance(value, bool) and value >= 0, f"a number in place of {value!r:.40}")
    return int(value)


def _floats(values: Any, length: int) -> Float64:
    found = np.array(values, np.float64)
    _check(found.shape == (length,) and bool(np.isfinite(found).all()), f"{length} numbers")
    return found
