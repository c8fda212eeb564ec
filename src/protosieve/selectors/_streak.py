"""Streak: a set per threshold, filled by marginal value (Elenberg et al. 2017), the paper's baseline."""

from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from protosieve._typing import Float64, Indices
from protosieve.objectives import Block, Need, Objective
from protosieve.selectors._covers import ByGain, Covers
from protosieve.selectors._refits import Refits
from protosieve.selectors._selector import parameters
from protosieve.selectors._threshold import Near, ThresholdSelector
from protosieve.selectors._views import BlockView, Criterion, Program
from protosieve.weights import definite_cholesky

_SLACK = 1e-6  # the bound is raised by this share, so that rounding never makes it understate


_FIRST_LOOK, _LONGEST_LOOK = 4, 128  # rows judged in one product: more each time none of them is taken


class _ByGain(Criterion):
    """Rows whose marginal value ``f(L + j) - f(L)`` reaches a threshold, found without a program per row.

    At the best weights of L no gradient inside L is positive, so by concavity, whatever the signs,

        f(L + j) - f(L)  <=  max over a, d of  g_j a - |a phi_j + sum_i d_i phi_i|^2 / 2  =  g_j^2 / (2 s_j)

    with ``s_j`` what the span of all of L, members of weight zero included, leaves of ``phi_j``. With the Cholesky
    factor ``K_LL = R R'`` and ``C = R^-1 K_L,block`` it is the diagonal less the column sums of ``C^2``; the basis of
    the weights serves as R^-1 unless it leaves members out. A row that joins adds a line to C and changes nothing else.
    Rows whose bound passes go to `Projections.gains_reach`, and the few it leaves open to the program itself.
    """

    def __init__(self, view: BlockView, program: Program, threshold: float) -> None:
        self._view, self._program, self._threshold = view, program, threshold
        self._left = view.block.diagonal.copy()
        self._C: Float64 | None = None
        self._lines = 0
        self._look = _FIRST_LOOK

    def first(self, start: int) -> int | None:
        rows = start + np.flatnonzero(self._bounds(start) >= self._threshold)
        while len(rows):
            together, rows = rows[: self._look], rows[self._look :]
            j = self._first_of(together)
            if j is not None:
                self._look = _FIRST_LOOK
                return j
            self._look = min(2 * self._look, _LONGEST_LOOK)
        return None

    def _first_of(self, rows: Indices) -> int | None:
        program, block = self._program, self._view.block
        verdicts = program.project(rows).gains_reach(self._threshold, block.diagonal[rows], block.mu[rows])
        for i in np.flatnonzero(verdicts >= 0):
            j = int(rows[i])
            if verdicts[i] == 1 or program.qp.gain(*program.look(j)) >= self._threshold:
                return j
        return None

    def _bounds(self, start: int) -> Float64:
        """The upper bound of every row behind ``start``."""
        view = self._view
        rows = slice(start, view.stop)
        g = np.maximum(view.gradient[rows], 0.0)
        if self._C is None and g.any():
            self._project()
        left = np.maximum(self._left[rows], self._program.qp.noise * view.block.diagonal[rows])
        return np.asarray(g * g * (0.5 * (1 + _SLACK)) / np.where(left > 0, left, np.inf))

    def _project(self) -> None:
        view, qp = self._view, self._program.qp
        self._C = np.empty((qp.size + view.stop - view.start, len(view.block)))
        if qp.size:
            C = self._C[: qp.size]
            K = self._program.similarities.astype(np.float64)
            if qp.n_inside == qp.size:
                qp.coordinates(K, out=C)
            else:
                root, _ = definite_cholesky(qp.members_gram(), qp.noise)
                C[:] = solve_triangular(root, K, lower=True, check_finite=False)
            self._left -= np.einsum("ij,ij->j", C, C)
        self._lines = qp.size

    def take(self, j: int) -> None:
        """One more line of C: what row j has that no member had, and how much of it each row behind has."""
        view = self._view
        self._program.admit(j)
        if self._left[j] <= 10 * self._program.qp.noise * view.block.diagonal[j]:
            return  # nothing but rounding is left of it
        assert self._C is not None
        behind = slice(j + 1, view.stop)
        C = self._C[: self._lines]
        new = self._C[self._lines, behind]
        np.subtract(self._program.similarities[-1, behind], C[:, j] @ C[:, behind], out=new)
        new /= np.sqrt(self._left[j])
        self._left[behind] -= new * new
        self._lines += 1


