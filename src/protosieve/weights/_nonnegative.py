"""The non-negative quadratic program, grown and shrunk one member at a time.

    maximise  l(w) = w'mu - w'K w / 2   over  w >= 0

For the members *inside* we keep a lower triangular ``V`` with ``V K V' = I``: its rows are combinations of them that
are orthonormal under ``K``, and ``A = V'V`` is the inverse of ``K``. A newcomer with similarities k has

    c = V k   (its coordinates),   b = V'c   (its combination of members),   s = k_jj - c'c   (what they leave of it)

and gives V the row ``(-b, 1) / sqrt(s)``; nothing is rewritten. The best weights, sign ignored, are ``u = A mu``: the
newcomer changes them by ``g / s`` times ``(-b, 1)``, where g is its gradient at u.

Members whose weight falls to zero, Z, stay inside, since most come back soon. Holding them at zero is a small system:

    w = u - A_:Z nu   with   A_ZZ nu = u_Z;   the gradient at w is nu at Z and zero at the others, for K A = I.

Only the rows A_Z: are kept, each newcomer adding to them what it adds to A. Where members are nearly combinations of
each other this loses digits: there, members that fall to zero go *outside*, out of the basis. We keep V and not A
because only the square root of the condition number enters V.
"""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv, dtrtri

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, require
from protosieve._typing import Float64, Indices
from protosieve.weights._matrices import definite_cholesky, grown, widened
from protosieve.weights._pivoting import pivoted

GRADIENT_TOLERANCE = 1e-10  # of max |mu|: a hundredth of the 1e-8 that is promised
CANCELLATION = 1e-3  # below this share of k_jj, s has lost digits and the projection is repeated
_CHECK_EVERY = 64  # joins between two looks at the true gradient
# What a member adds to the span of the others is taken to be at least this share of k_jj. For kernels that are nowhere
# negative ``w_j k_jj <= mu_j``, so it changes gradients by a tenth of the tolerance at most.
_LEAST = 1e-11
_LOOSE = 1e-7  # where 1 / (A_ii k_ii) may be smaller, A is large enough to cost digits
_FIRST = 16  # members there is room for at first
_MANY = 64  # members on the wrong side of zero that are better moved at once than one after the other
STRIP = 128  # rows of the basis multiplied at once: they stay in the cache from one product to the next


def _matrix() -> Float64:
    return np.zeros((0, 0))


def _vector() -> Float64:
    return np.zeros(0)


def _indices() -> Indices:
    return np.zeros(0, np.intp)


class Projection(NamedTuple):
    """An outside element j against the members: ``phi_j = sum_i b_i phi_i`` and a rest of squared length ``s``."""

    b: Float64
    s: float


