"""What every selector shares: its parameters, its result, and what a fitted one offers."""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from protosieve import _html
from protosieve._blas import one_thread
from protosieve._prototypes import Certificate, Prototypes
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError, ParameterError, ProtosieveError, ProtosieveWarning, arg
from protosieve.kernels import Kernel, MultiScale, as_kernel
from protosieve.means import CalibratedMean, ExactMean, Judge, Mean, points_for, sample_for
from protosieve.objectives import KernelMean, Need, Objective, Weighed
from protosieve.selectors._lock import Lock, lock_of
from protosieve.selectors._nested import parts_of, split, with_parts
from protosieve.selectors._rows import NO_ROWS, as_rows, column_names, target_rows
from protosieve.selectors._rules import Rule, whole_number
from protosieve.selectors._stream import Counts, Recorder

_NOTHING_LEFT = 1e-9  # a residual that needs no more prototypes

__all__ = ["Selection", "Selector", "check_labels", "default_mean", "generator"]


class NoKernelError(ParameterError, AttributeError):
    """What is made of a kernel is not there; an `AttributeError`, so that ``hasattr`` and ``dir`` know."""


@dataclass(frozen=True)
class Selection:
    """What an algorithm has chosen: row numbers, rows, and the weights it knows (a start for the last solve)."""

    indices: NDArray[np.int64]
    rows: Array
    weights: Float64


