"""The non-negative quadratic program, grown and shrunk one member at a time.

    maximise  l(w) = w'mu - w'K w / 2   over  w >= 0

*Active* members have a positive weight, the others weight zero. For the active ones we keep a matrix ``V`` with
``V K V' = I``: its rows are combinations of members that are orthonormal under ``K``. Then, with ``y = V mu``,

    best weights of the active members, sign ignored   w = V'y
    an outside element with similarities k:   c = V k   (its coordinates),   s = k_jj - c'c   (what they leave)
    it joins:      V gets the row (-V'c, 1) / sqrt(s),   y the entry g / sqrt(s)   with   g = mu_j - k'w
    it leaves:     rotate V so that one row alone holds its column, and delete both

Joining appends and rewrites nothing. Compared with updating ``K^-1 = V'V`` the condition number enters by its square
root only.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from protosieve._state import storable
from protosieve._typing import Float64, Indices

__all__ = ["NonNegativeQP", "Projection", "Projections"]

_GRADIENT_TOLERANCE = 1e-10  # of max |mu|: a hundredth of the 1e-8 that is promised
_CANCELLATION = 1e-3  # below this share of k_jj, s has lost digits and the projection is repeated
_CHECK_EVERY = 32  # joins between two looks at the true gradient
_FIRST = 16  # members there is room for at first
_STRIP = 32  # rows of the basis reflected at once: their product stays in the cache


def _matrix() -> Float64:
    return np.zeros((0, 0))


def _vector() -> Float64:
    return np.zeros(0)


def _grown(old: Any, room: int) -> Any:
    """The vector or square matrix at the head of a larger one of zeros."""
    new = np.zeros((room,) * old.ndim, old.dtype)
    new[(slice(len(old)),) * old.ndim] = old
    return new


class Projection(NamedTuple):
    """An outside element j against the active members: ``phi_j = sum_i b_i phi_i`` and a rest of squared length ``s``."""

    b: Float64
    s: float


@storable
@dataclass
class NonNegativeQP:
    """The best weights ``w >= 0`` of a set of members, kept up to date as members come and go.

    ``append`` and ``drop`` cost O(q^2) for q members, more only where weights turn negative. Memory is 2 q^2 numbers;
    `sealed` brings it to O(q) once a set will not change any more.

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

    # Inside, members stand in an order of our own, the ``n_active`` active ones first: every product below is then one of
    # slices. ``order[position]`` is the member's number; ``gram``, ``mu``, ``w`` and the columns of ``basis`` go by position.
    noise: float = float(np.finfo(np.float64).eps)
    size: int = 0
    n_active: int = 0
    order: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    gram: Float64 = field(default_factory=_matrix)
    mu: Float64 = field(default_factory=_vector)
    w: Float64 = field(default_factory=_vector)
    basis: Float64 = field(default_factory=_matrix)
    y: Float64 = field(default_factory=_vector)
    scale: float = 0.0  # max |mu|
    joins: int = 0  # since the last look at the true gradient
    rewritten: int = 0  # times the basis has changed other than by a new row

    @classmethod
    def from_gram(
        cls, gram: Float64, mu: Float64, start: Float64 | None = None, noise: float = float(np.finfo(np.float64).eps)
    ) -> "NonNegativeQP":
        """Solve for a whole Gram matrix, from feasible weights ``start`` where they are known.

        O(q^3): one factorisation from a good start, one member after the other from nothing.
        """
        size = len(mu)
        qp = cls(noise=noise)
        qp._reserve(size)
        qp.size = size
        qp.order[:size] = np.arange(size)
        qp.gram[:size, :size] = gram
        qp.mu[:size] = mu
        qp.scale = float(np.abs(mu).max(initial=0.0))
        if start is not None:
            qp.w[:size] = start
        qp._refactor()
        return qp

    @property
    def weights(self) -> Float64:
        """The weights of all members, zero or more."""
        by_member = np.empty(self.size)
        by_member[self.order[: self.size]] = self.w[: self.size]
        return by_member

    @property
    def value(self) -> float:
        """``l`` at the weights; ``w'K w = w'mu`` there."""
        a = self.n_active
        return 0.5 * float(self.mu[:a] @ self.w[:a])

    @property
    def is_sealed(self) -> bool:
        return len(self.gram) < self.size

    def members_gram(self) -> Float64:
        """The Gram matrix, by member; a copy."""
        q = self.size
        back = np.argsort(self.order[:q])
        return self.gram[np.ix_(back, back)]

    def append(self, similarities: Float64, diagonal: float, mu: float, projection: "Projection | None" = None) -> None:
        """Add a member with ``k(x, members)``, ``k(x, x)`` and ``mu(x)``; solve.

        ``projection`` is what `project` or `Projections` say of it, where that is known already.
        """
        q = self.size
        self._reserve(q + 1)
        k = similarities[self.order[:q]]
        self.gram[q, :q] = k
        self.gram[:q, q] = k
        self.gram[q, q] = diagonal
        self.order[q] = q
        self.mu[q] = mu
        self.w[q] = 0.0
        self.scale = max(self.scale, abs(mu))
        self.size = q + 1
        a = self.n_active
        gradient = mu - float(k[:a] @ self.w[:a])
        if gradient > self._tolerance:
            self._settle(self._join(q, gradient, projection))

    def drop(self, member: int) -> None:
        """Remove a member; the later ones move up by one. Solves."""
        position = int(np.flatnonzero(self.order[: self.size] == member)[0])
        if position < self.n_active:
            self._leave(position)
            position = self.n_active
        self._swap(position, self.size - 1)
        self.size -= 1
        self.order[: self.size] -= self.order[: self.size] > member
        self._settle(self._unconstrained())

    def renew(self, mu: Float64) -> None:
        """The members' means have changed: solve again from the present weights. O(q^2) and what changes sign."""
        a, q = self.n_active, self.size
        self.mu[:q] = mu[self.order[:q]]
        self.scale = float(np.abs(mu).max(initial=0.0))
        self.y[:a] = self.basis[:a, :a] @ self.mu[:a]
        self._settle(self._unconstrained())

    def gain(self, similarities: Float64, diagonal: float, mu: float, projection: "Projection | None" = None) -> float:
        """``f(L + j) - f(L)``, weights non-negative on both sides, by adding j to a copy. O(q^2)."""
        trial = self.copy(room=1)
        trial.append(similarities, diagonal, mu, projection)
        return trial.value - self.value

    def copy(self, room: int = 0) -> "NonNegativeQP":
        """A copy with space for ``room`` more members."""
        q = self.size
        gram, basis = (_grown(matrix[:q, :q], q + room) for matrix in (self.gram, self.basis))
        order, mu, w, y = (_grown(vector[:q], q + room) for vector in (self.order, self.mu, self.w, self.y))
        return replace(self, order=order, gram=gram, mu=mu, w=w, basis=basis, y=y)

    def sealed(self) -> "NonNegativeQP":
        """The same without what only changes need: weights, means and value in O(q) memory."""
        q = self.size
        order, mu, w = (vector[:q].copy() for vector in (self.order, self.mu, self.w))
        return replace(self, order=order, gram=_matrix(), mu=mu, w=w, basis=_matrix(), y=_vector())

    @property
    def _tolerance(self) -> float:
        return _GRADIENT_TOLERANCE * self.scale

    def _gradient(self) -> Float64:
        """The gradient of ``l`` at every member, by position; O(q^2)."""
        a, q = self.n_active, self.size
        return np.asarray(self.mu[:q] - self.gram[:q, :a] @ self.w[:a])

    def _reserve(self, size: int) -> None:
        if size <= len(self.gram):
            return
        room = max(size, _FIRST, 2 * len(self.gram))
        for name in ("gram", "basis", "order", "mu", "w", "y"):
            setattr(self, name, _grown(getattr(self, name), room))

    def _swap(self, one: int, other: int) -> None:
        """Exchange two positions; active ones keep their columns of the basis only if the caller sees to it."""
        if one == other:
            return
        K = self.gram[: self.size, : self.size]
        for side in (K, K.T):
            kept = side[one].copy()
            side[one] = side[other]
            side[other] = kept
        for vector in (self.order, self.mu, self.w):
            vector[one], vector[other] = vector[other], vector[one]

    def _unconstrained(self) -> Float64:
        a = self.n_active
        return self.y[:a] @ self.basis[:a, :a]

    def _project(self, k: Float64, diagonal: float) -> "Projection":
        a = self.n_active
        V = self.basis[:a, :a]
        c = V @ k
        return self._refined(k, c @ V, diagonal - float(c @ c), diagonal)

    def _refined(self, k: Float64, b: Float64, s: float, diagonal: float) -> "Projection":
        """Where s has lost digits, Gram-Schmidt once more: what rounding left of k along the basis goes too."""
        if s >= _CANCELLATION * diagonal:
            return Projection(b, s)
        a = self.n_active
        V, K = self.basis[:a, :a], self.gram[:a, :a]
        b = b + (V @ (k - K @ b)) @ V
        # |phi_j - sum b_i phi_i|^2 in full: its error is of second order in b's
        return Projection(b, float(diagonal - 2 * (k @ b) + b @ (K @ b)))

    def _join(self, position: int, gradient: float, projection: "Projection | None" = None) -> Float64:
        """Make a member active; returns the best weights of the active ones, sign ignored."""
        a = self.n_active
        self._swap(position, a)
        diagonal = self.gram[a, a]
        b, s = projection or self._project(self.gram[a, :a], diagonal)
        floor = max(a, 1) * self.noise * diagonal
        if s < floor:
            self.gram[a, a] += floor - s  # the Gram stays the one that is solved
            s = floor
        root = math.sqrt(s)
        step = gradient / s
        self.basis[a, :a] = b * (-1 / root)
        self.basis[a, a] = 1 / root
        self.basis[:a, a] = 0.0
        self.y[a] = gradient / root
        self.n_active = a + 1
        self.joins += 1
        target = np.empty(a + 1)
        np.subtract(self.w[:a], step * b, out=target[:a])
        target[a] = step
        return target

    def _leave(self, column: int) -> None:
        """Make the active member at this position inactive.

        The reflection H = I - 2 h h'/h'h turns its column of the basis into a multiple of the last unit vector. H V is as
        good a basis as V; without its last row it is one of the other members.
        """
        a = self.n_active
        h = self.basis[:a, column].copy()
        first = int((h != 0).argmax())  # rows that came before the member do not hold it
        h = h[first:]
        V = self.basis[first:a, :a]
        y = self.y[first:a]
        h[-1] += math.copysign(math.sqrt(float(h @ h)), h[-1])
        scaled = h * (2 / float(h @ h))
        along = h @ V
        product = np.empty((min(len(V), _STRIP), a))
        for start in range(0, len(V), _STRIP):
            strip = V[start : start + _STRIP]
            strip -= np.multiply.outer(scaled[start : start + _STRIP], along, out=product[: len(strip)])
        y -= scaled * float(h @ y)
        self.basis[:a, column] = self.basis[:a, a - 1]
        self._swap(column, a - 1)
        self.n_active = a - 1
        self.rewritten += 1

    def _settle(self, target: Float64) -> None:
        """From feasible weights to the optimum (Lawson and Hanson 1974, chapter 23); ``l`` rises at every turn.

        ``target`` are the best weights of the active members, sign ignored.
        """
        for _ in range(10 * self.size + 100):
            while len(target) and target.min() < 0:
                self._retreat(target)
                target = self._unconstrained()
            a, q = self.n_active, self.size
            self.w[:a] = target
            if self.joins >= _CHECK_EVERY:
                self.joins = 0
                if self._drifted():
                    return self._refactor()
            if a == q:
                return None
            gradients = self.mu[a:q] - self.gram[a:q, :a] @ target
            best = int(gradients.argmax())
            if gradients[best] <= self._tolerance:
                return None
            target = self._join(a + best, float(gradients[best]))
        return None

    def _retreat(self, target: Float64) -> None:
        """Go towards the target as far as weights stay non-negative; who reaches zero leaves."""
        a = self.n_active
        w = self.w[:a]
        falling = np.flatnonzero(target < 0)
        ratios = w[falling] / (w[falling] - target[falling])
        share = float(ratios.min())
        w += share * (target - w)
        np.maximum(w, 0.0, out=w)
        for column in falling[ratios <= share][::-1]:
            w[column] = 0.0
            self._leave(int(column))

    def _drifted(self) -> bool:
        return bool(np.abs(self._gradient()[: self.n_active]).max(initial=0.0) > 10 * self._tolerance)

    def _refactor(self) -> None:
        """Make the basis anew from the Gram matrix and solve from the present weights."""
        q = self.size
        first = np.argsort(self.w[:q] <= 0, kind="stable")
        self.gram[:q, :q] = self.gram[np.ix_(first, first)]
        for vector in (self.order, self.mu, self.w):
            vector[:q] = vector[first]
        a = int((self.w[:q] > 0).sum())
        try:
            root = cholesky(self.gram[:a, :a], lower=True, check_finite=False)
            self.basis[:a, :a] = solve_triangular(root, np.eye(a), lower=True, check_finite=False)
        except LinAlgError:  # members that are combinations of others: let them come in one by one
            self.w[:q] = 0.0
            a = 0
        self.y[:a] = self.basis[:a, :a] @ self.mu[:a]
        self.n_active, self.joins = a, 0
        self.rewritten += 1
        self._settle(self._unconstrained())

    def _check(self) -> None:
        """Raise `AssertionError` where an invariant is broken; for tests, O(q^3)."""
        a, q = self.n_active, self.size
        w = self.w[:q]
        assert sorted(self.order[:q].tolist()) == list(range(q)), "the order is not one"
        assert (w >= 0).all(), "a weight is negative"
        assert (w[a:] == 0).all(), "an inactive member has a weight"
        if self.is_sealed or not q:
            return
        K, V = self.gram[:q, :q], self.basis[:a, :a]
        assert (K == K.T).all(), "the Gram matrix is not symmetric"
        gradient = self._gradient()
        assert np.abs(gradient[:a]).max(initial=0.0) <= 1e-8 * self.scale, "an active member has a gradient"
        assert gradient.max(initial=0.0) <= 1e-8 * self.scale, "a member of weight zero should have one"
        assert np.abs(V @ K[:a, :a] @ V.T - np.eye(a)).max(initial=0.0) <= 1e-2, "the basis is not orthonormal"
        full = float(self.mu[:q] @ w - w @ K @ w / 2)
        assert abs(self.value - full) <= 1e-8 * max(self.scale, abs(full)), "the value is not l(w)"


