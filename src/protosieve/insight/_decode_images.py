"""Cells of a column of images, decoded and made small; nothing of theirs reaches the page as it was."""

import base64
import binascii
import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protosieve.insight._text import is_missing

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
_PIXELS = 50_000_000  # of one image: more is a mistake, or meant to hurt
_BYTES = 64 << 20
_SIDE = 128
_FOLDERS = 20
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]{24,}={0,2}\s*")


@dataclass(frozen=True)
class Thumbnail:
    """A small image: "png" or "jpeg", and its bytes."""

    kind: str
    data: bytes


def is_image(cell: Any) -> bool:
    """Whether a cell holds the bytes of an image, by their first few."""
    data = cell.get("bytes") if isinstance(cell, dict) else cell
    return isinstance(data, bytes) and data.startswith(_MAGIC)


def decoded(cell: Any, folders: Sequence[Path]) -> Any:
    """A small Pillow image, or in words why there is none.

    A cell is bytes, a dict of ``bytes`` and ``path``, base64, or a path, looked for in ``folders``: what lies elsewhere
    is not read, lest data of others bring files of yours onto a page. Web addresses are not followed.
    """
    if is_missing(cell):
        return "no image in this row"
    found = _bytes(cell, folders)
    return found if isinstance(found, str) else _opened(found)


def _bytes(cell: Any, folders: Sequence[Path]) -> bytes | str:
    if isinstance(cell, dict):
        inner = cell.get("bytes") if cell.get("bytes") is not None else cell.get("path")
        return _bytes(inner, folders) if isinstance(inner, bytes | str) else "neither bytes nor a path"
    if isinstance(cell, bytes | bytearray):
        return bytes(cell)
    if not isinstance(cell, str):
        return f"a {type(cell).__name__} is no image"
    return _unpacked(cell) or _read(cell, folders)


def _unpacked(text: str) -> bytes | None:
    """Base64, plain or as a data address, if that is what it is."""
    body = text.split(",", 1)[-1] if text.startswith("data:") else text
    if len(body) > 2 * _BYTES or not _BASE64.fullmatch(body):
        return None
    try:
        data = base64.b64decode(re.sub(r"\s", "", body).translate(str.maketrans("-_", "+/")))
    except (binascii.Error, ValueError):
        return None
    return data if data.startswith(_MAGIC) else None


def _read(path: str, folders: Sequence[Path]) -> bytes | str:
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.\-]+:|[/\\]{2}", path):
        return "a web address, which a report does not fetch"
    if len(path) > 4096 or "\0" in path:
        return "neither an image nor the path of one"
    if not folders:
        return "only the path of an image: name the column to have it read"
    try:
        roots = [Path(os.path.realpath(folder)) for folder in folders]
        places = [Path(os.path.realpath(root / path)) for root in roots]
        inside = [place for place in places if any(place.is_relative_to(root) for root in roots)]
        found = next((place for place in inside if place.is_file()), None)
        if found is not None:
            return _within_bytes(found)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return "there is no such file" if len(inside) == len(places) else "lies outside the data's folder"


def _within_bytes(place: Path) -> bytes | str:
    """A file may be longer than it says: no more is read than may be."""
    with place.open("rb") as file:
        data = file.read(_BYTES + 1)
    return data if len(data) <= _BYTES else f"a file of more than {_BYTES:,} bytes is too large"


def _opened(data: bytes) -> Any:
    try:
        from PIL import Image, ImageOps
    except ImportError:
        return "images need Pillow: pip install pillow"
    try:
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
        if image.width * image.height > _PIXELS:
            return f"{image.width:,} x {image.height:,} pixels are too many"
        image.draft("RGB", (2 * _SIDE, 2 * _SIDE))
        upright = ImageOps.exif_transpose(image)
        plain = upright.convert("RGBA" if _has_alpha(upright) else "RGB")
        plain.thumbnail((_SIDE, _SIDE))
    except Exception:  # decoders of damaged data fail in any way
        return "not an image that can be read"
    return plain


def _has_alpha(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info


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
