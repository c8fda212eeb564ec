"""Prototypes, and the rows they explain worst, as cards."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from protosieve._formatting import cut
from protosieve.insight._columns import Columns
from protosieve.insight._differences import Difference, differences
from protosieve.insight._neighbours import Neighbour, neighbours_of
from protosieve.insight._result_with_data import DescribedRows, ResultWithData
from protosieve.insight._text import is_missing, shown
from protosieve.insight._thumbnails import Thumbnail, image_column, thumbnails
from protosieve.insight._words import words_of
from protosieve.insight._worst_rows import WorstRows

_TEXT = 600
_FIELDS = 12
_AROUND = 5
_TOLD = ("weight", "share", "around", "words", "neighbours")  # of prototypes alone
_LONG = 25  # characters: what is longer is read rather than looked up


@dataclass(frozen=True)
class Card:
    """A row to look at: a picture, a text, or what makes it differ; and the user's own columns as ``fields``.

    ``no_image`` says why there is no picture where one was expected. A prototype has a weight, a share of the data,
    and the labels of the data ``around`` it as shares, the rest without a name; the ``words`` that set the rows nearest
    to it apart, and the closest of these rows as ``neighbours``. A row that is explained badly has a
    ``witness``, which may be ``within_chance``; one that is covered badly its ``similarity`` to the nearest prototype.
    """

    row: int
    file: str | None = None
    label: str | None = None
    image: Thumbnail | None = None
    no_image: str | None = None
    text: str | None = None
    differs: list[Difference] | tuple[()] = ()
    fields: list[tuple[str, str]] | tuple[()] = ()
    weight: float | None = None
    share: float | None = None
    around: list[tuple[str | None, float]] | tuple[()] = ()
    words: list[str] | tuple[()] = ()
    neighbours: list[Neighbour] | tuple[()] = ()
    witness: float | None = None
    within_chance: bool | None = None
    similarity: float | None = None


def cards_of(
    subject: ResultWithData, worst: WorstRows | None = None, n: int | None = None
) -> tuple[list[Card], list[Card]]:
    """Of the first ``n`` prototypes (all by default), in their order, and of the worst rows. O(n d), and what images
    cost.
    """
    result, m = subject.result, len(subject.result)
    groups = [subject.prototypes if n is None or n >= m else subject.prototypes.take(range(n))]
    if worst is not None and subject.sample is not None:
        groups.append(subject.sample.take(worst.places))
    text, image = text_column(subject), subject.view.image or image_column(subject.prototypes.own)
    pictures = thumbnails(result, subject.view, image, subject.folders, groups)
    made = [_cards(subject, *each, text, image) for each in zip(groups, pictures, strict=True)]
    shares, around = [None] * m if subject.shares is None else subject.shares.tolist(), _around(subject)
    told = zip(
        result.weights.tolist(), shares, around, words_of(subject), neighbours_of(subject, text or image), strict=True
    )
    mine = [replace(card, **dict(zip(_TOLD, one, strict=True))) for card, one in zip(made[0], told, strict=False)]
    if worst is None:
        return mine, []
    if worst.similarity is not None:
        near = worst.similarity.tolist()
        return mine, [replace(card, similarity=one) for card, one in zip(made[1], near, strict=True)]
    of_worst = zip(made[1], worst.witness.tolist(), worst.within_chance.tolist(), strict=True)
    return mine, [replace(card, witness=witness, within_chance=within) for card, witness, within in of_worst]


def _cards(
    subject: ResultWithData,
    rows: DescribedRows,
    pictures: list[Thumbnail | str | None],
    text: str | None,
    image: str | None,
) -> list[Card]:
    """What any row has to show."""
    texts = rows.own.cells(text) if text is not None and text in rows.own else [None] * len(rows)
    elsewhere = [text, None if _are_paths(rows.own, image) else image]
    differs, fields = differences(subject, rows), _fields(subject, rows.own, len(rows), elsewhere)
    return [
        Card(
            row=int(rows.indices[i]),
            file=None if rows.files[i] is None else cut(PurePath(str(rows.files[i])).name, 120),
            label=None if rows.labels is None else rows.labels[i],
            image=picture if isinstance(picture, Thumbnail) else None,
            no_image=picture if isinstance(picture, str) else None,
            text=None if is_missing(texts[i]) else shown(texts[i], _TEXT),
            differs=[] if isinstance(picture, Thumbnail) or not is_missing(texts[i]) else differs[i],
            fields=fields[i],
        )
        for i, picture in enumerate(pictures)
    ]


def _around(subject: ResultWithData) -> list[list[tuple[str | None, float]]]:
    """The labels of the sample's rows nearest to each prototype, as shares, the largest first; the rest has no name."""
    sample, nearest = subject.sample, subject.nearest
    seen = [Counter[str]() for _ in range(len(subject.result))]
    if sample is not None and sample.labels is not None and nearest is not None:
        for label, i in zip(sample.labels, nearest.tolist(), strict=True):
            seen[i][label] += 1
    return [_as_shares(count) for count in seen]


