"""How two encodings of the same columns differ: one by the first rows of a stream, one by all of them."""

from collections.abc import Iterator

from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._steps import OneHot, Scaled
from protosieve.preprocess._words import listing

__all__ = ["differences", "ratio_differs"]

_SCALES = 1.25  # times another's: a column, or a kernel, then sees other distances
_SHIFT = 0.25  # of a column's spread


def ratio_differs(before: float, after: float) -> bool:
    """Whether one of two positive numbers is that much larger than the other."""
    return not 1 / _SCALES <= after / before <= _SCALES


def differences(head: Encoding, whole: Encoding) -> list[str]:
    """Where ``head`` is not what ``whole`` is, in a few words for each column; none where they are much the same.

    >>> import pyarrow as pa
    >>> from protosieve.preprocess import Layout, Survey
    >>> survey = Survey.of(Layout.of(pa.schema({"year": pa.int64(), "kind": pa.string()})))
    >>> found = []
    >>> for year, kinds in ((1900, "ab"), (2000, "cd")):
    ...     table = pa.table({"year": [year, year + 1] * 4, "kind": list(kinds) * 4})
    ...     survey.update(survey.layout.raw(table, grow=True)[0])
    ...     found.append(survey.settle())
    >>> differences(*found)
    ['year has another scale', "kind has 2 more categories ('c', 'd')"]
    """
    return [*_numbers(head, whole), *_categories(head, whole), *_dropped(head, whole)]


def _numbers(head: Encoding, whole: Encoding) -> Iterator[str]:
    before = dict(_scales(head))
    for name, (shift, factor) in _scales(whole):
        if name not in before:
            yield f"{name} was constant"
        elif ratio_differs(before[name][1], factor) or abs(before[name][0] - shift) * factor > _SHIFT:
            yield f"{name} has another scale"


def _scales(encoding: Encoding) -> Iterator[tuple[str, tuple[float, float]]]:
    for step in encoding.steps:
        if isinstance(step, Scaled):
            yield from zip(step.names, zip(step.shift.tolist(), step.factor.tolist(), strict=True), strict=True)


def _categories(head: Encoding, whole: Encoding) -> Iterator[str]:
    before = {step.name: step for step in head.steps if isinstance(step, OneHot)}
    for step in whole.steps:
        if not isinstance(step, OneHot):
            continue
        known = before.get(step.name)
        new = [value for value in step.categories if known is None or value not in known.categories]
        if new:
            more = "1 more category" if len(new) == 1 else f"{len(new):,} more categories"
            yield f"{step.name} has {more} ({listing([repr(value) for value in new])})"
        elif known is not None and step.missing > known.missing:
            yield f"{step.name} has nulls"


def _dropped(head: Encoding, whole: Encoding) -> Iterator[str]:
    for name, why in whole.dropped.items():
        if name not in head.dropped:
            yield f"{name} is of no use: {why}"
