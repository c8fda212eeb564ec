"""Coverage: how the data spreads over the prototypes, over labels, and feature by feature."""

from collections import defaultdict
from typing import Any

import numpy as np

from protosieve._typing import Array, Float64
from protosieve._words import counted, prototypes, sig, spelt
from protosieve.report._features import Feature, as_date
from protosieve.report._judge import thinned
from protosieve.report._map import natural
from protosieve.report._material import Material
from protosieve.report._text import cut

__all__ = ["coverage", "ks_distance", "matched_features", "weighted_quantiles"]

_LABELS = 20
_FEATURES = 200
_VALUES = 12
_CELLS = 1 << 21  # sorted for the features: of wide rows fewer are looked at
_NO_LABELS = " Labels are nearly all different, so that there is nothing to compare."
_QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def coverage(material: Material) -> dict[str, Any]:
    """How the data spreads over prototypes, labels and features; O(cells log rows) of at most two million cells."""
    shares = material.shares
    return {
        "sentence": _sentence(material) + (_NO_LABELS if _too_many(material) else ""),
        "shares": None if shares is None else [sig(share) for share in shares.tolist()],
        "labels": None if _too_many(material) else _labels(material),
        "features": matched_features(material),
    }


def _sentence(material: Material) -> str:
    """Few large prototypes, or many of a size."""
    shares, m = material.shares, len(material.result)
    if shares is None:
        heavy = np.sort(material.parts)[::-1]
        return f"The heaviest of {prototypes(m)} has {spelt(heavy[0])} of the weight." if m > 1 else "There is but one."
    if m == 1:
        return "The one prototype is nearest to everything."
    largest = np.sort(shares)[::-1]
    half = int(np.searchsorted(np.cumsum(largest), 0.5 - 1e-12)) + 1
    empty = int((shares == 0).sum())
    whole = "the target" if material.sample is not None and material.sample.is_target else "the data"
    nothing = f" {counted(empty, 'prototype')} {'is' if empty == 1 else 'are'} nearest to none." if empty else ""
    one = f"{half:,} of the {m:,} prototypes {'is' if half == 1 else 'are'} nearest to half of {whole}"
    return f"{one}, the largest to {spelt(largest[0])}.{nothing}"


# -- labels


def _too_many(material: Material) -> bool:
    """Whether labels name rows, or measure them: of most there is but one in the sample."""
    theirs = None if material.sample is None else material.sample.labels
    return theirs is not None and len(set(theirs)) > max(_LABELS, len(theirs) // 2)


def _labels(material: Material) -> dict[str, Any] | None:
    """How often a label is in the data, how many prototypes have it, and how much these weigh and stand for."""
    theirs = None if material.sample is None else material.sample.labels
    if material.labels is None and theirs is None:
        return None
    data = None if theirs is None else _summed(theirs, np.full(len(theirs), 1 / len(theirs)))
    mine, shares = material.labels, material.shares
    count, weight = _summed(mine, np.ones(len(material.result))), _summed(mine, material.parts)
    share = None if shares is None else _summed(mine, shares)
    names = sorted({*count, *(data or {})}, key=lambda name: (-(data or {}).get(name, 0), -count[name], natural(name)))
    values = [
        {
            "value": name,
            "data": None if data is None else sig(data[name]),
            "count": int(count[name]),
            "weight": sig(weight[name]),
            "share": None if share is None else sig(share[name]),
        }
        for name in sorted(names[:_LABELS], key=natural)
    ]
    name = material.view.label if isinstance(material.view.label, str) else "label"
    return {"name": cut(name, 80), "values": values, "more": max(0, len(names) - _LABELS)}


def _summed(names: list[str] | None, amounts: Float64) -> defaultdict[str, float]:
    """By name; nothing where no names are known."""
    total: defaultdict[str, float] = defaultdict(float)
    if names is None:
        return total
    for name, amount in zip(names, amounts.tolist(), strict=True):
        total[name] += amount
    return total


# -- features


def matched_features(material: Material) -> dict[str, Any] | None:
    """How far each feature of the prototypes is from that of the data, the furthest first; None without data."""
    sample, features = material.sample, material.features
    if sample is None or not features:
        return None
    rows = thinned(sample.rows, max(1024, _CELLS // sample.rows.shape[1]))
    data, mine = np.ascontiguousarray(rows.T), np.ascontiguousarray(material.result.rows.T)
    found = [_feature(feature, data[feature.places], mine[feature.places], material.parts) for feature in features]
    found.sort(key=lambda item: -item["distance"])
    return {"sentence": _worst(found), "total": len(found), "items": found[:_FEATURES]}


def _feature(feature: Feature, data: Array, mine: Array, parts: Float64) -> dict[str, Any]:
    """The encoded columns of one feature, as rows here, of the data and of the prototypes."""
    told = _category(feature, data, mine, parts) if feature.kind == "category" else None
    return {"name": cut(feature.name, 120), **(told or _number(feature, data[0], mine[0], parts))}


def _number(feature: Feature, data: Array, mine: Array, parts: Float64) -> dict[str, Any]:
    """Quantiles in the user's units; those of dates are seconds, and are ``shown`` as dates."""
    data, order = np.sort(data), np.argsort(mine, kind="stable")
    values, weights = mine[order].astype(data.dtype), parts[order]
    quantiles = {
        "data": feature.raw(weighted_quantiles(data, np.full(len(data), 1 / len(data)))).tolist(),
        "prototypes": feature.raw(weighted_quantiles(values, weights)).tolist(),
    }
    told = {"kind": "number", "distance": sig(ks_distance(data, values, weights))}
    if feature.kind == "date":
        return {**told, **quantiles, "shown": {of: [as_date(q) for q in line] for of, line in quantiles.items()}}
    return {**told, **{of: [sig(q, 6) for q in line] for of, line in quantiles.items()}}


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


def _category(feature: Feature, rows: Array, mine: Array, parts: Float64) -> dict[str, Any]:
    data, ours = rows.mean(axis=1, dtype=np.float64), mine.astype(np.float64) @ parts
    rest = abs(float(data.sum() - ours.sum()))  # values that have no column
    order = np.argsort(-data, kind="stable")[:_VALUES].tolist()
    values = [{"value": cut(feature.values[i], 80), "data": sig(data[i]), "prototypes": sig(ours[i])} for i in order]
    distance = min(1.0, (float(np.abs(data - ours).sum()) + rest) / 2)
    return {
        "kind": "category",
        "distance": sig(distance),
        "values": values,
        "more": max(0, len(feature.values) - _VALUES),
    }


def _worst(items: list[dict[str, Any]]) -> str:
    worst, near = items[0], sum(item["distance"] <= 0.1 for item in items)
    if len(items) == 1:
        return f"{worst['name']} is matched to within {spelt(worst['distance'])} everywhere."
    matched = f"{near:,} of {len(items):,} features {'is' if near == 1 else 'are'} matched to within 10 % everywhere"
    return f"{matched}; worst is {worst['name']}, {spelt(worst['distance'])} off."
