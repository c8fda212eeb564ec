"""MMDCritic: batch greedy selection with equal weights (Kim, Khanna and Koyejo)."""

from typing import ClassVar

import numpy as np

from protosieve._typing import Array, Float64, Indices
from protosieve.objectives import Block, KernelMean, Weighed
from protosieve.selectors._batch import BatchSelector, Picks, earliest, rounding
from protosieve.selectors._progress import Progress
from protosieve.selectors._selector import parameters

_PART = 4096  # rows a chosen one is compared with at once


@parameters
class MMDCritic(BatchSelector[KernelMean]):
    """Add the row that brings the plain mean of the prototypes closest to the target, m times; all rows in memory.

    Every prototype counts the same: t of them have weight 1 / t each, and ``l`` at these weights is half of what the
    paper calls ``J_b``:

        J_b(S) = 2 / t  sum_{i in S} mu_i  -  1 / t^2  sum_{i, j in S} k(x_i, x_j),    t = |S|.

    Of ``J_b(S + j)``, t rows with j, only ``2 / t  mu_j - 1 / t^2 (2 sum_{i in S} k(x_i, x_j) + k(x_j, x_j))`` depends
    on j. Times t / 2, the row to take is the one with the largest

        mu_j  -  (2 sum_{i in S} k(x_i, x_j) + k(x_j, x_j)) / (2 t),

    of equal ones the earliest. Choices are nested: the first k of ``order_`` are what ``n_prototypes=k`` would choose.

    Use it if all prototypes must count the same: an unweighted subset to look at, to label or to train on. If you can
    use weights, `ProtoDash` comes closer to the target with the same number of rows. If no remaining row fits, adding
    one lowers ``J_b``; m rows are returned all the same, and ``order_objectives_`` shows where it was best.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep, m; all rows if there are fewer.
    kernel : Kernel or function, default MultiScale(width="median")
        Similarity of rows; the default learns its width from the data.
    mean : Mean, optional
        How the target's mean is computed; by default exact for up to 10,000 to 50,000 rows, else calibrated.
    random_state : int, Generator or None
        Seed of the samples for the width and the mean.
    block_size : int, default 512
        Rows whose mean is computed at once.
    verbose : bool, default False
        Print progress on standard error, once a second.

    Notes
    -----
    Beside the mean: one kernel value per row and prototype, O(n m d) time, and memory of the rows and O(n).

    References
    ----------
    B. Kim, R. Khanna, O. Koyejo: Examples are not Enough, Learn to Criticize! Criticism for Interpretability.
    NIPS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protosieve import MMDCritic
    >>> X, species = load_iris(return_X_y=True)
    >>> selector = MMDCritic(n_prototypes=4, random_state=0).fit(X)
    >>> selector.weights_
    array([0.25, 0.25, 0.25, 0.25])
    >>> sorted(set(species[selector.prototype_indices_].tolist()))
    [0, 1, 2]
    """

    method: ClassVar[str] = "critic"
    summary: ClassVar[str] = "greedy over all rows at once; all weigh the same"
    weighs_equally: ClassVar[bool] = True

    def _pick(self, objective: KernelMean, source: Block, progress: Progress | None) -> Picks:
        m = min(self.n_prototypes, len(source)) if source.mu.max() > 0 else 0  # no set of rows with mu <= 0 has l > 0
        chosen: Indices = np.zeros(m, np.intp)
        values = np.zeros(m)
        open_mu, total = source.mu.copy(), np.zeros(len(source))  # total: sum_{i in S} k(x_i, x_j)
        sum_mu = sum_k = 0.0
        for t in range(1, m + 1):
            j = chosen[t - 1] = earliest(open_mu - (2 * total + source.diagonal) / (2 * t), rounding(source))
            sum_mu += source.mu[j]
            sum_k += 2 * total[j] + source.diagonal[j]
            values[t - 1] = sum_mu / t - sum_k / (2 * t * t)
            open_mu[j] = -np.inf  # a row is taken once
            self._add_similarities(total, objective, source, j)
            if progress is not None:
                progress.note(t, float(values[t - 1]))
        return Picks(chosen, np.full(m, 1 / max(m, 1)), values)

    def _add_similarities(self, total: Float64, objective: KernelMean, source: Block, row: int) -> None:
        one = source.points.take(slice(row, row + 1))
        for start in range(0, len(source), _PART):
            part = slice(start, start + _PART)
            total[part] += objective.kernel.block(source.points.take(part), one)[:, 0]

    def _weigh(self, objective: KernelMean, rows: Array, start: Float64) -> Weighed:
        """Equal weights, and ``l`` there: half of ``J_b``."""
        return objective.weighed(rows, start)
