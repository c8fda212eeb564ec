"""ProtoStream: a set per threshold, filled by gradient (Algorithm 2 of the paper)."""

import math
from typing import Any, ClassVar

import numpy as np

from protosieve._typing import Float64
from protosieve.means import Mean
from protosieve.objectives import Block, Objective
from protosieve.selectors._refits import Refit, Refits
from protosieve.selectors._threshold import ThresholdSelector
from protosieve.selectors._views import BlockView, Criterion, Program, Similarities

__all__ = ["ProtoStream"]


_TOGETHER = 16  # rows that pass and are projected in one product; more are wasted, since rows taken change the rest


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


class ProtoStream(ThresholdSelector):
    """Keep, for each of a grid of thresholds, the rows whose gradient passes it; return the best set.

    With ``rho`` the squared largest gradient at zero so far, thresholds are ``tau = (1 + epsilon)^i`` inside
    ``[rho / (2 m), rho m / 2]``. The set of ``tau`` takes row j when it has room and ``grad_j(w) >= sqrt(2 tau / m)``
    at its own best weights w, then solves its weights again. A row like one already kept has a small gradient, so sets
    are diverse, unlike ProtoBasic's. A full set of threshold tau is worth at least ``tau / C_1`` (Lemma 5.6).

    *When it does well*: kernels narrow enough that single rows differ. *When it does not*: sets fill from the head of
    the stream, so order matters; and with a wide kernel, such as a Gaussian of the median width, the thresholds are too
    coarse to find m rows: it then keeps far fewer, and can be worse than random rows with optimal weights. It is the
    paper's algorithm and stays exactly that.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep at most, m.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
    epsilon : float in (0, 1), default 0.4
        Ratio of neighbouring thresholds, less one. Smaller is finer and slower; the paper found little gain in it.
    mean : Mean, optional
        How the target's mean is obtained; see `protosieve.means`. By default exact where there is a target and that is
        cheap, up to 10,000 to 50,000 rows, else calibrated.
    objective : Objective, optional
        What a selection is worth, where it is not the kernel mean: `LeastSquares`, `Logistic`, `Poisson`; see
        `protosieve.objectives`. Rows are then features; kernel and mean have no part in it.
    random_state : int, NumPy generator or None
        Seed of the sample for the width and of the reservoir.
    block_size : int, default 512
        Rows judged together. With a target results depend on it in the last bits only; without one also through the
        rows the width is learnt from and the moments at which the sample is looked at.
    verbose : bool, default False
        Say on standard error, once a second, how far a long call has come.

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

    def __init__(
        self,
        n_prototypes: int = 10,
        *,
        kernel: Any = None,
        epsilon: float = 0.4,
        mean: Mean | None = None,
        objective: Objective | None = None,
        random_state: Any = None,
        block_size: int = 512,
        verbose: bool = False,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.kernel = kernel
        self.epsilon = epsilon
        self.mean = mean
        self.objective = objective
        self.random_state = random_state
        self.block_size = block_size
        self.verbose = verbose

    def _singleton_scores(self, objective: Objective, block: Block) -> Float64:
        return np.where(block.pull > 0, block.pull, -np.inf)

    def _window(self, peak: float) -> tuple[float, float]:
        rho = peak**2
        return rho / (2 * self.n_prototypes), rho * self.n_prototypes / 2

    def _criterion(self, view: BlockView, near: Similarities | Refits, tau: float) -> Criterion:
        return _ByGradient(view, near.program(view), math.sqrt(2 * tau / self.n_prototypes))
