"""`Drift`: whether the recent past of a stream is still like what it is compared with.

At P points, rows z_p of the beginning, ``k(z_p, x)`` is added up over the stream, with weights that fade fast (the
recent past) and slowly or not at all (the reference). Whitened by the points' Gram matrix, the difference D of the two
means has a length: the MMD between the two, as far as the points express it.

*What is normal.* If nothing changes, D is a weighted sum of independent rows: ``|D|^2`` is ``s`` times a sum of
squares ``lambda_j z_j^2``, with the eigenvalues of the rows' covariance at the points, standard normal z_j, and
``s = sum_i (w_i / W - v_i / V)^2`` for the weights w and v. Each z_j follows the stream as an autoregression of order
one with the factor by which weights fade. So the level that is crossed once in so many rows, though one looks at every
block, is found by following such processes for a while.
"""

import math
import numbers
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.signal import lfilter
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from protosieve import _state
from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError, StateFileError, arg
from protosieve.kernels import Kernel, MultiScale, as_kernel
from protosieve.means import Span
from protosieve.selectors import (
    SHORTEST,
    as_rows,
    column_names,
    generator,
    lock_of,
    new_rows,
    remember_columns,
    rows_like,
    whole_number,
)

__all__ = ["Drift", "DriftAlarm"]

_BLOCK = 512  # rows taken in at once
_LOOKS = 64  # in a half-life, at most; each is at the end of a block
_POINTS = 256
_LEARNT_FROM = 8192  # rows
_FEWEST = 2 * _POINTS
_FOLLOWED = 1 << 17  # looks at a stream that does not change
_COUNTED = 30  # crossings, to know how often a level is crossed
_NOTHING = 1e-9  # an eigenvalue that is rounding
_SMALL = 1e-3  # of the largest eigenvalue: smaller ones hardly vary


class DriftAlarm(NamedTuple):
    """The rows seen when a drift was first noticed, the MMD then, and the threshold it was above, both as `Drift` has
    them.
    """

    row: int
    mmd: float
    threshold: float


@storable
@dataclass
class FadingSums:
    """Sums over all rows, with weights that fade by ``fades`` for each row that follows."""

    fades: float
    at_points: Float64
    rows: Float64  # of the rows themselves, and of their squares
    squares: Float64
    weight: float = 0.0

    def take(self, K: Float64, rows: Float64) -> None:
        """The next rows, with their similarities to the points."""
        weights, before = self.fades ** np.arange(len(rows))[::-1], self.fades ** len(rows)
        self.at_points = self.at_points * before + K @ weights
        self.rows = self.rows * before + weights @ rows
        self.squares = self.squares * before + weights @ rows**2
        self.weight = self.weight * before + float(weights.sum())


