"""ProtoDash: batch greedy selection by gradient (Gurumoorthy et al.)."""

import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from protosieve._typing import Array, Float64, Indices
from protosieve.kernels import Kernel, Points
from protosieve.objectives import Block, Coverage, Covered, FittedObjective, KernelMean, Need, Objective
from protosieve.selectors._batch import BatchSelector, Picks, earliest, rounding
from protosieve.selectors._progress import Progress
from protosieve.selectors._rules import Rule
from protosieve.selectors._selector import parameters
from protosieve.weights import GRADIENT_TOLERANCE, NonNegativeQP

_SHORTLIST = 512  # rows a guess chooses from, at least
_PER_STEP = 16  # of the shortlist for each step that is guessed
_EVEN = 8  # steps are guessed in multiples of this, products of other widths take up to twice as long
_MOST = 32  # steps guessed at once
_LOOKED_AT = 64  # rows whose gains are computed at once
_PART = 2048  # rows whose gradients are computed at once: the products stay in the cache


@parameters
class ProtoDash(BatchSelector[KernelMean | FittedObjective | Coverage]):
    """Take the row with the largest gradient, solve the weights again, m times; all rows in memory.

    The gradient of ``l`` at row j, ``mu_j - sum_i w_i k(x_i, x_j)``, says how much of the target near j the prototypes
    do not cover yet. Choosing its maximum, with the best non-negative weights after every choice, is exact greedy
    pursuit, and has a constant-factor guarantee (the objective is weakly submodular). Choices are nested: the first k
    of ``order_`` are what ``n_prototypes=k`` would choose.

    It does well with any kernel and any order of the rows: it is the yardstick for streaming selectors. It needs all
    rows in memory and, for targets of up to 10,000 to 50,000 rows, n x n_target kernel values. It stops before m rows
    when no gradient is positive. Of equal gradients (to rounding) the earliest row is taken.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep at most, m.
    kernel : Kernel or function, default MultiScale(width="median")
        Similarity of rows; the default learns its width from the data.
    mean : Mean, optional
        How the target's mean is computed; by default exact for up to 10,000 to 50,000 rows, else calibrated.
    cache_size : float, default 1000
        Megabytes kept of similarities between all rows and the prototypes, or with `Coverage` between rows and the
        target. All of the first are n m numbers; what does not fit is computed again when needed: slower, the same
        rows. With 0 memory is that of the rows and O(64 n + m^2).
    objective : Objective, optional
        What to maximise instead of the kernel mean; see `protosieve.objectives`. With `Coverage`, which takes a kernel
        and no mean, the row that adds most comes next: at least ``1 - 1/e`` of what the best m rows cover. With
        `LeastSquares`, `Logistic` or `Poisson` rows are features; they take neither.
    random_state : int, Generator or None
        Seed of the samples for the width and the mean.
    block_size : int, default 512
        Rows whose mean is computed at once.
    verbose : bool, default False
        Print progress on standard error, once a second.

    Notes
    -----
    Beside the mean: O(n m (d + m)) time, mostly in products of matrices, O(m^2) for each new set of weights, and
    n (d + m + 64) numbers of memory.

    The gradients of all rows after every single choice would be a product of a matrix and a vector each time, limited
    by the speed of memory. Instead some steps are guessed from a shortlist of rows with large gradients, then the
    gradients of all rows at all these steps come from one product of matrices, and the guess holds up to the first step
    at which some row had a larger gradient. The choice is the one exact greedy makes. With `Coverage` a row adds ever
    less, so only rows that once would have added as much as the next choice does are looked at again (Minoux).

    References
    ----------
    K. S. Gurumoorthy, A. Dhurandhar, G. Cecchi, C. Aggarwal: Efficient Data Representation by Selecting Prototypes with
    Importance Weights. ICDM 2019; arXiv:1707.01212 (2017).

    M. Minoux: Accelerated greedy algorithms for maximizing submodular set functions. 1978.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from protosieve import ProtoDash
    >>> X, species = load_iris(return_X_y=True)
    >>> selector = ProtoDash(n_prototypes=6, random_state=0).fit(X)
    >>> sorted(set(species[selector.prototype_indices_].tolist()))
    [0, 1, 2]

    Choices are nested:

    >>> bool((ProtoDash(3, random_state=0).fit(X).order_ == selector.order_[:3]).all())
    True
    """

    method: ClassVar[str] = "dash"
    summary: ClassVar[str] = "over all rows at once, the largest gradient first"
    _needs: ClassVar[tuple[Need, ...]] = (Need.GRADIENTS, Need.GAINS)
    _rules: ClassVar[dict[str, Rule]] = {
        **BatchSelector._rules,
        "cache_size": Rule(
            "a number of megabytes of at least 0", lambda value: isinstance(value, numbers.Real) and float(value) >= 0
        ),
    }

    objective: Objective | None = None
    cache_size: float = 1000

    def _pick(
        self, objective: KernelMean | FittedObjective | Coverage, source: Block, progress: Progress | None
    ) -> Picks:
        m = min(self.n_prototypes, len(source))
        pursuit: Pursuit | RefittedPursuit | LazyPursuit
        if isinstance(objective, Coverage):
            pursuit = LazyPursuit(objective, source, m, self.cache_size)
        elif isinstance(objective, FittedObjective):
            pursuit = RefittedPursuit(objective, source, m)
        else:
            pursuit = Pursuit(objective.kernel, source, m, self.cache_size)
        while pursuit.advance():
            if progress is not None:
                progress.note(len(pursuit.chosen), pursuit.values[-1])
        return Picks(pursuit.chosen, pursuit.weights, np.array(pursuit.values))


