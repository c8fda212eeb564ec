"""ProtoStream: a set per threshold, filled by gradient (Algorithm 2 of the paper)."""

import math
from typing import ClassVar

import numpy as np

from protosieve._typing import Float64
from protosieve.objectives import Block, Objective
from protosieve.selectors._covers import Covers
from protosieve.selectors._refits import Refit
from protosieve.selectors._selector import parameters
from protosieve.selectors._threshold import Near, ThresholdSelector
from protosieve.selectors._views import BlockView, Criterion, Program

_TOGETHER = 16  # rows that pass and are projected in one product; more are wasted: each row taken changes the rest


class _ByGradient(Criterion):
    """Rows whose gradient at the set's weights reaches a threshold."""

    def __init__(self, view: BlockView, program: Program | Refit, threshold: float) -> None:
        self._view, self._program, self._threshold = view, program, threshold

    def first(self, start: int) -> int | None:
        view = self._view
        passing = view.gradient[start : view.stop] >= self._threshold
        j = start + int(passing.argmax())
        if not passing[j - start]:
            return None
        if not self._program.projected(j):
            self._program.expect(start + np.flatnonzero(passing)[:_TOGETHER])
        return j

    def take(self, j: int) -> None:
        self._program.admit(j)


@parameters
class ProtoStream(ThresholdSelector):
    """Keep, for each of a grid of thresholds, the rows whose gradient passes it; return the best set.

    With ``rho`` the squared largest gradient at zero so far, thresholds are ``tau = (1 + epsilon)^i`` inside
    ``[rho / (2 m), rho m / 2]``. The set of ``tau`` takes row j when it has room and ``grad_j(w) >= sqrt(2 tau / m)``
    at its own best weights w, then solves its weights again. A row like one already kept has a small gradient, so sets
    are diverse, unlike ProtoBasic's. A full set of threshold tau is worth at least ``tau / C_1`` (Lemma 5.6).

    *When it does well*: with kernels narrow enough to tell single rows apart. *When it does not*: sets fill from the
    head of the stream, so the order of rows matters; shuffle sorted rows first. With a wide kernel, such as a Gaussian
    of the median width, the thresholds are too coarse to find m rows: it then keeps far fewer, and can be worse than
    random rows with optimal weights. In both cases the result comes with a note. This is the paper's algorithm,
    unchanged.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep at most, m.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
    epsilon : float in (0, 1), default 0.4
        Ratio of neighbouring thresholds, minus one. Smaller is finer and slower; the paper found that it gains little.
    mean : Mean, optional
        How the target's mean is computed; see `protosieve.means`. By default exact for a target of up to 10,000 to
        50,000 rows, else calibrated.
    objective : Objective, optional
        What to maximise instead of the kernel mean: `LeastSquares`, `Logistic` or `Poisson`; see
        `protosieve.objectives`. Rows are features then, and kernel and mean are not used.
    random_state : int, NumPy generator or None
        Seed of the samples for the width and the mean.
    block_size : int, default 512
        Rows judged together. With a target it changes only the last bits of a result. Without one it also decides which
        rows the width is learnt from, and when the mean is updated.
    verbose : bool, default False
        Print progress on standard error, once a second.

    Notes
    -----
    There are ``T = 2 log(m) / log(1 + epsilon)`` thresholds. A row costs its ``mu`` and one kernel value per row held
    by a set that is not full; a row taken costs O(m^2) per set that takes it. Memory is O(T m (d + m)).

    References
    ----------
    Streaming Methods for Restricted Strongly Convex Functions with Applications to Prototype Selection, Algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import ProtoStream
    >>> from protosieve.kernels import Gaussian
    >>> X, digit = load_digits(return_X_y=True)
    >>> selector = ProtoStream(n_prototypes=60, kernel=Gaussian(width=12.0)).fit(X)
    >>> sorted(set(digit[selector.prototype_indices_].tolist()))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

    The same, as a stream in chunks of any size:

    >>> stream = ProtoStream(n_prototypes=60, kernel=Gaussian(width=12.0))
    >>> for start in range(0, len(X), 100):
    ...     stream = stream.partial_fit(X[start:start + 100], target=X if start == 0 else None)
    >>> bool((stream.prototype_indices_ == selector.prototype_indices_).all())
    True
    """

    method: ClassVar[str] = "stream"
    summary: ClassVar[str] = "a set per threshold, filled by gradient, in one pass"

    objective: Objective | None = None

    def _singleton_scores(self, objective: Objective, block: Block) -> Float64:
        return np.where(block.pull > 0, block.pull, -np.inf)

    def _window(self, peak: float) -> tuple[float, float]:
        rho = peak**2
        return rho / (2 * self.n_prototypes), rho * self.n_prototypes / 2

    def _criterion(self, view: BlockView, near: Near, tau: float) -> Criterion:
        assert not isinstance(near, Covers)  # which has no gradients
        return _ByGradient(view, near.program(view), math.sqrt(2 * tau / self.n_prototypes))
