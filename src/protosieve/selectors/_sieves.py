"""The sets of a threshold selector, and the rows they share."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from protosieve._state import storable
from protosieve._typed import require
from protosieve._typing import Float64, Indices
from protosieve.objectives import Fit
from protosieve.selectors._pool import Pool
from protosieve.weights import EqualWeights, NonNegativeQP

__all__ = ["Sieve", "Sieves", "Weights", "slots_of"]

Weights: TypeAlias = NonNegativeQP | EqualWeights | Fit


@storable
@dataclass
class Sieve:
    """The set of one threshold: pool slots and their weights, solved, equal or fitted."""

    level: int
    members: list[int]
    qp: Weights
    _shared: bool = field(default=False, init=False)  # another copy looks at the same ``qp``

    def __deepcopy__(self, memo: object) -> "Sieve":
        """A copy that costs nothing until one of the two changes: most sets never do before the copy is gone."""
        twin = Sieve(self.level, list(self.members), self.qp)
        self._shared = twin._shared = True
        return twin

    def own(self) -> Weights:
        """The weights, to be changed."""
        if self._shared:
            self.qp, self._shared = self.qp.twin(), False
        return self.qp

    def seal(self) -> None:
        """No member will come or go any more."""
        self.qp, self._shared = self.qp.sealed(), False

    def renew(self, mu: Float64, gram: Callable[[], Float64]) -> None:
        """The members' means have changed. Weights that were solved and sealed need the Gram matrix once more."""
        if isinstance(self.qp, NonNegativeQP) and self.qp.is_sealed:
            self.qp = NonNegativeQP.from_gram(gram(), mu, self.qp.weights, self.qp.noise)
            self.seal()
        else:
            weights = self.own()
            assert not isinstance(weights, Fit)  # an objective that is fitted never changes
            weights.renew(mu)

    @property
    def value(self) -> float:
        return self.qp.value


@storable
@dataclass
class Sieves:
    """All sets of a threshold selector.

    ``closed`` is the best set whose threshold has fallen below the window: it can grow no more, but it may still be
    the answer, so the value never falls when the window moves.
    """

    pool: Pool
    sets: list[Sieve]  # by rising level
    peak: float = -math.inf  # the largest singleton score so far
    single: Sieve | None = None
    closed: Sieve | None = None

    def all(self) -> Iterator[Sieve]:
        """Every candidate for the answer, in the order of preference between equals."""
        yield from self.sets
        for other in (self.closed, self.single):
            if other is not None:
                yield other

    def close(self, sieve: Sieve) -> None:
        if sieve.members and (self.closed is None or sieve.value > self.closed.value):
            sieve.seal()
            self.closed = sieve

    def sweep(self) -> None:
        """Forget rows no set holds."""
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
        levels = [sieve.level for sieve in self.sets]
        assert levels == sorted(set(levels)), "levels are not rising"
        for sieve in self.all():
            assert len(sieve.members) == sieve.qp.size <= m, "a set is too large"
            assert len(set(sieve.members)) == len(sieve.members), "a row is in a set twice"
            assert max(sieve.members, default=0) < max(self.pool.size, 1), "a member is not in the pool"
            sieve.qp._check()


def slots_of(pool: Pool, sets: Iterable[Sieve]) -> Indices:
    """The slots some of these sets name, rising."""
    named = np.zeros(pool.size, np.bool_)
    for sieve in sets:
        named[sieve.members] = True
    return np.flatnonzero(named)
