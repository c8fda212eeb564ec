"""Pixels to PNG, with nothing but zlib."""

import struct
import zlib

import numpy as np

from protosieve._typing import Array

__all__ = ["png", "pooled"]

_COLOUR = {1: 0, 3: 2, 4: 6}  # grey, red-green-blue, and with transparency


def png(pixels: Array) -> bytes:
    """An image of bytes, height x width x 1, 3 or 4; O(pixels)."""
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
    cut = whole.reshape(whole.shape[0] // factor, factor, whole.shape[1] // factor, factor, channels)
    return np.asarray(cut.mean(axis=(1, 3)).round(), np.uint8)
