"""A uniform sample of rows by hash of the row number, with the rows themselves; of the recent ones, if that is wanted.

Where weights fade, row i of n has the weight ``w_i = 2^-((n - 1 - i) / half_life)``. Let ``u_i`` be its hash as a
number between 0 and 1. A row stays as long as ``u_i <= w_i``: that leaves rows that all count as one, and of these the
ones with the smallest ``u_i / w_i`` are kept, a uniform sample. Their order does not change as time goes by, for it is
that of ``log2(u_i) - i / half_life``. (Priority sampling, after Duffield, Lund and Thorup 2007, of no more rows than
weigh one each.)
Where there is room the rows that follow are kept too, up to ``u_i <= 8 w_i``: they count no more, but may be chosen.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_raw, require
from protosieve._typing import Array, Float64, Indices
from protosieve.sampling._bottom import EVERY, WHOLE, faded_key, hashes, highest_key, keys

_BEYOND = 3.0  # the logarithm of hash over weight, of rows that are kept though they count no more


@storable
@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows with their numbers in the stream, and what a mean was at them when they came."""

    rows: Array
    numbers: NDArray[np.int64]
    mu: Float64

    def __len__(self) -> int:
        return len(self.rows)

    def __deepcopy__(self, memo: object) -> "SampledRows":
        return self

    def take(self, which: slice | Indices) -> "SampledRows":
        return SampledRows(self.rows[which], self.numbers[which], self.mu[which])

    @classmethod
    def joined(cls, parts: Sequence["SampledRows"]) -> "SampledRows":
        """One after the other."""
        rows, numbers, mu = zip(*((part.rows, part.numbers, part.mu) for part in parts), strict=True)
        return cls(np.concatenate(rows), np.concatenate(numbers), np.concatenate(mu))

    def _check_form(self) -> None:
        require(are_raw(self.rows), "the rows of a sample")
        require(self.numbers.shape == self.mu.shape == (len(self),), "a sample has a number for each row")
        require((self.numbers >= 0).all(), "the numbers of a sample's rows")


