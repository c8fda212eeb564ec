"""From the statistics of a survey to an encoding."""

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Float64
from protosieve.errors import InputError, arg
from protosieve.preprocess._categories import MAX_DISTINCT, CategoryColumn
from protosieve.preprocess._columns import CYCLES, Column, DateColumn, EmbeddedColumn, ImageColumn, TextColumn
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import SCALES, Moments, is_heavy_tailed
from protosieve.preprocess._row_names import names_rows
from protosieve.preprocess._steps import Copied, Cycle, Missing, OneHot, Ranked, Scaled, Step
from protosieve.preprocess._wording import NAMING, NUMBERING, SPELLING, listing
from protosieve.sampling import SampledRows

_FEW, _NAMES = 20, 0.5  # a column of text with more values, and more than half of its cells different, names rows
_WIDEST = 256  # columns of numbers; more are of one kind, such as pixels, and ranks of each would take much memory
_NULLS = 0.1  # of the rows: with fewer the mean is all that a null is
BALANCES = ("kinds", "columns")
_JUDGED = 4096  # rows that tell what texts weigh
_LARGEST = float(np.finfo(np.float32).max)


class OnlyTextsError(InputError):
    """Nothing is left to compare rows by but these columns of text, unless they are compared by their words."""

    def __init__(self, message: object = "", columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class _Cell(NamedTuple):
    """A raw column of numbers: its name and place, and its number among those that have moments."""

    column: Column
    name: str
    place: int
    nth: int


@dataclass
class EncodingBuilder:
    """From the statistics of all ``rows`` to an encoding: its steps, the columns it drops, the nulls it replaces."""

    layout: Layout
    moments: Moments
    tallies: Sequence[NDArray[np.int64]]
    rows: int
    scale: str
    max_categories: int
    samples: Sequence[SampledRows] = ()
    balance: str = "kinds"
    compares_ids: bool = False
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
                self._measures(
                    [_Cell(column, column.label(i), place + i, next(measured)) for column, place, i in places]
                )
                continue
            for column, place in run:
                if isinstance(column, CategoryColumn):
                    self._one_hot(column, place, next(tallies))
                elif column.width:
                    self.steps.append(Copied(column.name, column.width, place))
                else:
                    self.dropped[column.name] = "no text in it has a word"
        if not self.steps and (texts := self._texts()):
            raise OnlyTextsError(_nothing_left(self.dropped), texts)
        if not self.steps and NUMBERING in self.dropped.values():
            return replace(self, compares_ids=True).build()  # there is nothing else to compare rows by
        if not self.steps:
            raise InputError(_nothing_left(self.dropped))
        made = Encoding(copy.deepcopy(self.layout), self.rows, self.scale, self.steps, self.dropped, self.filled)
        return replace(made, steps=self._balanced(made))

    def _texts(self) -> list[str]:
        """Columns of text that were dropped because they differ from row to row."""
        text = {column.name for column, _ in self.layout.categories() if not column.typed}
        return [name for name, why in self.dropped.items() if name in text and why.endswith(NAMING)]

    def _balanced(self, made: Encoding) -> list[Step]:
        """The steps, texts and images weighed so that each kind tells rows apart as much as all other columns together,
        or each column as much as one of numbers. A sample tells how much that is.
        """
        kind = {TextColumn: "text", EmbeddedColumn: "text", ImageColumn: "image"}
        learnt = {column.name: kind[type(column)] for column in self.layout.items if type(column) in kind}
        kinds = [learnt.get(step.column, "") if isinstance(step, Copied) else "" for step in made.steps]
        if not self.samples or not any(kinds) or (len(set(kinds)) == 1 and self.balance == "kinds"):
            return made.steps
        spread = made.transform(self.samples[0].rows[:_JUDGED]).var(axis=0, dtype=np.float64)
        ends = np.cumsum([0, *(len(step.names) for step in made.steps)])
        each = np.array([spread[start:end].sum() for start, end in itertools.pairwise(ends)])
        own = {kind: each[[one == kind for one in kinds]].sum() for kind in sorted(kinds)}  # others come first

        def weighed(step: Step, kind: str, mine: float) -> Step:
            wanted = 1.0 if self.balance == "columns" else next(filter(None, own.values()), 0.0)
            mine = mine if self.balance == "columns" else own[kind]
            if not (isinstance(step, Copied) and kind and mine > 0 and wanted > 0):
                return step
            return replace(step, factor=float(np.sqrt(wanted / mine)))

        return list(map(weighed, made.steps, kinds, each))

    def _measures(self, cells: list[_Cell]) -> None:
        """Columns that vary, heavy-tailed ones by their ranks; after them, where many are null, one that says so."""
        kept = [cell for cell in cells if self._varies(cell)]
        for cell, run in itertools.groupby(kept, key=lambda cell: cell if self._is_heavy_tailed(cell) else None):
            if cell is None:
                self._scaled(list(run))
            else:
                low, high = self.moments.low[cell.nth], self.moments.high[cell.nth]
                self.steps.append(Ranked.of(cell.name, cell.place, self._sampled(cell), low, high))
        self.steps += [Missing(cell.name, cell.place, self._height(cell)) for cell in kept if self._tells_nulls(cell)]
        for cell in kept:
            for cycle in cell.column.cycles if isinstance(cell.column, DateColumn) else ():
                self._cycle(Cycle(cell.name, cell.place, cycle, CYCLES[cycle]), cell)

    def _cycle(self, step: Cycle, cell: _Cell) -> None:
        """Dates that are all at one point of it, as those without a time are in the day, do not differ."""
        if self.samples and len(np.unique(np.mod(self._sampled(cell), step.seconds))) == 1:
            self.dropped[f"{cell.name} in the {step.cycle}"] = "the same in every row that was sampled"
        else:
            self.steps.append(step)

    def _sampled(self, cell: _Cell) -> Float64:
        values = np.concatenate([sample.rows[:, cell.place] for sample in self.samples]).astype(np.float64)
        return values[~np.isnan(values)]

    def _is_heavy_tailed(self, cell: _Cell) -> bool:
        if self.scale != "auto" or not self.samples or len(self.moments.count) > _WIDEST:
            return False
        return is_heavy_tailed(self._sampled(cell), float(self.moments.deviation[cell.nth]))

    def _tells_nulls(self, cell: _Cell) -> bool:
        return self.filled.get(cell.name, 0) >= _NULLS * self.rows

    def _height(self, cell: _Cell) -> float:
        """One standard deviation, as encoded: a null, which is at the mean, differs from a value by one variance, and
        by another for the height; two values differ by two.
        """
        for step in self.steps:
            if isinstance(step, Scaled) and cell.name in step.names:
                return float(self.moments.deviation[cell.nth] * step.factor[step.names.index(cell.name)])
        return 1.0  # by ranks

    def _scaled(self, kept: list[_Cell]) -> None:
        names, index = [cell.name for cell in kept], np.array([cell.nth for cell in kept])
        with np.errstate(all="ignore"):  # what is not finite is refused in the next line but one
            shift, factor = (part[index] for part in SCALES[self.scale].fit(self.moments))
            found = np.stack([self.moments.low, self.moments.high, self.moments.mean])
            ends = (found[:, index] - shift) * factor
        self._check(names, index, factor, ends)
        self.steps.append(Scaled(names, np.array([cell.place for cell in kept]), shift, factor, null=ends[2]))

    def _names_rows(self, cell: _Cell) -> bool:
        if self.compares_ids or cell.name in self.layout.named or not self.samples or cell.column.kind == "date":
            return False
        return names_rows(cell.name, self.samples[0], cell.place)

    def _varies(self, cell: _Cell) -> bool:
        name, i = cell.name, cell.nth
        nulls = self.rows - int(self.moments.count[i])
        if nulls == self.rows:
            self.dropped[name] = "null in every row"
            return False
        if self._names_rows(cell):
            self.dropped[name] = NUMBERING
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
            self.dropped[column.name] = f"more than {MAX_DISTINCT:,} values: {NAMING}"
            return
        tally = np.pad(tally, (0, len(column.values) + 1 - len(tally)))
        step = OneHot.of(column.name, place, column.values, tally, self.max_categories)
        if step.distinct > max(_FEW, _NAMES * tally[1:].sum()) and column.name not in self.layout.named:
            self.dropped[column.name] = SPELLING
        elif len(step.names) > 1:
            self.steps.append(step)
        else:
            self.dropped[column.name] = "the same in every row" if step.distinct else "null in every row"


def _nothing_left(dropped: Mapping[str, str]) -> str:
    reasons = listing([f"{name!r} ({why})" for name, why in dropped.items()])
    texts = (
        f", or compare the texts by their words with {arg('text')}"
        if any(why.endswith(NAMING) for why in dropped.values())
        else ""
    )
    return (
        f"no column is left to compare rows by: {reasons}; add a column of numbers, dates or categories whose values "
        f"differ{texts}"
    )
