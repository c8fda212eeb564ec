"""Prototypes and criticisms as cards."""

from collections import Counter
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._words import sig
from protosieve.report._differs import differences
from protosieve.report._images import Looked, Thumbnail, image_column, thumbnails
from protosieve.report._map import Map
from protosieve.report._material import Material
from protosieve.report._missing import Missed
from protosieve.report._own import files_of
from protosieve.report._text import cut, is_missing, shown

__all__ = ["cards", "text_column"]

_TEXT = 600
_FIELDS = 12
_AROUND = 5
_LONG = 25  # characters: what is longer is read rather than looked up

Card = dict[str, Any]


def cards(material: Material, missed: Missed | None, chart: Map) -> tuple[list[Card], list[Card]]:
    """Of the prototypes, in their order, and of the criticisms. O(m d), and what images cost."""
    result, sample = material.result, material.sample
    groups, numbers = [Looked(material.own, result.rows, files_of(result))], [result.indices]
    if missed is not None and sample is not None:
        places = missed.places
        groups.append(Looked(sample.own.take(places), sample.rows[places], [None] * len(places)))
        numbers.append(sample.indices[places])
    pictures = thumbnails(result, material.view, material.folders, groups)
    text, image = text_column(material), material.view.image or image_column(material.own)
    made = [_cards(material, group, numbers[i], pictures[i], text, image) for i, group in enumerate(groups)]
    _weighed(made[0], material, chart)
    if missed is not None and sample is not None:
        _criticised(made[1], material, missed, chart)
    return made[0], made[1] if len(made) > 1 else []


def _cards(
    material: Material, group: Looked, numbers: NDArray[np.int64], pictures: list[Thumbnail], text: str | None,
    image: str | None,
) -> list[Card]:  # fmt: skip
    """What any row has to show."""
    texts = group.own.cells(text) if text is not None and text in group.own else [None] * len(group)
    differs = differences(material, group) if material.result.kernel is not None else [[] for _ in texts]
    fields = _fields(material, group, [text, image])
    return [
        {
            "row": int(numbers[i]),
            "file": None if group.files[i] is None else cut(PurePath(str(group.files[i])).name, 120),
            "weight": None,
            "share": None,
            "label": None,
            "around": [],
            "image": picture.address,
            "no_image": picture.why,
            "text": None if is_missing(texts[i]) else shown(texts[i], _TEXT),
            "differs": differs[i] if picture.address is None and is_missing(texts[i]) else [],
            "fields": fields[i],
            "at": None,
        }
        for i, picture in enumerate(pictures)
    ]


def _weighed(made: list[Card], material: Material, chart: Map) -> None:
    """What prototypes have beside: weight, share, labels, a place on the map."""
    weights, shares = material.result.weights.tolist(), material.shares
    around = _around(material)
    for i, card in enumerate(made):
        card["weight"] = sig(weights[i], 8)  # the page rounds it, once
        card["share"] = None if shares is None else sig(float(shares[i]))
        card["label"] = None if material.labels is None else material.labels[i]
        card["around"], card["at"] = around[i], chart.prototypes[i]


def _criticised(made: list[Card], material: Material, missed: Missed, chart: Map) -> None:
    assert material.sample is not None
    labels = material.sample.labels
    witness, error, within = missed.witness.tolist(), missed.error.tolist(), missed.within_chance.tolist()
    for i, (card, place) in enumerate(zip(made, missed.places.tolist(), strict=True)):
        card["label"] = None if labels is None else labels[place]
        card["at"], card["witness"] = chart.sample[place], sig(witness[i])
        card["error"], card["within_chance"] = sig(error[i]), within[i]
        card["nearest"] = None if material.nearest is None else int(material.nearest[place])


def _around(material: Material) -> list[list[tuple[str | None, float]]]:
    """The labels of the sample's rows nearest to each prototype, as shares, the largest first; the rest has no name."""
    sample, nearest = material.sample, material.nearest
    seen = [Counter[str]() for _ in range(len(material.result))]
    if sample is not None and sample.labels is not None and nearest is not None:
        for label, i in zip(sample.labels, nearest.tolist(), strict=True):
            seen[i][label] += 1
    return [_shares(count) for count in seen]


def _shares(count: Counter[str]) -> list[tuple[str | None, float]]:
    total = count.total()
    found: list[tuple[str | None, float]] = [(label, sig(n / total)) for label, n in count.most_common(_AROUND)]
    rest = total - sum(n for _, n in count.most_common(_AROUND))
    return [*found, (None, sig(rest / total))] if rest else found


def _fields(material: Material, group: Looked, elsewhere: list[str | None]) -> list[list[list[str]]]:
    """The users' own columns as short text: ids first, then what was not looked at, then features."""
    own, label = group.own, material.view.label
    ids = list((material.result.provenance or {}).get("parameters", {}).get("id") or [])
    skip = {*elsewhere, label if isinstance(label, str) else None, *_lists(own)}
    used = {feature.name for feature in material.features}
    names = [name for name in dict.fromkeys([*ids, *own.names]) if name in own and name not in skip]
    first = [name for name in names if name in ids or name not in used]
    pixels = material.view.image_shape is not None  # then the features are in the picture
    kept = list(dict.fromkeys([*first, *([] if pixels else names)]))[:_FIELDS]
    columns = [(cut(name, 80), own.cells(name)) for name in kept]
    return [[[name, shown(cells[i])] for name, cells in columns if not is_missing(cells[i])] for i in range(len(group))]


def _lists(own: Any) -> list[str]:
    """Columns of lists or matrices: numbers by the hundred, which say nothing on a card."""
    return [
        name
        for name in own.names
        if "list" in str(getattr(own.part(name), "type", "")) or getattr(own.part(name), "ndim", 1) > 1
    ]


def text_column(material: Material) -> str | None:
    """The column to read: the one that was named, else the longest of those that hold sentences."""
    own, view = material.own, material.view
    if view.text is not None:
        return view.text
    ids = (material.result.provenance or {}).get("parameters", {}).get("id") or []
    taken = {*view.columns, *ids, *(feature.name for feature in material.features)}
    lengths = {name: _sentences(own.cells(name)) for name in own.names if name not in taken and _may_be_text(own, name)}
    best = max(lengths, key=lambda name: lengths[name], default=None)
    return best if best is not None and lengths[best] >= _LONG else None


def _may_be_text(own: Any, name: str) -> bool:
    known = str(getattr(own.part(name), "type", getattr(own.part(name), "dtype", "object")))
    return any(word in known for word in ("str", "object", "utf8", "<U"))


def _sentences(cells: list[Any]) -> float:
    """The usual length of texts that differ and are more than a word; 0 where these are something else."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    if not texts or len(texts) < len(cells) / 2 or len(set(texts)) < 0.7 * len(texts):
        return 0.0
    words = sum(" " in text.strip() or not text.isascii() for text in texts)
    return float(np.median([len(text) for text in texts])) if words > len(texts) / 2 else 0.0
