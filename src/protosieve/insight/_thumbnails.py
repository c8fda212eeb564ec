"""Thumbnails: rows that are images, or a column of them, within a budget of bytes; none reaches the page as it was."""

import io
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from protosieve._pictures import is_image, picture
from protosieve._typing import Array
from protosieve.errors import InputError, arg
from protosieve.insight._columns import Columns
from protosieve.insight._features import features_of, list_column, number_columns
from protosieve.insight._result_with_data import DescribedRows
from protosieve.insight._text import is_missing
from protosieve.insight._view import View
from protosieve.result import Prototypes

_BUDGET = 1_200_000  # bytes of all images together
_SIDES = (128, 96, 64, 48)
_FOLDERS = 20
_FEW = 24
_MOST = 1500  # images decoded: more do not fit even at the smallest
_FULL = "left out to keep the page small"
_COLOUR = {1: 0, 3: 2, 4: 6}  # of a PNG: grey, red-green-blue, and with transparency


@dataclass(frozen=True)
class Thumbnail:
    """A small image: "png" or "jpeg", and its bytes."""

    kind: str
    data: bytes


def thumbnails(
    result: Prototypes, view: View, column: str | None, folders: Sequence[str], groups: Sequence[DescribedRows]
) -> list[list[Thumbnail | str | None]]:
    """For each row of each group: an image, why there is none, or None where none is expected.

    The last group comes first where there is no room for all. ``column`` is that of images; paths in it are followed
    into ``folders``, and nowhere else. Together at most 1.2 MB: sides shrink from 128 pixels to 48, then the rest is
    left out.
    """
    encode: Callable[[Any, int], Thumbnail] = encoded
    if view.image_shape is not None:
        found, encode = _from_rows(result, view.image_shape, groups), _from_pixels
    elif column is None:
        return [[None] * len(group) for group in groups]
    else:
        found = [_decoded(column, group, () if view.image is None else folders) for group in groups]
    rest = iter(_within_budget([image for images in reversed(found) for image in images], encode))
    made: list[list[Thumbnail | str | None]] = [[*islice(rest, len(images))] for images in reversed(found)]
    return made[::-1]


def image_column(own: Columns) -> str | None:
    """The first column whose cells begin as images do."""
    for name in own.names:
        if any(word in own.kind(name) for word in ("binary", "struct", "object", "|S")):
            cells = [cell for cell in own.cells(name) if cell is not None]
            if cells and sum(map(is_image, cells)) > len(cells) / 2:
                return name
    return None


def folders_of(files: Iterable[str]) -> tuple[str, ...]:
    """The first few folders that hold these files."""
    return tuple(dict.fromkeys(str(Path(file).parent) for file in files if "://" not in file))[:_FOLDERS]


def _decoded(column: str, group: DescribedRows, allowed: Sequence[str]) -> list[Any]:
    """Images, or why there are none. A path is looked for beside its own row's file first."""
    if column not in group.own:
        return ["the column of images is not known of this row"] * len(group)
    beside = {file: None if file is None else str(Path(file).parent) for file in set(group.files)}
    folders = {file: sorted(allowed, key=lambda folder: folder != beside[file]) for file in beside}
    pairs = list(zip(group.own.cells(column), group.files, strict=True))
    found = [decoded(cell, folders[file]) for cell, file in pairs[:_MOST]]
    return found + [_FULL] * max(0, len(pairs) - _MOST)


def decoded(cell: Any, folders: Sequence[str]) -> Any:
    """A small Pillow image, or in words why there is none; paths are looked for in ``folders``, and nowhere else."""
    return "no image in this row" if is_missing(cell) else picture(cell, folders, _SIDES[0])


def encoded(image: Any, side: int) -> Thumbnail:
    """An image of at most ``side``: as JPEG, or PNG where that is smaller or there is transparency."""
    small = image.copy()
    small.thumbnail((side, side))
    small.info = {}  # neither places nor comments of the original
    found = list[Thumbnail]()
    for kind, how in [("png", {})] + [("jpeg", {"quality": 80})] * (small.mode == "RGB"):
        sink = io.BytesIO()
        small.save(sink, kind, **how)
        found.append(Thumbnail(kind, sink.getvalue()))
    return min(found, key=lambda one: len(one.data))


