"""What is done with the columns of a raw matrix: scaled, spread over columns of 0 and 1, or copied."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typing import Array, Float64
from protosieve.preprocess._categories import MISSING, UNKNOWN

__all__ = ["Copied", "OneHot", "Scaled", "Step"]


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
        values = np.subtract(self._columns(raw), self.shift, dtype=np.float64)
        values *= self.factor
        if np.isnan(values.sum()):
            nulls = np.isnan(values)
            values[nulls] = np.broadcast_to(self.fill, values.shape)[nulls]
        out[:] = values

    def _columns(self, raw: Array) -> Array:
        first, last = self.source[0], self.source[-1] + 1
        return raw[:, first:last] if last - first == len(self.source) else raw[:, self.source]

    def source_of(self, place: int) -> int:
        return int(self.source[place])

    def as_dict(self) -> dict[str, Any]:
        parts = {"shift": self.shift, "factor": self.factor, "null": self.fill}
        return {"step": "scaled", "names": list(self.names), **{name: part.tolist() for name, part in parts.items()}}


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
            "step": "one-hot", "column": self.name, "names": list(self.names), "categories": list(self.categories),
            "distinct": self.distinct, "other": self.other, "missing": self.missing,
        }  # fmt: skip

    @classmethod
    def of(cls, name: str, source: int, vocabulary: list[str], tally: NDArray[np.int64], most: int) -> "OneHot":
        """For the ``most`` frequent values; ``tally`` counts nulls first, then each value of the vocabulary."""
        seen = tally[1:]
        order = np.argsort(-seen, kind="stable")[: np.count_nonzero(seen)]  # ties: by first appearance
        kept, missing = order[:most], bool(tally[0])
        other = len(order) > len(kept)
        places = np.full(len(vocabulary) - UNKNOWN, len(kept) if other else -1)
        places[kept - UNKNOWN] = np.arange(len(kept))
        places[MISSING - UNKNOWN] = len(kept) + other if missing else -1
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
        return {"step": "copied", "column": self.name, "length": len(self.names)}
