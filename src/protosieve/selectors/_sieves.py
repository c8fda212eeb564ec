"""The sets of a threshold selector, and the rows they share."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from protosieve._state import storable
from protosieve._typed import require
from protosieve._typing import Float64, Indices
from protosieve.objectives import Covered, Fit
from protosieve.selectors._pool import Pool
from protosieve.weights import EqualWeights, NonNegativeQP

Weights: TypeAlias = NonNegativeQP | EqualWeights | Fit | Covered


@storable
@dataclass
class Sieve:
    """The set of one threshold: pool slots and their weights, solved, equal or fitted, or what they cover."""

    level: int
    members: list[int]
    qp: Weights
    _shared: bool = field(default=False, init=False)  # another copy uses the same ``qp``

    def __deepcopy__(self, memo: object) -> "Sieve":
        """A copy on write: most sets never change while there is a copy of them."""
        twin = Sieve(self.level, list(self.members), self.qp)
        self._shared = twin._shared = True
        return twin

    def own(self) -> Weights:
        """The weights, for changing: a copy of their own where they are shared."""
        if self._shared:
            self.qp, self._shared = self.qp.twin(), False
        return self.qp

    def seal(self) -> None:
        """Free the memory that only a set which still changes needs."""
        self.qp, self._shared = self.qp.sealed(), False

    def renew(self, mu: Float64, gram: Callable[[], Float64]) -> None:
        """Solve again after the members' means have changed. A sealed set needs its Gram matrix for that."""
        if isinstance(self.qp, NonNegativeQP) and self.qp.is_sealed:
            self.qp = NonNegativeQP.from_gram(gram(), mu, self.qp.weights, self.qp.noise)
            self.seal()
        else:
            weights = self.own()
            assert isinstance(weights, NonNegativeQP | EqualWeights)
            weights.renew(mu)

    @property
    def value(self) -> float:
        return self.qp.value


@storable
@dataclass
class Sieves:
    """All sets of a threshold selector.

    ``closed`` is the best set whose threshold has left the window. It no longer grows, but it may still be the answer,
    so that the value never falls when the window moves.
    """

    pool: Pool
    sets: list[Sieve]  # by rising level
    peak: float = -math.inf  # the largest singleton score so far
    single: Sieve | None = None
    closed: Sieve | None = None

    def all(self) -> Iterator[Sieve]:
        """Every set that may be the answer; of equal ones the first is preferred."""
        yield from self.sets
        for other in (self.closed, self.single):
            if other is not None:
                yield other

    def close(self, sieve: Sieve) -> None:
        if sieve.members and (self.closed is None or sieve.value > self.closed.value):
            sieve.seal()
            self.closed = sieve

    def sweep(self) -> None:
        """Drop rows that no set holds."""
        moved = self.pool.sweep(slots_of(self.pool, self.all()))
        if moved is not None:
            for sieve in self.all():
                sieve.members = moved[sieve.members].tolist()

    def _check_form(self) -> None:
        levels = [sieve.level for sieve in self.sets]
        require(levels == sorted(set(levels)), "levels are not rising")
        require(self.peak < math.inf, "the best of single rows")  # which NaN is not, either
        for sieve in self.all():
            members = sieve.members
            require(len(members) == sieve.qp.size == len(set(members)), "the members of a set")
            require(all(0 <= slot < self.pool.size for slot in members), "a member is not in the pool")

    def _check(self, m: int) -> None:
        self._check_form()
        for sieve in self.all():
            assert sieve.qp.size <= m, "a set is too large"
            sieve.qp._check()


def slots_of(pool: Pool, sets: Iterable[Sieve]) -> Indices:
    """The pool slots of the members of these sets, in rising order."""
    named = np.zeros(pool.size, np.bool_)
    for sieve in sets:
        named[sieve.members] = True
    return np.flatnonzero(named)
