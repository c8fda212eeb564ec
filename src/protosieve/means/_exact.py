"""The mean over every row of the target."""

from dataclasses import dataclass, field

import numpy as np

from protosieve._state import storable
from protosieve._typing import Array
from protosieve.errors import InputError
from protosieve.kernels import Kernel
from protosieve.means._base import FixedMean, Mean


@storable
@dataclass(frozen=True)
class ExactMean(Mean):
    """Every row of the target counts: exact, at n x n_target x d operations for a stream of n rows.

    The default of ``fit``, where the target is the data itself, and of any call with ``target=``, up to 10,000 to
    50,000 rows: beyond, `CalibratedMean` costs less and is nearly as good. It keeps the target in memory. On
    10,000 x 784 rows it takes a second or two.

    Parameters
    ----------
    target : array of shape (n_target, d), optional
        The rows to match, instead of ``fit(X, target=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve import ProtoStream
    >>> from protosieve.means import ExactMean
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> shifted = X[X[:, 0] > 0]
    >>> selector = ProtoStream(n_prototypes=5, mean=ExactMean(shifted), random_state=0).fit(X)
    >>> bool((selector.prototypes_[:, 0] > -0.5).all())
    True
    """

    target: Array | None = field(default=None, repr=False, compare=False)

    def check(self, target: Array | None) -> None:
        if target is None:
            raise InputError(
                "ExactMean needs its target before the stream starts: give target= on the first call of partial_fit, "
                "or use CalibratedMean() to follow the stream itself"
            )

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> FixedMean:
        assert target is not None
        return FixedMean.over(kernel, target)
