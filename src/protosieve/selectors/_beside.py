"""What stands beside a choice: rows that were chosen before, and rows that must not be chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_rows, require
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.kernels import Kernel, Points
from protosieve.means import Span
from protosieve.sampling import SampledRows
from protosieve.selectors._rows import rows_like


class NothingToChooseError(InputError):
    """All rows to choose from are among those to keep or to exclude."""


@storable
@dataclass(frozen=True, eq=False)
class Beside:
    """``keep`` are members of every result, and are not counted; rows equal to them, or to those to ``exclude``, are
    seen but never chosen.
    """

    keep: Array
    exclude: Array

    @classmethod
    def of(cls, keep: Any, exclude: Any, rows: Array, columns: Sequence[object] | None) -> "Beside | None":
        """Both as the user gave them, checked to have the columns of the rows; None if there is neither."""
        if keep is None and exclude is None:
            return None
        none = rows[:0].copy()
        found = [
            none if given is None else rows_like(given, name, rows, columns)
            for name, given in (("keep", keep), ("exclude", exclude))
        ]
        return cls(*found)

    def allowed(self, rows: Array) -> NDArray[np.bool_]:
        """Of some rows, which may be chosen."""
        barred = {row.tobytes() for part in (self.keep, self.exclude) for row in _comparable(part, rows.dtype)}
        if not barred:
            return np.ones(len(rows), np.bool_)
        return np.array([row.tobytes() not in barred for row in _comparable(rows, rows.dtype)], np.bool_)

    def may_be_chosen(self, drawn: SampledRows) -> SampledRows:
        found = drawn.take(np.flatnonzero(self.allowed(drawn.rows)))
        if not len(found):
            raise NothingToChooseError(
                f"all {len(drawn):,} rows to choose from are among those to keep or to exclude; give others too"
            )
        return found

    def _check_form(self) -> None:
        require(are_rows(self.keep) and are_rows(self.exclude), "the rows beside a choice")


def _comparable(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Zeros have one sign: equal rows are the same bytes."""
    return np.ascontiguousarray(rows, dtype) + 0


class Outside(Kernel):
    """A kernel outside the span of some rows: ``k(x, y) - k(x, Z) K_Z^-1 k(Z, y)``.

    Matching a mean by it is matching the mean by the kernel itself, with the rows Z beside, at their best weights of
    whatever sign.
    """

    def __init__(self, kernel: Kernel, span: Span) -> None:
        self._kernel, self._span = kernel, span
        self._like = kernel.prepare(span.rows[:1].astype(np.float64))
        self.in_threads = kernel.in_threads  # type: ignore[misc]  # of every kernel its own

    def prepare(self, X: Array) -> Points:
        rows = X.astype(np.float64, copy=False)
        return Points(np.hstack([self._kernel.prepare(rows).left, self._span.coordinates(rows).T]))

    def _parts(self, A: Points) -> tuple[Points, Float64]:
        width = self._like.left.shape[1]
        return self._like.like(np.ascontiguousarray(A.left[:, :width])), A.left[:, width:]

    def block(self, A: Points, B: Points, out: Array | None = None) -> Array:
        (a, inside_a), (b, inside_b) = self._parts(A), self._parts(B)
        return np.asarray(self._kernel.block(a, b) - inside_a @ inside_b.T)

    def diagonal(self, A: Points) -> Array:
        points, inside = self._parts(A)
        return np.asarray(np.maximum(self._kernel.diagonal(points) - np.einsum("ij,ij->i", inside, inside), 0.0))
