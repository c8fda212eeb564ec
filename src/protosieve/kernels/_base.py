"""What every kernel is: rows are prepared once, then multiplied block against block."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from protosieve._blas import one_thread
from protosieve._typing import Array, Indices
from protosieve.errors import InputError


@dataclass(frozen=True)
class Points:
    """Rows in the form a kernel multiplies; ``left @ right.T`` of two of them is the kernel's product."""

    left: Array

    @property
    def right(self) -> Array:
        return self.left

    def __len__(self) -> int:
        return len(self.left)

    def take(self, which: slice | Array) -> Self:
        return type(self)(self.left[which])

    def like(self, left: Array) -> Self:
        """Other rows, prepared by the same kernel."""
        return type(self)(left)


class Kernel(ABC):
    """A positive semi-definite similarity ``k(x, y)``, evaluated block against block.

    Calling a kernel, ``kernel(X, Y)``, returns the ``len(X) x len(Y)`` matrix in the rows' dtype: float32 rows
    give float32 values, float64 rows float64 values. Inside the library rows are prepared once (norms,
    scaling) and `block` is called many times.
    """

    # Whether k(x, y) >= 0 everywhere. Then non-negative weights are bounded, w_j k_jj <= mu_j, and float32 will do.
    # Otherwise Gram matrices that float32 has made indefinite let weights run away, so selectors work in float64.
    nonnegative: ClassVar[bool] = False

    # Whether several threads may compute blocks at once; a user's own function may not allow it.
    in_threads: ClassVar[bool] = True

    def resolve(self, sample: Array, rng: np.random.Generator) -> "Kernel":
        """The kernel with everything fixed that is to be learnt from rows of the data; by default, itself."""
        return self

    def resolve_anew(self, sample: Array, before: "Kernel") -> "Kernel":
        """The same by later rows; ``before``, what it was resolved to, as long as that serves them too."""
        return before

    @abstractmethod
    def prepare(self, X: Array) -> Points:
        """Rows in multiplied form, same dtype; O(n d)."""

    @abstractmethod
    def block(self, A: Points, B: Points, out: Array | None = None) -> Array:
        """The matrix ``k(a, b)``; O(len(A) len(B) d).

        ``out`` is memory that may be used for the result, of its shape and dtype, C-contiguous: reusing it for block
        after block saves allocations. Use the returned array, which is ``out`` or not.
        """

    @abstractmethod
    def diagonal(self, A: Points) -> Array:
        """``k(a, a)`` for every row, O(n d) at most, without computing a block."""

    def rounding(self, A: Points) -> Array:
        """By how much similarities of each row may be off, as a share: the machine epsilon, or more far out."""
        return np.full(len(A), np.finfo(A.left.dtype).eps)

    def nearness(self, A: Points, B: Points) -> Array:
        """What rises as ``|phi(a) - phi(b)|`` falls, for every b and one a at a time; O(len(A) len(B) d).

        By default ``2 k(a, b) - k(b, b)``. Kernels that fall with a distance compare that: far rows all have similarity
        0, near which none is nearest.
        """
        return np.asarray(2 * self.block(A, B) - self.diagonal(B))

    def nearest(self, rows: Array, others: Array, step: int = 512) -> Indices:
        """The position, among ``others``, of the nearest to each row, so many rows at a time; O(rows others d)."""
        near = self.prepare(others.astype(rows.dtype, copy=False))
        parts = [rows[start : start + step] for start in range(0, len(rows), step)]
        found = [self.nearness(self.prepare(part), near).argmax(axis=1) for part in parts]
        return np.concatenate([np.zeros(0, np.intp), *found])

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """The matrix ``k(x, y)``; ``Y`` defaults to ``X``. O(len(X) len(Y) d) time, the matrix in memory."""
        rows = _rows(X, "X")
        others = rows if Y is None else _rows(Y, "Y")
        if rows.shape[1] != others.shape[1]:
            raise InputError(
                f"X has {rows.shape[1]} columns and Y has {others.shape[1]}: a kernel compares rows of the same columns"
            )
        with one_thread():
            return self.block(self.prepare(rows), self.prepare(others))


def _rows(X: Array, name: str) -> Array:
    rows = np.asarray(X)
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64, copy=False)
    if rows.ndim != 2:
        raise InputError(f"{name} must have two dimensions, rows and columns; got shape {rows.shape}")
    return rows