@storable
@dataclass
class WatchedStream:
    """A stream from when it is known what is normal."""

    kernel: Kernel
    points: Array
    centre: Float64  # of the rows it was learnt from: squares are taken around it
    eigenvalues: Float64
    level: float  # of ``|D|^2 / s``
    recent: FadingSums
    past: FadingSums  # the reference
    products: Float64  # sums of w^2, w v and v^2 over all rows
    fixed: bool  # whether the reference is a target's
    alarms: list[list[float]] = field(default_factory=list)
    is_drifting: bool = False
    _span: Span = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._span = Span(self.kernel, self.points)

    def _check_form(self) -> None:
        n, d = self.points.shape if self.points.ndim == 2 else (0, 0)
        require(are_rows(self.points) and n > 0 and self.centre.shape == (d,), "the points of a drift")
        require(self.level > 0 and are_finite(self.level, self.eigenvalues, self.centre), "what is normal")
        require(len(self.eigenvalues) > 0 and (self.eigenvalues > 0).all(), "what is normal")
        for one in (self.recent, self.past):
            require(one.at_points.shape == (n,) and one.rows.shape == one.squares.shape == (d,), "sums of rows")
            require(are_finite(one.at_points, one.rows, one.squares, one.weight) and 0 < one.fades <= 1, "sums of rows")
            require(one.weight >= 0 and (one.squares >= 0).all(), "sums of rows")
        require(self.products.shape == (3,) and are_finite(self.products), "sums of weights")
        require((self.products >= 0).all(), "sums of weights")
        require(all(len(alarm) == 3 and are_finite(*alarm) for alarm in self.alarms), "alarms")

    def take(self, rows: Array) -> None:
        """The next block."""
        K = self._similarities(rows)
        centred = rows.astype(np.float64) - self.centre
        self.recent.take(K, centred)
        w, v = self.recent.fades, self.past.fades
        if self.fixed:
            self.products = self.products * [w ** (2 * len(rows)), 1, 1] + [_series(w * w, len(rows)), 0, 0]
            return
        self.past.take(K, centred)
        pairs = np.array([w * w, w * v, v * v])
        self.products = self.products * pairs ** len(rows) + [_series(of, len(rows)) for of in pairs]

    def _similarities(self, rows: Array) -> Float64:
        return np.asarray(self.kernel.block(self._span.points, self.kernel.prepare(rows)), np.float64)

    def difference(self) -> Float64:
        """``D``: of the two means, at the points."""
        return self.recent.at_points / self.recent.weight - self.past.at_points / self.past.weight

    def noise(self) -> float:
        """``s``."""
        W, V = self.recent.weight, self.past.weight
        ww, wv, vv = self.products
        return max(float(ww / W**2 - 2 * wv / (W * V) + vv / V**2), 0.0)

    def squared(self) -> float:
        """``|D|^2``."""
        with one_thread():  # looks must not change the bits of what follows
            half = self._span.half_solve(self.difference())
            return float(half @ half)

    def figures(self) -> tuple[float, float]:
        """The MMD, what chance makes of it taken off, and the threshold."""
        noise, chance = self.noise(), float(self.eigenvalues.sum())
        mmd, threshold = self.squared() - noise * chance, noise * (self.level - chance)
        return math.sqrt(max(mmd, 0.0)), math.sqrt(max(threshold, 0.0))

    def look(self, seen: int) -> bool:
        """Whether a drift begins."""
        before, self.is_drifting = self.is_drifting, self.squared() > self.noise() * self.level
        if self.is_drifting and not before:
            self.alarms.append([float(seen), *self.figures()])
        return self.is_drifting and not before

    def witness(self, rows: Array) -> Float64:
        with one_thread():
            return np.asarray(self._span.solve(self.difference()) @ self._similarities(rows))

    def shifts(self) -> Float64:
        """How far each column's mean has moved, in standard deviations of the reference."""
        now, past = (one.rows / one.weight for one in (self.recent, self.past))
        spread = np.sqrt(np.maximum(self.past.squares / self.past.weight - past**2, 0))
        return np.asarray((now - past) / np.where(spread > 0, spread, 1))


@storable
@dataclass
class SavedDrift:
    parameters: dict[str, Any]
    n_features: int
    feature_names: list[str] | None
    waiting: Array  # rows: of a block, or those from which it is learnt what is normal
    n_seen: int
    seed: int
    watched: WatchedStream | None

    def _check_form(self) -> None:
        require(are_rows(self.waiting, self.n_features), "the rows that wait")
        require(are_counts(self.n_seen, self.seed) and self.n_seen >= len(self.waiting), "the number of rows")
        names, n = self.feature_names, self.n_features
        require(names is None or len(names) == n, "the names of the columns")
        require(self.watched is None or self.watched.points.shape[1] == n, "the points of a drift")


