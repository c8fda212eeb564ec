"""Statistics of raw rows, gathered in one pass."""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from protosieve import _defaults as default
from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array
from protosieve.errors import InputError, ParameterError, arg
from protosieve.preprocess._build import BALANCES, EncodingBuilder
from protosieve.preprocess._categories import MAX_DISTINCT, MISSING, UNKNOWN
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import SCALES, Moments
from protosieve.preprocess._wording import listing
from protosieve.sampling import SampledRows

Codes: TypeAlias = NDArray[np.int64]


@storable
@dataclass
class Survey:
    """What a first pass learns of a table: ranges, means and spreads of numbers, and how often each category occurs.

    It keeps no rows: its size is that of the columns and of the categories' vocabularies. The bits of its results
    depend on the sequence of blocks, so send blocks of one size.

    ``layout`` is the one whose vocabularies grow: after a state file has been read, go on with ``survey.layout``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from protosieve.preprocess import Layout, Survey
    >>> table = pa.table({"age": [31, None, 44, 39], "colour": ["red", "blue", "red", "green"], "year": [2024] * 4})
    >>> layout = Layout.of(table.schema)
    >>> survey = Survey.of(layout)
    >>> survey.update(layout.raw(table, grow=True)[0])
    >>> encoding = survey.settle(max_categories=2)
    >>> encoding.names
    ['age', 'age=missing', 'colour=red', 'colour=blue', 'colour=other']
    >>> for line in encoding.describe():
    ...     print(line)
    1 number column standardised: age
    colour: 2 of 3 categories, the rest as 'other'
    1 null in age replaced by its mean, and compared as missing
    dropped: year, the same in every row
    """

    layout: Layout
    rows: int
    moments: Moments | None  # None until the first block: lists may have no length before
    tallies: list[NDArray[np.int64]]  # per category column: nulls, then each code

    @classmethod
    def of(cls, layout: Layout) -> "Survey":
        """A survey of no rows."""
        return cls(layout, 0, None, [np.zeros(1, np.int64) for _ in layout.categories()])

    def update(self, raw: Array, seen: Sequence[Moments] = ()) -> None:
        """Take in raw rows, as `Layout.raw` gives them with ``grow=True``: O(rows x columns).

        ``seen`` are the statistics of all their columns, strip after strip, where these are known already.
        """
        if not len(raw):
            return
        places = self.layout.scaled
        self.moments = self.moments or Moments.empty(len(places))
        for part in seen or [Moments.of(raw)]:
            self.moments.merge(part if len(places) == raw.shape[1] else part.of_columns(places))
        for i, (column, place) in enumerate(self.layout.categories()):
            codes = raw[:, place].astype(np.int64)
            self.tallies[i] = _added(self.tallies[i], codes, column.full)
        self.rows += len(raw)

    def merge(self, later: "Survey") -> Callable[[Array], Array]:
        """Take in what was learnt of the rows that come after these, under the same columns.

        Counts, ranges and the order of categories are those of one survey of all rows; means and spreads are so to
        rounding. Returns a function that recodes raw rows of the later layout, whose codes of categories differ, to
        this one. O(columns + categories).
        """
        self.layout.agree(later.layout)
        pairs = zip(self.layout.categories(), later.layout.categories(), strict=True)
        codes = [mine.adopt(theirs) for (mine, _), (theirs, _) in pairs]
        if later.moments is not None:
            self.moments = self.moments or Moments.empty(len(self.layout.scaled))
            self.moments.merge(later.moments)
        for i, code in enumerate(codes):
            self.tallies[i] = _summed(self.tallies[i], later.tallies[i], code)
        self.rows += later.rows
        return partial(_recoded, [place for _, place in self.layout.categories()], codes)

    def beyond(self, encoding: Encoding, target: "Survey", sample: Array) -> list[str]:
        """What rows of a target have and these do not: categories, and numbers below or above all of theirs.

        ``encoding`` tells which columns are compared, and ``sample`` are raw rows of the target.
        """
        places = {place: name for step in encoding.steps for name, place in zip(step.names, step.sources, strict=True)}
        found = []
        assert self.moments is not None  # there are rows of both
        assert target.moments is not None
        ends = (self.moments.low, self.moments.high, target.moments.low, target.moments.high)
        for place, low, high, lowest, highest in zip(
            *(part.tolist() for part in (self.layout.scaled, *ends)), strict=True
        ):
            if place in places and (lowest < low or highest > high):
                share = float(((sample[:, place] < low) | (sample[:, place] > high)).mean())
                found.append(f"{places[place].removesuffix('=missing')} is outside its range here in {_part(share)}")
        pairs = zip(self.layout.categories(), self.tallies, target.layout.categories(), target.tallies, strict=True)
        for (column, place), here, (theirs, _), there in pairs:
            if place in places and not column.full and not theirs.full:
                mine = {value for value, rows in zip(column.values, here[1:], strict=False) if rows}
                rows = {value: n for value, n in zip(theirs.values, there[1:].tolist(), strict=False) if n}
                new = [value for value in rows if value not in mine]
                if new:
                    share = sum(rows[value] for value in new) / target.rows
                    found.append(f"{column.name} is {listing(list(map(repr, new)))} in {_part(share)}")
        return found

    def settle(
        self,
        scale: str = default.SCALE,
        max_categories: int = default.MAX_CATEGORIES,
        samples: Sequence[SampledRows] = (),
        balance: str = default.BALANCE,
    ) -> Encoding:
        """Decide how rows are encoded.

        Parameters
        ----------
        scale : {"auto", "standard", "minmax", "none"}
            Numbers and dates to mean 0 and variance 1, to the range from 0 to 1, or as they are. ``"auto"`` is
            ``"standard"``, except that a heavy-tailed column becomes normal by its ranks.
        max_categories : int
            Columns of 0 and 1 per category column, for its most frequent values; all others share one more.
        samples : sequence of SampledRows
            Raw rows drawn uniformly, of these and perhaps of a target: they tell which columns have heavy tails, and
            with their numbers which ones only number the rows. Without them none does.
        balance : {"kinds", "columns"}
            What texts weigh beside other columns: as much as all of these together, or each as much as one of them.
        """
        if scale not in SCALES:
            raise ParameterError(f"{arg('scale')} must be one of {', '.join(map(repr, SCALES))}, got {scale!r}")
        if balance not in BALANCES:
            raise ParameterError(f"{arg('balance')} must be one of {', '.join(map(repr, BALANCES))}, got {balance!r}")
        if not isinstance(max_categories, numbers.Integral) or isinstance(max_categories, bool) or max_categories < 1:
            raise ParameterError(
                f"{arg('max_categories')} must be a whole number of at least 1, got {max_categories!r}"
            )
        if self.moments is None:
            raise InputError("there are no rows to learn scales and categories from; give at least one usable row")
        return EncodingBuilder(
            self.layout,
            self.moments,
            self.tallies,
            self.rows,
            scale,
            int(max_categories),
            samples,
            balance,
        ).build()

    def _check_form(self) -> None:
        categories = self.layout.categories()
        require(are_counts(self.rows) and len(self.tallies) == len(categories), "the counts of categories")
        for tally, (column, _) in zip(self.tallies, categories, strict=True):
            most = MAX_DISTINCT if column.full else len(column.values)  # its rows may be read before they are taken in
            require(tally.ndim == 1 and 1 <= len(tally) <= 1 + most, "the counts of categories")
            require(are_counts(*tally.tolist()) and tally.sum() == self.rows, "the counts of categories")
        if self.moments is not None:
            require(self.moments.count.shape == self.layout.scaled.shape, "statistics of other columns")
            require((self.moments.count <= self.rows).all(), "statistics of more rows than there are")

    def _check(self) -> None:
        """Raise if an invariant is broken."""
        self._check_form()
        if self.moments is not None:
            some = self.moments.count > 0
            assert (self.moments.m2 >= 0).all()
            assert (self.moments.low <= self.moments.high)[some].all()


