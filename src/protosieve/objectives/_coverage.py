"""Coverage: every row of the target should have a prototype near it."""

import numbers
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import ParameterError, arg
from protosieve.kernels import Kernel, Points
from protosieve.means import candidates_in
from protosieve.objectives._base import Block, Need, Objective, Weighed
from protosieve.sampling import UniformSample

__all__ = ["Coverage"]

_BLOCK = 512
_JUDGES = 4  # for so many rows that prototypes are chosen by, one that only judges them


@storable
@dataclass(eq=False)
class Coverage(Objective):
    """``f(S) = mean over the target of max_{s in S} k(x, s)``: the similarity of a row to its nearest prototype.

    The objective to choose rows for labelling, for looking at, or as neighbours to classify by. The kernel mean
    *matches*: weighted prototypes have the statistics of the data. This one *covers*: no row is far from a prototype.
    It is monotone and submodular, and known as facility location; with a distance in place of a similarity it is
    k-medoids. A row is not covered by a prototype of similarity zero or less.

    Weights are the shares of the target that are nearest to each prototype; they sum to 1.

    Parameters
    ----------
    sample : int, default 8192
        Rows of the target by which rows are chosen, drawn at random; a quarter as many are drawn to judge the result.
        If the target has no more rows than that in all, it is known exactly.

    Notes
    -----
    The kernel is that of the selector. Which rows are nearest does not depend on the width of a Gaussian, only how much
    a row far from all prototypes counts; the result hardly does either.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import ProtoSwap
    >>> from protosieve.objectives import Coverage
    >>> X, digit = load_digits(return_X_y=True)
    >>> result = ProtoSwap(60, objective=Coverage(), random_state=0).fit(X[:1000]).result_
    >>> round(float(result.weights.sum()), 6)
    1.0

    Classify other digits by the nearest of the 60 that were labelled:

    >>> nearest = ((X[1000:, None] - result.rows) ** 2).sum(axis=2).argmin(axis=1)
    >>> bool((digit[result.indices][nearest] == digit[1000:]).mean() > 0.85)
    True
    """

    offers: ClassVar[tuple[Need, ...]] = (Need.EXCHANGES,)
    explains: ClassVar[str] = "full coverage"
    compares_rows: ClassVar[bool] = True
    signed = False

    sample: int = 8192
    kernel: Kernel | None = field(default=None, repr=False, compare=False)
    drawn: UniformSample | None = field(default=None, repr=False, compare=False)
    follows: bool = field(default=False, repr=False, compare=False)  # whether the stream is the target

    def __post_init__(self) -> None:
        if isinstance(self.sample, bool) or not isinstance(self.sample, numbers.Integral) or self.sample < 1:
            raise ParameterError(f"Coverage: {arg('sample')} must be a whole number of at least 1, got {self.sample!r}")

    def over(self, kernel: Kernel, target: Array | None, like: Array, seed: int) -> "Coverage":
        """The objective for a target, or for a stream of rows like these that is its own."""
        drawn = UniformSample.empty(self.sample + self.sample // _JUDGES, like, seed)
        if target is not None:
            drawn.observe(target, np.arange(len(target)))
            drawn.settle()
        return replace(self, kernel=kernel, drawn=drawn, follows=target is None)

    def by(self, kernel: Kernel, rows: Array, population: int) -> "Coverage":
        """The objective for a target by rows that were drawn at random of its ``population`` rows, in any order.

        The last fifth of them judges: candidates, where they are of the same sample, must not be among these. If the
        rows are the whole target and not too many, all of them choose and judge.
        """
        if len(rows) == population <= self.sample + self.sample // _JUDGES:
            return replace(self, kernel=kernel, drawn=UniformSample.drawn(rows, population), follows=False)
        judging = candidates_in(len(rows))
        choosing = min(self.sample, judging)
        kept = np.concatenate([rows[:choosing], rows[judging:]])
        drawn = UniformSample.drawn(kept, population)
        return replace(self, sample=choosing, kernel=kernel, drawn=drawn, follows=False)

    def describe(self) -> str:
        return repr(self.kernel)

    def remedy(self) -> str:
        return "All rows are too far from the target for this width: choose a larger one"

    def keeps_more(self) -> str:
        return "Copies of a row cover nothing that it does not"

    def block(self, first: int, rows: Array) -> Block:
        """Rows as they are: they are compared when a result is asked for."""
        return Block(first, rows, Points(rows), np.zeros(len(rows)), np.ones(len(rows)))

    def observe(self, block: Block) -> None:
        if self.follows:
            self._sample.observe(block.rows, block.numbers)

    @property
    def _sample(self) -> UniformSample:
        assert self.drawn is not None
        return self.drawn

    @property
    def compared_by(self) -> Kernel:
        """The kernel, once there is one."""
        assert self.kernel is not None
        return self.kernel

    def chosen_by(self) -> Points:
        """The rows of the target by which rows are chosen."""
        return self.compared_by.prepare(self._sample.settled().rows[: self.sample])

    def judged_by(self) -> Array:
        """The rows of the target that judge a result: all if they are known, else some that had no part in it."""
        sample = self._sample.settled()
        return sample.rows if sample.is_whole else sample.rows[self.sample :]

    def nearest(self, prototypes: Array, rows: Array) -> tuple[Indices, Float64]:
        """Of each row the nearest prototype, and the similarity to it. O(rows prototypes d)."""
        kernel, chosen = self.compared_by, self.compared_by.prepare(prototypes)

        def of(start: int) -> tuple[Indices, Float64]:
            K = kernel.block(kernel.prepare(rows[start : start + _BLOCK]), chosen)
            nearest = K.argmax(axis=1)
            return nearest, K[np.arange(len(K)), nearest].astype(np.float64)

        found = ahead_of(of, range(0, len(rows), _BLOCK), in_threads=kernel.in_threads)
        nearest, similarities = zip(*found, strict=True)
        return np.concatenate(nearest), np.concatenate(similarities)

    def weigh(self, rows: Array, start: Float64) -> Weighed:
        """Shares of all rows that are known, and the value by those that judge."""
        whole = self._sample.settled()
        nearest, similarities = self.nearest(rows, whole.rows)
        shares = np.bincount(nearest[similarities > 0], minlength=len(rows)) / len(nearest)
        judged = similarities if whole.is_whole else similarities[self.sample :]
        return Weighed(shares, float(np.maximum(judged, 0).mean()))

    def singles(self, block: Block) -> Float64:
        raise NotImplementedError("rows are compared when a result is asked for")

    def upper_bound(self, step: int) -> float:
        """The similarity of rows to themselves."""
        rows = self.judged_by()
        return float(self.compared_by.diagonal(self.compared_by.prepare(rows)).mean(dtype=np.float64))
