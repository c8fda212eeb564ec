"""Feature by feature: how the data is distributed, and how the weighted prototypes are."""

from dataclasses import dataclass, field

import numpy as np

from protosieve._formatting import counted, cut, spelt
from protosieve._typing import Array, Float64
from protosieve.insight._features import Feature, as_date
from protosieve.insight._result_with_data import ResultWithData
from protosieve.insight._sample_judge import thinned

_FEATURES = 200
_NEAR = 0.1  # of the data
_EXACT = 1e-9  # what rounding leaves
_VALUES = 12
_NAMED = 6  # values without a prototype
_CELLS = 1 << 21  # sorted for the features: of wide rows fewer are looked at
_QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@dataclass(frozen=True)
class NumberMatch:
    """Quantiles at 5, 25, 50, 75 and 95 %, in the user's units; those of dates are seconds, ``shown`` as dates.

    ``distance`` is the largest difference of the two distribution functions.
    """

    name: str
    distance: float
    data: list[float]
    prototypes: list[float]
    shown: dict[str, list[str]] | None = None
    kind: str = "number"


@dataclass(frozen=True)
class ValueShares:
    """The share of the data that has a value, and the share of the weight of the prototypes.

    Of labels also how many prototypes have it (``count``), and the share of the data nearest to these (``nearest``).
    """

    value: str
    data: float | None
    prototypes: float
    count: int | None = None
    nearest: float | None = None


@dataclass(frozen=True)
class CategoryMatch:
    """The most frequent values of a category, and how many ``more`` there are.

    ``distance`` is the largest difference of the shares of any set of values. ``without`` are those that the data has
    and no prototype.
    """

    name: str
    distance: float
    values: list[ValueShares]
    more: int = 0
    without: list[ValueShares] = field(default_factory=list)
    kind: str = "category"


@dataclass(frozen=True)
class FeatureMatches:
    """The features of the prototypes that are furthest from those of the data, the furthest first, of ``total``."""

    sentence: str
    total: int
    items: list[NumberMatch | CategoryMatch]


def feature_matches(subject: ResultWithData) -> FeatureMatches | None:
    """How far each feature is from that of the data; None without data or features.

    O(cells log rows) of at most two million cells.
    """
    sample, features, shares = subject.sample, subject.features, subject.weight_shares
    if sample is None or not features:
        return None
    rows = thinned(sample.numbers, max(1024, _CELLS // sample.numbers.shape[1]))
    data, mine = np.ascontiguousarray(rows.T), np.ascontiguousarray(subject.result.rows.T)
    found = [_match(feature, data[feature.places], mine[feature.places], shares) for feature in features]
    found.sort(key=lambda item: -item.distance)
    return FeatureMatches(_sentence(found), len(found), found[:_FEATURES])


def _match(feature: Feature, data: Array, mine: Array, shares: Float64) -> NumberMatch | CategoryMatch:
    """The encoded columns of one feature, as rows here, of the data and of the prototypes."""
    name = cut(feature.name, 120)
    if feature.kind == "category":
        return _category(name, feature, data, mine, shares)
    rising, order = np.sort(data[0]), np.argsort(mine[0], kind="stable")
    values, weights = mine[0][order].astype(rising.dtype), shares[order]
    quantiles = {
        "data": feature.raw(weighted_quantiles(rising, np.full(len(rising), 1 / len(rising)))).tolist(),
        "prototypes": feature.raw(weighted_quantiles(values, weights)).tolist(),
    }
    dates = {of: [as_date(q) for q in line] for of, line in quantiles.items()} if feature.kind == "date" else None
    return NumberMatch(name, ks_distance(rising, values, weights), **quantiles, shown=dates)


def _category(name: str, feature: Feature, rows: Array, mine: Array, shares: Float64) -> CategoryMatch:
    data, ours = rows.mean(axis=1, dtype=np.float64) / feature.factor, mine.astype(np.float64) @ shares / feature.factor
    rest = abs(float(data.sum() - ours.sum()))  # values that have no column
    order = np.argsort(-data, kind="stable").tolist()
    shares_of = [ValueShares(cut(feature.values[i], 80), float(data[i]), float(ours[i])) for i in order]
    without = [shares_of[nth] for nth, i in enumerate(order) if data[i] > 0 and not mine[i].any()]
    distance = min(1.0, (float(np.abs(data - ours).sum()) + rest) / 2)
    return CategoryMatch(name, distance, shares_of[:_VALUES], max(0, len(order) - _VALUES), without)


def ks_distance(data: Array, values: Array, weights: Float64) -> float:
    """The largest difference of two distribution functions: of equal ``data`` and of weighted ``values``, both rising.

    Between two of the values the second function stands still and the first rises, so the difference is largest at the
    values, or just before them. O(m log n).
    """
    below = np.append(0.0, np.cumsum(weights))
    at = np.searchsorted(data, values, "right") / len(data)
    before = np.searchsorted(data, values, "left") / len(data)
    new = np.append(np.flatnonzero(np.diff(values) > 0), len(values) - 1)  # the last of equal ones has their sum
    first = np.append(0, new[:-1] + 1)
    return float(max(np.abs(at[new] - below[new + 1]).max(), np.abs(before[first] - below[first]).max(), 0.0))


def weighted_quantiles(values: Array, weights: Float64) -> Float64:
    """The smallest of the rising values at or below which there is 5, 25, 50, 75 and 95 % of the weight."""
    at = np.searchsorted(np.cumsum(weights), _QUANTILES * weights.sum() * (1 - 1e-12))
    return np.asarray(values[np.minimum(at, len(values) - 1)], np.float64)


def _sentence(items: list[NumberMatch | CategoryMatch]) -> str:
    worst, near = items[0], sum(item.distance <= _NEAR for item in items)
    if worst.distance < _EXACT:
        return f"{f'{worst.name} is' if len(items) == 1 else f'All {len(items):,} features are'} matched exactly."
    if len(items) == 1:
        return f"{worst.name} is matched to within {spelt(worst.distance)} everywhere."
    matched = f"{near:,} of {len(items):,} features {'is' if near == 1 else 'are'} matched to within 10 % everywhere"
    return f"{matched}; worst is {worst.name}, {spelt(worst.distance)} off{_why(worst)}."


def _why(worst: NumberMatch | CategoryMatch) -> str:
    """Why a feature is not matched, and what would help."""
    if worst.distance <= _NEAR:
        return ""
    if isinstance(worst, NumberMatch) or not worst.without:
        return ": more prototypes match it better"
    rare, share = len(worst.without), sum(value.data or 0 for value in worst.without)
    have = "has" if rare == 1 else "have"
    return (
        f": {rare:,} of its values, {100 * share:.2g} % of the data, {have} no prototype, and would with more of them"
    )


def without_prototypes(matches: FeatureMatches) -> list[str]:
    """A sentence about the values of categories that no prototype has, the most frequent first; or nothing."""
    found = [(item.name, value) for item in matches.items if isinstance(item, CategoryMatch) for value in item.without]
    found.sort(key=lambda one: -(one[1].data or 0))
    named = [f"{name}={cut(value.value, 40)} ({100 * (value.data or 0):.2g} %)" for name, value in found[:_NAMED]]
    more = f" and {counted(len(found) - _NAMED, 'more value')}" if len(found) > _NAMED else ""
    return [f"No prototype has {', '.join(named)}{more}."] if found else []
