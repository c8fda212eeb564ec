"""Rows of a stream as an exchange set sees them: which of them would raise its value as members come and go."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from protosieve._typing import Array, Float64, Indices
from protosieve.exchange._joined import Exchange

if TYPE_CHECKING:
    from protosieve.exchange._set import ExchangeSet

_LOOK = 8192  # entries of B tested at once; twice as many each time no row passes


def unasked() -> Array:
    raise AssertionError("rows that are not taken are not compared with each other")


class Rows:
    """Rows of the stream as a set sees them: ``B = K A``, s and g, kept up to date through exchanges.

    B and s are computed for rows with a positive gradient only, when first asked for.
    """

    def __init__(
        self, members: "ExchangeSet", K: Array, own: Callable[[], Array], diagonal: Float64, mu: Float64
    ) -> None:
        self._set, self._own = members, own
        self.K = K.astype(np.float64, order="C")
        self.diagonal, self.mu = diagonal, mu
        self.floor = members.least * diagonal
        self.B = np.zeros_like(self.K)
        self.s = np.zeros(len(mu))
        self.g = np.zeros(len(mu))
        self._known = np.zeros(len(mu), np.bool_)
        self._look = 1 + _LOOK // members.room
        self.set_gradients(0)

    @cached_property
    def own(self) -> Array:
        return self._own()

    def set_gradients(self, start: int) -> None:
        np.subtract(self.mu[start:], self.K[start:] @ self._set.w, out=self.g[start:])

    def first(self, start: int) -> int | None:
        """The first row, from ``start``, that would raise ``l``."""
        rows = start + np.flatnonzero(self.g[start:] > self._set.tolerance)
        while len(rows):
            window, rows = rows[: self._look], rows[self._look :]
            if not self._known[window].all():
                self._learn(window, rows)
            if self._set.size < self._set.room:
                return int(window[0])
            passing = self._passing(window)
            first = int(passing.argmax())
            if passing[first]:
                self._look = 1 + _LOOK // self._set.room
                return int(window[first])
            self._look *= 2
        return None

    def _passing(self, rows: Indices) -> NDArray[np.bool_]:
        g, s = self.g[rows] / self._set.unit, np.maximum(self.s[rows], self.floor[rows])
        best = self.B[rows]
        best *= self._set.twice_turned
        # the two terms at their largest, each for itself, decide about most rows
        passing = np.asarray(g * (g * self._set.worth.max() + best.max(axis=1)) > s)
        if passing.any():
            open_ = np.flatnonzero(passing)
            g, best = g[open_], best[open_]
            best += np.multiply.outer(g, self._set.worth)
            passing[open_] = g * best.max(axis=1) > s[open_]
        return passing

    def _learn(self, window: Indices, later: Indices) -> None:
        """B and s of all that will be asked for, if no member changes by then."""
        rows = np.concatenate([window, later])
        rows = rows[~self._known[rows]]
        if 2 * len(rows) > len(self.mu):  # more than half, as is common at first: all of them, then nothing is copied
            self.B = self._set.times_inverse(self.K)
            np.subtract(self.diagonal, np.einsum("ij,ij->i", self.K, self.B), out=self.s)
            self._known[:] = True
        else:
            K = self.K[rows]
            self.B[rows] = B = self._set.times_inverse(K)
            self.s[rows] = self.diagonal[rows] - np.einsum("ij,ij->i", K, B)
            self._known[rows] = True

    def follow(self, j: int, change: Exchange) -> None:
        """Row j joins, members leave: what that means for the rows behind."""
        behind = slice(j + 1, None)
        B, K, Z = self.B[behind], self.K[behind], change.leaving
        errors = np.empty((len(change.divisors), len(B)))
        np.subtract(self.own[behind, j], B @ self.K[j], out=errors[0])
        if Z:
            left = np.multiply.outer(change.b, errors[0] / change.divisors[0])
            left -= B[:, Z].T
            errors[1:] = left / change.root if len(Z) == 1 else solve_triangular(change.root, left, lower=True)
            B[:, Z] = 0.0
            self.K[j:, Z] = 0.0
        scaled = errors / change.divisors[:, None]
        B -= scaled.T @ change.directions
        self.s[behind] -= np.einsum("ij,ij->j", errors, scaled)
        K[:, change.slot] = self.own[behind, j]

    def restart(self, events: list[tuple[int, int]]) -> None:
        """Members have come and gone by the program: everything anew."""
        for row, slot in events:
            self.K[:, slot] = self.own[:, row] if row >= 0 else 0.0
        self._known[:] = False
        self.set_gradients(0)
