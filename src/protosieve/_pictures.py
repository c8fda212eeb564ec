"""Cells that hold pictures, or say where there is one, as Pillow's images; nothing is read that may not be."""

import base64
import binascii
import io
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._formatting import cut
from protosieve.errors import InputError

PILLOW = "images need Pillow: pip install pillow"
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")
_PIXELS = 50_000_000  # of one image: more is a mistake, or meant to hurt
_MANY = 4_000_000  # of an image that is decoded alone
_STRIP = 1_000_000  # pixels that are converted at once, or a few rows of them
_BYTES = 64 << 20
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]{24,}={0,2}\s*")
_NONE = "not an image that can be read"
_GREY = (128, 128, 128, 255)
_LONGEST = 200  # characters of a path that are told
_WHITES = 1, 255, 65535  # of images whose numbers are not bytes

Folders = Sequence[str] | None  # where paths may lead; None for anywhere

# Large images are decoded one at a time, as small files may hold many pixels. They have a thread of their own: with a
# lock, memory grew with the threads nonetheless, for glibc keeps for each thread what that has freed.
_alone = ThreadPoolExecutor(1)


def _begin_alone() -> None:
    global _alone
    _alone = ThreadPoolExecutor(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_alone)  # threads are not forked


def check_pillow() -> None:
    """`InputError` where there is no Pillow."""
    if find_spec("PIL") is None:
        raise InputError(PILLOW)


def is_image(cell: Any) -> bool:
    """Whether a cell holds the bytes of an image, by their first few."""
    data = cell.get("bytes") if isinstance(cell, dict) else cell
    return isinstance(data, bytes) and data.startswith(_MAGIC)


def picture(cell: Any, folders: Folders, side: int, *, square: bool = False) -> Any:
    """An upright Pillow image, RGB or RGBA, of at most ``side`` or squeezed to a square of it; or why there is none.

    A cell is bytes, a dict of ``bytes`` and ``path``, base64, or a path, looked for in ``folders``: what lies elsewhere
    is not read, lest data of others bring files of yours onto a page. Web addresses are not followed. Of an animation
    it is the first frame. Large images are decoded one at a time.
    """
    found = _bytes(cell, folders)
    return found if isinstance(found, str) else _opened(found, side, square)


def _bytes(cell: Any, folders: Folders) -> bytes | str:
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


def _read(path: str, folders: Folders) -> bytes | str:
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.\-]+:|[/\\]{2}", path):
        return "a web address, which is not fetched"
    if len(path) > 4096 or "\0" in path:
        return "neither an image nor the path of one"
    if folders is not None and not folders:
        return "only the path of an image: name the column to have it read"
    try:
        roots = [Path(os.path.realpath(folder)) for folder in folders or ()]
        places = [Path(os.path.realpath(root / path)) for root in roots or [Path()]]
        inside = [place for place in places if not roots or any(place.is_relative_to(root) for root in roots)]
        found = next((place for place in inside if place.is_file()), None)
        if found is not None:
            return _within_bytes(found)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return (
        "there is no such file" if len(inside) == len(places) else "lies outside the data's folder and the working one"
    )


def _within_bytes(place: Path) -> bytes | str:
    """A file may be longer than it says: no more is read than may be."""
    with place.open("rb") as file:
        data = file.read(_BYTES + 1)
    return data if len(data) <= _BYTES else f"a file of more than {_BYTES:,} bytes is too large"


def _opened(data: bytes, side: int, square: bool) -> Any:
    try:
        from PIL import Image
    except ImportError:
        return PILLOW
    Image.init()
    readers = (Image.OPEN[name] for name in _FORMATS if name in Image.OPEN)
    # not by Image.open, which warns of sizes that are refused here, and of others not
    reader = next((reader for reader, is_its in readers if is_its and is_its(data[:16]) is True), None)
    if reader is None:
        return _NONE
    try:
        image: Any = reader(io.BytesIO(data), "")
        pixels = image.width * image.height
        if pixels > _PIXELS:
            return f"{image.width:,} x {image.height:,} pixels are too many"
        image.draft("RGB", (2 * side, 2 * side))
        if not image.info.get("progressive"):  # of which all is held, whatever is drafted
            pixels = image.width * image.height
        return _small(image, side, square) if pixels <= _MANY else _alone.submit(_small, image, side, square).result()
    except Exception:  # decoders of damaged data fail in any way
        return f"{_NONE}: it is damaged or cut short"


def _small(image: Any, side: int, square: bool) -> Any:
    """Upright and in colours. Strips are converted and reduced one by one, so memory is that of the decoded image."""
    from PIL import Image, ImageOps

    image.load()
    shrink = min(1.0, side / max(image.size))
    width, height = (side if square else max(1, round(full * shrink)) for full in image.size)
    x, y = max(1, image.width // (2 * width)), max(1, image.height // (2 * height))
    step = y * max(1, _STRIP // (y * image.width))
    mode, white = "RGBA" if _has_alpha(image) else "RGB", _white(image, step)
    reduced = Image.new(mode, (-(-image.width // x), -(-image.height // y)))
    for top, strip in _strips(image, step):
        reduced.paste(_in_bytes(strip, white).convert(mode).reduce((x, y)), (0, top // y))
    whole = (0, 0, image.width / x, image.height / y)
    small = reduced.resize((width, height), Image.Resampling.BILINEAR, whole)
    small.info = image.info  # which may say how to turn it
    image.close()
    return ImageOps.exif_transpose(small)


def _strips(image: Any, step: int) -> Iterator[tuple[int, Any]]:
    for top in range(0, image.height, step):
        yield top, image.crop((0, top, image.width, min(top + step, image.height)))


def _white(image: Any, step: int) -> float:
    """What is white in an image whose numbers are not bytes."""
    if image.mode[0] not in "IF" or "16" in image.mode:
        return 65535
    largest = max(float(_numbers(strip).max()) for _, strip in _strips(image, step))
    return next((white for white in _WHITES if largest <= white), largest)


def _in_bytes(image: Any, white: float) -> Any:
    """Of 16 bits or of fractions in bytes; others as they are."""
    if image.mode[0] not in "IF":
        return image
    from PIL import Image

    return Image.fromarray(np.clip(_numbers(image) * (255 / white), 0, 255).astype(np.uint8))


def _numbers(image: Any) -> NDArray[np.float32]:
    return np.nan_to_num(np.asarray(image, np.float32))


def on_grey(image: Any) -> NDArray[np.uint8]:
    """The pixels: what is transparent is grey, so that it is told from black and from white."""
    from PIL import Image

    if image.mode == "RGBA":
        image = Image.alpha_composite(Image.new("RGBA", image.size, _GREY), image).convert("RGB")
    return np.asarray(image)


def called(cell: Any) -> str:
    """What an error calls a cell: its path, if it has one."""
    name = cell.get("path") if isinstance(cell, dict) else cell
    return repr(cut(name, _LONGEST)) if isinstance(name, str) else "bytes"


def _has_alpha(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
