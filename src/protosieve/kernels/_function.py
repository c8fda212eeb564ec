"""A user's own function as a kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from protosieve._typing import Array
from protosieve.errors import InputError, ParameterError, arg
from protosieve.kernels._base import Kernel, Points

_STRIP = 32  # rows whose strip of the diagonal is computed at once: 32 n values for n wanted ones


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any ``function(X, Y)`` that returns the ``len(X) x len(Y)`` matrix of a positive semi-definite kernel.

    Functions of ``sklearn.metrics.pairwise`` are of this form. Positive semi-definite is on your word; shape and
    finiteness are checked. The diagonal has to be computed, in strips.

    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import chi2_kernel
    >>> from protosieve.kernels import FunctionKernel
    >>> FunctionKernel(chi2_kernel)(np.array([[1.0, 2.0], [2.0, 1.0]])).round(3)
    array([[1.   , 0.513],
           [0.513, 1.   ]])
    """

    in_threads = False

    function: Callable[[Array, Array], Array]

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def prepare(self, X: Array) -> Points:
        return Points(X)

    def block(self, A: Points, B: Points, out: Array | None = None) -> Array:
        if not len(A) or not len(B):
            return np.empty((len(A), len(B)), A.left.dtype)  # many functions refuse an empty block
        K = np.asarray(self.function(A.left, B.left))
        if K.shape != (len(A), len(B)):
            raise InputError(
                f"kernel {self._name} returned shape {K.shape} for {len(A)} and {len(B)} rows; "
                f"it must return ({len(A)}, {len(B)})"
            )
        if not np.isfinite(K).all():
            raise InputError(f"kernel {self._name} returned NaN or inf for finite rows; a kernel is finite everywhere")
        return K.astype(A.left.dtype, copy=False)

    def diagonal(self, A: Points) -> Array:
        strips = (A.take(slice(i, i + _STRIP)) for i in range(0, len(A), _STRIP))
        return np.concatenate([np.zeros(0, A.left.dtype), *(np.diagonal(self.block(S, S)) for S in strips)])

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def as_kernel(kernel: object) -> Kernel:
    """A kernel as users give it: a `Kernel`, or a function of two blocks of rows."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    raise ParameterError(
        f"{arg('kernel')} must be a kernel of protosieve.kernels, such as Gaussian(width=5.0), or a function of "
        f"two blocks of rows; got {kernel!r}"
    )
