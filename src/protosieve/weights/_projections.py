"""Many outside elements against one set at a time."""

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Float64
from protosieve.weights._nonnegative import CANCELLATION, STRIP, NonNegativeQP, Projection


class Projections:
    """Several outside elements against one set, in one matrix product instead of many with vectors.

    Their projections stay good while the set grows by members that join: what those add is added when asked for.
    """

    def __init__(self, qp: NonNegativeQP, similarities: Float64) -> None:
        a = qp.n_inside
        V = qp.basis[:a, :a]
        self._qp, self._columns, self._rewritten = qp, a, qp.rewritten
        self._K = similarities
        K = similarities[qp.inside]
        self._B = np.zeros((K.shape[1], a))
        self._explained = np.zeros(K.shape[1])
        for start in range(0, a, STRIP):
            stop = start + STRIP
            strip = V[start:stop, :stop]  # right of it there are zeros
            C = strip @ K[:stop]
            self._B[:, :stop] += C.T @ strip
            self._explained += np.einsum("ij,ij->j", C, C)

    @property
    def good(self) -> bool:
        """Whether the basis is still the one they were computed with, but for new rows."""
        return self._rewritten == self._qp.rewritten

    def of(self, which: int, similarities: Float64, diagonal: float) -> Projection:
        """The projection of element number ``which``; O(q) per member that joined since."""
        before, inside = self._columns, self._qp.inside
        if before == len(inside):
            s = diagonal - float(self._explained[which])
            return self._qp.refined(similarities, self._B[which], s, diagonal)
        later = self._qp.basis[before : len(inside), : len(inside)]
        c = later @ similarities[inside]
        b = c @ later
        b[:before] += self._B[which]
        return self._qp.refined(similarities, b, diagonal - float(self._explained[which]) - float(c @ c), diagonal)

    def gains_reach(self, threshold: float, diagonal: Float64, mu: Float64) -> NDArray[np.int8]:
        """For each element whether ``f(L + j) - f(L) >= threshold``: 1 yes, -1 no, 0 where only `gain` can tell.

        For the set as it was when they were projected. Going straight to the best weights of j and the members that
        do not rest, sign ignored, gains ``g^2 / (2 s)``. That is an upper bound unless it wakes one that rests, and the
        value itself if no weight turns negative; going as far as weights allow is a lower bound.
        """
        qp = self._qp
        w = qp.w[qp.inside]
        g = mu - w @ self._K[qp.inside]
        B, s, pull = self._without_zero(diagonal - self._explained)
        sound = (s > CANCELLATION * diagonal) & (g > qp.tolerance)
        step = np.where(sound, g / np.where(sound, s, 1.0), 0.0)
        fall = step[:, None] * B
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(w < fall, w / fall, 1.0).min(axis=1, initial=1.0)
        feasible = share * step
        awake = (qp.nu[:, None] - step * pull > qp.tolerance).any(axis=0)
        if len(qp.outside):
            now = qp.rows_outside()[:, qp.inside] @ (w - fall).T + step * self._K[qp.outside]
            awake |= (qp.mu[qp.outside, None] - now > qp.tolerance).any(axis=0)
        yes = feasible * (g - feasible * s / 2) >= threshold
        no = (g * step / 2 < threshold) & ~awake
        verdict = np.where(yes, 1, np.where(no, -1, 0))
        return np.where(sound, verdict, np.where(g > qp.tolerance, 0, -1)).astype(np.int8)

    def _without_zero(self, s: Float64) -> tuple[Float64, Float64, Float64]:
        """What is not of Z of b and s, and how fast the gradients at Z fall as an element's weight grows.

        A weight t of j makes ``u - t b`` of u, hence ``nu - t P`` of nu with ``A_ZZ P = b_Z``, and
        ``w - t (b - A_:Z P)`` of w.
        """
        qp = self._qp
        if not len(qp.zero):
            return self._B, s, np.zeros((0, len(s)))
        at_zero = self._B[:, qp.zero].T
        pull = qp.hold(at_zero)
        B = self._B - pull.T @ qp.rows[:, : self._columns]
        B[:, qp.zero] = 0.0
        return B, s + np.einsum("ij,ij->j", at_zero, pull), pull
