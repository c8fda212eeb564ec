"""An exchange set with one more row, and members taken out of it again; the algebra is `ExchangeSet`'s."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from protosieve._typing import Float64, Indices

if TYPE_CHECKING:
    from protosieve.exchange._set import ExchangeSet

_ROUNDS, _MOST_HELD = 6, 8  # beyond these the quadratic program is asked
_NOBODY = np.zeros(0, np.intp)


class Exchange(NamedTuple):
    """One row in, none or more out."""

    slot: int  # of the newcomer: the first of those left, else a free one
    leaving: list[int]  # Z
    w: Float64  # the weights afterwards
    b: Float64  # of the newcomer, at Z
    root: Float64  # R
    directions: Float64  # D
    divisors: Float64  # d


class Held(NamedTuple):
    """Members Z held at zero."""

    leaving: Indices
    cost: float
    w: Float64  # of all others
    own: float  # of the newcomer
    root: Float64  # R
    lines: Float64  # R^-1 A_Z:
    ends: Float64  # and their newcomer's column


class Joined:
    """A set with one more row, the signs of weights ignored; from here members are taken out again."""

    def __init__(self, members: "ExchangeSet", b: Float64, g: float, s: float) -> None:
        self._set, self._b, self._s, self._own = members, b, s, g / s
        self.gain = 0.5 * g * g / s
        self.w = members.w - self._own * b
        self.diagonal = members.diagonal + b * (b / s)  # of A

    def falling(self) -> Indices:
        return self._at_zero(self.w)

    def _at_zero(self, w: Float64) -> Indices:
        """Members whose weight is not positive."""
        if np.count_nonzero(w > 0) == self._set.size:
            return _NOBODY
        return np.flatnonzero((w <= 0) & (self._set.w > 0))

    def without(self, lost: int | None, held: Indices = _NOBODY) -> Held:
        """The best non-negative weights with member ``lost`` at zero; without one, those ``held`` probably are.

        Whose weight turns negative is held at zero, whom it would pay to have back is let go, until all is well;
        `FloatingPointError` if that takes long.
        """
        must = _NOBODY if lost is None else np.array([lost])
        Z = held if lost is None else must
        for _ in range(_ROUNDS):
            if len(Z) > _MOST_HELD:
                break
            result, nu = self._holding(Z)
            zero = self._at_zero(result.w)
            back = Z[len(must) :][nu[len(must) :] > 0]
            if len(zero) == len(Z) and not len(back):
                # a newcomer without weight of its own has not paid
                return result if result.own > 0 else result._replace(cost=np.inf)
            Z = np.append(must, np.setdiff1d(zero, np.append(must, back)))
        raise FloatingPointError("the signs of the weights do not settle")

    def _holding(self, Z: Indices) -> tuple[Held, Float64]:
        """Z at zero, the signs of the others ignored; and the gradients at Z."""
        if not len(Z):
            nothing = np.zeros((0, len(self.w)))
            return Held(Z, 0.0, self.w, self._own, nothing[:, :0], nothing, nothing[:, 0]), nothing[:, 0]
        b = self._b[Z] / self._s
        lines = self._set.lines(Z)
        lines += np.multiply.outer(b, self._b)
        square = lines[:, Z]
        if len(Z) == 1:
            root = np.sqrt(square)
            lines /= root
            ends, y = -b / root[0], self.w[Z] / root[0]
            nu = y / root[0]
        else:
            try:
                root = np.linalg.cholesky(square)
            except np.linalg.LinAlgError as error:
                raise FloatingPointError("the inverse has lost too many digits") from error
            lines = solve_triangular(root, lines, lower=True)
            ends, y = solve_triangular(root, np.stack([-b, self.w[Z]], axis=1), lower=True).T
            nu = solve_triangular(root, y, lower=True, trans=1)
        w = self.w - y @ lines
        w[Z] = 0.0
        return Held(Z, 0.5 * float(y @ y), w, self._own - float(y @ ends), root, lines, ends), nu

    def exchange(self, held: Held) -> Exchange:
        """With the newcomer in the place of the first who leaves."""
        Z = held.leaving
        slot = int(Z[0]) if len(Z) else int((self._set.w > 0).argmin())
        directions = np.empty((1 + len(Z), len(self.w)))
        directions[0], directions[1:] = self._b, held.lines
        directions[:, Z] = 0.0
        directions[0, slot], directions[1:, slot] = -1.0, held.ends
        w = held.w.copy()
        w[slot] = held.own
        divisors = np.full(1 + len(Z), -1.0)
        divisors[0] = self._s
        return Exchange(slot, Z.tolist(), w, self._b[Z], held.root, directions, divisors)
