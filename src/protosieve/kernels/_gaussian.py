"""The Gaussian kernel."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.kernels._base import Kernel, Points
from protosieve.kernels._width import Width, check_width, draw, euclidean, known_width, median_distance

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class _Split(Points):
    """Rows ``[z, -|z|^2/2, 1]``: times ``[z', 1, -|z'|^2/2]`` that is ``-|z - z'|^2 / 2`` in one product."""

    @cached_property
    def right(self) -> Array:
        turned = self.left.copy()
        turned[:, [-2, -1]] = turned[:, [-1, -2]]
        return turned


@storable
@dataclass(frozen=True)
class Gaussian(Kernel):
    """``k(x, y) = exp(-|x - y|^2 / (2 width^2))``, the kernel to start with.

    Parameters
    ----------
    width : float or "median", default "median"
        The distance at which similarity has fallen to 0.61. ``"median"`` is the median of the positive
        distances between at most 1,000 rows, drawn uniformly with the selector's ``random_state``: from the
        target where there is one, else from the first block of the stream.
        A narrower kernel sees finer detail and needs more prototypes; a wider one sees the coarse shape.
    shift : array, optional
        Subtracted from every row before anything else. It changes no value, but for rounding: distances
        between rows far from the origin would lose digits, above all in float32. A selector sets it to
        the mean of the rows it learns the width from.

    Notes
    -----
    A block costs one matrix product with d + 2 columns and one exponential per entry. The diagonal is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve.kernels import Gaussian
    >>> Gaussian(width=2.0)(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    nonnegative = True

    width: Width = "median"
    shift: Array | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_width("Gaussian", self.width)

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def resolve(self, sample: Array, rng: np.random.Generator) -> "Gaussian":
        rows = draw(sample, rng)
        width = median_distance(rows, euclidean) if self.width == "median" else float(self.width)
        return replace(self, width=width, shift=rows.mean(axis=0, dtype=np.float64))

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

    def block(self, A: Points, B: Points) -> Array:
        K = self.nearness(A, B)
        np.minimum(K, 0, out=K)  # equal rows may come out a rounding error above zero
        np.exp(K, out=K)
        return K

    def diagonal(self, A: Points) -> Array:
        return np.ones(len(A), A.left.dtype)