# scikit-learn ships no types, so to mypy its classes are Any
class Selector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all selectors: what users pass in, and everything that follows from ``result_``."""

    method: ClassVar[str]  # its name on the command line, in `compare` and in `select`
    summary: ClassVar[str]  # how it chooses, in half a sentence, for the report
    weighs_equally: ClassVar[bool] = False  # whether all prototypes weigh the same
    is_slow: ClassVar[bool] = False  # minutes where others take seconds: `compare` runs it only by name

    _rules: ClassVar[dict[str, Rule]] = {"n_prototypes": whole_number(1), "block_size": whole_number(1)}

    _keeps_more: ClassVar[str] = (  # the remedy where far fewer rows were kept than asked for
        "A kernel that tells rows better apart, such as one of a third of the width, keeps more"
    )

    _needs: ClassVar[Need] = Need.GRADIENTS  # of an objective

    objective: Any = None  # those that know the kernel mean only have no such parameter
    n_prototypes: int
    kernel: Any
    mean: Mean | None
    random_state: Any
    block_size: int

    @property
    @abstractmethod
    def result_(self) -> Prototypes:
        """Everything about the selection as of now, a frozen `Prototypes`."""

    @property
    def _lock(self) -> Lock:
        """Held by every call that changes what was learnt, or reads more than one part of it."""
        return lock_of(self)

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles are made of: the selector between two calls, whatever other threads do."""
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
        rows = self._new_rows(X)
        with one_thread():
            prototypes = kernel.prepare(result.rows.astype(rows.dtype, copy=False))
            nearest = np.empty(len(rows), np.intp)
            for start in range(0, len(rows), self.block_size):
                part = slice(start, start + self.block_size)
                nearest[part] = kernel.nearness(kernel.prepare(rows[part]), prototypes).argmax(axis=1)
        return nearest

    def transform(self, X: Any) -> Array:
        """The kernel similarity of each row to each prototype, shape (n, number kept); O(n m d)."""
        with self._lock:
            result, kernel = self.result_, self.kernel_
        rows = self._new_rows(X)
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
        """In a notebook: scikit-learn's picture of the parameters, where it is wanted, and the result so far."""
        picture: Callable[[], str] = super()._repr_html_  # not there where scikit-learn is told to print text
        return lambda: self._pictured(picture)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = {"text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else {}
        return {"text/plain": repr(self), **html}

    def _pictured(self, picture: Callable[[], str]) -> str:
        try:
            return picture() + (self.result_._repr_html_() if self.__sklearn_is_fitted__() else "")
        except ProtosieveError as error:  # it may not fail: scikit-learn's shows what follows from the result, too
            return _html.table(f"{self!r} has no result yet: {error}", [])

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool: ...

    @property
    def _n_features_out(self) -> int:
        return len(self.result_)

    def _remember_columns(self, X: Any, reset: bool) -> None:
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _new_rows(self, X: Any) -> Array:
        rows = as_rows(X, "X")
        if not len(rows):
            raise InputError(NO_ROWS.format(rows.shape))
        self._remember_columns(X, reset=False)
        return rows

    # -- the result

    @abstractmethod
    def _known_objective(self) -> Objective:
        """What the result was judged by."""

    def known_mean(self) -> KernelMean:
        """The same, for what is made of kernels."""
        objective = self._known_objective()
        if not isinstance(objective, KernelMean) or self.objective is not None:
            raise ParameterError(f"{type(self).__name__}: rows were chosen by {self.objective!r}, not by a kernel mean")
        return objective

    def _weigh(self, objective: Any, rows: Array, start: Float64, mu: Float64 | None = None) -> Weighed:
        """The weights of the chosen rows, by default the best there are; ``mu`` where it is known better."""
        weighed: Weighed = objective.weigh(rows, start, *(() if mu is None else (mu,)))
        return weighed

    def _prototypes(
        self, objective: Objective, chosen: Selection, n_seen: int, recorder: Recorder, counts: Counts
    ) -> Prototypes:
        """The result: rows weighed in float64, the largest weight first."""
        stated: Objective = objective if self.objective is None else self.objective  # as the user put it
        if not len(chosen.indices):
            raise InputError(
                f"none of the {n_seen} rows has a positive {stated.pull_means} under {stated.describe()}, so no "
                f"{'' if stated.signed else 'non-negative '}weights help. {stated.remedy()}"
            )
        weighed = self._weigh(objective, chosen.rows, chosen.weights)
        weights = weighed.weights
        order = np.lexsort((chosen.indices, -np.abs(weights)))
        certificate = self._certificate(objective, chosen.rows, weighed)
        if self.objective is not None:
            certificate = replace(certificate, whole=stated.whole())
        self._warn(stated, certificate, len(chosen.indices), n_seen)
        names = getattr(self, "feature_names_in_", None)
        return Prototypes(
            indices=chosen.indices[order],
            rows=chosen.rows[order],
            weights=weights[order],
            objective=certificate.value,
            residual=certificate.residual,
            mmd=certificate.mmd,
            certificate=certificate,
            trace=recorder.trace(n_seen, certificate.value, counts, certificate.upper_bound),
            kernel=objective.kernel if self.objective is None else None,
            selector=type(self).__name__,
            parameters=self.get_params(deep=False),
            n_seen=n_seen,
            random_state=self.random_state,
            version=version("protosieve"),
            intercept=weighed.intercept,
            evaluations=objective.evaluations(),
            feature_names=None if names is None else tuple(map(str, names)),
        )

    def _certificate(self, objective: Objective, rows: Array, weighed: Weighed) -> Certificate:
        sampled = objective.sampled()
        if sampled is None:
            return Certificate(weighed.value, objective.upper_bound(self.block_size))
        return Certificate.by(Judge(sampled), rows, weighed.weights)

    def _warn(self, stated: Objective, certificate: Certificate, kept: int, n_seen: int) -> None:
        """Of a result that is right, but not what was perhaps expected."""
        if certificate.value < 0 and self.objective is None:
            warnings.warn(
                f"{type(self).__name__}: {kept} rows at these weights are further from the target than nothing at all, "
                f"to {stated.describe()}. A wider kernel, or a selector that solves for the weights, such as "
                "ProtoSwap, does better",
                ProtosieveWarning,
                stacklevel=6,
            )
        if 2 * kept < min(self.n_prototypes, n_seen):
            remedy = self._keeps_more if self.objective is None else stated.keeps_more()
            why = f"none of the other {n_seen - kept} rows improves the fit enough. {remedy}"
            if certificate.residual <= _NOTHING_LEFT:
                why = "these say all there is to say of the target"
            warnings.warn(
                ProtosieveWarning(
                    f"{type(self).__name__} kept {kept} of {arg('n_prototypes', self.n_prototypes)}: to "
                    f"{stated.describe()} {why}"
                ),
                stacklevel=6,
            )

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
        """It can tell what this selector needs, and leaves nothing to a kernel or a mean."""
        name, objective = type(self).__name__, self.objective
        if not isinstance(objective, Objective) or isinstance(objective, KernelMean):
            raise ParameterError(
                f"{name}: {arg('objective')} must be one of protosieve.objectives, such as LeastSquares(y), or "
                f"None for the kernel mean; got {objective!r}"
            )
        if self._needs not in objective.offers:
            *others, last = _content_with(objective)
            raise ParameterError(
                f"{name} needs {self._needs}; {type(objective).__name__} has only {' and '.join(objective.offers)}: "
                f"use {', '.join(others)} or {last}"
            )
        for word in ("kernel", "mean"):
            if getattr(self, word) is not None:
                raise ParameterError(
                    f"{name}: {arg(word, getattr(self, word))} belongs to the kernel mean, and the objective is "
                    f"{type(objective).__name__}; leave one of the two out"
                )

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
        """What was passed to ``fit``, checked: rows, and the target where one was given."""
        self._check_parameters()
        rows = self._working(as_rows(X, "X"))
        check_labels(y, rows)
        if not len(rows):
            raise InputError(NO_ROWS.format(rows.shape))
        given = self._target(target, rows, X)
        self._remember_columns(X, reset=True)
        if len(rows) < self.n_prototypes:
            warnings.warn(
                ProtosieveWarning(
                    f"{arg('n_prototypes', self.n_prototypes)} but X has {len(rows)} rows: at most these are kept"
                ),
                stacklevel=3,
            )
        return rows, given

    def _target(self, target: Any, rows: Array, X: Any) -> Array | None:
        """The target, checked, where one was given; an objective of its own has none and looks at the rows."""
        if self.objective is None:
            return target_rows(target, self.mean, rows, column_names(X))
        if target is not None:
            raise InputError(f"target was given, and {type(self.objective).__name__} has none: it explains its own y")
        self.objective.check(rows, "X")
        return None

    def _objective(self, first: Array, target: Array | None, rng: np.random.Generator) -> Objective:
        """Fix what is learnt from data: from the target where there is one, else from the first block."""
        if self.objective is not None:
            return self._begun()
        kernel = self._kernel().resolve(first if target is None else target, rng)
        seed = np.random.default_rng(rng.integers(2**63))
        return KernelMean(kernel, self._mean(target).begin(kernel, target, first, seed, self.n_prototypes))

    def _begun(self) -> Objective:
        """The user's objective, as a stream begins."""
        begun: Objective = self.objective.begin()
        return begun

    def _working(self, rows: Array) -> Array:
        """The rows in the dtype the kernel can be trusted in."""
        trusted = self.objective is None and self._kernel().nonnegative
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


def default_mean(target: Array | None, n_prototypes: int, from_sample: bool = False) -> Mean:
    """Exact where that is cheaper, for a stream as long as the target.

    In kernel values: n^2; or P for each row of target and stream, and those between the rows of the sample. A Cholesky
    factor of P columns takes the time of some P^3 / 50 of them. A sample that holds all rows is exact too, where rows
    are chosen from it (``from_sample``), and compares each pair of them once.
    """
    if target is None:
        return CalibratedMean()
    n, points, sample = len(target), points_for(n_prototypes), sample_for(n_prototypes, target.shape[1])
    pairs = n**2 / 2 if from_sample and n <= sample else min(n, sample) ** 2
    return ExactMean() if n**2 <= 2 * n * points + pairs + points**3 / 50 else CalibratedMean()


def _content_with(objective: Objective) -> list[str]:
    """The selectors that an objective can tell enough."""
    from protosieve.selectors import SELECTORS  # which are made of this class

    takers = (cls for cls in SELECTORS if "objective" in signature(cls).parameters)
    return [cls.__name__ for cls in takers if cls._needs in objective.offers]


def check_labels(y: Any, rows: Array) -> None:
    """``y`` is ignored, as everywhere in scikit-learn; but a matrix of the rows' columns is a misplaced target."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == rows.shape[1] > 1:
        raise InputError(f"y has shape {shape}, the columns of X: if these are the rows to match, pass them as target=")


def generator(random_state: Any) -> np.random.Generator:
    """A generator of our own, seeded by what the user gave: None, a number, or a generator of NumPy."""
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
