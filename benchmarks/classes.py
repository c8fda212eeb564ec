"""``python -m benchmarks.classes``: m examples of each class, as training rows of a nearest-neighbour classifier.

Examples are chosen for each class (``per``), for all rows together without a look at the labels, and at random in each
class. Figures are accuracies on the test set in percent, means over several orders of the rows with their standard
deviation. Sets whose files are not at hand are left out. docs/groups.md shows the table.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.accuracy import SETS, accuracy, at_hand
from protosieve import ProtosieveWarning, select

NAMES = ("digits", "letters", "mnist", "banking77")


def chosen(X: np.ndarray, labels: np.ndarray, m: int, seed: int) -> dict[str, np.ndarray]:
    """Row numbers, by who chooses."""
    classes = np.unique(labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.astype(np.float32).ravel()), X.shape[1])
        pq.write_table(pa.table({"vector": vectors, "label": pa.array(labels.astype(str))}), path)
        given = {"embedding": "vector", "goal": "cover", "random_state": seed}
        found = {
            "of each class": select(path, m, per="label", **given).indices,
            "of all rows": select(path, m * len(classes), label="label", **given).indices,
        }
    rng = np.random.default_rng(seed)
    own = [np.flatnonzero(labels == one) for one in classes]
    found["random, of each class"] = np.concatenate(
        [rng.choice(rows, min(m, len(rows)), replace=False) for rows in own]
    )
    return found


def main(names: list[str], m: int, draws: int) -> None:
    """A line for each set."""
    warnings.simplefilter("ignore", ProtosieveWarning)
    for i, (name, data) in enumerate(at_hand(names, SETS)):
        right: dict[str, list[float]] = {}
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(data.base))
            X, labels = data.base[order], data.base_labels[order]
            for who, rows in chosen(X, labels, m, seed).items():
                right.setdefault(who, []).append(100 * accuracy(data, X[rows], labels[rows]))
        if not i:
            print(f"| | {' | '.join(right)} |\n|---|{'---|' * len(right)}")
        cells = [f"{np.mean(of):.1f} ± {np.std(of, ddof=1) if draws > 1 else 0:.1f}" for of in right.values()]
        print(f"| {name}, {len(np.unique(data.base_labels))} classes | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(NAMES), choices=list(SETS))
    parser.add_argument("--m", type=int, default=5)
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    main(given.sets, given.m, given.draws)