class Projections:
    """Several outside elements against one set, in one matrix product instead of many with vectors.

    Their projections stay good while the set grows by members that join: what those add is added when asked for.
    """

    def __init__(self, qp: NonNegativeQP, similarities: Float64) -> None:
        a = qp.n_active
        V = qp.basis[:a, :a]
        self._qp, self._n_active, self._rewritten = qp, a, qp.rewritten
        self._K = similarities[qp.order[: qp.size]]
        C = V @ self._K[:a]
        self._B = C.T @ V
        self._explained = np.einsum("ij,ij->j", C, C)

    @property
    def good(self) -> bool:
        """Whether the basis is still the one they were computed with, but for new rows."""
        return self._rewritten == self._qp.rewritten

    def of(self, which: int, similarities: Float64, diagonal: float) -> Projection:
        """The projection of element number ``which``; O(q) per member that became active since."""
        a0, a = self._n_active, self._qp.n_active
        k = similarities[self._qp.order[:a]]
        later = self._qp.basis[a0:a, :a]
        c = later @ k
        b = c @ later
        b[:a0] += self._B[which]
        return self._qp._refined(k, b, diagonal - float(self._explained[which]) - float(c @ c), diagonal)

    def gains_reach(self, threshold: float, diagonal: Float64, mu: Float64) -> NDArray[np.int8]:
        """For each element whether ``f(L + j) - f(L) >= threshold``: 1 yes, -1 no, 0 where only `gain` can tell.

        For the set as it was when they were projected. Going straight to the best weights of the active members and j,
        sign ignored, gains ``g^2 / (2 s)``. That is an upper bound unless it wakes a member of weight zero, and the value
        itself if no weight turns negative; going as far as weights allow is a lower bound.
        """
        qp, a = self._qp, self._n_active
        w = qp.w[:a]
        g = mu - w @ self._K[:a]
        s = diagonal - self._explained
        sound = (s > _CANCELLATION * diagonal) & (g > qp._tolerance)
        step = np.where(sound, g / np.where(sound, s, 1.0), 0.0)
        fall = step[:, None] * self._B
        new = w - fall
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(new < 0, w / fall, 1.0).min(axis=1, initial=1.0)
        feasible = share * step
        awake = qp.mu[a : qp.size, None] - qp.gram[a : qp.size, :a] @ new.T - step * self._K[a:] > qp._tolerance
        yes = feasible * (g - feasible * s / 2) >= threshold
        no = (g * step / 2 < threshold) & ~awake.any(axis=0)
        verdict = np.where(yes, 1, np.where(no, -1, 0))
        return np.where(sound, verdict, np.where(g > qp._tolerance, 0, -1)).astype(np.int8)
