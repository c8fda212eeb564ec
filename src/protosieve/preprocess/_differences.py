"""How the first rows of a stream, by which it was encoded, differ from all rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.preprocess._categories import CategoryColumn
from protosieve.preprocess._columns import TextColumn
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._steps import OneHot, Ranked, Scaled
from protosieve.preprocess._survey import Survey
from protosieve.preprocess._wording import NAMING, listing

_SCALES = 1.25  # times another's: a column, or a kernel, then sees other distances
_SHIFT = 0.25  # of a column's spread
_APART = 0.1  # of two distribution functions: means and spreads of heavy tails differ by chance
_SHARE = 0.01  # of all rows, in categories that the first rows do not tell apart
_ERRORS = 4  # standard errors of a share
_UNKNOWN = 0.02  # of the texts, without a word of the first rows
_KEPT = 2048  # of the first rows


def ratio_differs(before: float, after: float) -> bool:
    """Whether one of two positive numbers is that much larger than the other."""
    return not 1 / _SCALES <= after / before <= _SCALES


@dataclass(frozen=True)
class ColumnDifference:
    """One column, in a few words; ``matters`` where rows should be chosen again for it."""

    words: str
    matters: bool = True


@storable
@dataclass(frozen=True, eq=False)
class FirstRows:
    """What is kept of the first rows: how many there were, how often each category occurred, and some of them."""

    n_rows: int
    tallies: list[NDArray[np.int64]]
    rows: Array  # raw

    @classmethod
    def of(cls, survey: Survey, rows: Array, rng: np.random.Generator) -> "FirstRows":
        """From a survey of these rows."""
        drawn = rng.permutation(len(rows))[:_KEPT]
        return cls(survey.rows, [tally.copy() for tally in survey.tallies], rows[np.sort(drawn)])

    def differences(self, head: Encoding, survey: Survey, whole: Encoding, sample: Array) -> list[ColumnDifference]:
        """Where ``head``, the encoding by these rows, does not suit all rows: columns with another scale and other
        values, and categories that the first rows lack or hardly have.

        ``survey`` and ``whole`` are of all rows, ``sample`` some of these, raw. O((sample + head) columns) and a sort.
        """
        dropped = ((name, why) for name, why in whole.dropped.items() if name not in head.dropped)
        return [
            *self._numbers(head, whole, sample),
            *self._categories(head, survey, whole),
            *(ColumnDifference(f"{name} is dropped ({why})") for name, why in dropped),
        ]

    def texts(self, layout: Layout, sample: Array) -> list[ColumnDifference]:
        """Columns of text of which many rows of a sample, raw by this layout, have no word that the first rows have."""
        found = []
        for column, place in layout.placed():
            if isinstance(column, TextColumn) and column.width:
                last = place + column.width - 1  # is 1 where no word is known
                then, now = (float(rows[:, last].mean()) for rows in (self.rows, sample))
                if now - then > _UNKNOWN + _ERRORS * np.sqrt(then / len(self.rows)):
                    found.append(ColumnDifference(f"{100 * now:.0f} % of {column.name} are texts without a known word"))
        return found

    def _numbers(self, head: Encoding, whole: Encoding, sample: Array) -> Iterator[ColumnDifference]:
        before = {name: step for step, name, _ in _measures(head)}
        for step, name, place in _measures(whole):
            if name not in before:
                why = head.dropped.get(name, "")
                said = "names rows" if why.endswith(NAMING) else "has one value"
                yield ColumnDifference(f"{name} {said} in the first rows")
            elif _differ(before[name], step, name) and _apart(self.rows[:, place], sample[:, place]):
                yield ColumnDifference(f"{name} has another range")

    def _categories(self, head: Encoding, survey: Survey, whole: Encoding) -> Iterator[ColumnDifference]:
        known = {step.column: step for step in head.steps if isinstance(step, OneHot)}
        shown = {step.column: step for step in whole.steps if isinstance(step, OneHot)}
        for (column, _), first, tally in zip(survey.layout.categories(), self.tallies, survey.tallies, strict=True):
            step, old = shown.get(column.name), known.get(column.name)
            if step is None:
                continue  # of no use by all rows
            merged = [column.codes[value] for value in step.categories if old is None or value not in old.categories]
            more = np.array([code + 1 for code in merged] + [0] * (step.missing and not (old and old.missing)), int)
            if not len(more):
                continue
            before = np.pad(first, (0, max(0, len(tally) - len(first))))[more]
            now, then = tally[more] / survey.rows, before / self.n_rows
            grown = float(np.maximum(now - then - _ERRORS * np.sqrt(now / self.n_rows), 0).sum())
            new = more[before == 0]
            if len(new):
                rows = f"{int(tally[new].sum()):,} later rows"
                yield ColumnDifference(f"{column.name} is {_named(column, new)} in {rows}", grown >= _SHARE)
            elif grown >= _SHARE:
                yield ColumnDifference(f"{column.name} is far more often {_named(column, more)}")


def _measures(encoding: Encoding) -> Iterator[tuple[Scaled | Ranked, str, int]]:
    """The columns of numbers by name and place, with the steps that encode them."""
    for step in encoding.steps:
        if isinstance(step, Scaled | Ranked):
            yield from ((step, name, place) for name, place in zip(step.names, step.sources, strict=True))


def _differ(before: Scaled | Ranked, after: Scaled | Ranked, name: str) -> bool:
    """Whether a column has another scale; ranks follow every value, and differ wherever values do."""
    if isinstance(before, Ranked) or isinstance(after, Ranked):
        return True
    i, j = before.names.index(name), after.names.index(name)
    moved = abs(before.shift[i] - after.shift[j]) * after.factor[j] > _SHIFT
    return bool(moved) or ratio_differs(float(before.factor[i]), float(after.factor[j]))


def _apart(first: Array, all_rows: Array) -> bool:
    """Whether two samples differ by more than chance would have it: the distance of Kolmogorov and Smirnov."""
    ours, theirs = (np.sort(values[~np.isnan(values)]) for values in (first, all_rows))
    if not len(ours) or not len(theirs):
        return len(ours) != len(theirs)
    at = np.concatenate([ours, theirs])
    gap = np.searchsorted(ours, at, "right") / len(ours) - np.searchsorted(theirs, at, "right") / len(theirs)
    return bool(np.abs(gap).max() > _APART + np.sqrt(1 / len(ours) + 1 / len(theirs)))


def _named(column: CategoryColumn, codes: NDArray[np.int64]) -> str:
    """Values of a column, listed by their places in a tally."""
    return listing(["null" if code == 0 else repr(column.values[code - 1]) for code in codes.tolist()])