def _part(share: float) -> str:
    return f"{100 * share:.2g} % of its rows" if share >= 0.001 else "a few of its rows"


def _summed(tally: Codes, later: Codes, codes: Codes | None) -> Codes:
    """The sum of two tallies; ``codes`` has the code here of each code of the later one, all different."""
    if codes is None:
        return np.array([tally[0] + later[0], tally[1:].sum() + later[1:].sum()])
    places = np.append(0, codes + 1)
    total = np.zeros(max(len(tally), 1 + int(places.max())), np.int64)
    total[: len(tally)] = tally
    total[places[: len(later)]] += later  # a value that no row has yet has no count
    return total


def _recoded(places: Sequence[int], codes: Sequence[Codes | None], raw: Array) -> Array:
    """Raw rows with each code of a category column replaced by ``codes`` of it; nulls stay."""
    found = raw.copy()
    for place, new in zip(places, codes, strict=True) if len(raw) else ():
        old = raw[:, place].astype(np.int64)
        # a null's code, -1, is the last
        found[:, place] = np.where(old == MISSING, MISSING, UNKNOWN) if new is None else np.append(new, MISSING)[old]
    return found


def _added(tally: Codes, codes: Codes, is_full: bool) -> Codes:
    """The tally with these codes counted; of a column that names rows only nulls and all others."""
    if is_full:
        tally, codes = np.array([tally[0], tally[1:].sum()]), np.where(codes == MISSING, MISSING, 0)
    more = np.bincount(codes - MISSING, minlength=len(tally))
    more[: len(tally)] += tally
    return more