def _as_shares(count: Counter[str]) -> list[tuple[str | None, float]]:
    most: list[tuple[str | None, int]] = [*count.most_common(_AROUND)]
    rest = count.total() - sum(n for _, n in most)
    return [(label, n / count.total()) for label, n in most + [(None, rest)] * (rest > 0)]


def _fields(subject: ResultWithData, own: Columns, n: int, elsewhere: list[str | None]) -> list[list[tuple[str, str]]]:
    """The users' own columns as short text: ids first, then what was not looked at, then features."""
    label, ids = subject.view.label, _ids(subject)
    skip = {*elsewhere, label if isinstance(label, str) else None, *_lists(own)}
    used = {feature.name for feature in subject.features}
    names = [name for name in dict.fromkeys([*ids, *own.names]) if name in own and name not in skip]
    first = [name for name in names if name in ids or name not in used]
    pixels = subject.view.image_shape is not None  # then the features are in the picture
    kept = list(dict.fromkeys([*first, *([] if pixels else names)]))[:_FIELDS]
    columns = [(cut(name, 80), own.cells(name)) for name in kept]
    return [[(name, shown(cells[i])) for name, cells in columns if not is_missing(cells[i])] for i in range(n)]


def _are_paths(own: Columns, image: str | None) -> bool:
    """Whether a column of images has text that can be read, and is no base64."""
    cells = own.cells(image) if image is not None and image in own else []
    return all(isinstance(cell, str) and len(cell) <= _TEXT for cell in cells)


def _ids(subject: ResultWithData) -> list[str]:
    return list((subject.result.provenance or {}).get("parameters", {}).get("id") or [])


def _lists(own: Columns) -> list[str]:
    """Columns of lists or matrices: numbers by the hundred, which say nothing on a card."""
    return [name for name in own.names if "list" in own.kind(name) or getattr(own.part(name), "ndim", 1) > 1]


def text_column(subject: ResultWithData) -> str | None:
    """The column to read: the one that was named, else the longest of those that hold sentences."""
    own, view = subject.prototypes.own, subject.view
    if view.text is not None:
        return view.text
    taken = {*view.columns, *_ids(subject), *(feature.name for feature in subject.features)}
    texts = [name for name in own.names if any(word in own.kind(name) for word in ("str", "object", "utf8", "<U"))]
    lengths = {name: _length(own.cells(name)) for name in texts if name not in taken}
    best = max(lengths, key=lambda name: lengths[name], default=None)
    return best if best is not None and lengths[best] >= _LONG else None


def _length(cells: list[Any]) -> float:
    """The usual length of texts that differ and are more than a word; 0 where these are something else."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    if not texts or len(texts) < len(cells) / 2 or len(set(texts)) < 0.7 * len(texts):
        return 0.0
    words = sum(" " in text.strip() or not text.isascii() for text in texts)
    return float(np.median([len(text) for text in texts])) if words > len(texts) / 2 else 0.0
