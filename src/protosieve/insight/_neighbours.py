"""The rows of the data that lie closest to each prototype."""

from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from protosieve._formatting import cut
from protosieve.insight._result_with_data import ResultWithData
from protosieve.insight._text import is_missing, shown

_MOST = 3
_LONGEST, _SHORTEST = 160, 16  # characters of a text, or a label
_BUDGET = 300_000  # characters of all texts, and of all labels


@dataclass(frozen=True)
class Neighbour:
    """A row of the data, its label and its text, as far as there are such."""

    row: int
    label: str | None = None
    text: str | None = None


def neighbours_of(subject: ResultWithData, text: str | None) -> list[list[Neighbour]]:
    """Of each prototype the three closest of the sample's rows that it is nearest to, but for itself; O(sample d).

    Texts, or paths of images, are cut at 160 characters, and shorter where there are more than 600 prototypes: all of
    them together have at most 300,000, and so have labels. Of more than 6,250 prototypes none are told.
    """
    result, sample, nearest, m = subject.result, subject.sample, subject.nearest, len(subject.result)
    most = min(_LONGEST, _BUDGET // (_MOST * m))
    if sample is None or nearest is None or most < _SHORTEST:
        return [[] for _ in range(m)]
    far = np.square(sample.numbers.astype(result.rows.dtype, copy=False) - result.rows[nearest]).sum(axis=1)
    others = np.flatnonzero((far > 0) | (sample.indices != result.indices[nearest]))
    order = others[np.lexsort((far[others], nearest[others]))]
    starts = np.searchsorted(nearest[order], np.arange(m + 1)).tolist()
    places = [order[first : min(end, first + _MOST)] for first, end in pairwise(starts)]
    rows = sample.take(np.concatenate(places))
    none = [None] * len(rows)
    labels = none if rows.labels is None else [cut(label, most) for label in rows.labels]
    cells = rows.own.cells(text) if text is not None and text in rows.own else none
    texts = [shown(cell, most) if isinstance(cell, str) and not is_missing(cell) else None for cell in cells]
    told = map(Neighbour, rows.indices.tolist(), labels, texts)
    return [list(islice(told, len(few))) for few in places]
