"""What the tools choose from: a mixture of Gaussians, Letters, and sentence embeddings."""

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from protosieve.kernels import Gaussian

BENCH = Path(__file__).parents[2] / ".bench"
Table = tuple[np.ndarray, np.ndarray]  # rows and their labels


def as_stored(labels: np.ndarray) -> np.ndarray:
    return np.arange(len(labels))


def shuffled(labels: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).permutation(len(labels))


def by_class(labels: np.ndarray) -> np.ndarray:
    """Class after class, and within a class as shuffled."""
    order = shuffled(labels)
    return order[np.argsort(labels[order], kind="stable")]


@dataclass(frozen=True)
class DataSet:
    """Rows in float64, in the order in which every tool is shown them."""

    name: str
    title: str
    load: Callable[[], Table]
    sizes: tuple[int, ...]
    order: Callable[[np.ndarray], np.ndarray] = as_stored
    fixed_width: float | None = None

    @cached_property
    def table(self) -> Table:
        return self.load()

    @cached_property
    def rows(self) -> np.ndarray:
        rows, labels = self.table
        return np.ascontiguousarray(rows[self.order(labels)], dtype=np.float64)

    @cached_property
    def width(self) -> float:
        """Of the Gaussian kernel: as fixed, else the median distance between 1,000 rows, whatever the order."""
        rows = self.table[0].astype(np.float64)
        return self.fixed_width or float(Gaussian("median").resolve(rows, np.random.default_rng(0)).width)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.rows.tobytes()).hexdigest()

    def path(self) -> Path:
        """The rows as a file that a tool's process can read."""
        path = BENCH / "data" / f"{self.name}-{self.digest[:8]}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part.npy")
            np.save(part, self.rows)
            part.replace(path)  # whole or not at all, should the run be interrupted
        return path


def mixture(n: int) -> Table:
    """A mixture of 10 Gaussians in 50 dimensions, whose centres stand 2.5 times as wide as their rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.5, size=(10, 50))
    labels = rng.integers(10, size=n)
    return centres[labels] + rng.normal(size=(n, 50)), labels


def letters() -> Table:
    rows, labels = _stored("letters", "X", "y")
    return rows[:16_000], labels[:16_000]


def banking() -> Table:
    return _stored("banking77_minilm", "x_train", "y_train")


def _stored(name: str, *arrays: str) -> Table:
    path = Path(os.environ.get("PROTOSIEVE_DATA", "")) / f"{name}.npz"
    if not path.exists():
        sys.exit(f"{name}.npz not found: set PROTOSIEVE_DATA to the folder that has it (docs/benchmarks.md)")
    with np.load(path) as data:
        return tuple(data[array] for array in arrays)


LETTERS, BANKING = "Letters, 16,000 x 16, width 5", "Banking77 sentence embeddings, 10,003 x 384, median width"
DATA = {
    data.name: data
    for data in (
        DataSet("mixture-2000", "Mixture, 2,000 x 50, median width", lambda: mixture(2_000), (100, 500)),
        DataSet("mixture-10000", "Mixture, 10,000 x 50, median width", lambda: mixture(10_000), (100, 500)),
        DataSet("letters-shuffled", f"{LETTERS}, shuffled", letters, (100,), shuffled, 5.0),
        DataSet("letters-sorted", f"{LETTERS}, sorted by class", letters, (100,), by_class, 5.0),
        DataSet("banking-shuffled", f"{BANKING}, shuffled", banking, (100,), shuffled),
        DataSet("banking-sorted", f"{BANKING}, sorted by class", banking, (100,), by_class),
    )
}
