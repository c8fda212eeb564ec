"""The Gaussian kernel."""

from dataclasses import dataclass, field

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.kernels._radial import RadialKernel
from protosieve.kernels._width import Width


@storable
@dataclass(frozen=True)
class Gaussian(RadialKernel):
    """``k(x, y) = exp(-|x - y|^2 / (2 width^2))``: one width, if you know which.

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

    width: Width = "median"
    shift: Array | None = field(default=None, repr=False, compare=False)

    def _profile(self, e: Array, spare: Array) -> None:
        """Nothing to do: the kernel is the exponential."""
