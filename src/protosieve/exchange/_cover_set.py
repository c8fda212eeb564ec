"""The cover set: up to m members, each newcomer weighed against the member whose rows the others cover best.

A row x of the target is covered by its most similar member, and by nothing where none has a similarity above zero:

    f(S)  =  sum_x max(0, max_{s in S} k(x, s))

Let ``first`` be the similarity of x to its nearest member and ``second`` that to the next. If a newcomer with
similarities k takes the place of member i, f changes by

    sum_x max(k - first, 0)
        -  sum_{x: nearest i} (first - second)
        +  sum_{x: nearest i, k > second} (min(k, first) - second)

that is what it gains, what it costs to lose i, and what the newcomer saves of that cost. The cost is known before a
newcomer comes, and in a good set few rows are nearer to a newcomer than to their second member. So one comparison of a
block of newcomers with all rows finds all that count, for every pair of a newcomer and a member at once. After an
exchange only the rows are looked at again whose nearest members it changes: about three in m.

An empty place is a member that is similar to nothing: to join is to take it. What is covered already, whatever members
there are, is one member more, that nobody replaces.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array, Float64, Indices

_ROUNDING = 8  # times the machine epsilon, as a share of f: what an exchange must add to be more than rounding


class CoverSet:
    """At most ``room`` members that cover ``n_rows`` rows of a target. O(n_rows room) memory.

    ``margin`` is the share of f by which an exchange must raise it, ``covered`` what is covered of each row without any
    member.
    """

    def __init__(
        self, room: int, n_rows: int, dtype: np.dtype[Any], margin: float = 0.0, covered: Array | None = None
    ) -> None:
        self.room = room
        self.numbers: NDArray[np.int64] = np.full(room, -1, np.int64)  # of the members; -1 in empty places
        self._least = max(margin, _ROUNDING * float(np.finfo(dtype).eps))
        self._near = np.zeros((n_rows, room + 1), dtype)  # nobody takes the last place
        self._first, self._second = np.zeros((2, n_rows), dtype)
        self._nearest, self._next = np.full(n_rows, room), np.full(n_rows, room - 1)
        if covered is not None:
            self._near[:, room] = self._first[:] = covered

    @property
    def value(self) -> float:
        """f, the sum over all rows."""
        return float(self._first.sum(dtype=np.float64))

    def costs(self) -> Float64:
        """What f would lose with each member."""
        lost = np.subtract(self._first, self._second, dtype=np.float64)
        return _added(self._nearest, lost, self.room + 1)[:-1]

    def covering(self) -> NDArray[np.int64]:
        """The numbers of the members that cover any row: of equal ones the first does."""
        nearest = self._nearest[(self._first > 0) & (self._nearest < self.room)]
        return np.asarray(self.numbers[np.unique(nearest)])

    def fill(self, similarities: Array, numbers: NDArray[np.int64]) -> None:
        """Take so many rows as the members, whatever they are worth."""
        self.numbers[: len(numbers)] = numbers
        self._near[:, : len(numbers)] = similarities.T
        self._rank(np.arange(len(self._first)))

    def offer(self, similarities: Array, numbers: NDArray[np.int64]) -> tuple[int, Float64]:
        """Make the best exchange with a block of rows, as long as one raises f.

        ``similarities`` are those of the newcomers to the target, a line each. Returns how many exchanges were made,
        and by how much each newcomer would still raise f: less than nothing, and minus infinity for a member.
        """
        gain, saved = self._sums(similarities)
        gain[np.isin(numbers, self.numbers)] = -np.inf
        costs, made = self.costs(), 0
        while True:
            change = gain[:, None] + saved - costs
            row, place = divmod(int(change.argmax()), self.room)
            if not change[row, place] > self._least * self.value:
                return made, change.max(axis=1)
            line = similarities[row]
            rows = np.flatnonzero((self._nearest == place) | (self._next == place) | (line > self._second))
            part = similarities[:, rows]
            before = self._sums(part, rows)
            self._replace(place, line, rows)
            after = self._sums(part, rows)
            gain, saved, costs = gain + (after[0] - before[0]), saved + (after[1] - before[1]), self.costs()
            self.numbers[place], gain[row] = numbers[row], -np.inf
            made += 1

    def _sums(self, similarities: Array, rows: Indices | None = None) -> tuple[Float64, Float64]:
        """What each newcomer gains, and what it saves of each member's cost, over all rows of the target or some."""
        at = slice(None) if rows is None else rows
        first, second = self._first[at].astype(np.float64), self._second[at].astype(np.float64)
        newcomer, x = np.nonzero(similarities > self._second[at])
        k, n = similarities[newcomer, x], len(similarities)
        gain = _added(newcomer, np.maximum(k - first[x], 0), n)
        pairs = newcomer * (self.room + 1) + self._nearest[at][x]
        saved = _added(pairs, np.minimum(k, first[x]) - second[x], n * (self.room + 1))
        return gain, saved.reshape(n, -1)[:, :-1]

    def _replace(self, place: int, line: Array, rows: Indices) -> None:
        """A newcomer takes a place, which changes the two nearest members of these rows only."""
        self._near[:, place] = line
        self._rank(rows)

    def _rank(self, rows: Indices) -> None:
        """Find the two nearest members of rows anew. O(len(rows) room)."""
        near, lines = self._near[rows], np.arange(len(rows))
        nearest = near.argmax(axis=1)
        self._nearest[rows], self._first[rows] = nearest, near[lines, nearest]
        near[lines, nearest] = -np.inf
        following = near.argmax(axis=1)
        self._next[rows], self._second[rows] = following, near[lines, following]


def _added(places: Indices, values: Float64, n: int) -> Float64:
    """The sums of the values at each of n places; of none at all, NumPy would count."""
    return np.bincount(places, values, n).astype(np.float64, copy=False)
