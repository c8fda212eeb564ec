"""What a fitted selector offers, whichever way it came by its prototypes."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from protosieve._blas import one_thread
from protosieve._prototypes import Prototypes
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError
from protosieve.kernels import Kernel
from protosieve.selectors._rows import NO_ROWS, as_rows

__all__ = ["Selector"]


# scikit-learn ships no types, so to mypy its classes are Any
class Selector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Everything that follows from ``result_``: attributes, `predict` and `transform`."""

    block_size: int

    @property
    @abstractmethod
    def result_(self) -> Prototypes:
        """Everything about the selection as of now, a frozen `Prototypes`."""

    def predict(self, X: Any) -> Indices:
        """The position, in ``prototypes_``, of the prototype nearest to each row in the kernel's distance.

        For `Gaussian` and `Linear` that is the Euclidean nearest. O(n m d) time, O(block_size m) memory.
        """
        result = self.result_
        rows = self._new_rows(X)
        with one_thread():
            prototypes = result.kernel.prepare(result.rows.astype(rows.dtype, copy=False))
            # |phi(x) - phi(p)|^2 = k(x, x) - 2 k(x, p) + k(p, p)
            offset = result.kernel.diagonal(prototypes)
            nearest = np.empty(len(rows), np.intp)
            for start in range(0, len(rows), self.block_size):
                part = slice(start, start + self.block_size)
                K = result.kernel.block(result.kernel.prepare(rows[part]), prototypes)
                nearest[part] = (offset - 2 * K).argmin(axis=1)
        return nearest

    def transform(self, X: Any) -> Array:
        """The kernel similarity of each row to each prototype, shape (n, number kept); O(n m d)."""
        result = self.result_
        rows = self._new_rows(X)
        with one_thread():
            prototypes = result.kernel.prepare(result.rows.astype(rows.dtype, copy=False))
            return result.kernel.block(result.kernel.prepare(rows), prototypes)

    @property
    def prototype_indices_(self) -> NDArray[np.int64]:
        """Row numbers of the prototypes in the whole stream, the largest weight first."""
        return self.result_.indices

    @property
    def prototypes_(self) -> Array:
        """The prototypes themselves, one per row."""
        return self.result_.rows

    @property
    def weights_(self) -> Float64:
        """Their weights, zero or more."""
        return self.result_.weights

    @property
    def objective_(self) -> float:
        """``l`` at the weights."""
        return self.result_.objective

    @property
    def mmd_(self) -> float:
        """The maximum mean discrepancy between the target and the weighted prototypes."""
        return self.result_.mmd

    @property
    def kernel_(self) -> Kernel:
        """The kernel in use, with its width as a number."""
        return self.result_.kernel

    @property
    def _n_features_out(self) -> int:
        return len(self.result_)

    def _remember_columns(self, X: Any, reset: bool) -> None:
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _new_rows(self, X: Any) -> Array:
        rows = as_rows(X, "X")
        if not len(rows):
            raise InputError(NO_ROWS.format(rows.shape))
        self._remember_columns(X, reset=False)
        return rows
