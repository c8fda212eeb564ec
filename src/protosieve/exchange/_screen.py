"""A quick look at rows that come to a full exchange set: most are turned down in single precision.

A row is taken where ``g (g A_ii / w_i^2 + 2 b_i / w_i) > s`` for some member i. With the rounding of single precision
on the row's side the inequality fails for nearly every row of a long stream, for most of them already with both terms
at their largest, each for itself; only the others are looked at in double precision. ``B`` costs half as much that way,
and nothing is converted.

Rounding: sums of products of similarities, at most ``k`` in size, with a line of ``A`` are off by about
``u k sum_j |A_ij|``, u the unit roundoff; ``s`` adds m of those, with signs that vary. Four times that is allowed for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array, Float64, Indices

_ALLOWED = 4 * float(np.finfo(np.float32).eps)
_LINES = 32  # of A converted at once: what is in between stays in the cache


@dataclass(frozen=True)
class Screen:
    """What is needed of a full set, all slots taken, to turn rows down; ``w`` in units of the largest."""

    scaled: NDArray[np.float32]  # A with line i times 2 / w_i
    weights: NDArray[np.float32]
    half: NDArray[np.float32]  # w_i / 2
    worth: Float64  # A_ii / w_i^2
    unit: float
    off: float  # of a sum over a line of A
    off_scaled: float  # the same, times the largest 2 / w_i
    off_gradient: float

    @classmethod
    def of(cls, inverse: Float64, w: Float64, worth: Float64, unit: float) -> "Screen":
        """O(m^2)."""
        twice = 2 * unit / w
        scaled, most = np.empty(inverse.shape, np.float32), 0.0
        for start in range(0, len(w), _LINES):
            lines = slice(start, start + _LINES)
            scaled[lines] = inverse[lines] * twice[lines, None]
            most = max(most, float(np.abs(inverse[lines]).sum(axis=1).max()))
        off = _ALLOWED * most
        return cls(
            scaled=scaled,
            weights=w.astype(np.float32),
            half=(1 / twice).astype(np.float32),
            worth=worth,
            unit=unit,
            off=off,
            off_scaled=off * float(twice.max()),
            off_gradient=_ALLOWED * float(w.sum()),
        )

    def ratios(self, K: Array, diagonal: Float64, mu: Float64) -> Array:
        """How near rows are to being taken: the two sides of the inequality, rounding and all. O(m^2) each."""
        g = ((mu - self.weights @ K) / self.unit).astype(np.float32)
        B = self.scaled @ K.astype(np.float32, copy=False)
        s = diagonal - self.half @ (B * K)
        B += np.multiply.outer(self.worth.astype(np.float32), g)
        return np.asarray(np.maximum(g, 0) * B.max(axis=0) / np.maximum(s, _ALLOWED * diagonal))

    def passing(self, K: Array, diagonal: Float64, mu: Float64) -> Indices:
        """The rows that may be taken; ``K`` are the members' similarities to them, members first. O(m^2) each."""
        most = max(float(K.max(initial=0.0)), 1.0)
        g = (mu - self.weights @ K + most * self.off_gradient) / self.unit
        B = self.scaled @ K
        s = diagonal - self.half @ (B * K) - most**2 * np.sqrt(len(K)) * self.off
        apart = B.max(axis=0) + most * self.off_scaled + g * self.worth.max()
        left = np.flatnonzero((g > 0) & (g * apart > s))
        together = (B[:, left] + np.multiply.outer(self.worth, g[left])).max(axis=0) + most * self.off_scaled
        return np.asarray(left[g[left] * together > s[left]])
