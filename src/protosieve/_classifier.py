"""`PrototypeClassifier`: a few rows of each class, and for a new row the class of the nearest."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError, ParameterError, arg
from protosieve.kernels import Gaussian, Kernel, MultiScale, as_kernel
from protosieve.objectives import Coverage
from protosieve.selectors import NO_ROWS, ProtoSwap, StreamSelector, as_rows, new_rows, remember_columns, whole_number

__all__ = ["PrototypeClassifier"]

_NARROWER = 4  # than the median distance within a class: of 2, 3, 4, 6 and 8 the least log loss on four sets of data
_AHEAD = 1e-9  # of the votes of the next class, as a share: enough to be the largest after rounding
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class _OfClass:
    """The selector of one class, and the rows it may still choose: by their number in the class, and in the stream."""

    selector: StreamSelector[Any, Any]
    own: NDArray[np.int64]
    whole: NDArray[np.int64]

    def fed(self, rows: Array, whole: NDArray[np.int64]) -> "_OfClass":
        """With more rows; what was there stays as it is, in case another class fails."""
        selector = copy.copy(self.selector).partial_fit(rows)
        own = np.concatenate([self.own, np.arange(self.n_rows, self.n_rows + len(rows))])
        held = np.isin(own, selector.held_indices_)
        return _OfClass(selector, own[held], np.concatenate([self.whole, whole])[held])

    @property
    def n_rows(self) -> int:
        return self.selector.n_samples_seen_ if self.selector.__sklearn_is_fitted__() else 0

    @property
    def indices(self) -> NDArray[np.int64]:
        """Of the prototypes, in the stream."""
        return self.whole[np.searchsorted(self.own, self.selector.prototype_indices_)]

    @property
    def shares(self) -> Float64:
        """Their weights, in rows of the class."""
        weights = self.selector.weights_
        return np.asarray(weights * (self.n_rows / weights.sum()))


@dataclass(frozen=True, eq=False)
class _Voters:
    """The prototypes of all classes, in the order of the classes; ``of`` is the place of their class in that order."""

    rows: Array
    of: Indices
    indices: NDArray[np.int64]
    weights: Float64
    kernel: Kernel

    def nearest(self, rows: Array) -> Indices:
        """The nearest prototype to each row."""
        return self.kernel.nearest(rows, self.rows, _BLOCK)

    def votes(self, rows: Array, n_classes: int) -> Float64:
        """What the prototypes of each class say of each row; a row sums to 1."""
        weights = self.weights[:, None] * (self.of[:, None] == np.arange(n_classes))
        prototypes = self.kernel.prepare(self.rows.astype(rows.dtype, copy=False))
        parts = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
        similar = (self.kernel.block(self.kernel.prepare(part), prototypes) for part in parts)
        votes = np.concatenate([np.maximum(K, 0).astype(np.float64) @ weights for K in similar])
        nearest, most = self.of[self.nearest(rows)], votes.max(axis=1)
        is_far = most < np.finfo(np.float64).tiny
        behind = (votes.argmax(axis=1) != nearest) | is_far
        votes[behind, nearest[behind]] = np.where(is_far, 1, (1 + _AHEAD) * most)[behind]
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Seen:
    """Everything learnt from the rows so far. It does not change: more rows make another one."""

    template: StreamSelector[Any, Any]  # a selector that has seen nothing: new classes begin with it
    classes: NDArray[Any]
    settled: bool = False  # whether these are all classes there may be
    dtype: Any = None  # of the rows
    n_seen: int = 0
    parts: Mapping[Any, _OfClass] = field(default_factory=dict)  # by label

    def fed(self, rows: Array, labels: NDArray[Any]) -> "_Seen":
        classes, parts = self._classes_with(labels), dict(self.parts)
        found, of = np.unique(labels, return_inverse=True)
        for i, label in enumerate(found.tolist()):
            at = np.flatnonzero(of == i)
            part = parts.get(label) or _OfClass(clone(self.template), at[:0], at[:0])
            parts[label] = part.fed(rows[at], self.n_seen + at)
        n_seen = self.n_seen + len(rows)
        return replace(self, classes=classes, dtype=rows.dtype, n_seen=n_seen, parts=parts)

    def check_same(self, classes: Any) -> None:
        """Raise `InputError` where ``classes`` are given and are not those of the first call."""
        if classes is None or (self.settled and np.array_equal(np.unique(classes), self.classes)):
            return
        first = _few(self.classes) if self.settled else "not given"
        raise InputError(
            f"{arg('classes')} was {first} in the first call, and is {_few(np.unique(classes))} after {self.n_seen} "
            "rows; give it in the first call, and later the same or none"
        )

    def _classes_with(self, labels: NDArray[Any]) -> NDArray[Any]:
        if len(self.classes) and _are_numbers(labels) != _are_numbers(self.classes):
            raise InputError(
                f"y holds labels such as {labels[:1].tolist()[0]!r}, and the classes are {_few(self.classes)}; give "
                "labels of one kind, all text or all numbers"
            )
        if len(self.classes) and {labels.dtype.kind, self.classes.dtype.kind} == {"i", "u"}:
            mine = labels.astype(self.classes.dtype)  # NumPy would compare the two as floats
            labels = mine if mine.tolist() == labels.tolist() else labels
        unseen = np.flatnonzero(~np.isin(labels, self.classes))
        if self.settled and len(unseen):
            raise InputError(
                f"y: row {self.n_seen + unseen[0]} has the label {labels[unseen].tolist()[0]!r}, which is not among "
                f"{arg('classes')}, {_few(self.classes)}; name all classes in the first call of partial_fit, or leave "
                f"{arg('classes')} out: new ones are then taken in as they come"
            )
        return np.union1d(self.classes, labels) if len(self.classes) else np.unique(labels)

    @cached_property
    def voters(self) -> _Voters:
        parts = {i: self.parts[label] for i, label in enumerate(self.classes.tolist()) if label in self.parts}
        with one_thread():
            rows = np.vstack([part.selector.prototypes_ for part in parts.values()])
            of = np.concatenate([np.full(len(part.selector.prototypes_), i) for i, part in parts.items()])
            indices = np.concatenate([part.indices for part in parts.values()])
            weights = np.concatenate([part.shares / self.n_seen for part in parts.values()])
            return _Voters(rows, of, indices, weights, self._kernel(list(parts.values()), rows))

    def _kernel(self, parts: list[_OfClass], prototypes: Array) -> Kernel:
        """One for all classes."""
        rule: Any = MultiScale() if self.template.kernel is None else as_kernel(self.template.kernel)
        if getattr(rule, "width", None) == "median":
            widths = [part.selector.kernel_.width for part in parts if part.n_rows > 1]  # type: ignore[attr-defined]
            rule = replace(rule, width=float(np.median(widths)) / _NARROWER) if widths else rule
        kernel: Kernel = rule.resolve(prototypes, np.random.default_rng(0))
        return kernel


# scikit-learn ships no types, so to mypy its classes are Any
class PrototypeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Keep a few rows of each class, and give a new row the class of the nearest of them.

    The nearest of all rows is often a good classifier, but all rows must be kept and compared. This one keeps
    ``n_per_class`` rows of each class. It learns from any number of rows in one pass and fixed memory, answers quickly,
    and can show its reason: "it is like this row". It does well where classes form clumps. With few prototypes it
    blurs borders that are fine or winding: docs/classify.md shows what that costs. A column counts as much as its
    values spread: scale columns of different units, for example with `sklearn.preprocessing.StandardScaler`.

    Each class has a selector of its own, which sees the rows of that class only.

    Parameters
    ----------
    n_per_class : int, default 5
        Rows to keep of each class at most. A class with fewer rows keeps what it has.
    selector : selector that streams, optional
        How rows of a class are chosen: copies of it, whose ``n_prototypes`` is ``n_per_class``. By default
        ``ProtoSwap(objective=Coverage(), kernel=Gaussian(), random_state=0)``: every row of a class has a prototype of
        its class near it. Its kernel says what "near" is.

    Attributes
    ----------
    classes_ : array
        The labels, in ascending order.
    prototypes_, prototype_labels_, prototype_indices_ : arrays
        The rows kept, class by class; their labels; and their row numbers in everything seen.
    weights_ : array
        Their weights in votes. Those of a class sum to its share of the rows.
    n_samples_seen_ : int

    Notes
    -----
    `predict` compares by the kernel's distance, for Gaussian kernels the Euclidean. A probability is a share of votes:
    the votes of a prototype are its weight times its similarity to the row, where that is above zero. All classes have
    one kernel there. If the selector's kernel learns its width from rows, as by default, this one's is a quarter of the
    median of the classes' widths; otherwise it is that of the selector. Where others have more votes than the class of
    the nearest prototype, that class is given as many, so that `predict` names the most probable. Far from all
    prototypes the nearest class takes nearly all votes, and where similarities are too small for a number, all of them:
    the probabilities compare classes, and do not tell whether a row belongs to any.

    Learning costs what the selectors do, each for the rows of its class. Memory is one selector for each class: by
    default up to some 20,000 rows of each. A prediction is O(n p d) for p prototypes of all classes, in blocks.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import PrototypeClassifier
    >>> X, digit = load_digits(return_X_y=True)
    >>> fitted = PrototypeClassifier(n_per_class=5).fit(X[:1000], digit[:1000])
    >>> fitted.prototypes_.shape
    (50, 64)
    >>> fitted.score(X[1000:], digit[1000:]) > 0.9
    True
    """

    _seen: _Seen

    def __init__(self, n_per_class: int = 5, selector: StreamSelector[Any, Any] | None = None) -> None:
        self.n_per_class = n_per_class
        self.selector = selector

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows of ``X`` with labels ``y``, forgetting what was seen before.

        It is `partial_fit` from the beginning, so more rows may follow.
        """
        seen = self._fed(self._begun(None), X, y)
        if not seen.n_seen:
            raise InputError(NO_ROWS.format(np.shape(X)))
        seen.voters  # noqa: B018  # chosen now, and not by the first prediction
        return self._knows(seen, X, is_first=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue with the next rows, in chunks of any size: what is learnt does not depend on the chunks.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        y : labels of its rows
        classes : labels, optional
            In the first call: all labels there may be; others are then an error. By default new classes are taken in
            as they come.

        Notes
        -----
        ``n_per_class`` and ``selector`` are those of the first call. A call that fails changes nothing.
        """
        seen: _Seen | None = getattr(self, "_seen", None)
        if seen is None:
            seen = self._begun(classes)
        else:
            seen.check_same(classes)
        fed = self._fed(seen, X, y)
        return self._knows(fed, X, is_first=not seen.n_seen) if fed.n_seen or fed.settled else self

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the prototype nearest to each row."""
        seen, rows = self._fitted, new_rows(self, X)
        with one_thread():
            return seen.classes[seen.voters.of[seen.voters.nearest(rows)]]

    def predict_proba(self, X: Any) -> Float64:
        """The share of the votes for each class, shape (n, number of classes), in the order of ``classes_``."""
        seen, rows = self._fitted, new_rows(self, X)
        with one_thread():
            return seen.voters.votes(rows, len(seen.classes))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in ascending order."""
        return self._fitted.classes

    @property
    def prototypes_(self) -> Array:
        """The rows kept, class by class, and of a class those of the largest weight first."""
        return self._fitted.voters.rows

    @property
    def prototype_labels_(self) -> NDArray[Any]:
        """Their labels."""
        return self._fitted.classes[self._fitted.voters.of]

    @property
    def prototype_indices_(self) -> NDArray[np.int64]:
        """Their row numbers in everything seen."""
        return self._fitted.voters.indices

    @property
    def weights_(self) -> Float64:
        """Their weights in votes."""
        return self._fitted.voters.weights

    @property
    def n_samples_seen_(self) -> int:
        """Rows received so far."""
        return self._fitted.n_seen

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_seen") and self._seen.n_seen > 0

    @property
    def _fitted(self) -> _Seen:
        check_is_fitted(self)
        return self._seen

    def _template(self) -> StreamSelector[Any, Any]:
        whole_number(1).check(type(self).__name__, "n_per_class", self.n_per_class)
        given: Any = self.selector
        if given is None:
            return ProtoSwap(self.n_per_class, kernel=Gaussian(), objective=Coverage(), random_state=0)
        if not (isinstance(given, StreamSelector) and isinstance(given.objective, Coverage | None)):
            raise ParameterError(
                f"{type(self).__name__}: {arg('selector')} must be a selector that streams and compares rows by a "
                f"kernel, such as ProtoSwap(), got {given!r}"
            )
        template: StreamSelector[Any, Any] = clone(given).set_params(n_prototypes=self.n_per_class)
        return template

    def _begun(self, classes: Any) -> _Seen:
        if classes is None:
            return _Seen(self._template(), np.empty(0))
        return _Seen(self._template(), np.unique(classes), settled=True)

    def _fed(self, seen: _Seen, X: Any, y: Any) -> _Seen:
        rows = as_rows(X, "X", seen.n_seen, seen.dtype)
        labels = _labels(y, len(rows), seen.n_seen)
        if seen.n_seen and len(rows):
            remember_columns(self, X, reset=False)
        return seen.fed(rows, labels) if len(rows) else seen

    def _knows(self, seen: _Seen, X: Any, is_first: bool) -> Self:
        """Once nothing can fail: the columns of the first rows are those of all."""
        if is_first and seen.n_seen:
            remember_columns(self, X, reset=True)
        self._seen = seen
        return self


