"""The base of selectors that need all rows at once: compute every ``mu``, then let the algorithm choose."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64, Indices
from protosieve.objectives import Block, Objective
from protosieve.result import Prototypes
from protosieve.selectors._progress import Progress
from protosieve.selectors._selector import Selection, Selector, generator
from protosieve.selectors._stream import Counts, ObjectiveT, Recorder

_ROUNDING = 4  # times the machine epsilon times the largest mu: gradients that are closer are equal


@dataclass(frozen=True)
class Picks:
    """Rows in the order they were chosen, their weights at the end, and ``l`` after each."""

    indices: Indices
    weights: Float64
    values: Float64


class BatchSelector(Selector, Generic[ObjectiveT]):
    """Base of the selectors that hold all rows in memory: ``fit`` checks, computes every ``mu``, and has rows chosen.

    An algorithm supplies one step, ``_pick``: from all rows, as one `Block`, to a `Picks` of at most ``n_prototypes``,
    by an objective of the kind it can work with (``ObjectiveT``).
    A ``fit`` either succeeds or leaves the selector unchanged.
    """

    _result: Prototypes
    _choice: Picks
    _known: ObjectiveT

    @abstractmethod
    def _pick(self, objective: ObjectiveT, source: Block, progress: Progress | None) -> Picks: ...

    def fit(self, X: Any, y: Any = None, *, target: Any = None) -> Self:
        """Select from the rows of ``X``.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        y : ignored
        target : array of shape (n_target, d), optional
            The rows to match; by default ``X`` itself.

        Returns
        -------
        self
        """
        with self._lock, self._unchanged_on_error(), one_thread():
            rows, given = self._rows_to_fit(X, y, target)
            match = rows if given is None and self._compares_rows else given
            objective = cast(ObjectiveT, self._objective(rows[: self.block_size], match, generator(self.random_state)))
            source = self._survey(objective, rows)
            choice = self._pick(objective, source, self._progress(self.n_prototypes, "prototypes"))
            selection = Selection(choice.indices.astype(np.int64), rows[choice.indices], choice.weights)
            result = self._prototypes(objective, selection, len(rows), Recorder(), Counts())
            objective.own()
            self._choice, self._result, self._known = choice, result, objective
        return self

    @property
    def result_(self) -> Prototypes:
        """Everything about the selection, a frozen `Prototypes`."""
        check_is_fitted(self)
        return self._result

    @property
    def n_samples_seen_(self) -> int:
        """Rows ``fit`` was given."""
        return self.result_.n_seen

    @property
    def order_(self) -> NDArray[np.int64]:
        """Row numbers in the order they were chosen: the first k are those that ``n_prototypes=k`` would choose."""
        check_is_fitted(self)
        return self._choice.indices.astype(np.int64)

    @property
    def order_objectives_(self) -> Float64:
        """``l`` after each choice, in the rows' precision: where it flattens out, more prototypes add little."""
        check_is_fitted(self)
        return self._choice.values.copy()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_result")

    def _known_objective(self) -> Objective:
        check_is_fitted(self)
        return self._known

    def _progress(self, total: int, unit: str) -> Progress | None:
        return Progress(type(self).__name__, total, unit) if self.verbose else None

    def _survey(self, objective: Objective, rows: Array) -> Block:
        """All rows as one block, computed ``block_size`` rows at a time; O(n size_of_mean d)."""
        parts = [slice(start, start + self.block_size) for start in range(0, len(rows), self.block_size)]
        progress = self._progress(len(rows), "rows")
        mu, diagonal, norm = np.empty(len(rows)), np.empty(len(rows)), 0.0
        mean = objective.fixed_over(rows)
        left: Array | None = None
        for part in parts:
            block = objective.block(part.start, rows[part])
            if left is None:
                left = np.empty((len(rows), block.points.left.shape[1]), block.points.left.dtype)
            left[part], mu[part], diagonal[part] = block.points.left, block.mu, block.diagonal
            if mean is not None:
                norm += mean.share_of_norm(part, block.mu)
            if progress is not None:
                progress.note(part.start + len(block), None)
        if mean is not None:
            mean.norm = norm  # the target is X: |mu|^2 is the mean of mu, which is known now
        assert left is not None
        return Block(0, rows, block.points.like(left), mu, diagonal, block.signed)


def rounding(source: Block) -> float:
    """Two gradients that differ by less than this are equal but for rounding, as those of exact copies are."""
    return float(_ROUNDING * np.finfo(source.points.left.dtype).eps * np.abs(source.mu).max())


def earliest(scores: Array, slack: float) -> int:
    """Where the largest score is, of equal ones the first."""
    return int(np.flatnonzero(scores >= scores.max() - slack)[0])