def _from_rows(result: Prototypes, shape: tuple[int, ...], groups: Sequence[DescribedRows]) -> list[list[Any]]:
    """The rows' own numbers as pixels, on one scale for all of them."""
    height, width, channels = (*shape, 1)[:3]
    values = [_pixels(result, math.prod(shape), group) for group in groups]
    low, high = _scale(values, channels)
    bright = (np.clip((part - low) * (255 / (high - low)), 0, 255).round().astype(np.uint8) for part in values)
    return [list(part.reshape(-1, height, width, channels)) for part in bright]


def _scale(values: Sequence[Array], channels: int) -> tuple[float, float]:
    """Black and white: the least and largest of grey values; of colours 0 to 1 or 0 to 255 where they fit."""
    low = min(float(part.min(initial=math.inf)) for part in values)
    high = max(float(part.max(initial=-math.inf)) for part in values)
    if channels > 1 and low >= 0 and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    return (low, high) if high > low else (min(low, 0.0), max(high, min(low, 0.0) + 1.0))


def _pixels(result: Prototypes, size: int, group: DescribedRows) -> Array:
    """As the source has them: from its column of lists, its columns of numbers, or from the encoded rows."""
    name, numbers = list_column(result), number_columns(result)
    if name is not None and name in group.own:
        cells = [np.asarray(cell, np.float64) for cell in group.own.cells(name)]
        if all(cell.size == size for cell in cells):
            return np.nan_to_num(np.array(cells).reshape(-1, size))
    if len(numbers) == size and all(column in group.own for column in numbers):
        table = [[math.nan if x is None else float(x) for x in group.own.cells(column)] for column in numbers]
        return np.nan_to_num(np.array(table, np.float64).T)
    if group.numbers.shape[1] != size:
        raise InputError(
            f"{arg('image_shape')}: {size:,} pixels, and a row has {group.numbers.shape[1]:,} numbers; give the "
            "shape of the rows"
        )
    out = group.numbers.astype(np.float64)
    for feature in features_of(result):  # the encoding is undone
        if feature.kind == "number":
            out[:, feature.first] = feature.raw(out[:, feature.first])
    return out


def _from_pixels(pixels: Array, side: int) -> Thumbnail:
    return Thumbnail("png", png(pooled(pixels, side)))


def _within_budget(images: list[Any], encode: Callable[[Any, int], Thumbnail]) -> list[Thumbnail | str]:
    """At the largest side that fits, which a few images tell; where none does, the first ones at the smallest."""
    few, made = images[:: max(1, len(images) // _FEW)], list[Thumbnail | str]()
    for side in _SIDES:
        if _size(_encoded(few, encode, side)) * len(images) <= _BUDGET * len(few) or side == _SIDES[-1]:
            made = _encoded(images, encode, side)
            if _size(made) <= _BUDGET:
                return made
    ends = np.cumsum([_size([one]) for one in made])
    return [_FULL if isinstance(one, Thumbnail) and end > _BUDGET else one for one, end in zip(made, ends, strict=True)]


def _encoded(images: list[Any], encode: Callable[[Any, int], Thumbnail], side: int) -> list[Thumbnail | str]:
    return [image if isinstance(image, str) else encode(image, side) for image in images]


def _size(made: Sequence[Thumbnail | str]) -> int:
    return sum(len(one.data) for one in made if isinstance(one, Thumbnail))


def png(pixels: Array) -> bytes:
    """An image of bytes, height x width x 1, 3 or 4, with nothing but zlib; O(pixels)."""
    height, width, channels = pixels.shape
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with its filter, 0 for none
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR[channels], 0, 0, 0)
    parts = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pooled(pixels: Array, side: int) -> Array:
    """No larger than ``side`` either way: squares of pixels as their mean, in the bytes they are."""
    height, width, channels = pixels.shape
    factor = -(-max(height, width) // side)
    if factor <= 1:
        return pixels
    pad = [(0, -height % factor), (0, -width % factor), (0, 0)]
    whole = np.pad(pixels, pad, mode="edge").astype(np.float32)
    squares = whole.reshape(whole.shape[0] // factor, factor, whole.shape[1] // factor, factor, channels)
    return np.asarray(squares.mean(axis=(1, 3)).round(), np.uint8)
