"""``protosieve demo``: the whole thing in seconds, on data that ships with scikit-learn."""

import contextlib
import shlex
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits

from protosieve._typing import Array
from protosieve.cli._app import app
from protosieve.cli._streams import showing
from protosieve.cli._terminal import console
from protosieve.result import Prototypes

if TYPE_CHECKING:
    from rich.console import Console

_COMMAND = 'protosieve select digits -m 20 --embedding pixels --label digit --id "image id" -o chosen.csv'
_DRAWN = 8
_NEXT = (
    "protosieve select YOUR_FILES -m 100 -o chosen.parquet --report page.html",
    "protosieve compare YOUR_FILES -m 50",
    "protosieve select --help",
)
_SHADES = " .:-=+*#%@"
_SIDE, _BRIGHTEST = 8, 16
_BETWEEN = 3


def perform(_: dict[str, Any]) -> None:
    """Everything ``protosieve demo`` does."""
    out = console(sys.stdout)
    with tempfile.TemporaryDirectory(prefix="protosieve-") as folder, contextlib.chdir(folder):
        digits = write_digits(Path("digits"))
        with showing():
            out.print(
                "1,797 handwritten digits, 8 x 8 pixels each, in three Parquet files. Which 20 stand for all of them?"
            )
            out.print(f"\n$ {_COMMAND}\n", style="bold")
        result = app(shlex.split(_COMMAND)[1:], standalone_mode=False)()
    with showing():
        _look(result, out)
        _judge(result, digits, out)
        out.print("\nNow yours:\n")
        for command in _NEXT:
            out.print(f"$ {command}", style="bold")


def _look(result: Prototypes, out: "Console") -> None:
    """The heaviest ones, drawn."""
    digits, weights = result.table["digit"].to_pylist(), result.weights
    captions = [f"{digits[i]}, weight {weights[i]:.3f}" for i in range(_DRAWN)]
    out.print(f"\nThe {_DRAWN} heaviest:\n")
    for line in pictures(result.rows[:_DRAWN], captions, out.width):
        out.print(line, no_wrap=True)


def _judge(result: Prototypes, digits: pa.Table, out: "Console") -> None:
    """How far one gets with the prototypes in place of all digits, and with random ones."""
    images, kinds = result.encoding.encode(digits), digits["digit"].to_numpy()
    ours = _matched(images, kinds, result.indices)
    rng, n = np.random.default_rng(0), len(result)
    random = np.mean([_matched(images, kinds, rng.choice(len(images), n, replace=False)) for _ in range(50)])
    out.print(f"{100 * ours:.0f} % of all digits look most like a prototype of their own kind;")
    out.print(f"with {n} random digits in their place it is {100 * random:.0f} %.")


def _matched(images: Array, kinds: Any, chosen: Any) -> float:
    """The share of images whose nearest chosen one is of their kind."""
    rows = images[chosen]
    nearest = np.argmin((rows**2).sum(axis=1) - 2 * images @ rows.T, axis=1)
    return float((kinds[chosen][nearest] == kinds).mean())


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
