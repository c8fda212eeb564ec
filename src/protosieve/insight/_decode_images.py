"""Cells of a column of images, decoded and made small; nothing of theirs reaches the page as it was."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protosieve._pictures import picture
from protosieve.insight._text import is_missing

_SIDE = 128
_FOLDERS = 20


@dataclass(frozen=True)
class Thumbnail:
    """A small image: "png" or "jpeg", and its bytes."""

    kind: str
    data: bytes


def decoded(cell: Any, folders: Sequence[str]) -> Any:
    """A small Pillow image, or in words why there is none; paths are looked for in ``folders``, and nowhere else."""
    if is_missing(cell):
        return "no image in this row"
    return picture(cell, folders, _SIDE)


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


def folders_of(files: Iterable[str]) -> tuple[str, ...]:
    """The first few folders that hold these files."""
    return tuple(dict.fromkeys(str(Path(file).parent) for file in files if "://" not in file))[:_FOLDERS]
