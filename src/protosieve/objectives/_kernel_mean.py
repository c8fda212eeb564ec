"""The kernel mean objective: match the mean embedding of the target."""

from dataclasses import dataclass

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.kernels import Kernel, Points
from protosieve.means import MeanState

__all__ = ["Block", "KernelMean"]


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the stream with what every selector asks of them first."""

    first: int  # row number, in the whole stream, of the first row
    rows: Array
    points: Points
    mu: Float64  # the gradient of l at w = 0
    diagonal: Float64

    def __len__(self) -> int:
        return len(self.rows)


@storable
@dataclass
class KernelMean:
    """``l(w) = w'mu - w'K w / 2``: ``K`` is the kernel between members, ``mu`` their mean similarity to the target.

    With the norm of the kernel's space, ``2 l(w) = |mu|^2 - |mu - sum_i w_i phi_i|^2``: maximising ``l`` minimises the
    maximum mean discrepancy (MMD) between the target and the weighted prototypes, and ``|mu|^2 / 2`` bounds every
    selection of any size.
    """

    kernel: Kernel
    mean: MeanState

    def block(self, first: int, rows: Array) -> Block:
        """O(B size_of_mean d) for B rows."""
        with np.errstate(all="ignore"):
            points = self.kernel.prepare(rows)
            mu, diagonal = self.mean.at(points), self.kernel.diagonal(points).astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(mu + diagonal))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"row {first + row}: its similarity to the target under {self.kernel!r} is {mu[row]}, to itself "
                f"{diagonal[row]}; scale the columns or choose a width that {rows.dtype} can hold"
            )
        wrong = np.flatnonzero((diagonal < 0) | ((diagonal == 0) & (mu != 0)))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"row {first + row}: its similarity to itself under {self.kernel!r} is {diagonal[row]:g}, to the "
                f"target {mu[row]:g}; no kernel does that. A distance d becomes one as exp(-d)"
            )
        return Block(first, rows, points, mu, diagonal)

    def exact(self, rows: Array) -> tuple[Float64, Float64]:
        """Gram matrix and means of rows in float64, whatever their dtype; O(q^2 d + q size_of_mean d)."""
        return self.gram(rows), self.mean.exactly_at(self.kernel.prepare(rows.astype(np.float64)))

    def gram(self, rows: Array) -> Float64:
        points = self.kernel.prepare(rows.astype(np.float64))
        K = self.kernel.block(points, points)
        K = (K + K.T) / 2
        np.fill_diagonal(K, self.kernel.diagonal(points))
        return K

    def upper_bound(self, step: int) -> float:
        """``|mu|^2 / 2``: no weights on any number of rows give more."""
        return self.mean.squared_norm(step) / 2
