"""ProtoBasic: the m rows most similar to the target (Algorithm 1 of the paper)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.means import Mean
from protosieve.objectives import Block, Need, Objective
from protosieve.sampling import SampledRows
from protosieve.selectors._base import Selection, StreamSelector

__all__ = ["Best", "ProtoBasic"]


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
        """The m best of those held and some later rows."""
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

    def others(self, sample: SampledRows) -> SampledRows:
        """Those that are not in a sample; their means are left open."""
        other = ~np.isin(self.indices, sample.numbers)
        rows = self.rows[other].astype(sample.rows.dtype, copy=False)
        return SampledRows(rows, self.indices[other], np.zeros(len(rows)))

    def renew(self, objective: Objective) -> None:
        """The mean has changed."""
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
        assert len(self.indices) == len(self.rows) == len(self.pull) <= m
        assert (np.diff(self.indices) > 0).all()


class ProtoBasic(StreamSelector[Best, Objective]):
    """Keep the m rows with the largest gradient at zero, weigh them at the end.

    The simplest streaming selector with a guarantee: for an objective with restricted strong concavity ``c_m`` and
    smoothness ``C_m`` the value is at least ``c_m / C_m`` of the best set of m rows (Theorem 5.3). For the kernel mean
    the gradient at zero is ``mu_j``, the mean similarity of row j to the target.

    It looks at one row at a time and never at two together, so it keeps many rows that say the same: expect little
    variety. It is the fastest, and the method of choice where all that is wanted is the part of the source that is most
    like the target. Of equal gradients the earlier row stays.

    Adding a better row can lower ``l`` of the set; what never falls along the stream is ``sum_j mu_j^2``, which the
    guarantee rests on.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep, m.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
    mean : Mean, optional
        How the target's mean is obtained; see `protosieve.means`. By default exact where there is a target and that is
        cheap, up to 10,000 to 50,000 rows, else calibrated.
    objective : Objective, optional
        What a selection is worth, where it is not the kernel mean: `LeastSquares`, `Logistic`, `Poisson`; `SetFunction`
        for one's own. See `protosieve.objectives`; kernel and mean have no part in it.
    random_state : int, NumPy generator or None
        Seed of the sample for the width and of the reservoir.
    block_size : int, default 512
        Rows judged together. With a target results depend on it in the last bits only; without one also through the
        rows the width is learnt from and the moments at which the sample is looked at.
    verbose : bool, default False
        Say on standard error, once a second, how far a long call has come.

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
    _needs: ClassVar[Need] = Need.VALUES

    def __init__(
        self,
        n_prototypes: int = 10,
        *,
        kernel: Any = None,
        mean: Mean | None = None,
        objective: Objective | None = None,
        random_state: Any = None,
        block_size: int = 512,
        verbose: bool = False,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.kernel = kernel
        self.mean = mean
        self.objective = objective
        self.random_state = random_state
        self.block_size = block_size
        self.verbose = verbose

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
