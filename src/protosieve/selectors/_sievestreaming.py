"""SieveStreaming: a set per threshold, equal weights (Badanidiyuru et al. 2014)."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from protosieve._typing import Array, Float64
from protosieve.errors import arg
from protosieve.objectives import Block, Coverage, Covered, KernelMean, Need, Objective, Weighed
from protosieve.selectors._covers import ByGain, Covers
from protosieve.selectors._selector import parameters
from protosieve.selectors._sieves import Sieve
from protosieve.selectors._threshold import Near, ThresholdSelector
from protosieve.selectors._views import BlockView, Criterion, EqualSets, Sets, Similarities
from protosieve.weights import EqualWeights

_NOTHING = float(np.finfo(np.float64).tiny)
_TOGETHER = 16  # rows that pass and whose similarities are computed in one product


class _ByMarginalValue(Criterion):
    """Rows whose marginal value at equal weights reaches an equal share of what the set still lacks of ``tau / 2``.

    With g the gradient at the set's weights the marginal value ``mu_j / m - K_jj / (2 m^2) - sum_i K_ij / m^2`` is
    ``(g_j - K_jj / (2 m)) / m``. A row that joins lowers the gradients behind it by its similarities over m.
    """

    def __init__(self, view: BlockView, near: Similarities, least: Callable[[Sieve], float], m: int) -> None:
        self._view, self._near, self._least, self._m = view, near, least, m
        self._own = view.block.diagonal / (2 * m)

    def first(self, start: int) -> int | None:
        view = self._view
        rows = slice(start, view.stop)
        passing = np.flatnonzero((view.gradient[rows] - self._own[rows]) / self._m >= self._least(view.sieve))
        if not len(passing):
            return None
        self._near.expect((start + passing[:_TOGETHER]).tolist())
        return start + int(passing[0])

    def take(self, j: int) -> None:
        view, block = self._view, self._view.block
        slot, line = self._near.newcomer(j), self._near.line(j)
        weights = view.sieve.own()
        assert isinstance(weights, EqualWeights)
        weights.join(self._m * (block.mu[j] - view.gradient[j]), block.diagonal[j], block.mu[j])
        view.sieve.members.append(slot)
        rest = slice(j + 1, view.stop)
        view.gradient[rest] -= line[rest] / self._m


@parameters
class SieveStreaming(ThresholdSelector):
    """Keep, for each of a grid of thresholds, the rows whose value at *equal* weights passes it; return the best set.

    Every row kept weighs 1/m, with m = ``n_prototypes`` also where fewer rows are kept. A set S is then worth

        F(S) = sum_S mu_j / m - sum_S,S K_ij / (2 m^2)

    which is submodular for kernels that are nowhere negative: what a row adds shrinks as the set grows. With v the best
    value of a single row so far, thresholds are ``tau = (1 + epsilon)^i`` inside ``[v, 2 m v]``. The set of ``tau``
    takes row j when it has room and ``F(S + j) - F(S) >= (tau / 2 - F(S)) / (m - |S|)``.

    *The guarantee*: ``1/2 - epsilon`` of the best F of any m rows, in one pass and in any order, where F is also
    monotone, that is where no row ever lowers it: ``mu_j >= (K_jj / 2 + sum_S K_ij) / m`` for every row j and every set
    S without it. That holds while the rows of S are, summed up over m, no more similar to j than the target is
    on average. It does not hold of every data set: copies of one row break it when m of them outweigh its share of the
    target, and a kernel so narrow that ``mu_j < K_jj / (2 m)`` breaks it at the first row. There the guarantee says
    nothing. As every weight is positive, a set here refuses rows that lower its value, which where F is
    monotone changes nothing; if no row is worth having, the least bad one is the answer.

    *When to use it*: if you cannot use weights, as in a gallery or a panel. *When not*: on sorted streams, since sets
    fill from the head of the stream. Equal weights are a restriction: with the same number of rows, selectors with
    weights have a residual that is several times smaller.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep at most, m; one over it is the weight of each.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
    epsilon : float in (0, 1), default 0.1
        Ratio of neighbouring thresholds, minus one, and the loss in the guarantee.
    mean : Mean, optional
        How the target's mean is computed; see `protosieve.means`. By default exact for a target of up to 10,000 to
        50,000 rows, else calibrated.
    objective : Coverage, optional
        What to maximise instead of F: how near the target's rows are to the nearest row kept, the value this algorithm
        is mostly used with. It is monotone and submodular for any kernel, so the guarantee holds. Weights are shares of
        the target then. No mean is used.
    random_state : int, NumPy generator or None
        Seed of the samples for the width and the mean.
    block_size : int, default 512
        Rows judged together. With a target it changes only the last bits of a result. Without one it also decides which
        rows the width is learnt from, and when the mean is updated.
    verbose : bool, default False
        Print progress on standard error, once a second.

    Notes
    -----
    There are ``T = log(2 m) / log(1 + epsilon)`` thresholds. A row costs its ``mu`` and one kernel value per row held
    by a set that is not full; a row taken costs O(block_size) per set that takes it. Memory is O(T m d).

    References
    ----------
    Badanidiyuru, Mirzasoleiman, Karbasi, Krause. Streaming Submodular Maximization: Massive Data Summarization on the
    Fly. 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import SieveStreaming
    >>> X, digit = load_digits(return_X_y=True)
    >>> selector = SieveStreaming(n_prototypes=20, random_state=0).fit(X)
    >>> set(selector.weights_.tolist())
    {0.05}
    >>> len(set(digit[selector.prototype_indices_].tolist())) >= 7
    True
    """

    method: ClassVar[str] = "sieve"
    summary: ClassVar[str] = "a set per threshold, in one pass; all weigh the same"
    weighs_equally: ClassVar[bool] = True
    _needs: ClassVar[tuple[Need, ...]] = (Need.GAINS,)
    _keeps_more: ClassVar[str] = (
        "With weights of 1/m a row must be like much of the target: a wider kernel or a larger "
        f"{arg('n_prototypes')} keeps more"
    )

    objective: Objective | None = None
    epsilon: float = 0.1

    def _singleton_scores(self, objective: Objective, block: Block) -> Float64:
        m = self.n_prototypes
        equal = isinstance(objective, KernelMean)
        value = block.mu / m - block.diagonal / (2 * m**2) if equal else block.mu
        return np.where(block.mu > 0, value, -np.inf)

    def _window(self, peak: float) -> tuple[float, float]:
        return peak, 2 * self.n_prototypes * peak

    def _least_gain(self, tau: float, sieve: Sieve) -> float:
        """An equal share of what the set still lacks of ``tau / 2``; a row that covers nothing new is of no use."""
        least = _NOTHING if isinstance(sieve.qp, Covered) else 0.0
        return max(least, (tau / 2 - sieve.value) / (self.n_prototypes - len(sieve.members)))

    def _criterion(self, view: BlockView, near: Near, tau: float) -> Criterion:
        least = partial(self._least_gain, tau)
        if isinstance(near, Covers):
            return ByGain(view, near, least)
        assert isinstance(near, Similarities)  # no other objective has gains
        return _ByMarginalValue(view, near, least, self.n_prototypes)

    def _sets(self, objective: Objective) -> Sets:
        if isinstance(objective, KernelMean):
            return EqualSets(objective, self.n_prototypes)
        return super()._sets(objective)

    def _weigh(self, objective: KernelMean | Coverage, rows: Array, start: Float64) -> Weighed:
        return objective.weighed(rows, np.full(len(rows), 1 / self.n_prototypes))
