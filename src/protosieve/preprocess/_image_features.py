"""How an image becomes numbers: where its edges are and how they turn, and its colours; only appearance counts.

An image is squeezed to 32 x 32 pixels. For every pixel the colour that changes most tells how strong an edge is there,
and its direction, light to dark. Of 4 x 4 places that overlap there are 16 directions; what lies between two counts to
both in part. Colours are counted alike, at 4 x 4 x 4 places of red, green and blue.
"""

import numpy as np
from numpy.typing import NDArray

from protosieve._blas import one_thread

Rows32 = NDArray[np.float32]

SIDE = 32  # pixels
_PLACES, _TURNS, _TONES = 4, 16, 4
IMAGE_COLUMNS = _PLACES**2 * _TURNS + _TONES**3
_FAINT = 1.0  # edges that are weaker, as of noise in a flat image, do not count in full
_COLOURS = 0.5  # what colours weigh beside edges


def rows_of_images(pixels: NDArray[np.uint8]) -> Rows32:
    """Images of 32 x 32 pixels, red, green and blue, as rows of length one at most. O(pixels) of each.

    A row depends on its image only, not on those beside it, to the last bit.

    >>> dark, bright = np.zeros((2, 32, 32, 3), np.uint8)
    >>> bright[:] = 255
    >>> half = np.where(np.arange(32)[:, None] < 16, dark, bright)
    >>> dark, half, moved = rows_of_images(np.stack([dark, half, np.roll(half, 2, axis=0)]))
    >>> bool(half @ moved > 0.7 > 0.3 > half @ dark)
    True
    """
    bright = pixels * np.float32(1 / 255)
    with one_thread():
        edges, colours = _edges(np.sqrt(bright)), np.sqrt(_colours(bright))
    edges /= np.sqrt((edges**2).sum(axis=1, keepdims=True) + np.float32(_FAINT**2))
    colours *= np.float32(_COLOURS) / np.sqrt((colours**2).sum(axis=1, keepdims=True))
    return np.concatenate([edges, colours], axis=1) * np.float32((1 + _COLOURS**2) ** -0.5)


def _edges(bright: Rows32) -> Rows32:
    padded = np.pad(bright, ((0, 0), (1, 1), (1, 1), (0, 0)), "edge")
    right, down = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2], padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    strongest = (right**2 + down**2).argmax(axis=3)[..., None]
    right, down = (np.take_along_axis(part, strongest, 3).reshape(len(bright), -1, 1) for part in (right, down))
    turn = np.arctan2(down, right) * np.float32(_TURNS / (2 * np.pi)) - np.arange(_TURNS, dtype=np.float32)
    shares = np.maximum(0, 1 - np.abs((turn + _TURNS / 2) % _TURNS - _TURNS / 2)) * np.hypot(right, down)
    return np.asarray(np.matmul(_WHERE, shares).reshape(len(bright), -1))


def _colours(bright: Rows32) -> Rows32:
    tones = bright.reshape(len(bright), -1, 3, 1) * (_TONES - 1)
    shares = np.maximum(0, 1 - np.abs(tones - np.arange(_TONES, dtype=np.float32)))
    red, green, blue = shares[:, :, 0, :, None], shares[:, :, 1, None, :], shares[:, :, 2]
    both = (red * green).reshape(len(bright), -1, _TONES**2)
    return np.asarray(np.matmul(both.transpose(0, 2, 1), blue).reshape(len(bright), -1))


def _places() -> Rows32:
    """What each pixel counts at each place: the less, the farther it is from the middle of it."""
    middles = (np.arange(_PLACES) + 0.5) * SIDE / _PLACES
    along = np.maximum(0, 1 - np.abs(np.arange(SIDE) + 0.5 - middles[:, None]) * _PLACES / SIDE)
    return np.kron(along, along).astype(np.float32)


_WHERE = _places()
