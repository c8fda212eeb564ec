"""From the statistics of a survey to an encoding."""

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Float64
from protosieve.errors import InputError, arg
from protosieve.preprocess._categories import MAX_DISTINCT, CategoryColumn
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import Moments
from protosieve.preprocess._scales import SCALES
from protosieve.preprocess._steps import Copied, OneHot, Scaled, Step
from protosieve.preprocess._wording import listing

__all__ = ["build_encoding"]

_FEW, _NAMES = 100, 0.5  # a column of text with more distinct values, and more than half as many as rows, names them
_NAMING = "it names rows rather than describing them"
_LARGEST = float(np.finfo(np.float32).max)


def build_encoding(
    layout: Layout,
    moments: Moments,
    tallies: Sequence[NDArray[np.int64]],
    rows: int,
    scale: str,
    max_categories: int,
) -> Encoding:
    """The encoding that follows from the statistics of all ``rows``, with a vocabulary that grows no more."""
    builder = _Builder(layout, moments, rows, scale, max_categories)
    builder.add_steps(tallies)
    if not builder.steps:
        raise InputError(_nothing_left(builder.dropped))
    return Encoding(copy.deepcopy(layout), rows, scale, builder.steps, builder.dropped, builder.filled)


@dataclass
class _Builder:
    """The steps as they are added, the columns that are dropped, and the nulls to be replaced."""

    layout: Layout
    moments: Moments
    rows: int
    scale: str
    max_categories: int
    steps: list[Step] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)

    def add_steps(self, tallies: Sequence[NDArray[np.int64]]) -> None:
        """One step per run of columns to be scaled, so that these are one operation, and one per other column."""
        of_category, measured = iter(tallies), itertools.count()
        for scaled, run in itertools.groupby(self.layout.placed(), key=lambda placed: placed[0].scaled):
            if scaled:
                self._scaled([(column.label(i), at + i) for column, at in run for i in range(column.width)], measured)
                continue
            for column, place in run:
                if isinstance(column, CategoryColumn):
                    self._one_hot(column, place, next(of_category))
                else:
                    self.steps.append(Copied(column.name, column.width, place))

    def _scaled(self, cells: list[tuple[str, int]], measured: Iterator[int]) -> None:
        index = np.array([next(measured) for _ in cells])
        kept = [self._varies(name, i) for (name, _), i in zip(cells, index, strict=True)]
        if not any(kept):
            return
        names = [name for (name, _), keep in zip(cells, kept, strict=True) if keep]
        places = np.array([place for (_, place), keep in zip(cells, kept, strict=True) if keep])
        index = index[kept]
        with np.errstate(all="ignore"):  # what is not finite is refused in the next line but one
            shift, factor = (part[index] for part in SCALES[self.scale].fit(self.moments))
            found = np.stack([self.moments.low, self.moments.high, self.moments.mean])
            ends = (found[:, index] - shift) * factor
        self._check(names, index, factor, ends)
        self.steps.append(Scaled(names, places, shift, factor, null=ends[2]))

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
