"""The pictures of docs/report.md and docs/text.md: reports of five data sets, each shown where it tells most.

``make screenshots`` makes them anew in docs/images, with Chromium, the data that docs/benchmarks.md names, and the
packages that Debian 12 knows. ``python tools/screenshots.py texts`` makes one of them.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

import protosieve
from experiments.datasets import load_letters, load_mnist

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browsers import Visit, open_browser

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = (1200, 640)
ABOVE = 16  # pixels of air above what is shown
COLOURS = 128


@dataclass(frozen=True)
class Shot:
    """What is shown of which data: a table, how prototypes are chosen of it, and the element at the picture's top."""

    name: str
    table: Callable[[], pa.Table]
    options: dict[str, Any]
    at: str
    scheme: str = "light"
    press: tuple[str, ...] = ()  # before the picture is taken


def lists(rows: np.ndarray) -> pa.Array:
    """Rows as a column of lists."""
    return pa.FixedSizeListArray.from_arrays(rows.astype(np.float32).ravel(), rows.shape[1])


def digits() -> pa.Table:
    """MNIST, rows as pixels."""
    found = load_mnist(os.environ["PROTOSIEVE_DATA"])
    return pa.table({"digit": found.base_labels, "pixels": lists(found.base)})


def letters() -> pa.Table:
    """Letters, a column per feature."""
    found = load_letters(os.environ["PROTOSIEVE_DATA"])
    return pa.table({"letter": found.base_labels, **{f"x{i}": x for i, x in enumerate(found.base.T)}})


def customers() -> pa.Table:
    """A mixed table that nobody's data is in."""
    rng = np.random.default_rng(0)
    age, n = rng.integers(18, 90, 20_000), 20_000
    return pa.table(
        {
            "age": age,
            "income": np.round(rng.lognormal(10, 0.6, n) + 200 * age),
            "job": rng.choice(["clerk", "nurse", "farmer", "pilot"], n, p=[0.4, 0.35, 0.2, 0.05]),
            "since": np.datetime64("2010-01-01", "D") + rng.integers(0, 5000, n),
            "churn": np.where(rng.random(n) < 0.1 + 0.3 * (age < 40), "yes", "no"),
        }
    )


def questions() -> pa.Table:
    """Questions to a bank, as embeddings; a row is said to be what it asks for."""
    found = np.load(Path(os.environ["PROTOSIEVE_DATA"]) / "banking77_minilm.npz")
    intents = [name.replace("_", " ") for name in found["names"][found["y_train"]].tolist()]
    return pa.table({"intent": intents, "vector": lists(found["x_train"])})


def packages() -> pa.Table:
    """What this Debian knows of its packages: names, sections and descriptions."""
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    found = {}
    for part in listed.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in part.splitlines() if ": " in line and not line.startswith(" "))
        if "Package" in fields and "Description" in fields:
            found.setdefault(fields["Package"], (fields.get("Section"), fields["Description"]))
    sections, descriptions = zip(*found.values(), strict=True)
    return pa.table({"name": list(found), "section": sections, "description": descriptions})


PIXELS = {"embedding": "pixels", "image_shape": "28x28", "kernel": "gaussian", "width": 5.0}
TEXTS = {"text": "description", "features": "description", "goal": "cover"}
SHOTS = (
    Shot("report-mnist", digits, {"n_prototypes": 100, "label": "digit", **PIXELS}, "#card-11"),
    Shot("report-letters", letters, {"n_prototypes": 200, "label": "letter"}, "#map .chart"),
    Shot("report-mixed", customers, {"n_prototypes": 60, "label": "churn"}, "#title"),
    Shot(
        "report-banking77", questions, {"n_prototypes": 120, "label": "intent", "embedding": "vector"}, "#cards", "dark"
    ),
    Shot(
        "texts",
        packages,
        {"n_prototypes": 100, "label": "section", **TEXTS},
        "#card-7",
        press=("#card-7-near", "#card-8-near", "#card-9-near"),
    ),
)


def take(shot: Shot, browser: Any, folder: Path) -> Path:
    """Choose, report, photograph; the picture has few colours, so that it is small."""
    rows, page, picture = folder / f"{shot.name}.parquet", folder / "page.html", IMAGES / f"{shot.name}.png"
    pq.write_table(shot.table(), rows)
    protosieve.select(rows, report=page, **shot.options)
    window = Visit(browser, (SIZE[0], 900), color_scheme=shot.scheme).open(page)
    for box in shot.press:
        window.click(f"{box} summary")
    window.evaluate("scrollTo(0, 0)")  # the bar at the top goes with the reader
    top = window.eval_on_selector(shot.at, "node => node.getBoundingClientRect().top + scrollY")
    shown = {"x": 0, "y": top - ABOVE, "width": SIZE[0], "height": SIZE[1]}
    window.screenshot(path=picture, full_page=True, clip=shown)
    colours = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 2, "dither": Image.Dither.NONE}
    Image.open(picture).convert("RGB").quantize(COLOURS, **colours).save(picture, optimize=True)
    return picture


def main() -> None:
    """All of them, or those that are named, with their sizes."""
    wanted = [shot for shot in SHOTS if shot.name in sys.argv[1:] or len(sys.argv) == 1]
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        for shot in wanted:
            picture = take(shot, browser, Path(folder))
            sys.stdout.write(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
