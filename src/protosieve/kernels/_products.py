"""Kernels that are functions of the inner product: Linear, Cosine, Polynomial."""

import math
import numbers
from dataclasses import dataclass

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.errors import ParameterError, arg
from protosieve.kernels._base import Kernel, Points


@storable
@dataclass(frozen=True)
class Linear(Kernel):
    """``k(x, y) = <x, y>``: prototypes whose weighted sum matches the mean row.

    It sees nothing but the mean, so at most d rows carry weight, and on centred rows (mean zero) there is
    nothing to match: use `MultiScale` unless the mean is what you want. A block is one matrix product.

    >>> import numpy as np
    >>> from protosieve.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    def prepare(self, X: Array) -> Points:
        return Points(X)

    def block(self, A: Points, B: Points, out: Array | None = None) -> Array:
        return np.matmul(A.left, B.left.T, out=out)

    def diagonal(self, A: Points) -> Array:
        return np.asarray(np.einsum("ij,ij->i", A.left, A.left))


@storable
@dataclass(frozen=True)
class Cosine(Linear):
    """``k(x, y) = <x, y> / (|x| |y|)``: for embeddings whose length means nothing. A row of zeros is like no row.

    Like `Linear` on rows of length one, it sees only their mean. A block is one matrix product.

    >>> import numpy as np
    >>> from protosieve.kernels import Cosine
    >>> Cosine()(np.array([[5.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 3.0]]))
    array([[1., 0.]])
    """

    def prepare(self, X: Array) -> Points:
        largest = np.abs(X).max(axis=1, keepdims=True, initial=0)
        scaled = X / np.where(largest > 0, largest, 1)  # squares of very small or large rows would under- or overflow
        norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
        return Points(scaled / np.where(norms > 0, norms, 1))

    def diagonal(self, A: Points) -> Array:
        return A.left.any(axis=1).astype(A.left.dtype)


@storable
@dataclass(frozen=True)
class Polynomial(Linear):
    """``k(x, y) = (scale <x, y> + offset)^degree``: matches the moments of the data up to ``degree``.

    Parameters
    ----------
    degree : int, default 2
        At least 1.
    offset : float, default 1.0
        Zero or more; with 0 only the moments of order ``degree`` count.
    scale : float, optional
        Positive; ``None`` is 1 / d, which keeps values of standardised rows near 1.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve.kernels import Polynomial
    >>> Polynomial(degree=2, scale=1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    degree: int = 2
    offset: float = 1.0
    scale: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.degree, numbers.Integral) or self.degree < 1:
            raise ParameterError(
                f"Polynomial: {arg('degree')} must be a whole number of at least 1, got {self.degree!r}"
            )
        if not (isinstance(self.offset, numbers.Real) and math.isfinite(self.offset) and self.offset >= 0):
            raise ParameterError(
                f"Polynomial: {arg('offset')} must be a number of at least 0, got {self.offset!r}; "
                "below 0 the kernel is not positive semi-definite"
            )
        if self.scale is not None and not (
            isinstance(self.scale, numbers.Real) and math.isfinite(self.scale) and self.scale > 0
        ):
            raise ParameterError(f"Polynomial: {arg('scale')} must be a positive number or None, got {self.scale!r}")

    def prepare(self, X: Array) -> Points:
        scale = 1 / X.shape[1] if self.scale is None else self.scale
        return Points(X * X.dtype.type(math.sqrt(scale)))

    def block(self, A: Points, B: Points, out: Array | None = None) -> Array:
        return self._power(super().block(A, B, out))

    def diagonal(self, A: Points) -> Array:
        return self._power(super().diagonal(A))

    def _power(self, products: Array) -> Array:
        products += products.dtype.type(self.offset)
        return np.asarray(products**self.degree)
