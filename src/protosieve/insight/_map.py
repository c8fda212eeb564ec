"""Data and prototypes in two dimensions: the first two principal components, or the user's own coordinates."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from protosieve._blas import one_thread
from protosieve._formatting import counted, cut, spelt
from protosieve._typing import Array, Float64
from protosieve.insight._result_with_data import ResultWithData
from protosieve.insight._sample_judge import thinned

_POINTS = 2000
_WIDE = 1000  # columns: beyond, the plane is laid through fewer rows
_COLOURED = 10  # labels that a reader can tell apart


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of most variance through rows: ``axes`` is d x 2, ``shares`` of the variance lie along them."""

    centre: Float64
    axes: Float64
    shares: tuple[float, float]

    @classmethod
    def through(cls, rows: Array, weights: Float64 | None = None) -> "Plane | None":
        """The exact principal components, the largest loading positive; None where all rows are one.

        By whichever is smaller of the covariance and the Gram matrix of the centred rows: O(n d min(n, d)).
        """
        p = np.full(len(rows), 1 / len(rows)) if weights is None else weights
        exact = rows.astype(np.float64)
        centre = p @ exact
        X = np.sqrt(p)[:, None] * (exact - centre)
        total = float((X**2).sum())
        if not 0 < total < np.inf or total <= 1e-24 * float(p @ (exact**2).sum(axis=1)):
            return None
        with one_thread():
            values, axes = _leading(X)
        return cls(centre, axes, (values[0] / total, values[1] / total))

    def at(self, rows: Array) -> Float64:
        """Where rows lie, in their own precision; O(n d)."""
        with one_thread():
            return np.asarray((rows - self.centre.astype(rows.dtype)) @ self.axes.astype(rows.dtype), np.float64)


def _leading(X: Float64) -> tuple[tuple[float, float], Float64]:
    """The two largest eigenvalues of ``X'X`` and their vectors; zeros where there is only one."""
    n, d = X.shape
    S = X.T @ X if d <= n else X @ X.T
    size = len(S)
    values, vectors = eigh(S, subset_by_index=[max(0, size - 2), size - 1])
    axes = vectors if d <= n else X.T @ (vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny)))
    if size == 1:
        values, axes = np.append(0.0, values), np.column_stack([np.zeros(d), axes])
    axes = axes[:, ::-1]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    real = values[::-1] > 1e-14 * values.max()
    return (max(0.0, float(values[1])), max(0.0, float(values[0]))), axes * np.where(signs == 0, 1, signs) * real


@dataclass(frozen=True)
class Map:
    """Rows of the data as ``points``: x, y, the position of the label (-1 without) and of the nearest prototype.

    ``prototypes`` has the place of each of them, None where it has none.
    """

    axes: list[str]
    points: list[tuple[float, float, int, int]]
    labels: list[str]
    prototypes: list[tuple[float, float] | None]
    sentence: str


def map_of(subject: ResultWithData) -> Map | None:
    """The map, by the user's coordinates if there are any; None where all rows are one, or none has a place.

    O(2,000 d min(d, 2,000)) for the plane, and the sample's places.
    """
    sample, plane = subject.sample, None
    if subject.view.coordinates is not None:
        mine, theirs = subject.prototypes.coordinates, None if sample is None else sample.coordinates
        wish = subject.view.coordinates
        axes = (
            [cut(name, 80) for name in wish] if isinstance(wish, tuple) else ["first coordinate", "second coordinate"]
        )
        sentence = f"Rows by {axes[0]} and {axes[1]}, as they stand in the data; "
    else:
        plane = _plane(subject)
        if plane is None:
            return None
        mine, theirs = plane.at(subject.result.rows), None if sample is None else plane.at(sample.numbers)
        first, second = plane.shares
        axes = [f"PC 1, {spelt(first)} of the variance", f"PC 2, {spelt(second)}"]
        whose = "prototypes differ" if sample is None else "data differs"
        sentence = f"The two directions in which the {whose} most; they show {spelt(first + second)} of the variance, "
        sentence += "so near on the map need not be near. "
    if not any(_finite(of).any() for of in (theirs, mine) if of is not None):
        return None
    labels = _label_list(subject)
    points = [] if theirs is None else _points(subject, theirs, labels)
    places: list[tuple[float, float] | None] = [None] * len(subject.result)
    if mine is not None:
        places = [(x, y) if ok else None for (x, y), ok in zip(mine.tolist(), _finite(mine), strict=True)]
    return Map(axes, points, labels, places, sentence + _dots(subject, len(points)))


def _plane(subject: ResultWithData) -> Plane | None:
    """Through the sample, or where there is none through the weighted prototypes."""
    result, sample = subject.result, subject.sample
    if result.kernel is None:
        return None
    if sample is None:
        return Plane.through(result.rows, subject.weight_shares) if len(result) > 2 else None
    return Plane.through(thinned(sample.numbers, _POINTS // 2 if result.rows.shape[1] > _WIDE else _POINTS))


def _dots(subject: ResultWithData, shown: int) -> str:
    area = "the area of a prototype's mark is its weight."
    if not shown:
        return f"T{area[1:]}"
    rows = f"{counted(subject.n_rows, 'row')}{' of the target' if subject.is_target else ''}"
    return f"Dots are {f'{shown:,} of ' if shown < subject.n_rows else 'all '}{rows}; {area}"


def _finite(places: Float64) -> NDArray[np.bool_]:
    """Those that can be drawn."""
    with np.errstate(all="ignore"):
        return np.asarray(np.isfinite(places.sum(axis=1)))


def _label_list(subject: ResultWithData) -> list[str]:
    """All labels: in their own order where they can all be coloured, else the most frequent first."""
    seen = Counter([] if subject.sample is None else subject.sample.labels or [])
    seen.update(subject.prototypes.labels or [])
    most = [label for label, _ in seen.most_common()]
    return sorted(most, key=in_natural_order) if len(most) <= _COLOURED else most


def in_natural_order(label: str) -> tuple[bool, float, str]:
    """A key to sort by, with which 10 comes after 9.

    >>> sorted(["10", "9", "b", "a"], key=in_natural_order)
    ['9', '10', 'a', 'b']
    """
    try:
        number = float(label)
    except ValueError:
        return True, 0.0, label
    return (False, number, label) if number == number else (True, 0.0, label)


def _points(subject: ResultWithData, places: Float64, labels: list[str]) -> list[tuple[float, float, int, int]]:
    theirs = None if subject.sample is None else subject.sample.labels
    code = {label: i for i, label in enumerate(labels)}
    shown = thinned(np.arange(len(places)), _POINTS)
    nearest = np.full(len(places), -1) if subject.nearest is None else subject.nearest
    return [
        (*places[i].tolist(), -1 if theirs is None else code[theirs[i]], int(nearest[i]))
        for i in shown[_finite(places[shown])].tolist()
    ]
