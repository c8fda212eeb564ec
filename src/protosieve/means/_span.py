"""The span of a few points in the kernel's space: what a mean, known at the points, is there."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from protosieve._threads import ahead_of
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.kernels import Kernel, Points
from protosieve.weights import definite_cholesky

# Of the mean diagonal, at least. Directions of the span below it are told apart by rounding alone: kernel values of
# float32 rows are off by some 1e-7, those of rows far out by more, and the inverse makes much of it.
_RIDGE = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-12}
_STRIP = 256


@dataclass(frozen=True, eq=False)
class Span:
    """All combinations of points ``z_p``. With their Gram matrix ``K_Z = R R'`` the projection of a row's embedding has
    the coordinates ``R^-1 k(Z, x)``.
    """

    kernel: Kernel
    rows: Array  # the points

    def __deepcopy__(self, memo: object) -> "Span":
        return self

    @cached_property
    def points(self) -> Points:
        """The rows prepared for the kernel, in their own dtype."""
        return self.kernel.prepare(self.rows)

    @cached_property
    def root(self) -> Float64:
        """The factor, lower triangular. O(P^2 d + P^3)."""
        points = self.kernel.prepare(self.rows.astype(np.float64))
        gram, diagonal = self._gram(points), self.kernel.diagonal(points)
        noise = np.maximum(self.kernel.rounding(self.points), _RIDGE[self.rows.dtype])
        ridge = noise * (float(diagonal.mean()) or 1.0)  # rows with no similarity at all: an empty span
        gram[np.diag_indices_from(gram)] = diagonal + ridge
        root, failed = dpotrf(gram.T, lower=True)  # the transposed matrix, the same, is as LAPACK has it: one copy
        return self._repaired(gram) if failed else np.asarray(root)

    def _gram(self, points: Points) -> Float64:
        """The upper triangle, a strip at a time, in several threads."""
        gram = np.zeros((len(points), len(points)))

        def fill(start: int) -> None:
            strip = slice(start, start + _STRIP)
            gram[: strip.stop, strip] = self.kernel.block(points.take(slice(strip.stop)), points.take(strip))

        for _ in ahead_of(fill, range(0, len(points), _STRIP), in_threads=self.kernel.in_threads):
            pass
        return gram

    def _repaired(self, gram: Float64) -> Float64:
        """The factor where rounding has made the matrix indefinite; an error where the kernel is at fault."""
        try:
            return definite_cholesky(gram.T, _RIDGE[self.rows.dtype])[0]
        except FloatingPointError as error:
            raise InputError(
                f"{self.kernel!r} is no kernel: the matrix of similarities between {len(self.rows)} rows is not "
                "positive semi-definite. A distance d becomes a kernel as exp(-d)"
            ) from error

    def solve(self, values: Float64) -> Float64:
        """The weights of the points by which their combination has these values at them; O(P^2)."""
        half = self.half_solve(values)
        return np.asarray(solve_triangular(self.root, half, lower=True, trans=1, check_finite=False))

    def half_solve(self, values: Float64) -> Float64:
        """The coordinates of what has these values at the points; O(P^2)."""
        return np.asarray(solve_triangular(self.root, values, lower=True, check_finite=False))

    def coordinates(self, rows: Array) -> Float64:
        """Of rows, a column each, shape (P, n); O(n P (d + P))."""
        points, others = (self.kernel.prepare(each.astype(np.float64)) for each in (self.rows, rows))
        return self.half_solve(self.kernel.block(points, others))
