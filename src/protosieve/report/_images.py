"""Thumbnails: rows that are images, or a column of them, within a budget of bytes."""

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protosieve._prototypes import Prototypes
from protosieve._typing import Array
from protosieve.errors import InputError, arg
from protosieve.report._columns import Columns
from protosieve.report._features import features_of, list_column, number_columns
from protosieve.report._pictures import decoded, encoded, is_image
from protosieve.report._png import png, pooled
from protosieve.report._view import View

__all__ = ["Looked", "Thumbnail", "image_column", "thumbnails"]

_BUDGET = 1_600_000  # bytes of base64 on a page
_SIDES = (128, 96, 64, 48)
_FEW = 24
_MOST = 1500  # images decoded: more do not fit even at the smallest
_FULL = "left out to keep the page small"


@dataclass(frozen=True, eq=False)
class Looked:
    """Rows to be shown: their own columns, encoded numbers and files."""

    own: Columns
    rows: Array
    files: Sequence[Any]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Thumbnail:
    """An image as an address that holds it, or why there is none; neither where none is expected."""

    address: str | None = None
    why: str | None = None


def thumbnails(
    result: Prototypes, view: View, folders: Sequence[str], groups: Sequence[Looked]
) -> list[list[Thumbnail]]:
    """For each row of each group. The last group comes first where there is no room for all.

    Paths are followed into ``folders``, and nowhere else. Together at most 1.6 MB: sides shrink from 128 pixels to 48,
    then the rest is left out.
    """
    if view.image_shape is not None:
        found = _of_rows(result, view.image_shape, groups)
        encode: Callable[[Any, int], tuple[str, bytes]] = _as_png
    else:
        column = view.image or image_column(groups[0].own)
        if column is None:
            return [[Thumbnail()] * len(group) for group in groups]
        found = [_of_cells(column, group, _folders(view, folders, group)) for group in groups]
        encode = encoded
    made = _within([image for images in reversed(found) for image in images], encode)
    out = list[list[Thumbnail]]()
    for images in reversed(found):
        out.append(made[: len(images)])
        made = made[len(images) :]
    return out[::-1]


def image_column(own: Columns) -> str | None:
    """The first column whose cells begin as images do."""
    for name in own.names:
        known = str(getattr(own.part(name), "type", "object"))
        if any(word in known for word in ("binary", "struct", "object")):
            cells = [cell for cell in own.cells(name) if cell is not None]
            if cells and sum(map(is_image, cells)) > len(cells) / 2:
                return name
    return None


def _folders(view: View, allowed: Sequence[str], group: Looked) -> list[list[Path]]:
    """Where paths of each row may lie, beside its own file first; nowhere, where nobody named the column: then its
    bytes are all that is shown.
    """
    if view.image is None:
        return [[]] * len(group)
    beside = {file: None if file is None else str(Path(file).parent) for file in set(group.files)}
    known = {file: sorted(allowed, key=lambda folder: folder != beside[file]) for file in beside}
    return [[Path(folder) for folder in known[file]] for file in group.files]


def _of_cells(column: str, group: Looked, folders: list[list[Path]]) -> list[Any]:
    if column not in group.own:
        return ["the column of images is not known of this row"] * len(group)
    pairs = list(zip(group.own.cells(column), folders, strict=True))
    return [decoded(*pair) for pair in pairs[:_MOST]] + [_FULL] * max(0, len(pairs) - _MOST)


def _of_rows(result: Prototypes, shape: tuple[int, ...], groups: Sequence[Looked]) -> list[list[Any]]:
    """The rows' own numbers as pixels, on one scale for all of them."""
    height, width, channels = (*shape, 1)[:3]
    values = [_pixels(result, math.prod(shape), group) for group in groups]
    low, high = _scale(values, channels)
    found = list[list[Any]]()
    for part in values:
        bright = np.clip((part - low) * (255 / (high - low)), 0, 255).round().astype(np.uint8)
        found.append(list(bright.reshape(-1, height, width, channels)))
    return found


def _scale(values: Sequence[Array], channels: int) -> tuple[float, float]:
    """Black and white: the least and largest of grey values; of colours 0 to 1 or 0 to 255 where they fit."""
    low = min(float(part.min(initial=math.inf)) for part in values)
    high = max(float(part.max(initial=-math.inf)) for part in values)
    if channels > 1 and low >= 0 and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    return (low, high) if high > low else (min(low, 0.0), max(high, min(low, 0.0) + 1.0))


def _pixels(result: Prototypes, size: int, group: Looked) -> Array:
    """As the source has them: from its column of lists, its columns of numbers, or from the encoded rows."""
    name, numbers = list_column(result), number_columns(result)
    if name is not None and name in group.own:
        cells = [np.asarray(cell, np.float64) for cell in group.own.cells(name)]
        if all(cell.size == size for cell in cells):
            return np.nan_to_num(np.array(cells).reshape(-1, size))
    if len(numbers) == size and all(column in group.own for column in numbers):
        table = [[math.nan if x is None else float(x) for x in group.own.cells(column)] for column in numbers]
        return np.nan_to_num(np.array(table, np.float64).T)
    if group.rows.shape[1] != size:
        raise InputError(
            f"{arg('image_shape')}: {size:,} pixels, and a row has {group.rows.shape[1]:,} numbers; give the "
            "shape of the rows"
        )
    return _unscaled(result, group.rows)


def _unscaled(result: Prototypes, rows: Array) -> Array:
    """The encoding undone."""
    out = rows.astype(np.float64)
    for feature in features_of(result):
        if feature.kind == "number":
            out[:, feature.first] = feature.raw(out[:, feature.first])
    return out


def _as_png(pixels: Array, side: int) -> tuple[str, bytes]:
    return "png", png(pooled(pixels, side))


def _within(images: list[Any], encode: Callable[[Any, int], tuple[str, bytes]]) -> list[Thumbnail]:
    """At the largest side that fits; a few images tell which it may be."""
    few, made = images[:: max(1, len(images) // _FEW)], list[Thumbnail]()
    for side in _SIDES:
        if _size(_made(few, encode, side)) * len(images) <= _BUDGET * len(few) or side == _SIDES[-1]:
            made = _made(images, encode, side)
            if _size(made) <= _BUDGET:
                return made
    return _cut(made)


def _made(images: list[Any], encode: Callable[[Any, int], tuple[str, bytes]], side: int) -> list[Thumbnail]:
    return [Thumbnail(why=image) if isinstance(image, str) else _addressed(*encode(image, side)) for image in images]


def _size(made: list[Thumbnail]) -> int:
    return sum(len(one.address or "") for one in made)


def _cut(made: list[Thumbnail]) -> list[Thumbnail]:
    room = _BUDGET
    for i, one in enumerate(made):
        room -= len(one.address or "")
        if room < 0:
            return made[:i] + [Thumbnail(why=late.why or _FULL) for late in made[i:]]
    return made


def _addressed(kind: str, data: bytes) -> Thumbnail:
    return Thumbnail(f"data:image/{kind};base64,{base64.b64encode(data).decode()}")