# scikit-learn ships no types, so to mypy its classes are Any
class Drift(BaseEstimator):  # type: ignore[misc]
    """Notice when the recent past of a stream is no longer like what came before, or like a reference.

    The first 8,192 rows, or the reference, tell what is normal. From then on every row counts in two means, one of the
    recent past and one of the reference. Every 512 rows, or 64 times in a half-life, their MMD is compared with a
    threshold, which a stream that does not change exceeds once in ``false_alarm_every`` rows. Memory is 256 rows and a
    few sums of them.

    Parameters
    ----------
    half_life : int, default 10,000
        Of the recent past: a row weighs half as much after so many more. A short one notices large changes soon, a
        long one small changes.
    reference : array, int or None
        Rows that the stream should be like; or a longer half-life, for a reference that follows slowly; or ``None``,
        for all that was ever seen.
    false_alarm_every : int, default 1,000,000
        Rows between two false alarms, on average.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
    random_state : int, NumPy generator or None
        Seed of the choice of points.
    on_drift : callable, optional
        Called with this object and a `DriftAlarm` for every drift that has begun in a chunk, once its rows are counted.

    Attributes
    ----------
    mmd_ : float
        The MMD between recent past and reference, what chance alone would make of it taken off; NaN while there is not
        enough to compare: two half-lives, where the reference is the past.
    threshold_ : float
        What ``mmd_`` has to exceed; it falls while the reference grows.
    is_drifting_ : bool
        Whether it does.
    alarms_ : tuple of DriftAlarm
        All times a drift has begun.
    shifts_ : array of shape (d,)
        How far each column's mean has moved, in standard deviations of the reference: the largest say what to look at.

    Notes
    -----
    256 kernel values for a row. A change is noticed as far as the similarities to 256 rows from before it tell.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve import Drift
    >>> rng = np.random.default_rng(0)
    >>> drift = Drift(half_life=2000, false_alarm_every=100_000, random_state=0)
    >>> drift.partial_fit(rng.normal(size=(20_000, 4))).is_drifting_
    False
    >>> changed = rng.normal(size=(2_000, 4)) + [0, 0.5, 0, 0]
    >>> drift.partial_fit(changed).is_drifting_, int(np.abs(drift.shifts_).argmax())
    (True, 1)
    """

    def __init__(
        self,
        half_life: int = 10_000,
        reference: Any = None,
        *,
        false_alarm_every: int = 1_000_000,
        kernel: Any = None,
        random_state: Any = None,
        on_drift: Callable[["Drift", DriftAlarm], object] | None = None,
    ) -> None:
        self.half_life = half_life
        self.reference = reference
        self.false_alarm_every = false_alarm_every
        self.kernel = kernel
        self.random_state = random_state
        self.on_drift = on_drift

    def fit(self, X: Any, y: Any = None) -> Self:
        """The same as `partial_fit`, forgetting what was seen before."""
        with self._unchanged_on_error():
            for name in ("_saved", "n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            begun = self._take(X)
        return self._told(begun)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """The next rows of the stream, in chunks of any size."""
        with self._unchanged_on_error():
            begun = self._take(X)
        return self._told(begun)

    @property
    def n_samples_seen_(self) -> int:
        """Rows received so far."""
        check_is_fitted(self)
        return self._saved.n_seen

    @property
    def mmd_(self) -> float:
        """See the class."""
        watched = self._compared()
        return math.nan if watched is None else watched.figures()[0]

    @property
    def threshold_(self) -> float:
        """See the class."""
        watched = self._compared()
        return math.nan if watched is None else watched.figures()[1]

    @property
    def is_drifting_(self) -> bool:
        """See the class."""
        check_is_fitted(self)
        return self._saved.watched is not None and self._saved.watched.is_drifting

    @property
    def alarms_(self) -> tuple[DriftAlarm, ...]:
        """See the class."""
        check_is_fitted(self)
        found = [] if self._saved.watched is None else self._saved.watched.alarms
        return tuple(_alarm(one) for one in found)

    @property
    def shifts_(self) -> Float64:
        """See the class."""
        watched = self._compared()
        return np.full(self.n_features_in_, math.nan) if watched is None else watched.shifts()

    def witness(self, X: Any) -> Float64:
        """Where the recent past has more than the reference (above 0), and where less: the difference of the two means
        at rows, such as prototypes.
        """
        check_is_fitted(self)
        rows, watched = new_rows(self, X), self._compared()
        return np.full(len(rows), math.nan) if watched is None else watched.witness(rows.astype(np.float64))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and state to one ``.npz`` file; `Drift.load` continues from it."""
        check_is_fitted(self)
        _state.write(path, self._saved)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """What `save` wrote, ready to go on where it stopped. The file has no ``on_drift``, and of an array that
        was the ``reference`` only its mean.
        """

        def made(saved: Any) -> Any:
            if not isinstance(saved, SavedDrift):
                raise StateFileError(
                    f"{path}: holds a {type(saved).__name__}, and not a Drift; load it with what wrote it"
                )
            drift = cls(**saved.parameters)
            drift._check_parameters()
            drift.n_features_in_ = saved.n_features
            if saved.feature_names is not None:
                drift.feature_names_in_ = np.asarray(saved.feature_names, dtype=object)
            drift._saved = saved
            return drift

        drift: Self = _state.read(path, made)
        return drift

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_saved")

    # -- steps

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        with lock_of(self):
            before = dict(self.__dict__)
            try:
                yield
            except BaseException:
                self.__dict__.clear()
                self.__dict__.update(before)
                raise

    @property
    def _longer(self) -> int | None:
        """The half-life of a reference that follows."""
        is_number = isinstance(self.reference, numbers.Integral) and not isinstance(self.reference, bool)
        return int(self.reference) if is_number else None

    @property
    def _every(self) -> int:
        """Rows between two looks."""
        return -(-max(int(self.half_life) // _LOOKS, _BLOCK) // _BLOCK) * _BLOCK

    def _check_parameters(self) -> None:
        whole_number(SHORTEST).check("Drift", "half_life", self.half_life)
        whole_number(1).check("Drift", "false_alarm_every", self.false_alarm_every)
        if self._longer is not None and self._longer <= self.half_life:
            raise ParameterError(
                f"Drift: {arg('reference', self.reference)} is a half-life that must be longer than "
                f"{arg('half_life', self.half_life)}; give a longer one"
            )
        if self.false_alarm_every < 2 * self.half_life:
            raise ParameterError(
                f"Drift: {arg('false_alarm_every', self.false_alarm_every)} must be at least twice "
                f"{arg('half_life', self.half_life)}: sooner nothing else can be told"
            )
        generator(self.random_state)

    def _take(self, X: Any) -> list[DriftAlarm]:
        """The next rows; returns the alarms that they raise."""
        self._check_parameters()
        begun = hasattr(self, "_saved")
        rows = as_rows(X, "X", self._saved.n_seen if begun else 0)
        if not len(rows) and not begun:
            return []
        rows = rows.astype(np.float64, copy=False)
        if not begun:
            self._begin(rows, X)
        elif len(rows):
            remember_columns(self, X, reset=False)
        with one_thread():
            return self._feed(rows)

    def _told(self, begun: list[DriftAlarm]) -> Self:
        for alarm in begun if self.on_drift is not None else ():
            self.on_drift(self, alarm)  # type: ignore[misc]  # it is not None
        return self

    def _begin(self, rows: Array, X: Any) -> None:
        remember_columns(self, X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        seed = int(generator(self.random_state).integers(2**31))
        told: dict[str, Any] = {"half_life": int(self.half_life), "false_alarm_every": int(self.false_alarm_every)}
        told["reference"] = self._longer
        told["random_state"] = int(self.random_state) if isinstance(self.random_state, numbers.Integral) else None
        told["kernel"] = None if self.kernel is None else as_kernel(self.kernel)
        found = SavedDrift(told, rows.shape[1], None if names is None else list(names), rows[:0].copy(), 0, seed, None)
        if self.reference is not None and self._longer is None:
            target = rows_like(self.reference, "reference", rows, column_names(X))
            if len(target) < _FEWEST:
                raise InputError(f"reference has {len(target)} rows; give {_FEWEST} or more")
            with one_thread():
                found.watched = self._learnt(target, seed, fixed=True)
        self._saved = found

    def _feed(self, rows: Array) -> list[DriftAlarm]:
        """Take in full blocks; the rest waits. It is a copy that changes, which then replaces what was known."""
        found = replace(self._saved, n_seen=self._saved.n_seen + len(rows))
        found.waiting = np.concatenate([found.waiting, rows])
        if found.watched is None and len(found.waiting) >= _LEARNT_FROM:
            found.watched = self._learnt(found.waiting[:_LEARNT_FROM], found.seed, fixed=False)
        before = 0
        if found.watched is not None:
            watched = replace(found.watched, recent=replace(found.watched.recent), past=replace(found.watched.past))
            watched.alarms, before = list(watched.alarms), len(watched.alarms)
            full, seen = len(found.waiting) // _BLOCK * _BLOCK, found.n_seen - len(found.waiting)
            for start in range(0, full, _BLOCK):
                watched.take(found.waiting[start : start + _BLOCK])
                seen += _BLOCK
                if seen % self._every == 0 and self._is_enough(watched, seen):
                    watched.look(seen)
            found.waiting, found.watched = found.waiting[full:].copy(), watched
        self._saved = found
        return list(self.alarms_[before:])

    def _is_enough(self, watched: WatchedStream, seen: int) -> bool:
        return seen >= (_BLOCK if watched.fixed else 2 * self.half_life)

    def _compared(self) -> WatchedStream | None:
        """What is known, once that is enough."""
        check_is_fitted(self)
        watched, seen = self._saved.watched, self._saved.n_seen - len(self._saved.waiting)
        return watched if watched is not None and self._is_enough(watched, seen) else None

    def _learnt(self, rows: Array, seed: int, *, fixed: bool) -> WatchedStream:
        """What is normal, by rows of which some become points."""
        rng = np.random.default_rng(seed)
        kernel = (MultiScale() if self.kernel is None else as_kernel(self.kernel)).resolve(rows, rng)
        order = rng.permutation(len(rows))
        points, others = rows[order[:_POINTS]], rows[order[_POINTS:]]
        found = np.linalg.eigvalsh(np.cov(Span(kernel, points).coordinates(others)))[::-1]
        eigenvalues: Float64 = found[found > _NOTHING].astype(np.float64)
        if not len(eigenvalues):
            raise InputError(
                f"all of the {len(rows)} rows that tell what is normal are alike; nothing could be a drift"
            )
        level = _level(eigenvalues, 2.0 ** (-self._every / self.half_life), self.false_alarm_every / self._every)
        none = np.zeros(rows.shape[1])
        slowly = 1.0 if self._longer is None else 2.0 ** (-1 / self._longer)
        made = WatchedStream(
            kernel=kernel,
            points=points,
            centre=rows.mean(axis=0),
            eigenvalues=eigenvalues,
            level=level,
            recent=FadingSums(2.0 ** (-1 / self.half_life), np.zeros(len(points)), none, none),
            past=FadingSums(slowly, np.zeros(len(points)), none, none),
            products=np.zeros(3),
            fixed=fixed,
        )
        if fixed:
            for start in range(0, len(rows), _BLOCK):
                part = rows[start : start + _BLOCK]
                made.past.take(made._similarities(part), part - made.centre)
            made.products = np.array([0.0, 0.0, len(rows)])
        return made


def _alarm(stored: list[float]) -> DriftAlarm:
    row, mmd, threshold = stored
    return DriftAlarm(int(row), mmd, threshold)


def _series(ratio: float, n: int) -> float:
    """``1 + ratio + ratio^2 ...``, n terms."""
    return float(n) if ratio == 1 else (1 - ratio**n) / (1 - ratio)


def _level(eigenvalues: Float64, fades: float, looks: float) -> float:
    """What ``sum_j lambda_j z_j^2`` crosses from below once in so many looks, where every z_j is an autoregression.

    Crossings of many levels are counted; their number falls as an exponential does, so rarer ones are told from that.
    """
    rng = np.random.default_rng(0)
    large = eigenvalues[eigenvalues >= _SMALL * eigenvalues[0]]
    found = np.full(_FOLLOWED, float(eigenvalues.sum() - large.sum()))
    noise = math.sqrt(1 - fades**2)
    for value in large:
        steps = noise * rng.standard_normal(_FOLLOWED)
        steps[0] /= noise  # as if it had always gone on
        found += value * lfilter([1.0], [1.0, -fades], steps) ** 2
    levels = np.quantile(found, 1 - np.geomspace(0.3, 1e-5, 200))
    crossed = np.array([np.count_nonzero((found[1:] > level) & (found[:-1] <= level)) for level in levels])
    known = np.flatnonzero(crossed >= _COUNTED)
    known = known[: np.argmax(crossed[known]) + 1] if len(known) < 2 else known[np.argmax(crossed[known]) :]
    rarity = -np.log(crossed[known] / _FOLLOWED)
    wanted = math.log(max(looks, 1.0))
    if wanted <= rarity[-1]:
        return float(np.interp(wanted, np.maximum.accumulate(rarity), levels[known]))
    half = len(known) // 2
    slope = (levels[known[-1]] - levels[known[half]]) / (rarity[-1] - rarity[half])
    return float(levels[known[-1]] + slope * (wanted - rarity[-1]))
