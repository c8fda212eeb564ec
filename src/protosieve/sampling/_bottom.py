"""A uniform sample that depends on row numbers alone: the rows whose hashes are the smallest.

The seed and the row numbers decide which rows are in it; the order in which they arrive does not matter. So samples of
different rows merge, in any order, to the sample of all of them, and every sample contains the smaller ones.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Float64, Indices

EVERY = 2**64 - 1  # the largest hash

WHOLE = 32  # rows: so few at the beginning of a stream are all kept, and weigh the same

_GOLDEN = 0x9E3779B97F4A7C15  # odd, so that multiplying by it loses nothing


def hashes(seed: int, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A random number for each row number: splitmix64 (Steele, Lea and Flood 2014), started at a hash of the seed.

    Different numbers have different hashes: every step of it can be undone. O(n).
    """
    start = _mixed(np.array([(seed + _GOLDEN) % 2**64], np.uint64))
    return _mixed(start + np.asarray(numbers, np.int64).astype(np.uint64) * np.uint64(_GOLDEN))


def keys(seed: int, numbers: NDArray[np.int64], half_life: float | None) -> NDArray[Any]:
    """By which rows are taken into a sample, the smallest first: their hashes, or, where weights fade, the logarithm of
    hash over weight. That of a row stays what it is while time goes by.
    """
    found = hashes(seed, numbers)
    if half_life is None:
        return found
    faded: Float64 = np.log2((found.astype(np.float64) + 0.5) / 2.0**64) - numbers / half_life
    return faded


def faded_key(newest: int, half_life: float) -> float:
    """That of a row whose hash, as a number between 0 and 1, is its weight when this row was the newest."""
    return -newest / half_life


def highest_key(limit: int, half_life: float | None) -> Any:
    """That of rows with this hash, however old they are."""
    return np.uint64(limit) if half_life is None else np.inf


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@storable
@dataclass
class Bottom:
    """The ``most`` row numbers with the smallest hashes, of all that were offered; in no order.

    Hashes above ``limit`` are skipped. That saves memory where this is the sample of one part of the rows, and it is
    known that fewer than ``most`` of this part will be needed. With a ``half_life``, in rows, it holds recent ones, as
    `UniformSample` does.

    >>> import numpy as np
    >>> whole, left, right = (Bottom(seed=0, most=3) for _ in range(3))
    >>> _ = whole.offer(np.arange(1000)), left.offer(np.arange(500)), right.offer(np.arange(500, 1000))
    >>> left.merge(right)
    >>> sorted(left.numbers.tolist()) == sorted(whole.numbers.tolist()), left.seen
    (True, 1000)
    """

    seed: int
    most: int
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    seen: int = 0
    limit: int = EVERY
    half_life: float | None = None
    newest: int = -1  # row number
    _keys: NDArray[Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._keys = keys(self.seed, self.numbers, self.half_life)

    def offer(self, numbers: NDArray[np.int64]) -> Indices:
        """Rows that were not offered before; returns the positions of those that are in it now. O(n + most)."""
        found, held = keys(self.seed, numbers, self.half_life), len(self.numbers)
        highest = self._keys.max() if held == self.most else highest_key(self.limit, self.half_life)
        small = np.flatnonzero(found <= highest)
        self.seen += len(numbers)
        self.newest = max(self.newest, int(numbers.max(initial=-1)))
        kept = self._keep(np.append(self.numbers, numbers[small]), np.append(self._keys, found[small]))
        return small[kept[kept >= held] - held]

    def lower(self, most: int) -> None:
        """Make it smaller, for good."""
        self.most = most
        self._keep(self.numbers, self._keys)

    def merge(self, other: "Bottom") -> None:
        """Take in the sample of other rows, drawn with the same seed; the smaller of the two sizes is the size."""
        assert other.seed == self.seed
        self.lower(min(self.most, other.most))
        seen = self.seen + other.seen
        self.offer(other.numbers)
        self.seen = seen

    def _keep(self, numbers: NDArray[np.int64], found: NDArray[Any]) -> Indices:
        """Of these the smallest; returns their positions, rising."""
        kept = np.arange(len(found))
        if len(found) > self.most:
            kept = np.sort(np.argpartition(found, self.most - 1)[: self.most])
        if self.half_life is not None and self.seen >= WHOLE:
            kept = kept[found[kept] <= faded_key(self.newest, self.half_life)]
        self.numbers, self._keys = numbers[kept], found[kept]
        return kept

    def _check_form(self) -> None:
        require(self.most >= 1 and are_counts(self.most, self.seen), "the size of a sample by hashes")
        require(self.numbers.ndim == 1 and len(self.numbers) <= min(self.most, self.seen), "rows of a sample by hashes")
        require(len(np.unique(self.numbers)) == len(self.numbers), "a row is in a sample twice")
        require(self.half_life is None or 1 <= self.half_life < np.inf, "how long a sample looks back")
        most = highest_key(self.limit, self.half_life)
        require(0 <= self.limit < 2**64 and (self._keys <= most).all(), "the hashes of a sample")

    def _check(self) -> None:
        self._check_form()
        assert len(self.numbers) == min(self.most, self.seen) or self.limit < EVERY or self.half_life is not None
        assert np.array_equal(self._keys, keys(self.seed, self.numbers, self.half_life))
