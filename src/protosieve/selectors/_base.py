"""The loop every streaming selector shares: re-block, judge, refresh, finish."""

import copy
import numbers
import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from protosieve import _state
from protosieve._blas import one_thread
from protosieve._threads import ahead_of
from protosieve._typed import are_finite, require
from protosieve._typing import Array
from protosieve.errors import InputError, ParameterError, ProtosieveError, arg
from protosieve.objectives import Block, KernelMean, Objective, same
from protosieve.result import Prototypes
from protosieve.selectors._beside import Beside
from protosieve.selectors._progress import Progress
from protosieve.selectors._rows import as_rows, remember_columns
from protosieve.selectors._selector import Selection, Selector, check_labels, generator
from protosieve.selectors._stream import Counts, ObjectiveT, Saved, Standing, State, Stream


class StreamSelector(Selector, Generic[State, ObjectiveT]):
    """Base of the streaming selectors: owns the loop, the buffer and everything public.

    To add an algorithm, write six steps. Each works on the algorithm's own state, ``progress``, a storable dataclass
    (``State``), and on the objective it can work with (``ObjectiveT``):

    ``_start``
        returns the state before the first row;
    ``_judge``
        takes in a block of rows;
    ``_refresh``
        brings members up to date after the mean has changed;
    ``_value``
        returns the objective of the current set, or ``None`` where it is only known at the end;
    ``_choose``
        returns the selection as of now;
    ``_held``
        returns the numbers of all rows a selection may still contain.

    A call either succeeds or leaves the selector unchanged: blocks are judged on a copy of the state, which then
    replaces it. Calls from several threads run one after the other.
    """

    _stream: Stream[State, ObjectiveT]
    _result: Prototypes | None
    _early: dict[str, Any]  # given with an empty chunk: it belongs to the first chunk that has rows

    # -- the steps of an algorithm

    @abstractmethod
    def _start(self, block: Block, objective: ObjectiveT, rng: np.random.Generator) -> State: ...

    @abstractmethod
    def _judge(self, progress: State, objective: ObjectiveT, block: Block) -> None: ...

    @abstractmethod
    def _refresh(self, progress: State, objective: ObjectiveT) -> None: ...

    @abstractmethod
    def _value(self, progress: State) -> float | None: ...

    @abstractmethod
    def _choose(self, progress: State, objective: ObjectiveT) -> Selection: ...

    @abstractmethod
    def _held(self, progress: State, objective: ObjectiveT) -> NDArray[np.int64]: ...

    def _accepted(self, progress: State) -> int | None:
        """How many rows joined a set so far; ``None`` where that is not counted."""
        return None

    def _exchanged(self, progress: State) -> int | None:
        """How many members were replaced so far; ``None`` where none ever are."""
        return None

    def _check_streaming(self) -> None:
        """Raise `ParameterError` where parameters need rows more than once, which a stream does not offer."""

    def _beside(self, rows: Array, X: Any, **given: Any) -> Beside | None:
        """What stands beside the choice, checked, for the algorithms that take it."""
        return None

    def _look_again(self, stream: Stream[State, ObjectiveT], rows: Array) -> None:
        """Called by ``fit`` after the first pass over all rows: the place for an algorithm to make more passes."""

    @property
    def _fades(self) -> bool:
        """Whether the target is the recent past of the stream, also where all rows are given at once."""
        return False

    # -- the public surface

    def fit(self, X: Any, y: Any = None, *, target: Any = None) -> Self:
        """Select from the rows of ``X``, forgetting what was seen before.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        y : ignored
        target : array of shape (n_target, d), optional
            The rows to match; by default ``X`` itself. An ``objective`` of its own has no target.

        Returns
        -------
        self
        """
        return self._fit(X, y, target)

    def _fit(self, X: Any, y: Any, target: Any, **beside: Any) -> Self:
        with self._lock, self._unchanged_on_error(), one_thread():
            rows, given = self._rows_to_fit(X, y, target)
            own = given is None and self._compares_rows and not self._fades
            stream = self._open(rows, rows if own else given)
            stream.beside = self._beside(rows, X, **beside)
            stream.is_target = own
            self._feed(stream, rows)
            self._look_again(stream, rows)
            if stream.target is not None:  # not begun yet, and the rows are the user's
                stream.target = stream.target.copy()
            self._stream = stream
            self._early = {}
            self._result = self._finish()
            stream.is_target = False  # |mu|^2 is known, and rows that come now are not of the target
        return self

    def partial_fit(self, X: Any, y: Any = None, *, target: Any = None) -> Self:
        """Continue with the next rows of the stream, in chunks of any size; a chunk without rows changes nothing.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        y : ignored
        target : array of shape (n_target, d), optional
            On the first call only: the rows to match. By default the target is what has been seen so far.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, target=target)

    def _partial_fit(self, X: Any, y: Any, **given: Any) -> Self:
        with self._lock, self._unchanged_on_error(), one_thread():
            self._check_parameters()
            self._check_streaming()
            given = {name: value for name, value in given.items() if value is not None}
            stream, rows = (self._go_on if self.__sklearn_is_fitted__() else self._go_in)(X, given)
            if stream is None or not len(rows):
                return self
            check_labels(y, rows)
            self._feed(stream, rows)
            self._stream = stream
            self._result = None
        return self

    @property
    def result_(self) -> Prototypes:
        """Everything about the selection as of now, a frozen `Prototypes`; solved once per state of the stream."""
        with self._lock:
            check_is_fitted(self)
            if self._result is None:
                self._check_unchanged()
                with one_thread():
                    self._result = self._finish()
            return self._result

    @property
    def n_samples_seen_(self) -> int:
        """Rows received so far."""
        check_is_fitted(self)
        return self._stream.n_seen

    @property
    def held_indices_(self) -> NDArray[np.int64]:
        """The numbers, in rising order, of all rows that a result may contain, now or later.

        If you store something for each row of a stream, such as an id or a text, you can drop it for all other rows.
        For `ProtoSwap` these are the rows of its sample.
        """
        check_is_fitted(self)
        stream = self._stream
        waiting = np.arange(stream.n_judged, stream.n_seen)
        if stream.progress is None:
            return waiting
        return np.union1d(self._held(stream.known, stream.running), waiting)

    @property
    def standing_(self) -> Standing:
        """A quick look at the current set: a `Standing`. O(1) once the mean's norm is known.

        The result is better than this: it considers candidates once more and solves for the weights again.
        """
        check_is_fitted(self)
        stream = self._stream
        if stream.progress is None:
            return Standing(stream.n_seen, None, None)
        with self._lock, one_thread():  # the bound is computed once: looking must not change the bits of a result
            value = self._value(stream.known)
            bound = 0.0 if value is None else stream.running.running_bound(self.block_size)
        residual = max(0.0, 1 - value / bound) if value is not None and bound > 0 else None
        return Standing(stream.n_seen, residual, self._exchanged(stream.known))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and state to one ``.npz`` file; `protosieve.load` continues from it.

        The file holds arrays and JSON, never code. It is written completely or not at all. A fixed target is saved too.
        """
        _state.write(path, self.saved())

    def saved(self) -> Saved:
        """Parameters and state as one value; it shares its arrays with the selector."""
        with self._lock:
            check_is_fitted(self)
            names = getattr(self, "feature_names_in_", None)
            parameters = self.get_params(deep=False)
            if not isinstance(self.random_state, numbers.Integral):
                parameters["random_state"] = None  # the stream has a generator of its own, and that is saved
            return Saved(
                selector=type(self).__name__,
                parameters=parameters,
                n_features=self.n_features_in_,
                feature_names=None if names is None else list(names),
                stream=self._stream,
            )

    def begin_by(self, objective: Objective, like: Array, **beside: Any) -> None:
        """Begin a stream of rows like these, judged by an objective that was made elsewhere."""
        self._check_parameters()
        stream = self._open(self._working(like), None)
        stream.objective = cast(ObjectiveT, objective)
        stream.beside = self._beside(like, None, **beside)
        remember_columns(self, like, reset=True)
        self._stream, self._result = stream, None

    def objective_for(self, target: Array) -> KernelMean:
        """The objective that `fit` would use to represent this target."""
        rows = self._working(target)
        with one_thread():
            objective = self._objective(rows, rows, generator(self.random_state))
        assert isinstance(objective, KernelMean)
        return objective

    def _restore(self, saved: Saved) -> None:
        self.n_features_in_ = saved.n_features
        if saved.feature_names is not None:
            self.feature_names_in_ = np.asarray(saved.feature_names, dtype=object)
        self._stream = saved.stream
        self._result = None
        self._check_restored()

    def _check_restored(self) -> None:
        """Raise an error, of any kind, where parameters and state do not belong together."""
        self._check_parameters()
        self._check_unchanged()
        stream, width = self._stream, self.n_features_in_
        names = getattr(self, "feature_names_in_", None)
        require(stream.pending.shape == (self.block_size, width), "the rows that wait")
        require(names is None or names.shape == (width,), "the names of the columns")
        require(set(stream.parameters) == set(self.get_params(deep=False)) - {"random_state", "verbose"}, "parameters")
        with suppress(ProtosieveError):  # rows may be wrong, but that is not the state's fault
            self._rehearse(copy.deepcopy(stream))

    def _rehearse(self, stream: Stream[State, ObjectiveT]) -> None:
        """Judge one block on a copy: the parts of a state may each be valid and still not fit each other."""
        if stream.objective is None:
            return
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stream.n_pending = 0
            self._advance(stream, stream.pending.copy())
            require(are_finite(self._value(stream.known) or 0.0), "the value of a set")
            held = self._held(stream.known, stream.running)
            require(((held >= 0) & (held < stream.n_judged)).all(), "the numbers of rows")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    # -- the loop

    def _go_in(self, X: Any, given: dict[str, Any]) -> tuple[Stream[State, ObjectiveT] | None, Array]:
        """A stream for the first rows; ``None`` while there are none."""
        rows = self._working(as_rows(X, "X"))
        given = {**getattr(self, "_early", {}), **given}
        target = given.get("target")
        if not len(rows):
            if target is not None and not self._compares_rows:
                self._target(target, rows, X)  # which refuses it
            self._early = given
            return None, rows
        stream = self._open(rows, self._target(target, rows, X))
        stream.beside = self._beside(rows, X, **given)
        remember_columns(self, X, reset=True)
        self._early = {}
        return stream, rows

    def _go_on(self, X: Any, given: dict[str, Any]) -> tuple[Stream[State, ObjectiveT] | None, Array]:
        """A copy of the stream: a deep one only if these rows complete a block."""
        stream = self._stream
        for name in given:
            raise InputError(
                f"{name} was given after {stream.n_seen} rows; it belongs to the first call of partial_fit. "
                "Call fit, or start with a new selector, to give another"
            )
        self._check_unchanged()
        rows = as_rows(X, "X", stream.n_seen, stream.pending.dtype)
        if len(rows):
            remember_columns(self, X, reset=False)
        if stream.n_pending + len(rows) >= self.block_size:
            return copy.deepcopy(stream), rows
        return replace(stream, pending=stream.pending.copy()), rows

    def _open(self, rows: Array, target: Array | None) -> Stream[State, ObjectiveT]:
        """An empty stream of rows like these."""
        if self.objective is None:
            self._mean(target).check(target)
        fixed = self.get_params(deep=False)
        return Stream(
            pending=np.zeros((self.block_size, rows.shape[1]), rows.dtype),
            rng=generator(self.random_state),
            parameters={name: fixed[name] for name in fixed if name not in ("random_state", "verbose")},
            target=target,
        )

    def _feed(self, stream: Stream[State, ObjectiveT], rows: Array) -> None:
        """Judge every full block; the remaining rows wait for the next call."""
        progress, taken = Progress(type(self).__name__, len(rows)), 0
        for part in self._feed_parts(stream, rows):
            taken += len(part)
            if self.verbose and stream.progress is not None:
                progress.note(taken, self._value(stream.known))

    def _feed_parts(self, stream: Stream[State, ObjectiveT], rows: Array) -> Iterator[Array]:
        """Do so part by part, and yield each part when it is done."""
        while len(rows):
            ahead = stream.blocks_ahead(self.block_size) if stream.n_pending == 0 else 0
            ahead = min(ahead, len(rows) // self.block_size)
            if ahead > 1:
                full = ahead * self.block_size
                yield from self._advance_ahead(stream, rows[:full])
                rows = rows[full:]
            elif stream.n_pending == 0 and len(rows) >= self.block_size:
                part, rows = rows[: self.block_size], rows[self.block_size :]
                self._advance(stream, part)
                yield part
            else:
                room = self.block_size - stream.n_pending
                part, rows = rows[:room], rows[room:]
                self._wait(stream, part)
                yield part

    def _wait(self, stream: Stream[State, ObjectiveT], rows: Array) -> None:
        """Add rows to the waiting block, at most as many as it has room for; judge it when it is full."""
        stream.pending[stream.n_pending : stream.n_pending + len(rows)] = rows
        stream.n_pending += len(rows)
        if stream.n_pending == self.block_size:
            stream.n_pending = 0
            self._advance(stream, stream.pending.copy())

    def _advance_ahead(self, stream: Stream[State, ObjectiveT], rows: Array) -> Iterator[Array]:
        """Judge full blocks by one mean: while one is judged, other threads compute the ``mu`` of the next."""
        objective, first = stream.running, stream.n_judged
        starts = range(0, len(rows), self.block_size)
        for block in ahead_of(lambda at: objective.block(first + at, rows[at : at + self.block_size]), starts):
            self._take(stream, block)
            yield block.rows

    def _advance(self, stream: Stream[State, ObjectiveT], rows: Array) -> None:
        """Judge one block, by everything learnt from the blocks before it."""
        if stream.objective is None:
            self._begin(stream, rows)
        objective = stream.running
        if objective.rows_ahead() <= 0 and objective.refresh():
            self._refresh(stream.known, objective)
        block = objective.block(stream.n_judged, rows)
        if stream.progress is None:
            stream.progress = self._start(block, objective, stream.rng)
        self._take(stream, block)

    def _take(self, stream: Stream[State, ObjectiveT], block: Block) -> None:
        """Add a block to the target's mean where that follows the stream, and let the algorithm judge it."""
        objective = stream.running
        objective.observe(block)
        mean = stream.own_mean
        if mean is not None:
            stream.norm += mean.share_of_norm(slice(block.first, block.first + len(block)), block.mu)
        self._judge(stream.known, objective, block)
        stream.n_judged += len(block)
        value = self._value(stream.known)
        if value is not None:
            bound = objective.moving_bound(self.block_size) if stream.recorder.is_due else None
            stream.recorder.note(stream.n_judged, value, self._counts(stream), bound or 0.0)

    def _counts(self, stream: Stream[State, ObjectiveT]) -> Counts:
        return Counts(self._accepted(stream.known), self._exchanged(stream.known))

    def _judge_pending(self, stream: Stream[State, ObjectiveT]) -> None:
        """Judge the waiting rows as a block, full or not."""
        if stream.n_pending:
            rest = stream.pending[: stream.n_pending].copy()
            stream.n_pending = 0
            self._advance(stream, rest)

    def _begin(self, stream: Stream[State, ObjectiveT], rows: Array) -> None:
        """Fix the target, the kernel and the mean, with the first block."""
        stream.objective = cast(ObjectiveT, self._objective(rows, stream.target, stream.rng, stream.is_target))
        if stream.is_target:
            assert stream.target is not None
            stream.is_target = stream.running.fixed_over(stream.target) is not None
            stream.running.own()  # the rows are the user's
        stream.target = None  # the mean has what it needs of it

    def _known_objective(self) -> Objective:
        check_is_fitted(self)
        with self._lock, one_thread():
            return self._caught_up().running

    def _finish(self) -> Prototypes:
        """The result as of now, with weights solved in float64, made from a copy of the stream."""
        stream = self._caught_up()
        counts = self._counts(stream)  # counted before the choice, which may look at rows again on this copy
        chosen = self._chosen(stream)
        return self._prototypes(stream.running, chosen, stream.n_judged, stream.recorder, counts)

    def _chosen(self, stream: Stream[State, ObjectiveT]) -> Selection:
        return self._choose(stream.known, stream.running)

    def _caught_up(self) -> Stream[State, ObjectiveT]:
        """A copy of the stream in which the waiting rows are judged and the mean is up to date."""
        stream = copy.deepcopy(self._stream)
        self._judge_pending(stream)
        objective = stream.running
        mean = stream.own_mean
        if mean is not None and mean.norm is None:
            mean.norm = stream.norm
        if objective.refresh():
            self._refresh(stream.known, objective)
        return stream

    def _check_unchanged(self) -> None:
        """Raise `ParameterError` where a parameter has changed since the stream began."""
        for name, began in self._stream.parameters.items():
            now = getattr(self, name)
            if not same(now, began):
                raise ParameterError(
                    f"{arg(name)} was {began!r} when the stream began and is {now!r} after {self._stream.n_seen} "
                    "rows; set it back, or call fit or a new selector to start again"
                )
