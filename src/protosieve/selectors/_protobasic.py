"""ProtoBasic: the m rows most similar to the target (Algorithm 1 of the paper)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.objectives import Block, Need, Objective
from protosieve.sampling import SampledRows
from protosieve.selectors._base import StreamSelector
from protosieve.selectors._selector import Selection, parameters


@storable
@dataclass
class Best:
    """The rows with the largest pull so far, in the order of the stream."""

    indices: NDArray[np.int64]
    rows: Array
    pull: Float64

    @classmethod
    def none(cls, like: Array) -> "Best":
        return cls(np.zeros(0, np.int64), like[:0].copy(), np.zeros(0))

    def take(self, pull: Float64, numbers: NDArray[np.int64], rows: Array, m: int) -> None:
        """Keep the m best of the current rows and some later ones."""
        better = np.flatnonzero(pull > self.pull.min()) if len(self.pull) == m else np.arange(len(pull))
        if not len(better):
            return
        both = np.concatenate([self.pull, pull[better]])
        # the m largest, of equal ones the earliest: a stable sort of the falling values
        keep = np.sort(np.argsort(-both, kind="stable")[:m])
        self.pull = both[keep]
        self.indices = np.concatenate([self.indices, numbers[better]])[keep]
        self.rows = np.concatenate([self.rows, rows[better]])[keep]

    def first(self, m: int) -> "Best":
        """The m best of them."""
        found = Best.none(self.rows)
        found.take(self.pull, self.indices, self.rows, m)
        return found

    def taken(self, which: NDArray[np.bool_]) -> "Best":
        """Some of them."""
        return Best(self.indices[which], self.rows[which], self.pull[which])

    def others(self, sample: SampledRows) -> SampledRows:
        """The rows that are not in a sample; their means are not computed."""
        other = ~np.isin(self.indices, sample.numbers)
        rows = self.rows[other].astype(sample.rows.dtype, copy=False)
        return SampledRows(rows, self.indices[other], np.zeros(len(rows)))

    def renew(self, objective: Objective) -> None:
        """Compute gradients again after the mean has changed."""
        self.pull = objective.at_zero(self.rows)

    def selection(self) -> Selection:
        none = len(self.pull) == 0 or self.pull.max() <= 0
        kept = slice(0) if none else slice(None)
        return Selection(self.indices[kept], self.rows[kept], np.zeros(len(self.pull[kept])))

    def _check_form(self) -> None:
        require(are_rows(self.rows) and are_finite(self.pull), "the best rows")
        require(self.indices.shape == self.pull.shape == (len(self.rows),), "what is known of the best rows")
        require((np.diff(self.indices) > 0).all() and (self.indices >= 0).all(), "the numbers of the best rows")

    def _check(self, m: int) -> None:
        self._check_form()
        assert len(self.pull) <= m


@parameters
class ProtoBasic(StreamSelector[Best, Objective]):
    """Keep the m rows with the largest gradient at zero, weigh them at the end.

    The simplest streaming selector with a guarantee: for an objective with restricted strong concavity ``c_m`` and
    smoothness ``C_m`` the value is at least ``c_m / C_m`` of the best set of m rows (Theorem 5.3). For the kernel mean
    the gradient at zero is ``mu_j``, the mean similarity of row j to the target.

    It never compares rows with each other, so it keeps many similar rows: expect little variety. It is the fastest
    selector, and the right one if all you want is the part of the source that is most like the target. Of equal
    gradients the earlier row stays.

    Where the objective has values only, of sets, the m rows that are worth most alone are kept (Theorem 5.5).

    A better row can lower ``l`` of the set; what never falls along the stream is ``sum_j mu_j^2``, on which the
    guarantee rests.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep, m.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
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
    O(log m) per row beside its ``mu``; memory m (d + 2) numbers. The weights at the end cost O(m^3).

    References
    ----------
    Streaming Methods for Restricted Strongly Convex Functions with Applications to Prototype Selection, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protosieve import ProtoBasic
    >>> X, species = load_iris(return_X_y=True)
    >>> selector = ProtoBasic(n_prototypes=5, random_state=0).fit(X)
    >>> len(selector.weights_), bool((selector.weights_ >= 0).all())
    (5, True)

    Five rows from the middle of the data, none of them a setosa:

    >>> sorted(set(species[selector.prototype_indices_].tolist()))
    [1, 2]
    """

    method: ClassVar[str] = "basic"
    summary: ClassVar[str] = "the rows most similar to the target"
    _needs: ClassVar[tuple[Need, ...]] = (Need.VALUES,)

    objective: Objective | None = None

    def _start(self, block: Block, objective: Objective, rng: np.random.Generator) -> Best:
        return Best.none(block.rows)

    def _judge(self, progress: Best, objective: Objective, block: Block) -> None:
        progress.take(block.pull, block.numbers, block.rows, self.n_prototypes)

    def _refresh(self, progress: Best, objective: Objective) -> None:
        progress.renew(objective)

    def _value(self, progress: Best) -> None:
        return None

    def _held(self, progress: Best, objective: Objective) -> NDArray[np.int64]:
        return progress.indices

    def _choose(self, progress: Best, objective: Objective) -> Selection:
        return progress.selection()
