"""A set that exchanges members by weights of either sign.

The algebra is that of `ExchangeSet`, of which half is gone: no weight has to stay positive, so joining a row and losing
a member are exact as they stand. For members with Gram matrix ``K``, ``A = K^-1`` and weights ``w = A mu``, and a row
with similarities k, ``b = A k``, ``s = k_jj - k'b``, ``g = mu_j - k'w``:

    joining adds g^2 / (2 s):          A += (-b, 1)(-b, 1)' / s         w += (-b, 1) g / s
    losing i costs w_i^2 / (2 A_ii):   A -= a a' / A_ii                 w -= a w_i / A_ii       with a = A_:i
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array, Float64, Indices
from protosieve.exchange._matrices import check_matrices, no_matrix, no_vector
from protosieve.exchange._rows import unasked
from protosieve.weights import GRADIENT_TOLERANCE, definite_cholesky, grown

_FIRST = 16  # slots at first
# A newcomer has at least this share of its squared length outside the span of the members, or is rejected: signs
# being free, weights on what is nearly a copy would be a difference of large numbers, and lost in rounding.
_LEAST = 1e-7
_EQUAL = 1e-12  # an exchange that gains a smaller share than this has gained nothing but rounding
_DRIFT, _INVERSE_DRIFT = 1e-11, 1e-6


def _no_flags() -> NDArray[np.bool_]:
    return np.zeros(0, np.bool_)


@storable
@dataclass
class FreeExchangeSet:
    """At most ``room`` members in slots, one slot more than members, with weights of either sign.

    Empty slots are rows and columns of zeros. It is offered rows as an `ExchangeSet` is; O(m^2) per exchange and O(m)
    for every row offered together with the one that joins.
    """

    room: int
    noise: float = float(np.finfo(np.float64).eps)
    margin: float = 0.0
    gram: Float64 = field(default_factory=no_matrix)
    inverse: Float64 = field(default_factory=no_matrix)
    mu: Float64 = field(default_factory=no_vector)
    w: Float64 = field(default_factory=no_vector)
    taken: NDArray[np.bool_] = field(default_factory=_no_flags)
    scale: float = 0.0  # max |mu|

    def __deepcopy__(self, memo: object) -> "FreeExchangeSet":
        names = ("gram", "inverse", "mu", "w", "taken")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def emptied(self) -> "FreeExchangeSet":
        """No members, the same rules."""
        return FreeExchangeSet(self.room, self.noise, self.margin)

    @property
    def size(self) -> int:
        return int(np.count_nonzero(self.taken))

    @property
    def slots(self) -> Indices:
        """The slots that hold a member, rising."""
        return np.flatnonzero(self.taken)

    @property
    def value(self) -> float:
        """``l`` at the weights; O(m^2)."""
        return float(self.mu @ self.w - 0.5 * (self.w @ (self.gram @ self.w)))

    def reserve(self, members: int) -> None:
        """Slots for so many members, ``room`` at most, and one."""
        if min(members, self.room) + 1 > len(self.w):
            slots = 1 + min(self.room, max(members, _FIRST, 2 * len(self.w)))
            for name in ("gram", "inverse", "mu", "w", "taken"):
                setattr(self, name, grown(getattr(self, name), slots))

    def offer(
        self, similarities: Array, own: Callable[[], Array], diagonal: Float64, mu: Float64
    ) -> list[tuple[int, int]]:
        """Judge rows one after the other; returns who took which slot, and ``(-1, slot)`` for who left."""
        rows = _Rows(self, similarities.astype(np.float64), own, diagonal, mu)
        events: list[tuple[int, int]] = []
        j = rows.first(0)
        while j is not None:
            events += rows.admit(j)
            j = rows.first(j + 1)
        return events

    def ratios(self, similarities: Array, diagonal: Float64, mu: Float64) -> Float64:
        """How near rows are to an exchange, above 1 where one raises ``l``; of a full set. O(m^2) for each row."""
        return _Rows(self, similarities.T.astype(np.float64), unasked, diagonal, mu).ratios()

    def settle(self) -> list[int]:
        """Take away what rounding has left, or compute all anew where it is too much; no member leaves. O(m^2)."""
        members = self.taken
        ones = np.array([self.gram @ (self.inverse @ members), np.einsum("ij,ij->i", self.gram, self.inverse)])
        if np.abs(ones - members).max(initial=0.0) > _INVERSE_DRIFT:
            self._solve()
        gradient = (self.mu - self.gram @ self.w) * members
        if np.abs(gradient).max(initial=0.0) > _DRIFT * self.scale:
            self.w = self.w + self.inverse @ gradient
        return []

    def renew(self, mu: Float64) -> list[int]:
        """The means have changed, here they are by slot."""
        self.mu = np.where(self.taken, mu, 0.0)
        self.scale = float(np.abs(self.mu).max(initial=0.0))
        self.w = self.inverse @ self.mu
        return self.settle()

    def _solve(self) -> None:
        members = self.slots
        square = np.ix_(members, members)
        root, ridge = definite_cholesky(np.tril(self.gram[square]), _LEAST)
        self.gram[members, members] *= 1 + ridge
        self.inverse[:] = 0.0
        self.inverse[square] = cho_solve((root, True), np.eye(len(members)))
        self.w = self.inverse @ self.mu

    def join(self, k: Float64, diagonal: float, mu: float, b: Float64, s: float, g: float) -> int:
        """A row takes a free slot, which is returned."""
        slot = int(self.taken.argmin())
        direction = -b
        direction[slot] = 1.0
        self.inverse += np.multiply.outer(direction, direction / s)
        self.w = self.w + direction * (g / s)
        self._seat(slot, k, diagonal, mu)
        self.taken[slot] = True
        return slot

    def leave(self, slot: int) -> None:
        """A member gives up its slot."""
        column = self.inverse[:, slot].copy()
        own = column[slot]
        self.w = self.w - column * (self.w[slot] / own)
        self.inverse -= np.multiply.outer(column, column / own)
        self.inverse[slot] = self.inverse[:, slot] = 0.0
        self.w[slot] = 0.0
        self._seat(slot, 0.0, 0.0, 0.0)
        self.taken[slot] = False

    def _seat(self, slot: int, similarities: Float64 | float, diagonal: float, mu: float) -> None:
        self.gram[slot] = self.gram[:, slot] = similarities
        self.gram[slot, slot] = diagonal
        self.mu[slot] = mu
        self.scale = max(self.scale, abs(mu))

    def _check_form(self) -> None:
        check_matrices(self)
        require(
            self.taken.shape == self.w.shape and self.size <= self.room and are_counts(self.room), "a set is too large"
        )
        require(not self.w[~self.taken].any(), "an empty slot has a weight")

    def _check(self) -> None:
        members = self.slots
        assert len(members) <= self.room
        gram, A = (matrix[np.ix_(members, members)] for matrix in (self.gram, self.inverse))
        assert np.abs(gram @ A - np.eye(len(members))).max(initial=0.0) < 1e-2
        assert np.abs(self.mu[members] - gram @ self.w[members]).max(initial=0.0) <= 1e-6 * self.scale
        assert not self.w[~self.taken].any()


class _Rows:
    """Rows as a set sees them: ``B = K A``, s and g, kept up to date as members come and go."""

    def __init__(
        self, members: FreeExchangeSet, K: Float64, own: Callable[[], Array], diagonal: Float64, mu: Float64
    ) -> None:
        self._set, self._K, self._own, self._diagonal, self._mu = members, K, own, diagonal, mu
        self._B = K @ members.inverse
        self._s = diagonal - np.einsum("ij,ij->i", K, self._B)
        self._g = mu - K @ members.w

    @cached_property
    def own(self) -> Float64:
        return self._own().astype(np.float64)

    def first(self, start: int) -> int | None:
        """The first row, from ``start``, that raises ``l``."""
        chosen, rows = self._set, slice(start, None)
        g, s = self._g[rows], self._s[rows]
        scale = max(chosen.scale, float(np.abs(self._mu).max(initial=0.0)))
        passing = (np.abs(g) > max(8 * chosen.noise, GRADIENT_TOLERANCE) * scale) & (s > _LEAST * self._diagonal[rows])
        if chosen.size >= chosen.room:
            gain = 0.5 * g * g / np.where(passing, s, np.inf)
            passing &= gain - self._costs(rows).min(axis=1) > np.maximum(_EQUAL * gain, chosen.margin * chosen.value)
        return start + int(passing.argmax()) if passing.any() else None

    def ratios(self) -> Float64:
        """What joining adds as a share of what losing a member then costs."""
        s = np.maximum(self._s, _LEAST * self._diagonal + np.finfo(np.float64).tiny)
        costs = np.maximum(self._costs(slice(None)).min(axis=1), np.finfo(np.float64).tiny)
        return np.asarray(0.5 * self._g * self._g / s / costs)

    def _costs(self, rows: slice) -> Float64:
        """What losing each member costs once each row has joined; infinite for empty slots."""
        chosen, B = self._set, self._B[rows]
        s = np.maximum(self._s[rows, None], _LEAST * self._diagonal[rows, None] + np.finfo(np.float64).tiny)
        w = chosen.w - B * (self._g[rows, None] / s)
        diagonal = chosen.inverse.diagonal() + B * B / s
        return np.asarray(np.where(chosen.taken, w * w / (2 * np.where(chosen.taken, diagonal, 1.0)), np.inf))

    def admit(self, j: int) -> list[tuple[int, int]]:
        """Row j joins; if there are then too many, the member that costs least leaves. The rows behind follow."""
        chosen, behind = self._set, slice(j + 1, None)
        loser = int(self._costs(slice(j, j + 1)).argmin()) if chosen.size >= chosen.room else None
        s, g, b = float(self._s[j]), float(self._g[j]), self._B[j].copy()
        near = self.own[behind, j]
        # what row j leaves of each row behind it, as a share of what is left of row j
        t = (near - self._B[behind] @ self._K[j]) / s
        slot = chosen.join(self._K[j], float(self._diagonal[j]), float(self._mu[j]), b, s, g)
        self._B[behind] -= np.multiply.outer(t, b)
        self._B[behind, slot] = t
        self._K[behind, slot] = near
        self._s[behind] -= s * t * t
        self._g[behind] -= g * t
        if loser is None:
            return [(j, slot)]
        column, weight = chosen.inverse[:, loser].copy(), float(chosen.w[loser])
        c = self._B[behind, loser] / column[loser]
        self._s[behind] += c * c * column[loser]
        self._g[behind] += c * weight
        self._B[behind] -= np.multiply.outer(c, column)
        self._B[behind, loser] = self._K[behind, loser] = 0.0
        chosen.leave(loser)
        return [(j, slot), (-1, loser)]
