"""What every selector shares: its parameters, its result, and what a fitted one offers."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from inspect import signature
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from protosieve import _html
from protosieve._blas import one_thread
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError, ParameterError, ProtosieveError, arg, warn
from protosieve.kernels import Kernel, MultiScale, as_kernel
from protosieve.means import CalibratedMean, ExactMean, Judge, Mean, points_for, sample_for
from protosieve.objectives import Coverage, KernelMean, Need, Objective, Weighed
from protosieve.result import BestOfSize, Certificate, Prototypes
from protosieve.selectors._lock import Lock, lock_of
from protosieve.selectors._nested import parts_of, split, with_parts
from protosieve.selectors._rows import column_names, new_rows, remember_columns, some_rows, target_rows
from protosieve.selectors._rules import Rule, whole_number
from protosieve.selectors._stream import Counts, Recorder

_NOTHING_LEFT = 1e-9  # a residual that needs no more prototypes
_HEAD = 0.1  # of the rows: where all prototypes come from these, the order of rows has chosen them

_T = TypeVar("_T")


class NoKernelError(ParameterError, AttributeError):
    """There is no kernel, so nothing that needs one; an `AttributeError`, so that ``hasattr`` works."""


@dataclass(frozen=True)
class Selection:
    """What an algorithm has chosen: row numbers, rows, and its weights so far, from which the final solve starts."""

    indices: NDArray[np.int64]
    rows: Array
    weights: Float64

    def beside(self, keep: Array) -> "Selection":
        """With rows that were chosen before."""
        rows = np.concatenate([self.rows, keep.astype(self.rows.dtype, copy=False)])
        numbers = np.append(self.indices, -1 - np.arange(len(keep)))
        return Selection(numbers, rows, np.append(self.weights, np.zeros(len(keep))))


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[_T]) -> type[_T]:
    """The annotated attributes of a selector become its parameters: its constructor takes and stores them."""
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


# scikit-learn ships no types, so to mypy its classes are Any
@parameters
class Selector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all selectors: what users pass in, and everything that follows from ``result_``."""

    method: ClassVar[str]  # its name on the command line, in `compare` and in `select`
    summary: ClassVar[str]  # how it chooses, in half a sentence, for the report
    weighs_equally: ClassVar[bool] = False  # whether all prototypes weigh the same
    is_slow: ClassVar[bool] = False  # minutes where others take seconds: `compare` runs it only by name

    _rules: ClassVar[dict[str, Rule]] = {"n_prototypes": whole_number(1), "block_size": whole_number(1)}

    _keeps_more: ClassVar[str] = (  # the remedy where far fewer rows were kept than asked for
        "A kernel that tells rows apart better, such as one with a third of the width, keeps more"
    )

    _needs: ClassVar[tuple[Need, ...]] = (Need.GRADIENTS,)  # of an objective, one of them
    _fills_from_head: ClassVar[bool] = False  # whether early rows may leave no room for later ones

    n_prototypes: int = field(default=10, kw_only=False)
    kernel: Any = None
    mean: Mean | None = None
    random_state: Any = None
    block_size: int = 512
    verbose: bool = False

    objective = cast(Any, None)  # no annotation: the kernel mean, unless a selector makes it one of its parameters

    @property
    @abstractmethod
    def result_(self) -> Prototypes:
        """Everything about the selection as of now, a frozen `Prototypes`."""

    @property
    def _lock(self) -> Lock:
        """Held by every call that changes the fitted state, or reads more than one part of it."""
        return lock_of(self)

    def __getstate__(self) -> dict[str, Any]:
        """The state for copies and pickles: never one that another thread is in the middle of changing."""
        with self._lock:
            return dict(super().__getstate__())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` those of the kernel, mean and objective too, as ``kernel__width``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        values = list(params.items()) if deep else []
        return params | {f"{name}__{part}": of for name, value in values for part, of in parts_of(value).items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, all or none of them.

        ``kernel__width=2.0`` gives the selector a new kernel that differs in its width, a `MultiScale` where there
        was none; the old kernel, which others may share, stays as it is.
        """
        whole, parts = split(params)
        with self._lock, self._unchanged_on_error():
            super().set_params(**whole)
            for name, changes in parts.items():
                value = getattr(self, name, None)
                if hasattr(value, "set_params") or name not in super().get_params(deep=False):
                    super().set_params(**{f"{name}__{part}": of for part, of in changes.items()})
                else:
                    value = self._kernel() if name == "kernel" else value
                    setattr(self, name, with_parts(type(self).__name__, name, value, changes))
        return self

    def predict(self, X: Any) -> Indices:
        """The position, in ``prototypes_``, of the prototype nearest to each row in the kernel's distance.

        For `MultiScale`, `Gaussian` and `Linear` that is the Euclidean nearest. O(n m d) time, O(block_size m) memory.
        """
        with self._lock:
            result, kernel = self.result_, self.kernel_
        rows = new_rows(self, X)
        with one_thread():
            return kernel.nearest(rows, result.rows, self.block_size)

    def transform(self, X: Any) -> Array:
        """The kernel similarity of each row to each prototype, shape (n, number kept); O(n m d)."""
        with self._lock:
            result, kernel = self.result_, self.kernel_
        rows = new_rows(self, X)
        with one_thread():
            prototypes = kernel.prepare(result.rows.astype(rows.dtype, copy=False))
            return kernel.block(kernel.prepare(rows), prototypes)

    @property
    def prototype_indices_(self) -> NDArray[np.int64]:
        """Row numbers of the prototypes in the whole stream, the largest weight first."""
        return self.result_.indices

    @property
    def prototypes_(self) -> Array:
        """The prototypes themselves, one per row."""
        return self.result_.rows

    @property
    def weights_(self) -> Float64:
        """Their weights, zero or more unless the objective is signed."""
        return self.result_.weights

    @property
    def objective_(self) -> float:
        """``l`` at the weights."""
        return self.result_.objective

    @property
    def mmd_(self) -> float:
        """The maximum mean discrepancy between the target and the weighted prototypes."""
        return self.result_.mmd

    @property
    def kernel_(self) -> Kernel:
        """The kernel in use, with its width as a number."""
        kernel = self.result_.kernel
        if kernel is None:
            raise NoKernelError(
                f"{type(self).__name__}: rows were chosen by {self.objective!r}, not by a kernel; only where the "
                "objective is the kernel mean are there a kernel, nearest prototypes and similarities to them"
            )
        return kernel

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """For notebooks: scikit-learn's diagram of the parameters, if enabled, and the result so far."""
        picture: Callable[[], str] = super()._repr_html_  # missing where scikit-learn is set to print text
        return lambda: self._pictured(picture)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = {"text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else {}
        return {"text/plain": repr(self), **html}

    def _pictured(self, picture: Callable[[], str]) -> str:
        try:
            return picture() + (self.result_._repr_html_() if self.__sklearn_is_fitted__() else "")
        except ProtosieveError as error:  # a picture must not fail: there may be no result yet
            return _html.table(f"{self!r} has no result yet: {error}", [])

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool: ...

    @property
    def _n_features_out(self) -> int:
        return len(self.result_)

    # -- the result

    @abstractmethod
    def _known_objective(self) -> Objective:
        """The objective by which the result was chosen."""

    def known_mean(self) -> KernelMean:
        """The kernel mean by which the result was chosen; `ParameterError` where it was another objective."""
        objective = self._known_objective()
        if not isinstance(objective, KernelMean) or self.objective is not None:
            raise ParameterError(f"{type(self).__name__}: rows were chosen by {self.objective!r}, not by a kernel mean")
        return objective

    def known_comparison(self) -> KernelMean | Coverage:
        """The objective by which the result was chosen, if it compares rows by a kernel."""
        if not self._compares_rows:
            raise ParameterError(f"{type(self).__name__}: rows were chosen by {self.objective!r}, which compares none")
        return cast(KernelMean | Coverage, self._known_objective())

    def _weigh(self, objective: Any, rows: Array, start: Float64) -> Weighed:
        """The weights of the chosen rows, by default the best there are."""
        weighed: Weighed = objective.weigh(rows, start)
        return weighed

    def _prototypes(
        self, objective: Objective, chosen: Selection, n_seen: int, recorder: Recorder, counts: Counts
    ) -> Prototypes:
        """The result: rows with their weights, solved in float64, the largest weight first."""
        stated: Objective = objective if self._compares_rows else self.objective  # as the user put it
        if not len(chosen.indices):
            raise InputError(stated.none_helps(n_seen))
        weighed = self._weigh(objective, chosen.rows, chosen.weights)
        weights = weighed.weights
        order = np.lexsort((chosen.indices, -np.abs(weights), chosen.indices < 0))
        keep = chosen.rows[chosen.indices < 0]
        certificate = certificate_of(objective, chosen.rows, weighed, self.block_size, self.n_prototypes, keep)
        if self.objective is not None:
            certificate = replace(certificate, whole=stated.whole())
        self._warn(stated, certificate, chosen.indices[chosen.indices >= 0], n_seen)
        names = getattr(self, "feature_names_in_", None)
        return Prototypes(
            indices=chosen.indices[order],
            rows=chosen.rows[order],
            weights=weights[order],
            certificate=certificate,
            trace=recorder.trace(n_seen, certificate.value, counts, certificate.upper_bound),
            kernel=objective.kernel if self._compares_rows else None,
            selector=type(self).__name__,
            parameters=self.get_params(deep=False),
            n_seen=n_seen,
            random_state=self.random_state,
            version=version("protosieve"),
            intercept=weighed.intercept,
            evaluations=objective.evaluations(),
            feature_names=None if names is None else tuple(map(str, names)),
        )

    def _warn(self, stated: Objective, certificate: Certificate, chosen: NDArray[np.int64], n_seen: int) -> None:
        """Warn of a result that is correct but may surprise."""
        kept, last = len(chosen), int(chosen.max(initial=-1)) + 1
        notes = []
        if certificate.value < 0 and self.objective is None:
            notes.append(
                f": {kept} rows at these weights are further from the target than no rows at all, under "
                f"{stated.describe()}. A wider kernel, or a selector that solves for the weights, such as ProtoSwap, "
                "does better"
            )
        if 2 * kept < min(self.n_prototypes, n_seen):
            remedy = self._keeps_more if self.objective is None else stated.keeps_more()
            why = f"none of the other {n_seen - kept} rows improves the fit enough. {remedy}"
            if certificate.residual <= _NOTHING_LEFT:
                why = "these represent the target completely"
            notes.append(f" kept {kept} of {arg('n_prototypes', self.n_prototypes)}: under {stated.describe()} {why}")
        elif self._fills_from_head and kept > 2 and last <= _HEAD * n_seen:
            notes.append(
                f" chose all {kept} rows from the first {last:,} of {n_seen:,}: its sets fill up early and then take "
                "no more rows. Shuffle the rows, or use ProtoSwap (method swap), whose choice does not depend on their "
                "order"
            )
        for note in notes:
            warn(f"{type(self).__name__}{note}", stacklevel=6)

    # -- what users pass

    def _check_parameters(self) -> None:
        for name, rule in self._rules.items():
            rule.check(type(self).__name__, name, getattr(self, name))
        if not (self.mean is None or isinstance(self.mean, Mean)):
            raise ParameterError(
                f"{type(self).__name__}: {arg('mean')} must be a mean of protosieve.means, such as "
                f"ReservoirMean(), or None; got {self.mean!r}"
            )
        if self.objective is not None:
            self._check_objective()
        generator(self.random_state)

    def _check_objective(self) -> None:
        """Raise `ParameterError` where the objective lacks what this selector needs, or a kernel is given too."""
        name, objective = type(self).__name__, self.objective
        if not isinstance(objective, Objective) or isinstance(objective, KernelMean):
            raise ParameterError(
                f"{name}: {arg('objective')} must be one of protosieve.objectives, such as LeastSquares(y), or "
                f"None for the kernel mean; got {objective!r}"
            )
        if not set(self._needs) & set(objective.offers):
            *others, last = content_with(objective)
            use = f"{', '.join(others)} or {last}" if others else last
            raise ParameterError(
                f"{name} needs {' or '.join(self._needs)}; {type(objective).__name__} has only "
                f"{' and '.join(objective.offers)}: use {use}"
            )
        for word in ("mean",) if objective.compares_rows else ("kernel", "mean"):
            if getattr(self, word) is not None:
                raise ParameterError(
                    f"{name}: {arg(word, getattr(self, word))} belongs to the kernel mean, and the objective is "
                    f"{type(objective).__name__}; leave one of the two out"
                )

    @property
    def _compares_rows(self) -> bool:
        """Whether rows are compared by a kernel, with those of a target."""
        return self.objective is None or self.objective.compares_rows

    def _kernel(self) -> Kernel:
        return MultiScale() if self.kernel is None else as_kernel(self.kernel)

    def _mean(self, target: Array | None) -> Mean:
        if self.mean is not None:
            return self.mean
        return default_mean(target, self.n_prototypes, self._chooses_from_sample)

    @property
    def _chooses_from_sample(self) -> bool:
        """Whether rows are chosen from a sample, by the mean at its rows, and not as they come."""
        return False

    def _rows_to_fit(self, X: Any, y: Any, target: Any) -> tuple[Array, Array | None]:
        """The arguments of ``fit``, checked: rows, and the target where one was given."""
        self._check_parameters()
        rows = self._working(some_rows(X))
        check_labels(y, rows)
        given = self._target(target, rows, X)
        remember_columns(self, X, reset=True)
        if len(rows) < self.n_prototypes:
            warn(
                f"{arg('n_prototypes', self.n_prototypes)} but X has {len(rows)} rows: at most these are kept",
                stacklevel=3,
            )
        return rows, given

    def _target(self, target: Any, rows: Array, X: Any) -> Array | None:
        """The target, checked, where one was given; an objective of its own has none and looks at the rows."""
        if self._compares_rows:
            return target_rows(target, self.mean, rows, column_names(X))
        if target is not None:
            raise InputError(f"target was given, and {type(self.objective).__name__} has none: it explains its own y")
        self.objective.check(rows, "X")
        return None

    def _objective(self, first: Array, target: Array | None, rng: np.random.Generator, own: bool = False) -> Objective:
        """The objective, with the kernel's width learnt from the target, or else from the first block; the target may
        be all rows that are to come (``own``).
        """
        if not self._compares_rows:
            return self._begun()
        kernel = self._kernel().resolve(first if target is None else target, rng)
        if self.objective is not None:
            compared, drawn = not (self._chooses_from_sample and (own or target is None)), int(rng.integers(2**63))
            over: Objective = self.objective.over(kernel, target, first, drawn, m=self.n_prototypes, compared=compared)
            return over
        seed = np.random.default_rng(rng.integers(2**63))
        mean = self._mean(target).begin(kernel, target, first, seed, self.n_prototypes)
        return KernelMean(kernel, mean, rule=self._kernel() if target is None and self._chooses_from_sample else None)

    def _begun(self) -> Objective:
        """The user's objective, as a stream begins."""
        begun: Objective = self.objective.begin()
        return begun

    def _working(self, rows: Array) -> Array:
        """The rows in a dtype that is precise enough for the kernel."""
        trusted = self._compares_rows and self._kernel().nonnegative
        return rows if trusted else rows.astype(np.float64, copy=False)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.update(before)
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            raise


def certificate_of(
    objective: Objective, rows: Array, weighed: Weighed, step: int, room: int = 0, keep: Array | None = None
) -> Certificate:
    """Of prototypes and what they are worth; if there is ``room``, also beside the best rows with those to ``keep``."""
    sampled = objective.sampled()
    if sampled is not None:
        return Certificate.by(Judge(sampled), rows, weighed.weights)
    full = objective.bound_with(rows, step)
    possible = objective.best_possible(rows, room, rows[:0] if keep is None else keep) if room else None
    best = None
    if possible is not None:
        best = BestOfSize.by(possible.covered, possible.most, full, room, possible.candidates, possible.population)
    return Certificate(weighed.value, full, whole=objective.whole(), best=best)


def default_mean(target: Array | None, n_prototypes: int, from_sample: bool = False) -> Mean:
    """The mean by default: exact where that is cheaper, else calibrated.

    The cost is counted in kernel values, for a stream as long as the target. An exact mean takes n^2. A calibrated one
    takes P for each row of target and stream, those between the rows of the sample, and a Cholesky factor of P columns,
    which takes the time of about P^3 / 50. Where rows are chosen from the sample (``from_sample``) and it holds all
    rows, the calibrated mean is exact too, and compares each pair of rows once.
    """
    if target is None:
        return CalibratedMean()
    n, points, sample = len(target), points_for(n_prototypes), sample_for(n_prototypes, target.shape[1])
    pairs = n**2 / 2 if from_sample and n <= sample else min(n, sample) ** 2
    return ExactMean() if n**2 <= 2 * n * points + pairs + points**3 / 50 else CalibratedMean()


def content_with(objective: Objective) -> list[str]:
    """The names of the selectors that work with an objective."""
    from protosieve.selectors import SELECTORS  # which are made of this class

    takers = (cls for cls in SELECTORS if "objective" in signature(cls).parameters)
    return [cls.__name__ for cls in takers if set(cls._needs) & set(objective.offers)]


def check_labels(y: Any, rows: Array) -> None:
    """``y`` is ignored, as everywhere in scikit-learn; but a matrix of the rows' columns is a misplaced target."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == rows.shape[1] > 1:
        raise InputError(f"y has shape {shape}, the columns of X: if these are the rows to match, pass them as target=")


def generator(random_state: Any) -> np.random.Generator:
    """A new generator, seeded by ``random_state``: None, a number, or a NumPy generator, which is left unchanged."""
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(copy.deepcopy(random_state).integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(copy.deepcopy(random_state).randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{arg('random_state')} must be None, a whole number of at least 0 or a NumPy generator, got "
            f"{random_state!r}"
        ) from error
