"""What makes a row differ from the average, in the user's own words."""

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np

from protosieve._formatting import cut
from protosieve._typing import Array, Float64
from protosieve.insight._features import Feature, as_date
from protosieve.insight._result_with_data import DescribedRows, ResultWithData
from protosieve.insight._text import is_missing, short, shown

_MOST = 5
_LEAST = 0.05  # standard deviations: less is no difference


@dataclass(frozen=True)
class Difference:
    """A feature of a row: its ``value``, what is ``usual``, and ``by`` how many standard deviations it is off."""

    name: str
    value: str
    usual: str
    by: float


def differences(subject: ResultWithData, rows: DescribedRows) -> list[list[Difference]]:
    """For each row the features furthest from the data's average, in its standard deviations; O(rows d)."""
    features = subject.features
    if not features:
        return [[] for _ in range(len(rows))]
    mean, deviation = subject.mean_and_deviation
    # the encoded column that speaks for a feature in each row: of a category, that of its value
    places = np.column_stack([f.first + rows.numbers[:, f.places].argmax(axis=1) for f in features])
    by = _standardised(np.take_along_axis(rows.numbers, places, axis=1), mean[places], deviation[places])
    for j, feature in enumerate(features):
        if feature.kind == "category":  # the most frequent value is no difference
            by[places[:, j] == feature.first + int(mean[feature.places].argmax()), j] = 0.0
    order = np.argsort(-np.abs(by), axis=1, kind="stable")[:, :_MOST]
    return [
        [_difference(features[j], rows, i, float(by[i, j]), mean) for j in line if abs(by[i, j]) >= _LEAST]
        for i, line in enumerate(order.tolist())
    ]


def _standardised(values: Array, mean: Float64, deviation: Float64) -> Float64:
    """Where a column hardly varies, rounding would look like a difference: there, none."""
    varies = deviation > 1e-6 * np.abs(mean)
    return np.asarray(np.where(varies, (values - mean) / np.where(varies, deviation, 1.0), 0.0))


def _difference(feature: Feature, rows: DescribedRows, i: int, by: float, mean: Float64) -> Difference:
    cell = rows.own.cells(feature.name)[i] if feature.name in rows.own else None
    value = _value(feature, rows.numbers[i]) if is_missing(cell) else shown(cell)
    return Difference(cut(feature.name, 80), value, _usual(feature, mean, cell), by)


def _value(feature: Feature, row: Array) -> str:
    """A feature's value from the encoded row, if the cell is unknown or null."""
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