class RefittedPursuit:
    """The greedy choice where weights are fitted again at every step: a product with all rows, then a fit."""

    def __init__(self, objective: FittedObjective, source: Block, m: int) -> None:
        self._objective, self._source, self._m = objective, source, m
        self._fit = objective.empty()
        self._rounding = rounding(source)
        self._least = max(self._rounding, GRADIENT_TOLERANCE * float(source.pull.max(initial=0.0)))
        self.chosen: Indices = np.zeros(0, np.intp)
        self.values: list[float] = []

    @property
    def weights(self) -> Float64:
        return self._fit.weights

    def advance(self) -> bool:
        """One more row; ``False`` when there are m, or none pulls. O(n_rows n_samples + q^2 n_samples)."""
        if len(self.chosen) == self._m:
            return False
        rows = self._source.rows
        pull = self._objective.gradients([self._fit], rows)[0]
        pull[self.chosen] = -np.inf
        pick = earliest(pull, self._rounding)
        if pull[pick] <= self._least:
            return False
        self._fit = self._objective.grow(self._fit, rows[self.chosen], rows[pick])
        self.chosen = np.append(self.chosen, pick)
        self.values.append(self._fit.value)
        return True


class LazyPursuit:
    """The greedy choice where a row gains ever less as the set grows: f is submodular (Minoux 1978).

    What a row would have added to a smaller set bounds what it adds now. So only those are looked at again whose bound
    is not below the largest gain found: a few of all rows. Similarities are kept as far as the cache goes.
    """

    def __init__(self, objective: Coverage, source: Block, m: int, cache_size: float) -> None:
        self._objective, self._source, self._m = objective, source, m
        self._covered, self._bounds = objective.empty(), source.mu.copy()
        self._rounding = rounding(source)
        self._least = max(self._rounding, GRADIENT_TOLERANCE * float(source.mu.max()))
        near = self._covered.near
        fitting = math.floor(min(cache_size * 1e6 / near.nbytes, len(source)))
        self._kept, self._n_kept = np.empty((fitting, len(near)), near.dtype), 0
        self._place = np.full(len(source), -1)  # of each row among those kept
        self.chosen: Indices = np.zeros(0, np.intp)
        self.values: list[float] = []

    @property
    def weights(self) -> Float64:
        return self._covered.weights

    def advance(self) -> bool:
        """One more row; ``False`` when there are m, or none adds anything. O(sample d) for each row looked at."""
        if len(self.chosen) == self._m:
            return False
        bounds, is_exact = self._bounds, np.zeros(len(self._source), np.bool_)
        while True:
            best = bounds[is_exact].max(initial=self._least)
            open_rows = np.flatnonzero(~is_exact & (bounds >= best - self._rounding) & (bounds > self._least))
            if not len(open_rows):
                break
            rows = np.sort(open_rows[np.argsort(-bounds[open_rows], kind="stable")[:_LOOKED_AT]])
            bounds[rows] = self._covered.gains(self._similarities(rows))
            is_exact[rows] = True
        if not best > self._least:
            return False
        exact = np.flatnonzero(is_exact)
        pick = exact[earliest(bounds[exact], self._rounding)]
        near = np.maximum(self._covered.near, self._similarities(np.array([pick]))[0])
        self._covered = Covered.of(self._covered.size + 1, near)
        self.chosen = np.append(self.chosen, pick)
        self.values.append(self._covered.value)
        bounds[pick] = -np.inf
        return True

    def _similarities(self, rows: Indices) -> Array:
        """To the rows of the target, a line for each row; the caller's own."""
        found = np.empty((len(rows), self._kept.shape[1]), self._kept.dtype)
        place = self._place[rows]
        found[place >= 0] = self._kept[place[place >= 0]]
        new = rows[place < 0]
        if len(new):
            points = self._source.points.take(new)
            found[place < 0] = lines = self._objective.similarities(points, self._objective.target, new)
            n = min(len(new), len(self._kept) - self._n_kept)
            self._place[new[:n]] = np.arange(self._n_kept, self._n_kept + n)
            self._kept[self._n_kept : self._n_kept + n] = lines[:n]
            self._n_kept += n
        return found


