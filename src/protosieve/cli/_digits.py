"""Handwritten digits that ship with scikit-learn: as files, and in characters."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits

from protosieve._typing import Array

__all__ = ["pictures", "write_digits"]

_SHADES = " .:-=+*#%@"
_SIDE, _BRIGHTEST = 8, 16
_BETWEEN = 3


def write_digits(folder: Path, files: int = 3) -> pa.Table:
    """1,797 digits as so many Parquet files; returns all of them as one table."""
    images, digits = load_digits(return_X_y=True)
    names = [f"image {i:04}" for i in range(len(images))]
    pixels = pa.FixedSizeListArray.from_arrays(pa.array(images.ravel(), pa.float32()), _SIDE * _SIDE)
    table = pa.table({"image id": names, "digit": digits, "pixels": pixels})
    folder.mkdir()
    bounds = np.linspace(0, len(table), files + 1).astype(int)
    for i, (start, stop) in enumerate(pairwise(bounds), 1):
        pq.write_table(table.slice(start, stop - start), folder / f"part-{i}.parquet")
    return table


def pictures(images: Array, captions: list[str], width: int) -> list[str]:
    """Images side by side, as many as fit, each under its caption."""
    side = 2 * _SIDE
    per_line = max(1, (width + _BETWEEN) // (side + _BETWEEN))
    gap, lines = " " * _BETWEEN, []
    for start in range(0, len(images), per_line):
        drawn = [_drawn(image) for image in images[start : start + per_line]]
        lines.append(gap.join(f"{caption:{side}}" for caption in captions[start : start + per_line]))
        lines += [gap.join(line) for line in zip(*drawn, strict=True)]
        lines.append("")
    return [line.rstrip() for line in lines]


def _drawn(image: Array) -> list[str]:
    """An 8 x 8 image in characters, two to a pixel: a character is twice as high as it is wide."""
    shades = (image.reshape(_SIDE, _SIDE) / (_BRIGHTEST + 1) * len(_SHADES)).astype(int)
    return ["".join(_SHADES[shade] * 2 for shade in line) for line in shades]