class _ByValue(Criterion):
    """Rows whose marginal value reaches a threshold where sets are fitted: a fit per row that is not ruled out."""

    def __init__(self, view: BlockView, near: Refits, threshold: float) -> None:
        self._view, self._objective, self._threshold = view, near.objective, threshold
        self._program = near.program(view)

    def first(self, start: int) -> int | None:
        view, before = self._view, self._view.sieve.value
        for j in range(start, view.stop):
            pull = float(view.gradient[j]) if len(view.gradient) else None
            if not self._objective.may_gain(pull, self._threshold):
                continue
            self._grown = self._program.with_row(j)
            if self._grown.value - before >= self._threshold:
                return j
        return None

    def take(self, j: int) -> None:
        self._program.admit(j, self._grown)


@parameters
class Streak(ThresholdSelector):
    """Keep, for each of a grid of thresholds, the rows whose marginal value passes it; return the best set.

    With v the best value of a single row so far, thresholds are ``tau = (1 + epsilon)^i`` inside
    ``[(1 - epsilon) v / (9 m^2), v m]``. The set of ``tau`` takes row j when it has room and
    ``f(L + j) - f(L) >= tau / m``, the best non-negative weights on both sides. This is the baseline of the paper: as
    good as ProtoStream, and slower, since values need more work than gradients. Here bounds from incremental algebra
    decide most rows, so that it is about ten times slower, not a hundred times.

    Its lowest thresholds lie far below the rounding errors of float32 kernels; such sets fill with the first rows.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep at most, m.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
    epsilon : float in (0, 1), default 0.4
        Ratio of neighbouring thresholds, minus one.
    mean : Mean, optional
        How the target's mean is computed; see `protosieve.means`. By default exact for a target of up to 10,000 to
        50,000 rows, else calibrated.
    objective : Objective, optional
        What to maximise instead of the kernel mean: `Coverage`, which takes a kernel and no mean, `LeastSquares`,
        `Logistic`, `Poisson`, or `SetFunction` for a function of your own, which take neither. See
        `protosieve.objectives`.
    random_state : int, NumPy generator or None
        Seed of the samples for the width and the mean.
    block_size : int, default 512
        Rows judged together. With a target it changes only the last bits of a result. Without one it also decides which
        rows the width is learnt from, and when the mean is updated.
    verbose : bool, default False
        Print progress on standard error, once a second.

    Notes
    -----
    There are ``T = log(9 m^3 / (1 - epsilon)) / log(1 + epsilon)`` thresholds. A row costs its ``mu`` and O(m^2) per
    set that is not full. Memory is O(T m (d + m)).

    References
    ----------
    Elenberg, Dimakis, Feldman, Karbasi. Streaming Weak Submodularity: Interpreting Neural Networks on the Fly. 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protosieve import Streak
    >>> from protosieve.kernels import Gaussian
    >>> X, species = load_iris(return_X_y=True)
    >>> selector = Streak(n_prototypes=12, kernel=Gaussian(width=0.5)).fit(X)
    >>> sorted(set(species[selector.prototype_indices_].tolist()))
    [0, 1, 2]
    """

    method: ClassVar[str] = "streak"
    summary: ClassVar[str] = "a set per threshold, filled by marginal value, in one pass"
    is_slow: ClassVar[bool] = True
    _needs: ClassVar[tuple[Need, ...]] = (Need.VALUES,)

    objective: Objective | None = None

    def _singleton_scores(self, objective: Objective, block: Block) -> Float64:
        scores = objective.singles(block)
        return np.where(scores > 0, scores, -np.inf)

    def _window(self, peak: float) -> tuple[float, float]:
        m, v = self.n_prototypes, peak**2
        return (1 - self.epsilon) * v / (9 * m**2), v * m

    def _criterion(self, view: BlockView, near: Near, tau: float) -> Criterion:
        threshold = tau / self.n_prototypes
        if isinstance(near, Covers):
            return ByGain(view, near, lambda _: threshold)
        if isinstance(near, Refits):
            return _ByValue(view, near, threshold)
        return _ByGain(view, near.program(view), threshold)
