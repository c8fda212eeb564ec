"""From the statistics of a survey to an encoding."""

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Float64
from protosieve.errors import InputError, arg
from protosieve.preprocess._categories import MAX_DISTINCT, CategoryColumn
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import SCALES, Moments
from protosieve.preprocess._steps import Copied, OneHot, Scaled, Step
from protosieve.preprocess._wording import listing

_FEW, _NAMES = 100, 0.5  # a column of text with more distinct values, and more than half as many as rows, names them
_NAMING = "it names rows rather than describing them"
_LARGEST = float(np.finfo(np.float32).max)


@dataclass
class EncodingBuilder:
    """From the statistics of all ``rows`` to an encoding: its steps, the columns it drops, the nulls it replaces."""

    layout: Layout
    moments: Moments
    tallies: Sequence[NDArray[np.int64]]
    rows: int
    scale: str
    max_categories: int
    steps: list[Step] = field(default_factory=list, init=False)
    dropped: dict[str, str] = field(default_factory=dict, init=False)
    filled: dict[str, int] = field(default_factory=dict, init=False)

    def build(self) -> Encoding:
        """One step per run of columns to be scaled, so that these are one operation, and one per other column.

        The vocabularies of the encoding grow no more.
        """
        tallies, measured = iter(self.tallies), itertools.count()
        for scaled, run in itertools.groupby(self.layout.placed(), key=lambda placed: placed[0].scaled):
            if scaled:
                places = [(column, place, i) for column, place in run for i in range(column.width)]
                self._scaled([(column.label(i), place + i, next(measured)) for column, place, i in places])
                continue
            for column, place in run:
                if isinstance(column, CategoryColumn):
                    self._one_hot(column, place, next(tallies))
                else:
                    self.steps.append(Copied(column.name, column.width, place))
        if not self.steps:
            raise InputError(_nothing_left(self.dropped))
        return Encoding(copy.deepcopy(self.layout), self.rows, self.scale, self.steps, self.dropped, self.filled)

    def _scaled(self, cells: list[tuple[str, int, int]]) -> None:
        """Raw columns by name, place, and number among those that have ``moments``."""
        kept = [cell for cell in cells if self._varies(cell[0], cell[2])]
        if not kept:
            return
        names, index = [name for name, _, _ in kept], np.array([i for _, _, i in kept])
        with np.errstate(all="ignore"):  # what is not finite is refused in the next line but one
            shift, factor = (part[index] for part in SCALES[self.scale].fit(self.moments))
            found = np.stack([self.moments.low, self.moments.high, self.moments.mean])
            ends = (found[:, index] - shift) * factor
        self._check(names, index, factor, ends)
        self.steps.append(Scaled(names, np.array([place for _, place, _ in kept]), shift, factor, null=ends[2]))

    def _varies(self, name: str, i: int) -> bool:
        nulls = self.rows - int(self.moments.count[i])
        if nulls == self.rows:
            self.dropped[name] = "null in every row"
            return False
        if self.moments.low[i] == self.moments.high[i]:
            digits = " to 16 digits" if name in self.layout.rounded else ""
            self.dropped[name] = f"the same{digits} in every row" + (" that is not null" if nulls else "")
            return False
        if nulls:
            self.filled[name] = nulls
        return True

    def _check(self, names: Sequence[str], index: NDArray[np.int64], factor: Float64, ends: Float64) -> None:
        fits = np.isfinite(factor) & (factor > 0) & (np.abs(ends) <= _LARGEST).all(axis=0)
        for i in np.flatnonzero(~fits).tolist():
            low, high = self.moments.low[index[i]], self.moments.high[index[i]]
            raise InputError(
                f"column {names[i]!r} goes from {low:g} to {high:g}, too extreme a range for "
                f"{arg('scale', self.scale)} in single precision; bring it to a usual one, or leave it out with "
                f"{arg('exclude', names[i])}"
            )

    def _one_hot(self, column: CategoryColumn, place: int, tally: NDArray[np.int64]) -> None:
        if column.full:
            self.dropped[column.name] = f"more than {MAX_DISTINCT:,} values: {_NAMING}"
            return
        tally = np.pad(tally, (0, len(column.values) + 1 - len(tally)))
        step = OneHot.of(column.name, place, column.values, tally, self.max_categories)
        if step.distinct > max(_FEW, _NAMES * self.rows):
            self.dropped[column.name] = f"nearly every value differs: {_NAMING}"
        elif len(step.names) > 1:
            self.steps.append(step)
        else:
            self.dropped[column.name] = "the same in every row" if step.distinct else "null in every row"


def _nothing_left(dropped: Mapping[str, str]) -> str:
    reasons = listing([f"{name!r} ({why})" for name, why in dropped.items()])
    texts = (
        f", or embeddings of the texts with {arg('embedding')}"
        if any(why.endswith(_NAMING) for why in dropped.values())
        else ""
    )
    return (
        f"no column is left to compare rows by: {reasons}; add a column of numbers, dates or categories whose values "
        f"differ{texts}"
    )
