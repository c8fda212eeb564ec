"""Least squares as a kernel mean: inner products of features for a kernel, those with y for a mean."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel, Points
from protosieve.means import SettledMean


@storable
@dataclass(frozen=True)
class InnerProduct(Kernel):
    """``<x, z> / n``, of centred features where there is an intercept; and the ridge for a feature with itself."""

    ridge: float
    centred: bool

    def prepare(self, X: Array) -> Points:
        left = X - X.mean(axis=1, keepdims=True) if self.centred else X
        return Points(left / np.sqrt(X.shape[1]))

    def block(self, A: Points, B: Points, out: Array | None = None) -> Array:
        return np.matmul(A.left, B.left.T, out=out)

    def diagonal(self, A: Points) -> Array:
        return np.asarray(np.einsum("ij,ij->i", A.left, A.left) + self.ridge)


@storable
@dataclass(eq=False)
class Response(SettledMean):
    """``mu(x) = <x, y> / n`` in the place of a mean similarity."""

    is_final: ClassVar[bool] = True

    y: Float64

    def at(self, points: Points) -> Float64:
        return np.asarray(points.left @ (self.y / np.sqrt(len(self.y))))

    def squared_norm(self, step: int) -> float:
        return float(self.y @ self.y) / len(self.y)
