"""What makes a row differ from the average, in the user's own words."""

import datetime
from typing import Any

import numpy as np

from protosieve._typing import Array, Float64
from protosieve._words import sig
from protosieve.report._features import Feature, as_date
from protosieve.report._images import Looked
from protosieve.report._material import Material
from protosieve.report._text import cut, is_missing, short, shown

__all__ = ["differences"]

_MOST = 5
_LEAST = 0.05  # standard deviations: less is no difference

Difference = dict[str, Any]


def differences(material: Material, group: Looked) -> list[list[Difference]]:
    """For each row the features furthest from the data's average, in its standard deviations; O(rows d)."""
    features = material.features
    if not features:
        return [[] for _ in range(len(group))]
    mean, deviation = material.usual
    places = np.column_stack([_looked_at(feature, group.rows) for feature in features])
    by = _standardised(np.take_along_axis(group.rows, places, axis=1), mean[places], deviation[places])
    by[:, [feature.kind == "category" for feature in features]] *= _is_unusual(features, places, mean)
    order = np.argsort(-np.abs(by), axis=1, kind="stable")[:, :_MOST]
    return [
        [_difference(features[j], group, i, by[i, j], mean) for j in line if abs(by[i, j]) >= _LEAST]
        for i, line in enumerate(order.tolist())
    ]


def _looked_at(feature: Feature, rows: Array) -> Any:
    """The encoded column that speaks for a feature in each row: of a category, that of its value."""
    return feature.first + rows[:, feature.places].argmax(axis=1)


def _is_unusual(features: list[Feature], places: Any, mean: Float64) -> Any:
    """Where a category has another value than the most frequent one."""
    kept = [i for i, feature in enumerate(features) if feature.kind == "category"]
    return places[:, kept] != [features[i].first + int(mean[features[i].places].argmax()) for i in kept]


def _standardised(values: Array, mean: Float64, deviation: Float64) -> Float64:
    """Where a column hardly varies, rounding would look like a difference: there, none."""
    varies = deviation > 1e-6 * np.abs(mean)
    return np.asarray(np.where(varies, (values - mean) / np.where(varies, deviation, 1.0), 0.0))


def _difference(feature: Feature, group: Looked, i: int, by: float, mean: Float64) -> Difference:
    cell = group.own.cells(feature.name)[i] if feature.name in group.own else None
    value = _value(feature, group.rows[i]) if is_missing(cell) else shown(cell)
    return {
        "name": cut(feature.name, 80),
        "value": value,
        "usual": _usual(feature, mean, cell),
        "by": sig(float(by), 3),
    }


def _value(feature: Feature, row: Array) -> str:
    """From the encoded row, where the cell is not at hand or is null."""
    if feature.kind == "category":
        hot = row[feature.places]
        return cut(feature.values[int(hot.argmax())], 120) if hot.max() > 0 else "unknown"
    number = float(feature.raw(row[feature.first]))
    return as_date(number) if feature.kind == "date" else short(number)


def _usual(feature: Feature, mean: Float64, cell: Any) -> str:
    """The average of a number, the most frequent value of a category."""
    if feature.kind == "category":
        return cut(feature.values[int(mean[feature.places].argmax())], 120)
    number = float(feature.raw(mean[feature.first]))
    if feature.kind != "date":
        return short(number)
    if isinstance(cell, datetime.timedelta | datetime.time):
        return f"{short(number)} s"
    has_hours = cell is None or isinstance(cell, datetime.datetime)
    return as_date(number) if has_hours else as_date(number)[:10]
