"""Coverage: how the data spreads over the prototypes, over labels, and feature by feature."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from protosieve._formatting import counted, cut, prototypes, spelt
from protosieve._typing import Float64
from protosieve.insight._feature_matches import FeatureMatches, ValueShares, feature_matches
from protosieve.insight._map import in_natural_order
from protosieve.insight._result_with_data import ResultWithData

_LABELS = 20
_BINS = 20


@dataclass(frozen=True)
class Labels:
    """The most frequent labels of the column ``name``, and how many ``more`` there are."""

    name: str
    values: list[ValueShares]
    more: int = 0


@dataclass(frozen=True)
class Similarities:
    """How similar rows are to their nearest prototype: ``shares`` of them between two of the ``edges`` each."""

    edges: list[float]
    shares: list[float]


@dataclass(frozen=True)
class DataCoverage:
    """``shares`` of the data nearest to each prototype, labels, and features to be matched or how near prototypes are
    that cover the data; None where it is not known.
    """

    sentence: str = ""
    shares: list[float] | None = None
    labels: Labels | None = None
    features: FeatureMatches | None = None
    similarities: Similarities | None = None


def coverage_of(subject: ResultWithData) -> DataCoverage:
    """See the parts for their cost."""
    sentence = _sentence(subject)
    if _are_all_different(subject):
        sentence += " Labels are nearly all different, so that there is nothing to compare."
    shares = None if subject.shares is None else subject.shares.tolist()
    covers = subject.result.covers
    features, near = (None, _similarities(subject)) if covers else (feature_matches(subject), None)
    return DataCoverage(sentence, shares, labels_of(subject), features, near)


def _similarities(subject: ResultWithData) -> Similarities | None:
    """From no similarity, or the least, to that of a row to itself, or the largest."""
    found = subject.similarity
    if found is None:
        return None
    most = max(float(found.max()), subject.result.certificate.upper_bound)
    counts, edges = np.histogram(found, _BINS, (min(0.0, float(found.min())), most))
    return Similarities(edges.tolist(), (counts / len(found)).tolist())


def _sentence(subject: ResultWithData) -> str:
    """Few large prototypes, or many of a size."""
    shares, m = subject.shares, len(subject.result)
    if m == 1:
        return "There is only one." if shares is None else "The one prototype is nearest to everything."
    if shares is None:
        return f"The heaviest of {prototypes(m)} has {spelt(subject.weight_shares.max())} of the weight."
    largest = np.sort(shares)[::-1]
    half = int(np.searchsorted(np.cumsum(largest), 0.5 - 1e-12)) + 1
    empty = int((shares == 0).sum())
    whole = "the target" if subject.is_target else "the data"
    nothing = f" {counted(empty, 'prototype')} {'is' if empty == 1 else 'are'} nearest to none." if empty else ""
    one = f"{half:,} of the {m:,} prototypes {'is' if half == 1 else 'are'} nearest to half of {whole}"
    return f"{one}, the largest to {spelt(largest[0])}.{nothing}"


def _are_all_different(subject: ResultWithData) -> bool:
    """Whether labels name rows, or measure them: most occur only once in the sample."""
    theirs = None if subject.sample is None else subject.sample.labels
    return theirs is not None and len(set(theirs)) > max(_LABELS, len(theirs) // 2)


def labels_of(subject: ResultWithData) -> Labels | None:
    """Labels of the data beside those of the prototypes; None where there are none, or nearly all differ."""
    mine, theirs = subject.prototypes.labels, None if subject.sample is None else subject.sample.labels
    if (mine is None and theirs is None) or _are_all_different(subject):
        return None
    data = _summed(theirs, np.full(len(theirs or []), 1 / len(theirs or [0])))
    count, weight = _summed(mine, np.ones(len(subject.result))), _summed(mine, subject.weight_shares)
    share = _summed(mine, np.zeros(len(subject.result)) if subject.shares is None else subject.shares)
    most = sorted({*count, *data}, key=lambda name: (-data[name], -count[name], in_natural_order(name)))
    values = [
        ValueShares(
            name,
            None if theirs is None else data[name],
            weight[name],
            count=int(count[name]),
            nearest=None if subject.shares is None else share[name],
        )
        for name in sorted(most[:_LABELS], key=in_natural_order)
    ]
    name = subject.view.label if isinstance(subject.view.label, str) else "label"
    return Labels(cut(name, 80), values, max(0, len(most) - _LABELS))


def _summed(names: list[str] | None, amounts: Float64) -> defaultdict[str, float]:
    """By name; nothing where no names are known."""
    total: defaultdict[str, float] = defaultdict(float)
    for name, amount in zip(names or [], amounts.tolist(), strict=names is not None):
        total[name] += amount
    return total