@storable
@dataclass
class UniformSample:
    """The ``size`` rows whose numbers have the smallest hashes, the smallest first.

    The seed and the row numbers decide which rows these are; the order in which they arrive does not matter. The first
    k of them are the sample of size k. With a ``half_life``, in rows, it is a sample of the recent past, perhaps
    smaller than its size, and rows ``beyond`` it fill the rest. O(block) time per block: new rows wait, and are sorted
    in, in O(size (d + log size)), each time the sample has grown by a quarter. Arrays are replaced, never written to:
    copies share them.

    >>> import numpy as np
    >>> X = np.arange(1000.0)[:, None]
    >>> there, back = (UniformSample.empty(5, X, seed=0) for _ in range(2))
    >>> _ = there.observe(X, np.arange(1000)), back.observe(X[::-1], np.arange(1000)[::-1])
    >>> np.array_equal(there.settled().rows, back.settled().rows)
    True
    """

    size: int
    seed: int
    held: SampledRows
    seen: int = 0
    waiting: list[SampledRows] = field(default_factory=list)
    limit: int = EVERY  # of hashes: of one part of the rows among many, those above it will not be needed
    half_life: float | None = None
    newest: int = -1  # number of a row
    beyond: SampledRows | None = None  # rows that follow those it holds, where weights fade
    _limit: Any = field(init=False, repr=False, compare=False)  # keys above it are of no more use
    _n_waiting: int = field(init=False, repr=False, compare=False)

    @classmethod
    def empty(
        cls, size: int, like: Array, seed: int, limit: int = EVERY, half_life: float | None = None
    ) -> "UniformSample":
        none = SampledRows(like[:0].copy(), np.zeros(0, np.int64), np.zeros(0))
        return cls(size, seed, none, limit=limit, half_life=half_life)

    @classmethod
    def drawn(cls, rows: Array, seen: int) -> "UniformSample":
        """Rows that were drawn elsewhere, of ``seen`` rows, in the order that they have; their numbers say no more."""
        numbers = np.argsort(hashes(0, np.arange(len(rows))))
        return cls(len(rows), 0, SampledRows(rows, numbers, np.zeros(len(rows))), seen)

    def __post_init__(self) -> None:
        known, self._n_waiting = self._known(), sum(map(len, self.waiting))
        is_full = len(known) == self.size
        self._limit = self._keys(known.numbers[-1:])[0] if is_full else highest_key(self.limit, self.half_life)

    def __deepcopy__(self, memo: object) -> "UniformSample":
        return replace(self, waiting=list(self.waiting))

    @property
    def rows(self) -> Array:
        return self.held.rows

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self.held.numbers

    @property
    def all_numbers(self) -> NDArray[np.int64]:
        """Of the rows it holds, those that wait included: none of all others will ever be in it."""
        return np.concatenate([part.numbers for part in (self._known(), *self.waiting)])

    @property
    def is_whole(self) -> bool:
        """Whether it holds every row that came: below a ``limit`` it may not, however few there are."""
        return self.seen <= self.size and self.seen == len(self.held) + self._n_waiting

    @property
    def mass(self) -> float:
        """What all rows that came weigh together."""
        if self.half_life is None:
            return self.seen
        rate = math.log(2) / self.half_life
        return math.expm1(-rate * self.seen) / math.expm1(-rate)

    def faded(self, rows: int) -> float:
        """What a row weighs after so many more, that weighed one."""
        return 1.0 if self.half_life is None else 2.0 ** (-rows / self.half_life)

    def fading(self, rows: int) -> Float64 | None:
        """What the rows of a block weigh at its end; ``None`` where all weigh one."""
        if self.half_life is None:
            return None
        found: Float64 = 2.0 ** (-np.arange(rows - 1, -1, -1) / self.half_life)
        return found

    @property
    def population(self) -> int:
        """How many rows of weight one the sample was drawn from."""
        held = len(self.held) + self._n_waiting
        return self.seen if self.half_life is None or self.is_whole else max(round(self.mass), held + 1)

    def rows_ahead(self, adopted: int) -> int:
        """Until the stream is a tenth more than what was ``adopted``, or a tenth of it has faded."""
        grown = max(-(-11 * adopted // 10), 1)  # the first block, that all begins with, alone
        faded = grown if self.half_life is None else adopted + max(int(self.half_life / 10), 1)
        return min(grown, faded) - self.seen

    def _keys(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        return keys(self.seed, numbers, self.half_life)

    def observe(self, rows: Array, numbers: NDArray[np.int64], mu: Float64 | None = None) -> Indices:
        """Rows that were not offered before, with their numbers; returns the positions of those that were taken in."""
        self.seen += len(rows)
        self.newest = max(self.newest, int(numbers.max(initial=-1)))
        small = np.flatnonzero(self._keys(numbers) <= self._limit)
        if len(small):
            self.waiting.append(SampledRows(rows, numbers, np.zeros(len(rows)) if mu is None else mu).take(small))
            self._n_waiting += len(small)
            if 4 * self._n_waiting >= self.size:
                self.settle()
        return small

    def _known(self) -> SampledRows:
        """What it holds, but for the rows that wait."""
        return self.held if self.beyond is None else SampledRows.joined([self.held, self.beyond])

    def settle(self) -> None:
        """Sort in the rows that wait, and leave out those that have faded."""
        if self.waiting or self.half_life is not None:
            both = SampledRows.joined([self._known(), *self.waiting])
            found = self._keys(both.numbers)
            first = np.argsort(found)[: self.size]
            self.held, self.waiting = both.take(first), []
            if self.half_life is not None and self.seen >= WHOLE:
                ends = faded_key(self.newest, self.half_life) + np.array([0, _BEYOND])
                count, last = np.searchsorted(found[first], ends, side="right")
                self.held, self.beyond = both.take(first[:count]), both.take(first[count:last])
            self.__post_init__()

    def settled(self) -> "UniformSample":
        """The same with nothing waiting; itself is left as it is."""
        other = self.__deepcopy__({})
        other.settle()
        return other

    def merge(self, other: "UniformSample", recode: Callable[[Array], Array] | None = None) -> None:
        """Take in the sample of other rows, drawn with the same seed; ``recode`` brings their codes to ours."""
        assert (other.seed, other.size, other.limit) == (self.seed, self.size, self.limit)
        theirs, seen = other.settled().held, self.seen + other.seen
        self.observe(theirs.rows if recode is None else recode(theirs.rows), theirs.numbers, theirs.mu)
        self.seen = seen

    def leading(self, count: int) -> Array:
        """So many rows, or all there are: where weights fade, drawn by these, and also rows beyond the sample."""
        return self.settled()._known().rows[:count]

    def rows_of(self, numbers: NDArray[np.int64]) -> Array:
        """Those of these numbers, all of which are in it and have been settled."""
        order = np.argsort(self.numbers)
        return self.rows[order[np.searchsorted(self.numbers, numbers, sorter=order)]]

    def first(self, size: int) -> "UniformSample":
        """The sample of another size, no larger, of the same rows."""
        found = self.settled()
        return replace(found, size=size, held=found.held.take(slice(size)))

    def mapped(
        self, encode: Callable[[Array], Array], number: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> "UniformSample":
        """The same rows in another form and under other numbers, in the same order."""
        found = self.settled()
        held = SampledRows(encode(found.rows), number(found.numbers), found.held.mu)
        return replace(found, held=held)

    def _check_form(self) -> None:
        require(self.size >= 1 and self.seed >= 0 and are_counts(self.size, self.seen), "the size of a sample")
        require(0 <= self.limit <= EVERY, "the hashes of a sample")
        require(self.half_life is None or 1 <= self.half_life < math.inf, "how long a sample looks back")
        known = self._known()
        require(len(known) <= self.size, "there are more rows in a sample than it has room for")
        require(len(known) + sum(map(len, self.waiting)) <= self.seen, "a sample has more rows than came")
        widths = {part.rows.shape[1:] for part in (known, *self.waiting)}
        require(len(widths) == 1, "the columns of a sample's rows")
        numbers = self.all_numbers
        require(len(np.unique(numbers)) == len(numbers), "a row is in a sample twice")
        require((np.diff(np.argsort(self._keys(known.numbers))) == 1).all(), "the order of a sample's rows")

    def _check(self) -> None:
        self._check_form()
        whole = self.limit == EVERY and self.half_life is None
        assert len(self.settled().held) == min(self.size, self.seen) or not whole
