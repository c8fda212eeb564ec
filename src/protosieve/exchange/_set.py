"""The exchange set: up to m members, each newcomer weighed against the member that is then cheapest to lose.

For members L with Gram matrix ``K``, ``A = K^-1`` and the best weights ``w = A mu``, all positive, a newcomer j with
similarities k has

    b = A k  (its combination of members),  s = k_jj - k'b  (what they leave of it),  g = mu_j - k'w  (its gradient)

Joining raises ``l`` by ``g^2 / (2 s)`` and moves the weights to ``w - (g/s) b``, its own to ``g/s``. Losing member i
from there costs ``w_i^2 / (2 A_ii)``, both as they are after j has joined, ``A_ii + b_i^2 / s``. Put together,
exchanging i for j raises ``l`` where

    g (g A_ii / w_i^2 + 2 b_i / w_i)  >  s

with w and A as they are *before*: one product and one maximum decide for many rows at once. The same inequality holds
for every member that j would drive to zero or below (``g b_i >= s w_i``), and where there are such members, losing them
loses nothing.

Members Z leave by ``A -= A_:Z (A_ZZ)^-1 A_Z:``, all as it is after the join, ``A += v v'/s`` with ``v = (b, -1)``. With
``R R' = A_ZZ`` everything a row in and rows out change is a sum of terms of rank one,

    X -= sum_r E_r D_r / d_r        D = v, R^-1 A_Z:        d = s, -1, -1, ...

and what differs between ``w``, ``B = K_rows A`` and ``s`` of further rows of the stream is E alone (`Rows.follow`).
O(rows x m) per exchange: only similarities to the newcomer are new. The newcomer takes the place of the first of Z. The
terms of A itself are collected and added in one product: updates of rank one are bound by memory.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotri

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array, Float64, Indices
from protosieve.exchange._joined import Exchange, Held, Joined
from protosieve.exchange._matrices import check_matrices, no_matrix, no_vector
from protosieve.exchange._rows import Rows, unasked
from protosieve.exchange._screen import Screen
from protosieve.weights import GRADIENT_TOLERANCE, NonNegativeQP, definite_cholesky, grown

_FIRST = 16  # slots at first
_PENDING = 64  # terms of rank one that wait to be added to the inverse
_TRIES = 8  # members tried in turn where losing the cheapest makes other weights negative
# A newcomer is taken to have at least this share of its squared length outside the span of the members: below it the
# inverse loses the digits it is to be judged by.
_LEAST = 1e-6
_DRIFT = 1e-11  # of max |mu|: a gradient at the members that calls for a correction
_CORRECTIONS = 4
_INVERSE_DRIFT = 1e-4  # of K A 1 from 1, and of the diagonal of K A


@storable
@dataclass
class ExchangeSet:
    """At most ``room`` members in slots, with the inverse of their Gram matrix and their best weights, all positive.

    Empty slots are rows and columns of zeros, so products need no mask.

    Parameters
    ----------
    room : int
        The most members, m.
    noise : float
        Relative rounding of kernel values: the machine epsilon of their dtype.
    margin : float
        The share of ``l`` an exchange must add to be made, once there is no free slot.
    """

    room: int
    noise: float = float(np.finfo(np.float64).eps)
    margin: float = 0.0
    gram: Float64 = field(default_factory=no_matrix)
    inverse: Float64 = field(default_factory=no_matrix)
    mu: Float64 = field(default_factory=no_vector)
    w: Float64 = field(default_factory=no_vector)  # zero in empty slots
    size: int = 0
    scale: float = 0.0  # max |mu|

    def __post_init__(self) -> None:
        self._terms = np.zeros((_PENDING, len(self.w)))  # A = inverse + sum of sign u u'
        self._signs = np.zeros(_PENDING)
        self._n_terms = 0
        self._screen: Screen | None = None
        self._settled = False
        self.diagonal = self.inverse.diagonal().copy()  # of A
        self._set_weights(self.w)

    def __deepcopy__(self, memo: object) -> "ExchangeSet":
        self._flush()
        return replace(self, **{name: getattr(self, name).copy() for name in ("gram", "inverse", "mu", "w")})

    def emptied(self) -> "ExchangeSet":
        """No members, the same rules."""
        return ExchangeSet(self.room, self.noise, self.margin)

    @property
    def slots(self) -> Indices:
        """The slots that hold a member, rising."""
        return np.flatnonzero(self.w)

    @property
    def value(self) -> float:
        """``l`` at the weights, in full: rounding of the weights then counts by its square only. O(m^2)."""
        return float(self.mu @ self.w - 0.5 * (self.w @ (self.gram @ self.w)))

    @property
    def least(self) -> float:
        """What a newcomer is taken to add, as a share of its squared length, at least."""
        return max(_LEAST, 10 * self.noise)

    @property
    def tolerance(self) -> float:
        """A gradient below this is rounding."""
        return max(8 * self.noise, GRADIENT_TOLERANCE) * self.scale

    def reserve(self, members: int) -> None:
        """Slots for so many members, ``room`` at most."""
        if min(members, self.room) > len(self.w):
            self._flush()
            slots = min(self.room, max(members, _FIRST, 2 * len(self.w)))
            for name in ("gram", "inverse", "mu", "w"):
                setattr(self, name, grown(getattr(self, name), slots))
            self.__post_init__()

    def offer(
        self, similarities: Array, own: Callable[[], Array], diagonal: Float64, mu: Float64
    ) -> list[tuple[int, int]]:
        """Judge rows one after the other; returns who took which slot, in order, as ``(row, slot)``.

        ``similarities`` are those of the rows to the slots, zero for empty ones; ``own`` gives those between the rows,
        and is called if one of them is taken. A slot given up without a newcomer is reported as ``(-1, slot)``. There
        must be a free slot for every row, or ``room`` slots.
        """
        n = self._n_turned_down(similarities, diagonal, mu)
        rows = Rows(self, similarities[n:], lambda: own()[n:, n:], diagonal[n:], mu[n:])
        events: list[tuple[int, int]] = []
        j = rows.first(0)
        while j is not None:
            events += self._admit(rows, j)
            j = rows.first(j + 1)
        return [(row + n if row >= 0 else row, slot) for row, slot in events]

    def _n_turned_down(self, similarities: Array, diagonal: Float64, mu: Float64) -> int:
        """How many of the first rows do not raise ``l``, by a quick look, and a close one at the rows that are left."""
        if similarities.dtype != np.float32 or self.size < self.room or self._n_terms:
            return 0
        left = self._screened().passing(similarities.T, diagonal, mu)
        first = Rows(self, similarities[left], unasked, diagonal[left], mu[left]).first(0) if len(left) else None
        return len(mu) if first is None else int(left[first])

    def _screened(self) -> Screen:
        if self._screen is None:
            self._screen = Screen.of(self.inverse, self.w, self.worth, self.unit)
        return self._screen

    def ratios(self, similarities: Array, diagonal: Float64, mu: Float64) -> Array:
        """How near rows are to an exchange, above 1 where one raises ``l``; of a full, settled set, in float32.

        ``similarities`` are those of the slots to the rows. O(m^2) for each row. Once it has been asked, several
        threads may ask at a time.
        """
        return self._screened().ratios(similarities, diagonal, mu)

    def settle(self) -> list[int]:
        """Add what waits to the inverse, take away what rounding has left; returns the slots given up. O(m^2).

        Where the inverse or the weights have drifted too far, both are computed anew. A set that no row
        has joined since is settled already.
        """
        if self._settled:
            return []
        self._flush()
        self.diagonal = self.inverse.diagonal().copy()  # as it would be read from a file
        self._set_weights(self.w)
        members = self.w > 0
        ones = np.array([self.gram @ (self.inverse @ members), np.einsum("ij,ij->i", self.gram, self.inverse)])
        good = np.abs(ones - members).max(initial=0.0) <= _INVERSE_DRIFT
        for _ in range(_CORRECTIONS if good else 0):
            gradient = (self.mu - self.gram @ self.w) * members
            if np.abs(gradient).max(initial=0.0) <= _DRIFT * self.scale:
                self._settled = True
                return []
            w = self.w + self.inverse @ gradient
            if np.count_nonzero(w > 0) < self.size:
                break
            self._set_weights(w)
        return self._solve(self.slots, self.w)

    def renew(self, mu: Float64) -> list[int]:
        """The means have changed, here they are by slot: solve; returns the slots given up."""
        self._flush()
        self.mu[:] = np.where(self.w > 0, mu, 0.0)
        self.scale = float(np.abs(self.mu).max(initial=0.0))
        w = self.inverse @ self.mu
        if np.count_nonzero(w > 0) < self.size:
            return self._solve(self.slots, self.w)
        self._set_weights(w)
        return self.settle()

    # -- one row

    def _admit(self, rows: Rows, j: int) -> list[tuple[int, int]]:
        """Row j joins, in a free slot or in that of a member that leaves; unless it does not pay."""
        s = max(float(rows.s[j]), float(rows.floor[j]))
        joined = Joined(self, rows.B[j], float(rows.g[j]), s)
        try:
            held = self._best(joined)
        except FloatingPointError:
            return self._by_program(rows, j)
        if joined.gain - held.cost <= self._least_gain():
            return []
        change = joined.exchange(held)
        rows.follow(j, change)
        ridge = s - float(rows.s[j])  # the Gram stays the one that is solved
        self._seat(change.slot, rows.K[j], float(rows.diagonal[j]) + ridge, float(rows.mu[j]))
        for slot in change.leaving[1:]:
            self._seat(slot, 0.0, 0.0, 0.0)
        self._update(change)
        self.size += 1 - len(change.leaving)
        self._set_weights(change.w)
        rows.set_gradients(j + 1)
        return [(j, change.slot), *((-1, slot) for slot in change.leaving[1:])]

    def _best(self, joined: Joined) -> Held:
        """Who leaves when a row has joined.

        Where members fall to zero or below, losing them is the best there is. Else, if there is no free slot, the
        cheapest member goes. Where that makes other weights negative, more is lost than with signs ignored: then
        the next are tried, in the order of that bound, until it says that none can be better.
        """
        falling = joined.falling()
        if len(falling) or self.size < self.room:
            return joined.without(None, falling)
        bounds = joined.w**2 / joined.diagonal
        bounds *= 0.5
        held = joined.without(int(bounds.argmin()))
        if len(held.leaving) > 1:
            for i in np.argsort(bounds)[1:_TRIES]:
                if bounds[i] >= held.cost:
                    break
                held = min(held, joined.without(int(i)), key=lambda held: held.cost)
        return held

    def _by_program(self, rows: Rows, j: int) -> list[tuple[int, int]]:
        """Row j where weights do not settle quickly: the quadratic program decides. O(m^3)."""
        self._flush()
        members = self.slots
        k, diagonal = rows.K[j].copy(), float(rows.diagonal[j] + max(0.0, rows.floor[j] - rows.s[j]))
        gram = np.block([[self.gram[np.ix_(members, members)], k[members, None]], [k[members], diagonal]])
        qp = NonNegativeQP.from_gram(
            gram, np.append(self.mu[members], rows.mu[j]), np.append(self.w[members], 0.0), self.noise
        )
        if qp.weights[-1] == 0:
            return []
        gone = members[qp.weights[:-1] == 0]
        if not len(gone) and self.size == self.room:
            gone = members[[int((qp.weights[:-1] ** 2 * gram.diagonal()[:-1]).argmin())]]
        slot = int(gone[0]) if len(gone) else int((self.w > 0).argmin())
        start = np.zeros(len(self.w))
        start[members], start[slot] = qp.weights[:-1], qp.weights[-1]
        before = copy.deepcopy(self)
        k[gone] = 0.0
        for place in gone:
            self._seat(place, 0.0, 0.0, 0.0)
        self._seat(slot, k, diagonal, float(rows.mu[j]))
        gone = [place for place in gone.tolist() if place != slot]
        gone += self._solve(np.flatnonzero(start), start)
        if self.value - before.value <= before._least_gain():
            vars(self).update(vars(before))
            return []
        events = [(j, slot), *((-1, place) for place in gone)]
        rows.restart(events)
        return events

    def _least_gain(self) -> float:
        """What a row must add: anything while there is room, then the margin."""
        return self.margin * self.value if self.margin and self.size == self.room else 0.0

    # -- the matrices

    def _seat(self, slot: int, similarities: Float64 | float, diagonal: float, mu: float) -> None:
        self.gram[slot] = self.gram[:, slot] = similarities
        self.gram[slot, slot] = diagonal
        self.mu[slot] = mu
        self.scale = max(self.scale, abs(mu))

    def _set_weights(self, w: Float64) -> None:
        """And what the test of a newcomer needs of them: ``2 / w_i`` and ``A_ii / w_i^2``, zero in empty slots.

        In units of the largest weight: all of them may be too small a number to be squared.
        """
        if w is not self.w:
            self.w, self._screen, self._settled = w, None, False
        self.unit = float(w.max(initial=0.0)) or 1.0
        turned = np.divide(self.unit, w, out=np.zeros(len(w)), where=w > 0)
        self.twice_turned = 2 * turned
        with np.errstate(over="ignore"):  # a member worth nothing goes first
            turned *= turned
            turned *= self.diagonal
        self.worth = turned

    def _update(self, change: Exchange) -> None:
        """Rows and columns of those who leave are cleared; the terms wait."""
        if self._n_terms + len(change.directions) > _PENDING:
            self._flush()
        for slot in change.leaving:
            self.inverse[slot] = self.inverse[:, slot] = self._terms[:, slot] = 0.0
            self.diagonal[slot] = 0.0
        self.diagonal += (1 / change.divisors) @ change.directions**2
        new = slice(self._n_terms, self._n_terms + len(change.directions))
        np.divide(change.directions, np.sqrt(np.abs(change.divisors))[:, None], out=self._terms[new])
        np.sign(change.divisors, out=self._signs[new])
        self._n_terms = new.stop

    def lines(self, slots: Indices) -> Float64:
        """Of A: what is in the inverse, and what waits."""
        terms, signs = self._pending()
        return np.asarray(self.inverse[slots] + (terms[:, slots].T * signs) @ terms)

    def times_inverse(self, K: Float64) -> Float64:
        """``K A``."""
        B = K @ self.inverse
        if self._n_terms:
            terms, signs = self._pending()
            B += ((K @ terms.T) * signs) @ terms
        return np.asarray(B)

    def _pending(self) -> tuple[Float64, Float64]:
        return self._terms[: self._n_terms], self._signs[: self._n_terms]

    def _flush(self) -> None:
        terms, signs = self._pending()
        if len(terms):
            # in place: the matrix is symmetric, so its transposed view, which BLAS can write to, is the same
            dgemm(1.0, (signs[:, None] * terms).T, terms.T, beta=1.0, c=self.inverse.T, trans_b=1, overwrite_c=1)
            self._n_terms = 0

    def _solve(self, members: Indices, start: Float64) -> list[int]:
        """Weights and inverse anew from the Gram matrix; members at zero leave. O(m^3)."""
        kept, A, w = members, no_matrix(), no_vector()
        while len(kept):
            qp = NonNegativeQP.from_gram(
                self.gram[np.ix_(kept, kept)], self.mu[kept], np.maximum(start[kept], 0.0), self.noise
            )
            kept = kept[qp.weights > 0]
            if not len(kept):
                break
            root, ridge = definite_cholesky(np.tril(self.gram[np.ix_(kept, kept)]), self.least)
            self.gram[kept, kept] *= 1 + ridge
            lower, _ = dpotri(root, lower=1)
            A = np.tril(lower) + np.tril(lower, -1).T
            w = A @ self.mu[kept]
            if (w > 0).all():
                break
            kept = kept[w > 0]
        gone = np.setdiff1d(members, kept)
        for slot in gone:
            self._seat(slot, 0.0, 0.0, 0.0)
        self.inverse[:] = 0.0
        self.inverse[np.ix_(kept, kept)] = A
        self.size = len(kept)
        self.w = np.zeros(len(self.w))
        self.w[kept] = w
        self.__post_init__()
        return [int(slot) for slot in gone]

    def _check_form(self) -> None:
        check_matrices(self)
        require(self.size == len(self.slots) <= self.room and are_counts(self.room), "a set is too large")
        require((self.w >= 0).all(), "a weight is negative")

    def _check(self) -> None:
        """The inverse against the Gram matrix, the weights against the conditions of optimality."""
        self._flush()
        members = self.slots
        assert len(members) == self.size <= self.room
        gram, A = (matrix[np.ix_(members, members)] for matrix in (self.gram, self.inverse))
        assert (gram == gram.T).all()
        assert np.abs(gram @ A - np.eye(self.size)).max(initial=0.0) < 1e-2
        assert (self.w >= 0).all()
        gradient = self.mu[members] - gram @ self.w[members]
        assert np.abs(gradient).max(initial=0.0) <= 1e-6 * self.scale
        for matrix in (self.gram, self.inverse):
            assert not matrix[self.w == 0].any()
            assert not matrix[:, self.w == 0].any()