def _labels(y: Any, n_rows: int, first: int = 0) -> NDArray[Any]:
    """One label for each row."""
    if y is None:
        raise InputError("PrototypeClassifier requires y to be passed, but the target y is None; give a label per row")
    try:
        labels = np.asarray(column_or_1d(y, warn=True))
        if labels.dtype.hasobject:
            _check_there(labels, first)
        np.unique(labels)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"y: {error}; give one label for each row, text or a whole number") from error
    if len(labels) != n_rows:
        raise InputError(f"y has {len(labels)} labels and X has {n_rows} rows; give one label for each row")
    if labels.dtype.kind == "f":
        odd = np.flatnonzero(~(np.isfinite(labels) & (labels == np.floor(labels))))
        if len(odd):
            raise InputError(
                f"y: row {first + odd[0]} is {labels[odd[0]]}, and labels are text or whole numbers; drop rows that "
                "have none, and cut continuous values into classes, for example with numpy.digitize"
            )
    return labels


def _check_there(labels: NDArray[Any], first: int) -> None:
    for row, label in enumerate(labels.tolist()):
        if label is None or label != label:  # NaN
            raise InputError(f"y: row {first + row} has no label, but {label}; drop rows that have none")


def _are_numbers(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "biuf"


def _few(classes: NDArray[Any]) -> str:
    """At most ten of them, for a message."""
    return repr(classes[:10].tolist()) + (f" and {len(classes) - 10} more" if len(classes) > 10 else "")
