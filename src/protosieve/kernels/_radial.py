"""What kernels that fall with the Euclidean distance share: one product of rows that were prepared for it."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from protosieve._typing import Array
from protosieve.kernels._base import Kernel, Points
from protosieve.kernels._width import Width, check_width, draw, known_width, median_distance, resolved_anew

# Entries gone through at once: with as much room for powers they stay in the processor's cache from one operation to
# the next. Much shorter, and the calls themselves cost more than what they do.
_STRIP = 131_072


@dataclass(frozen=True)
class _Split(Points):
    """Rows ``[z, -|z|^2/2, 1]``: times ``[z', 1, -|z'|^2/2]`` that is ``-|z - z'|^2 / 2`` in one product."""

    @cached_property
    def right(self) -> Array:
        turned = self.left.copy()
        turned[:, -2], turned[:, -1] = self.left[:, -1], self.left[:, -2]
        return turned


class RadialKernel(Kernel):
    """A kernel of ``|x - y| / width`` alone, 1 for equal rows; a subclass is a dataclass and says `_profile`."""

    nonnegative = True

    width: Width
    shift: Array | None  # subtracted from every row, for precision

    def __post_init__(self) -> None:
        check_width(type(self).__name__, self.width)

    @property
    def _finest(self) -> float:
        """How many of the smallest width the width is."""
        return 1.0

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def resolve(self, sample: Array, rng: np.random.Generator) -> Self:
        rows = draw(sample, rng)
        width = median_distance(rows, "euclidean") if self.width == "median" else float(self.width)
        fixed: Any = {"width": width, "shift": rows.mean(axis=0, dtype=np.float64)}
        return replace(self, **fixed)  # type: ignore[type-var]  # every subclass is a dataclass

    def resolve_anew(self, sample: Array, before: Kernel) -> Kernel:
        found: Kernel = resolved_anew(self, sample, before, "euclidean")
        return found

    def prepare(self, X: Array) -> Points:
        width = known_width(self.width)
        n, d = X.shape
        left = np.empty((n, d + 2), X.dtype)
        z = left[:, :d]
        np.subtract(X, 0 if self.shift is None else self.shift.astype(X.dtype, copy=False), out=z)
        z *= X.dtype.type(1 / width)
        left[:, d] = -0.5 * np.einsum("ij,ij->i", z, z)
        left[:, d + 1] = 1
        return _Split(left)

    def nearness(self, A: Points, B: Points) -> Array:
        return np.asarray(A.left @ B.right.T)

    def rounding(self, A: Points) -> Array:
        # distances are differences of squared lengths, which the product rounds, in units of the smallest width
        return np.asarray(4 * np.finfo(A.left.dtype).eps * np.maximum(1, self._finest**2 * np.abs(A.left[:, -2])))

    def diagonal(self, A: Points) -> Array:
        return np.ones(len(A), A.left.dtype)

    def block(self, A: Points, B: Points, out: Array | None = None) -> Array:
        K = np.matmul(A.left, B.right.T, out=out)
        entries = K.reshape(-1)
        spare = np.empty(min(_STRIP, len(entries)), K.dtype)
        for start in range(0, len(entries), _STRIP):
            part = entries[start : start + _STRIP]
            if part.max() > 0:  # equal rows may come out a rounding error above zero; to look is cheaper than to cut
                np.minimum(part, 0, out=part)
            np.exp(part, out=part)
            self._profile(part, spare[: len(part)])
        return K

    @abstractmethod
    def _profile(self, e: Array, spare: Array) -> None:
        """In place, from ``e = exp(-|x - y|^2 / (2 width^2))`` to the kernel; ``spare`` is room for as many values."""
