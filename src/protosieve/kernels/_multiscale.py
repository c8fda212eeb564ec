"""Gaussians of several widths in one kernel."""

import numbers
from dataclasses import dataclass, field

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.errors import ParameterError, arg
from protosieve.kernels._radial import RadialKernel
from protosieve.kernels._width import Width


@storable
@dataclass(frozen=True)
class MultiScale(RadialKernel):
    """The mean of Gaussians of width w, w/2, w/4 ...: sees the coarse shape and the detail at once.

    One width is a gamble: a wide kernel is content with the coarse shape (every choice "carries 99.9 %"), a narrow one
    sees every row as far from every other. The mean of several is never far from the best of them, and there is no
    width to choose. A residual of 1 % means what it would of a kernel that is narrow enough to see the detail. The
    default of every selector.

    Parameters
    ----------
    width : float or "median", default "median"
        The largest width, as of `Gaussian`.
    scales : int, default 3
        How many widths, each half the one before; 1 is `Gaussian`.
    shift : array, optional
        As of `Gaussian`.

    Notes
    -----
    With ``e = exp(-|x - y|^2 / (2 w^2))`` the Gaussian of width ``w / 2`` is ``e^4``, that of ``w / 4`` is ``e^16``: a
    block costs one matrix product, one exponential, and three products an entry for each further scale. The diagonal
    is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve.kernels import Gaussian, MultiScale
    >>> rows = np.array([[0.0], [1.0], [2.0]])
    >>> MultiScale(width=2.0)(rows).round(4)
    array([[1.    , 0.5415, 0.2474],
           [0.5415, 1.    , 0.5415],
           [0.2474, 0.5415, 1.    ]])
    >>> np.allclose(MultiScale(2.0)(rows), sum(Gaussian(width)(rows) for width in (2, 1, 0.5)) / 3)
    True
    """

    width: Width = "median"
    scales: int = 3
    shift: Array | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.scales, bool) or not isinstance(self.scales, numbers.Integral) or self.scales < 1:
            raise ParameterError(
                f"MultiScale: {arg('scales')} must be a whole number of at least 1, got {self.scales!r}"
            )

    @property
    def _finest(self) -> float:
        return float(2 ** (self.scales - 1))

    def _profile(self, e: Array, spare: Array) -> None:
        power = e
        for _ in range(1, self.scales):
            np.square(power, out=spare)
            np.square(spare, out=spare)
            e += spare
            power = spare
        e *= e.dtype.type(1 / self.scales)