@dataclass
class Guess:
    """Some steps of the greedy choice, made on a shortlist."""

    picks: list[int] = field(default_factory=list)
    weights: list[Float64] = field(default_factory=list)  # of all members after each pick
    values: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.picks)

    def add(self, pick: int, qp: NonNegativeQP) -> Float64:
        """One more step, after which the program is this; returns the weights."""
        self.picks.append(pick)
        self.weights.append(qp.weights)
        self.values.append(qp.value)
        return self.weights[-1]

    def steps(self, dtype: Any) -> Array:
        """The weights, one column per step; members that come later have none. Columns of zeros make the width even."""
        table = np.zeros((len(self.weights[-1]), _even(len(self))), dtype)
        for step, w in enumerate(self.weights):
            table[: len(w), step] = w
        return table


class Pursuit:
    """A greedy choice in progress: the chosen rows, their weights, and the gradient of every row at these weights."""

    def __init__(self, kernel: Kernel, source: Block, m: int, cache_size: float) -> None:
        dtype = source.points.left.dtype
        self._kernel, self._source, self._m = kernel, source, m
        self._similarities = SimilarityCache(kernel, source.points, m, cache_size)
        self._rows_mu = source.mu.astype(dtype)  # minus infinity once a row is chosen: then it is never the largest
        self._gradient = self._rows_mu
        self._room = np.empty(len(source) * _even(min(_MOST, m)), dtype)
        self._size = _EVEN
        self._rounding = rounding(source)
        self._least = max(self._rounding, GRADIENT_TOLERANCE * float(np.abs(source.mu).max()))
        self.qp = NonNegativeQP(noise=float(np.finfo(dtype).eps))
        self.chosen: Indices = np.zeros(0, np.intp)
        self.values: list[float] = []

    @property
    def weights(self) -> Float64:
        return self.qp.weights

    def advance(self) -> bool:
        """Choose at least one more row; ``False`` when there are m, or none has a positive gradient."""
        size = min(self._size, self._m - len(self.chosen))
        guess = self._guess(size) if size else None
        if guess is None or not len(guess):
            return False
        gradients = self._similarities.gradients(self._rows_mu, guess, self._room)
        sure = self._sure(guess, gradients)
        picks = np.array(guess.picks[:sure], np.intp)
        if sure < len(guess):
            self.qp.truncate(guess.weights[sure - 1])
            self._similarities.truncate(len(self.chosen) + sure)
        self.chosen = np.concatenate([self.chosen, picks])
        self.values += guess.values[:sure]
        self._rows_mu[picks] = -np.inf
        self._gradient = gradients[:, sure - 1].copy()
        self._size = min(2 * size, _MOST) if sure == len(guess) else _even(sure)
        return True

    def _guess(self, size: int) -> Guess:
        """Greedy steps on the rows that have the largest gradients now; the first of them is right for certain."""
        listed = self._shortlist(max(_SHORTLIST, _PER_STEP * size))
        points, mu = self._source.points.take(listed), self._rows_mu[listed]
        before = len(self.chosen)
        K = np.empty((len(listed), before + size), mu.dtype)
        K[:, :before] = self._similarities.at(listed)
        gradient = self._gradient[listed]
        guess = Guess()
        for q in range(before, before + size):
            pick = earliest(gradient, self._rounding)
            if gradient[pick] <= self._least:
                break
            row = int(listed[pick])
            self.qp.append(K[pick, :q].astype(np.float64), self._source.diagonal[row], self._source.mu[row])
            w = guess.add(row, self.qp)
            K[:, q : q + 1] = self._kernel.block(points, points.take(slice(pick, pick + 1)))
            mu[pick] = -np.inf
            gradient = mu - K[:, : q + 1] @ w.astype(K.dtype)
        return guess

    def _shortlist(self, size: int) -> Indices:
        """The rows with the largest gradients, of equal ones the earliest; rising."""
        gradient = self._gradient
        if size >= len(gradient):
            return np.arange(len(gradient))
        last = np.partition(gradient, len(gradient) - size)[len(gradient) - size]
        above = np.flatnonzero(gradient > last + self._rounding)
        equal = np.flatnonzero(np.abs(gradient - last) <= self._rounding)[: size - len(above)]
        return np.sort(np.concatenate([above, equal]))

    def _sure(self, guess: Guess, gradients: Array) -> int:
        """How many steps of the guess are right: after each, no row may have a larger gradient than the next pick."""
        for step, pick in enumerate(guess.picks):
            gradients[pick, step:] = -np.inf
        following, steps = guess.picks[1:], np.arange(len(guess) - 1)
        largest = _column_maxima(gradients)[: len(steps)]
        wrong = np.flatnonzero(gradients[following, steps] < largest - self._rounding)
        return int(wrong[0]) + 1 if len(wrong) else len(guess)


