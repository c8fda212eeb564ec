"""Data and prototypes in two dimensions: the first two principal components, or the user's own coordinates."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64
from protosieve._words import counted, sig, spelt
from protosieve.report._judge import thinned
from protosieve.report._material import Material, Sample
from protosieve.report._text import cut

__all__ = ["Map", "Plane", "map_of", "natural", "plane_of"]

Place = list[float] | None

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
    """The two largest eigenvalues of ``X'X`` and their vectors; zeros where there is but one."""
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


def plane_of(material: Material) -> Plane | None:
    """Through the sample, or where there is none through the weighted prototypes."""
    if material.result.kernel is None:
        return None
    if material.sample is None:
        return Plane.through(material.result.rows, material.parts) if len(material.result) > 2 else None
    wide = material.result.rows.shape[1] > _WIDE
    return Plane.through(thinned(material.sample.rows, _POINTS // 2 if wide else _POINTS))


@dataclass(frozen=True, eq=False)
class _Laid:
    """Where everything lies, and what the axes are called."""

    prototypes: Float64 | None
    sample: Float64 | None
    axes: list[str]
    sentence: str


@dataclass(frozen=True, eq=False)
class Map:
    """The map as plain values, and where each prototype and each row of the sample lies on it, if anywhere."""

    drawn: dict[str, Any] | None
    prototypes: list[Place]
    sample: list[Place]


def map_of(material: Material) -> Map:
    """O(2,000 d min(d, 2,000)) for the plane, and the sample's places."""
    laid = _by_coordinates(material) if material.view.coordinates is not None else _by_plane(material)
    if laid is None:
        return Map(None, [None] * len(material.result), [None] * (material.sample is not None and len(material.sample)))
    labels, mine, theirs = _label_list(material), _all(laid.prototypes, len(material.result)), _places(material, laid)
    points = _points(material, theirs, labels)
    return Map({"axes": laid.axes, "points": points, "labels": labels, "sentence": laid.sentence}, mine, theirs)


def _places(material: Material, laid: _Laid) -> list[Place]:
    return [] if material.sample is None else _all(laid.sample, len(material.sample))


def _all(places: Float64 | None, count: int) -> list[Place]:
    return [None] * count if places is None else [_place(x, y) for x, y in places.tolist()]


def _by_coordinates(material: Material) -> _Laid | None:
    sample, wish = material.sample, material.view.coordinates
    places = None if sample is None else sample.coordinates
    if not any(_finite(of).any() for of in (places, material.coordinates) if of is not None):
        return None
    names = list(wish) if isinstance(wish, tuple) else ["first coordinate", "second coordinate"]
    said = f"Rows by {names[0]} and {names[1]}, as they stand in the data; {_dots(sample, places)}"
    return _Laid(material.coordinates, places, [cut(name, 80) for name in names], said)


def _by_plane(material: Material) -> _Laid | None:
    plane = plane_of(material)
    if plane is None:
        return None
    (first, second), sample = plane.shares, material.sample
    whose = "prototypes differ" if sample is None else "data differs"
    said = f"The two directions in which the {whose} most"
    said += f"; they show {spelt(first + second)} of the variance, so near on the map need not be near. "
    places = None if sample is None else plane.at(sample.rows)
    axes = [f"PC 1, {spelt(first)} of the variance", f"PC 2, {spelt(second)}"]
    return _Laid(plane.at(material.result.rows), places, axes, said + _dots(sample, places))


def _dots(sample: Sample | None, places: Float64 | None) -> str:
    area = "the area of a prototype's mark is its weight."
    shown = 0 if places is None else int(_finite(thinned(places, _POINTS)).sum())
    if sample is None or not shown:
        return f"T{area[1:]}"
    rows = f"{counted(sample.n_rows, 'row')}{' of the target' if sample.is_target else ''}"
    return f"Dots are {f'{shown:,} of ' if shown < sample.n_rows else 'all '}{rows}; {area}"


def _finite(places: Float64) -> NDArray[np.bool_]:
    """Those that can be drawn."""
    with np.errstate(all="ignore"):
        return np.asarray(np.isfinite(places.sum(axis=1)))


def _label_list(material: Material) -> list[str]:
    """All labels: in their own order where they can all be coloured, else the most frequent first."""
    seen = Counter([] if material.sample is None else material.sample.labels or [])
    seen.update(material.labels or [])
    most = [label for label, _ in seen.most_common()]
    return sorted(most, key=natural) if len(most) <= _COLOURED else most


def natural(label: str) -> tuple[bool, float, str]:
    """An order in which 10 comes after 9.

    >>> sorted(["10", "9", "b", "a"], key=natural)
    ['9', '10', 'a', 'b']
    """
    try:
        number = float(label)
    except ValueError:
        return True, 0.0, label
    return (False, number, label) if number == number else (True, 0.0, label)


def _points(material: Material, places: list[Place], labels: list[str]) -> list[list[float]]:
    code = {label: i for i, label in enumerate(labels)}
    theirs = None if material.sample is None else material.sample.labels
    found = list[list[float]]()
    for i in thinned(np.arange(len(places)), _POINTS).tolist():
        at = places[i]
        if at is not None:
            label = -1 if theirs is None else code[theirs[i]]
            found.append([*at, label, -1 if material.nearest is None else int(material.nearest[i])])
    return found


def _place(x: float, y: float) -> Place:
    return [sig(x), sig(y)] if math.isfinite(x + y) else None