@storable
@dataclass
class NonNegativeQP:
    """The best weights ``w >= 0`` of a set of members, kept up to date as members come and go.

    ``append`` and ``drop`` cost O(q^2) for q members, more only where weights turn negative. Memory is three matrices
    at most, with room for up to twice the members, and three more while many change sides at once; `sealed` brings it
    to O(q) once a set will not change any more.

    Members are numbered in the order they came. Exact copies of a member, and elements that are combinations of
    members up to rounding, are fine: they get weight zero unless they raise ``l``.

    Parameters
    ----------
    noise : float
        Relative rounding of the Gram entries: the machine epsilon of the kernel's dtype. What a new member adds to
        the span of the others is taken to be at least this, so a Gram matrix that rounding has made indefinite is
        treated as the nearest definite one.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve.weights import NonNegativeQP
    >>> qp = NonNegativeQP()
    >>> qp.append(np.array([]), 1.0, 0.5)
    >>> qp.append(np.array([0.5]), 1.0, 0.7)
    >>> qp.weights
    array([0.2, 0.6])
    """

    # ``gram`` holds the lower triangle only: a newcomer is then one row to write, and its column costs nothing.
    noise: float = float(np.finfo(np.float64).eps)
    size: int = 0
    gram: Float64 = field(default_factory=_matrix)
    mu: Float64 = field(default_factory=_vector)
    w: Float64 = field(default_factory=_vector)
    basis: Float64 = field(default_factory=_matrix)
    n_inside: int = 0
    columns: Indices = field(default_factory=_indices)  # the member of each column of the basis, of u and of A
    outside: Indices = field(default_factory=_indices)  # the others
    u: Float64 = field(default_factory=_vector)
    zero: Indices = field(default_factory=_indices)  # Z, by columns
    nu: Float64 = field(default_factory=_vector)
    rows: Float64 = field(default_factory=_matrix)  # A_Z:
    scale: float = 0.0  # max |mu|
    least: float = 1.0  # 1 / (A_ii k_ii) is hardly smaller than this
    joins: int = 0  # since the last look at the true gradient
    rewritten: int = 0  # times the basis has changed other than by a new row

    @classmethod
    def from_gram(
        cls, gram: Float64, mu: Float64, start: Float64 | None = None, noise: float = float(np.finfo(np.float64).eps)
    ) -> "NonNegativeQP":
        """Solve for a whole Gram matrix, from feasible weights ``start`` where they are known.

        O(q^3): one factorisation from a good start, mostly some ten from another or from nothing.
        """
        size = len(mu)
        qp = cls(noise=noise)
        qp._reserve(size)
        qp.size = size
        qp.gram[:size, :size] = np.tril(gram)
        qp.mu[:size] = mu
        qp.scale = float(np.abs(mu).max(initial=0.0))
        if start is not None:
            qp.w[:size] = start
        qp._refactor()
        qp._pivot_if_far()
        qp._solve()
        return qp

    @property
    def inside(self) -> Indices:
        """The members in the basis, by its columns."""
        return self.columns[: self.n_inside]

    @property
    def weights(self) -> Float64:
        """The weights of all members, zero or more."""
        return self.w[: self.size].copy()

    @property
    def value(self) -> float:
        """``l`` at the weights; ``w'K w = w'mu`` there."""
        return 0.5 * float(self.mu[: self.size] @ self.w[: self.size])

    @property
    def is_sealed(self) -> bool:
        return len(self.gram) < self.size

    def members_gram(self) -> Float64:
        """The Gram matrix, by member; a copy."""
        lower = self.gram[: self.size, : self.size]
        return np.asarray(lower + np.tril(lower, -1).T)

    def append(self, similarities: Float64, diagonal: float, mu: float, projection: "Projection | None" = None) -> None:
        """Add a member with ``k(x, members)``, ``k(x, x)`` and ``mu(x)``; solve.

        ``projection`` is what `Projections` say of it, where that is known already.
        """
        q = self.size
        self._reserve(q + 1)
        self.gram[q, :q] = similarities
        self.gram[q, q] = diagonal
        self.mu[q] = mu
        self.w[q] = 0.0
        self.scale = max(self.scale, abs(mu))
        self.size = q + 1
        gradient = mu - float(similarities @ self.w[:q])
        if gradient > self.tolerance:
            self._add_to_basis(q, gradient, projection or self._project(similarities, diagonal))
            self._solve()
        else:
            self.outside = np.append(self.outside, q)

    def drop(self, member: int) -> None:
        """Remove a member; the later ones move up by one. Solves."""
        if member in self.inside:
            self._move_outside([int(np.flatnonzero(self.inside == member)[0])])
        q = self.size
        kept = np.delete(np.arange(q), member)
        self.gram[: q - 1, : q - 1] = self.gram[np.ix_(kept, kept)]
        for vector in (self.mu, self.w):
            vector[: q - 1] = vector[kept]
        self.outside = self.outside[self.outside != member]
        self.outside -= self.outside > member
        self.columns[: self.n_inside] -= self.inside > member
        self.size = q - 1
        self._solve()

    def truncate(self, weights: Float64) -> None:
        """Go back to the first members, whose best weights were these. O(q^2), but O(q^3) where the basis has changed.

        The first rows of the basis are that of the first members, unless one of them has come back after a later one
        joined, or has left the basis since.
        """
        q = len(weights)
        self.n_inside = int(np.count_nonzero(self.inside < q))
        self.outside = self.outside[self.outside < q]
        self.size = q
        self.w[:q] = weights
        self.scale = float(np.abs(self.mu[:q]).max(initial=0.0))
        if (self.inside >= q).any() or weights[self.outside].any():
            self._refactor()
        else:
            self._hold_only(np.flatnonzero(weights[self.inside] == 0))
        self._solve()

    def renew(self, mu: Float64) -> None:
        """The members' means have changed: solve again from the present weights. O(q^2) and what changes sign."""
        self.mu[: self.size] = mu
        self.scale = float(np.abs(mu).max(initial=0.0))
        self._solve_unconstrained()
        self._pivot_if_far()
        self._solve()

    def gain(self, similarities: Float64, diagonal: float, mu: float, projection: "Projection | None" = None) -> float:
        """``f(L + j) - f(L)``, weights non-negative on both sides, by adding j to a copy. O(q^2)."""
        trial = self.copy(room=1)
        trial.append(similarities, diagonal, mu, projection)
        return trial.value - self.value

    def coordinates(self, similarities: Float64, out: Float64) -> None:
        """The coordinates ``V k`` of elements, one column each, in the basis of those inside. O(q^2) for each."""
        a, K = self.n_inside, similarities[self.inside]
        for start in range(0, a, STRIP):
            stop = min(start + STRIP, a)
            np.matmul(self.basis[start:stop, :stop], K[:stop], out=out[start:stop])  # the basis is triangular

    def copy(self, room: int = 0) -> "NonNegativeQP":
        """A copy with space for ``room`` more members."""
        q = self.size
        gram, basis = (grown(matrix[:q, :q], q + room) for matrix in (self.gram, self.basis))
        mu, w, u = (grown(vector[:q], q + room) for vector in (self.mu, self.w, self.u))
        columns = grown(self.columns[:q], q + room)
        rows = widened(self.rows[:, :q], q + room)
        return replace(self, gram=gram, columns=columns, mu=mu, w=w, basis=basis, u=u, rows=rows)

    def twin(self) -> "NonNegativeQP":
        """A copy with as much spare room."""
        return self.copy(room=len(self.gram) - self.size)

    def sealed(self) -> "NonNegativeQP":
        """A copy that can no longer change: weights, means and value in O(q) memory."""
        mu, w = (vector[: self.size].copy() for vector in (self.mu, self.w))
        slim = replace(self, mu=mu, w=w, columns=self.columns[: self.size].copy())
        slim.gram = slim.basis = slim.rows = _matrix()
        slim.u = _vector()
        return slim

    @property
    def tolerance(self) -> float:
        return GRADIENT_TOLERANCE * self.scale

    def _reserve(self, size: int) -> None:
        if size <= len(self.gram):
            return
        room = max(size, _FIRST, 2 * len(self.gram))
        for name in ("gram", "basis", "columns", "mu", "w", "u"):
            setattr(self, name, grown(getattr(self, name), room))
        self.rows = widened(self.rows, room)

    def _project(self, k: Float64, diagonal: float) -> "Projection":
        """``k`` are the similarities to all members, of which those inside count."""
        a = self.n_inside
        V = self.basis[:a, :a]
        c = V @ k[self.inside]
        return self.refined(k, c @ V, diagonal - float(c @ c), diagonal)

    def refined(self, k: Float64, b: Float64, s: float, diagonal: float) -> "Projection":
        """The projection; where s has lost digits, a second Gram-Schmidt step removes what rounding left."""
        if s >= CANCELLATION * diagonal:
            return Projection(b, s)
        a, k = self.n_inside, k[self.inside]
        V = self.basis[:a, :a]
        b = b + (V @ (k - self._times_inside(b))) @ V
        # |phi_j - sum b_i phi_i|^2 in full: its error is of second order in b's
        return Projection(b, float(diagonal - 2 * (k @ b) + b @ self._times_inside(b)))

    def _times(self, x: Float64) -> Float64:
        """``K x`` for weights x of all members, from the lower triangle; O(q^2)."""
        lower = self.gram[: self.size, : self.size]
        return np.asarray(lower @ x + x @ lower - lower.diagonal() * x)

    def _times_inside(self, x: Float64) -> Float64:
        spread = np.zeros(self.size)
        spread[self.inside] = x
        return np.asarray(self._times(spread)[self.inside])

    def _add_to_basis(self, member: int, gradient: float, projection: "Projection") -> None:
        """One more row of the basis, and what follows from it for ``u`` and A_Z:."""
        b, s = projection
        a, diagonal = len(b), float(self.gram[member, member])
        floor = max(a * self.noise, _LEAST) * diagonal
        if s < floor:
            self.gram[member, member] += floor - s  # the Gram stays the one that is solved
            s = floor
        self.least = min(self.least, s / (diagonal * (1 + float(b @ b))))
        self.columns[a] = member
        self.n_inside = a + 1
        row = self.basis[a, : a + 1]
        np.multiply(b, -1 / math.sqrt(s), out=row[:a])
        row[a] = 1 / math.sqrt(s)
        if len(self.zero):
            gradient -= float(b[self.zero] @ self.nu)  # from the one at w to the one at u
            self.rows[:, : a + 1] += np.multiply.outer(row[self.zero], row)
        self.u[:a] -= (gradient / s) * b
        self.u[a] = gradient / s
        self.joins += 1

    def _solve_unconstrained(self) -> None:
        a = self.n_inside
        V = self.basis[:a, :a]
        self.u[:a] = (V @ self.mu[self.inside]) @ V

    def _target(self) -> Float64:
        """The best weights of those inside with Z at zero, the signs of the others ignored."""
        u = self.u[: self.n_inside]
        if not len(self.zero):
            return u
        self.nu = self.hold(u[self.zero])
        target = u - self.nu @ self.rows[:, : len(u)]
        target[self.zero] = 0.0
        return np.asarray(target)

    def hold(self, u: Float64) -> Float64:
        """The solution of ``A_ZZ nu = u``; one right side or several columns."""
        A = self.rows[:, self.zero]
        _, nu, failed = dposv(A, u)  # LAPACK itself: a fifth of the time of NumPy's solve
        return np.asarray(np.linalg.lstsq(A, u)[0] if failed else nu)

    def _pivot_if_far(self) -> None:
        """If many members are on the wrong side of zero, start from weights where few are, by block pivoting."""
        w = np.zeros(self.size)
        w[self.inside] = self._target()
        wakes = (w == 0) & (self.mu[: self.size] - self._times(w) > self.tolerance)
        if np.count_nonzero(wakes | (w < 0)) > _MANY:
            least = max(self.size * self.noise, _LOOSE)
            self.w[: self.size] = pivoted(
                self.members_gram(), self.mu[: self.size], wakes | (w > 0), self.tolerance, least
            )
            self._refactor()

    def _solve(self) -> None:
        """From feasible weights to the optimum (Lawson and Hanson 1974, chapter 23); ``l`` rises at every turn."""
        for _ in range(10 * self.size + 100):
            if self.least < _LOOSE and len(self.zero):
                self._move_outside(self.zero.tolist())
            target = self._target()
            if len(target) and np.minimum.reduce(target) < 0:
                self._step_to_boundary(target)
                continue
            self.w[self.inside] = target
            if self.joins >= _CHECK_EVERY and self._drifted():
                self._refactor()
            elif not self._release_one():
                return

    def _step_to_boundary(self, target: Float64) -> None:
        """Go towards the target as far as weights stay non-negative; members that reach zero join Z."""
        w = self.w[self.inside]
        falling = np.flatnonzero(target < 0)
        ratios = w[falling] / (w[falling] - target[falling])
        share = float(ratios.min())
        w += share * (target - w)
        np.maximum(w, 0.0, out=w)
        stopped = falling[ratios <= share]
        w[stopped] = 0.0
        self.w[self.inside] = w
        self._hold_at_zero(stopped)

    def _hold_at_zero(self, columns: Indices) -> None:
        """Add these columns to Z."""
        a = self.n_inside
        below = self.basis[columns.min() : a, :a]  # rows that came before a member do not hold it
        rows = np.zeros((len(columns), len(self.basis)))
        np.matmul(below[:, columns].T, below, out=rows[:, :a])
        self.zero = np.concatenate([self.zero, columns])
        self.rows = np.concatenate([self.rows, rows])

    def _release_one(self) -> bool:
        """Let the member of weight zero with the largest gradient have a weight; ``False`` if none is positive."""
        if len(self.zero):
            best = int(self.nu.argmax())
            if self.nu[best] > self.tolerance:
                kept = np.delete(np.arange(len(self.zero)), best)
                self.zero, self.nu, self.rows = self.zero[kept], self.nu[kept], self.rows[kept]
                return True
        if len(self.outside):
            gradients = (self.mu[: self.size] - self._times(self.w[: self.size]))[self.outside]
            best = int(gradients.argmax())
            if gradients[best] > self.tolerance:
                member = int(self.outside[best])
                self.outside = np.delete(self.outside, best)
                k = self.gram[member, : self.size] + self.gram[: self.size, member]
                self._add_to_basis(member, float(gradients[best]), self._project(k, self.gram[member, member]))
                return True
        return False

    def _move_outside(self, columns: list[int]) -> None:
        """Move these outside; other members of Z stay there. O(q^2) each."""
        resting = np.setdiff1d(self.inside[self.zero], self.inside[columns])
        self.w[self.inside[columns]] = 0.0
        for column in sorted(columns, reverse=True):
            self._remove_from_basis(column)
        self._hold_only(np.flatnonzero(np.isin(self.inside, resting)))

    def _hold_only(self, columns: Indices) -> None:
        """These are Z now; compute again what depends on it, after rows of the basis were removed."""
        a = self.n_inside
        V = self.basis[:a, :a]
        self.least = 1 / float((np.einsum("ij,ij->j", V, V) * self.gram.diagonal()[self.inside]).max(initial=1.0))
        self.zero, self.nu, self.rows = _indices(), _vector(), np.zeros((0, len(self.basis)))
        if len(columns):
            self._hold_at_zero(columns)
        self.rewritten += 1
        self._solve_unconstrained()

    def _remove_from_basis(self, column: int) -> None:
        """Remove a member from the basis, which stays triangular.

        Rows above the column do not hold the member. Below, rotate each row against what the rows above it have
        gathered of the member: with ``c`` its column, ``t_i^2`` the sum of ``c^2`` down to row i and ``S_i`` that of
        ``c`` times the rows, the gathered row is ``S_i / t_i``, and row i + 1 becomes

            (t_i / t_i+1) V_i+1  -  c_i+1 / (t_i t_i+1) S_i,

        which holds nothing of the member. The last gathered row holds all of it and goes.
        """
        a = self.n_inside
        V = self.basis[column:a, :a]
        c = V[:, column]
        t = np.sqrt(np.cumsum(c * c))
        gathered = np.cumsum(c[:-1, None] * V[:-1], axis=0)
        gathered *= (c[1:] / (t[:-1] * t[1:]))[:, None]
        turned = (t[:-1] / t[1:])[:, None] * V[1:] - gathered
        self.basis[column : a - 1, :column] = turned[:, :column]
        self.basis[column : a - 1, column : a - 1] = np.tril(turned[:, column + 1 :])
        self.outside = np.append(self.outside, self.columns[column])
        self.columns[column : a - 1] = self.columns[column + 1 : a]
        self.n_inside = a - 1

    def rows_outside(self) -> Float64:
        """The Gram matrix's rows of those outside; their diagonal, doubled, only ever meets weights of zero."""
        q = self.size
        return np.asarray(self.gram[self.outside, :q] + self.gram[:q, self.outside].T)

    def _drifted(self) -> bool:
        self.joins = 0
        error = (self.mu[: self.size] - self._times(self.w[: self.size]))[self.inside]
        error[self.zero] -= self.nu
        return bool(np.abs(error).max(initial=0.0) > 10 * self.tolerance)

    def _refactor(self) -> None:
        """Compute the basis again from the Gram matrix, of the members that have a weight."""
        w = self.w[: self.size]
        inside, self.outside = np.flatnonzero(w > 0), np.flatnonzero(w <= 0)
        a = self.n_inside = len(inside)
        self.columns[:a] = inside
        self.zero, self.nu, self.rows = _indices(), _vector(), np.zeros((0, len(self.basis)))
        self.joins, self.least = 0, 1.0
        self.rewritten += 1
        if a:
            V = self.basis[:a, :a] = dtrtri(self._cholesky(), lower=1)[0]
            self.least = 1 / float((np.einsum("ij,ij->j", V, V) * self.gram.diagonal()[self.inside]).max())
        self._solve_unconstrained()

    def _cholesky(self) -> Float64:
        """The factor of the Gram matrix of those inside, whose diagonal grows by what rounding asks for."""
        inside = self.inside
        lower = self.gram[np.ix_(inside, inside)]
        root, ridge = definite_cholesky(lower, max(len(inside) * self.noise, _LEAST))
        self.gram[inside, inside] += ridge * lower.diagonal()  # the Gram stays the one that is solved
        return root

    def _check_form(self) -> None:
        q, a, room = self.size, self.n_inside, self.mu.shape
        require(are_counts(q, a) and len(room) == 1 and a <= q <= len(self.mu), "the number of members")
        require(self.w.shape == room and (self.w[:q] >= 0).all(), "the weights of members")
        members = np.concatenate([self.columns[:a], self.outside])
        require(np.array_equal(np.sort(members), np.arange(q)), "a member is lost")
        zero = self.zero
        require(len(np.unique(zero)) == len(zero) and ((zero >= 0) & (zero < a)).all(), "the members at zero")
        require(0 < self.noise < 1 and 0 <= self.scale < math.inf and 0 <= self.least <= 1, "the tolerances of weights")
        require(are_finite(self.mu[:q], self.w[:q], self.gram[:q, :q], self.basis[:a, :a]), "what members are like")
        if self.is_sealed:
            return
        require(self.gram.shape == self.basis.shape == room * 2, "the matrices of members")
        require(self.u.shape == self.columns.shape == room and are_finite(self.u[:a]), "the columns of a basis")
        require(self.rows.shape == (len(self.zero), *room) and are_finite(self.rows[:, :a]), "rows of those at rest")
        require((self.gram.diagonal()[:q] >= 0).all(), "a member is of negative length")

    def _check(self) -> None:
        """Raise where an invariant is broken; for tests, O(q^3)."""
        self._check_form()
        q, a = self.size, self.n_inside
        w = self.w[:q]
        resting = np.concatenate([self.outside, self.inside[self.zero]])
        assert (w[resting] == 0).all(), "a resting member has a weight"
        if self.is_sealed or not q:
            return
        K, V = self.members_gram(), self.basis[:a, :a]
        gradient = self.mu[:q] - K @ w
        active = np.setdiff1d(self.inside, resting)
        assert np.abs(gradient[active]).max(initial=0.0) <= 1e-8 * self.scale, "an active member has a gradient"
        assert gradient.max(initial=0.0) <= 1e-8 * self.scale, "a member of weight zero should have one"
        assert (np.tril(V) == V).all(), "the basis is not triangular"
        error = V @ K[np.ix_(self.inside, self.inside)] @ V.T - np.eye(a)
        assert np.abs(error).max(initial=0.0) <= 1e-2, "the basis is not orthonormal"
        full = float(self.mu[:q] @ w - w @ K @ w / 2)
        assert abs(self.value - full) <= 1e-8 * max(self.scale, abs(full)), "the value is not l(w)"