class SimilarityCache:
    """Every row against the members: kept as far as the cache goes, computed again beyond it."""

    def __init__(self, kernel: Kernel, points: Points, m: int, cache_size: float) -> None:
        dtype = points.left.dtype
        fitting = math.floor(min(cache_size * 1e6 / (len(points) * dtype.itemsize), m))
        self._kernel, self._points = kernel, points
        self._kept = np.empty((len(points), fitting), dtype)
        self._members: Indices = np.zeros(0, np.intp)

    def at(self, rows: Indices) -> Array:
        """Some rows against all members, those of the last guess included."""
        return self._block(rows, self._points.take(rows), self._beyond())

    def _beyond(self) -> Points:
        """The members whose similarities are not kept."""
        return self._points.take(self._members[self._kept.shape[1] :])

    def _block(self, rows: Indices | slice, points: Points, beyond: Points) -> Array:
        kept = self._kept[rows, : len(self._members)]
        return np.concatenate([kept, self._kernel.block(points, beyond)], axis=1) if len(beyond) else kept

    def gradients(self, mu: Array, guess: Guess, room: Array) -> Array:
        """The gradients of all rows, one column for each step of the guess, whose picks become members."""
        before = len(self._members)
        self._members = np.concatenate([self._members, np.array(guess.picks, np.intp)])
        fresh, beyond = self._points.take(self._members[before : self._kept.shape[1]]), self._beyond()
        weights = guess.steps(mu.dtype)
        found = room[: len(mu) * weights.shape[1]].reshape(len(mu), -1)
        for part in _parts(len(mu)):
            points = self._points.take(part)
            if len(fresh):
                self._kept[part, before : before + len(fresh)] = self._kernel.block(points, fresh)
            np.matmul(self._block(part, points, beyond), weights, out=found[part])
            np.subtract(mu[part, None], found[part], out=found[part])
        return found

    def truncate(self, size: int) -> None:
        """Go back to the first members."""
        self._members = self._members[:size]


def _even(steps: int) -> int:
    return -(-steps // _EVEN) * _EVEN


def _column_maxima(table: Array) -> Array:
    """``table.max(axis=0)``, which is slow on few columns: here 16 rows at a time are as one long row."""
    n, width = table.shape
    whole = n - n % 16
    folded = table[:whole].reshape(-1, 16 * width).max(axis=0, initial=-np.inf).reshape(16, width)
    return np.asarray(np.concatenate([folded, table[whole:]]).max(axis=0))


def _parts(n: int) -> Iterator[slice]:
    return (slice(start, start + _PART) for start in range(0, n, _PART))
