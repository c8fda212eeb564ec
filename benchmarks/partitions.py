"""``make bench-partitions``: 16 partitions merged against one stream: the residual by the exact mean, as a ratio.

Letters in the order of the file and sorted by label, and a million rows of 64 columns whose partitions are unlike each
other: each has five Gaussians of its own, and is judged by the mean of these Gaussians, in closed form. "Chosen
rows only" is a merge without the uniform sample of all rows that the last merge looks at too.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from protosieve.distributed import (
    Job,
    Plan,
    Serial,
    begin,
    conclude,
    drive,
    merge_summaries,
    select_partition,
    settle,
    summarise,
)
from protosieve.pipeline._finish import finish
from protosieve.pipeline._options import Options, kernel_of

from benchmarks._measure import paper_data, paper_labels
from protosieve import Prototypes, select
from protosieve._blas import one_thread
from protosieve.kernels import Gaussian
from protosieve.means import FixedMean

PARTITIONS, M, GAUSSIANS, COLUMNS = 16, 100, 5, 64
FOLDER = Path(".bench/partitions")
Judge = Callable[[np.ndarray, Gaussian], tuple[np.ndarray, float]]  # mu at rows, and its squared norm


def main() -> None:
    """Print a line per data set and width."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partitions", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    print("| data | width | one stream | 16 partitions | by a tree of 4 | chosen rows only | seconds, one / 16 |")
    print("|---|---|---|---|---|---|---|")
    for order in ("file", "by label"):
        X = paper_data("letters")
        X = X if order == "file" else X[np.argsort(paper_labels("letters"), kind="stable")]
        for width in (5.0, "median"):
            line(f"Letters, {order}", written(f"letters-{order}", X), width, over_rows(X))
    line(f"{rows:,} x {COLUMNS}, unlike", *unlike(rows))


def written(name: str, X: np.ndarray) -> Path:
    """One Parquet file of as many row groups as there are partitions."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name.replace(' ', '-')}.parquet"
    pq.write_table(pa.table({f"x{i}": x for i, x in enumerate(X.T)}), path, row_group_size=-(-len(X) // PARTITIONS))
    return path


def over_rows(X: np.ndarray) -> Judge:
    """By the mean over all rows."""

    def judge(rows: np.ndarray, kernel: Gaussian) -> tuple[np.ndarray, float]:
        norm = float(FixedMean.over(kernel, X).at_own_rows(512).mean())
        return FixedMean.over(kernel, X.astype(np.float64)).at(kernel.prepare(rows)), norm

    return judge


def unlike(n: int) -> tuple[Path, str, Judge]:
    """A million rows, and their population's mean."""
    rng, of_each = np.random.default_rng(0), n // PARTITIONS
    homes = np.repeat(1.5 * rng.normal(size=(PARTITIONS, COLUMNS)), GAUSSIANS, axis=0)
    centres = homes + 2 * rng.normal(size=homes.shape)
    spreads = rng.uniform(0.5, 1.5, len(centres))
    kinds = np.concatenate([GAUSSIANS * i + rng.integers(GAUSSIANS, size=of_each) for i in range(PARTITIONS)])
    X = rng.standard_normal((len(kinds), COLUMNS), dtype=np.float32)
    X *= spreads[kinds, None]
    X += centres[kinds].astype(np.float32)
    return written(f"unlike-{n}", X), "median", over_gaussians(centres, spreads)


def over_gaussians(centres: np.ndarray, spreads: np.ndarray) -> Judge:
    """By the mean of equally likely Gaussians: the kernel between two of them is a Gaussian of their centres."""

    def similar(rows: np.ndarray, variance: np.ndarray, width: float) -> np.ndarray:
        wide = width**2 + variance
        squared = ((rows[:, None] - centres) ** 2).sum(axis=2)
        return ((width**2 / wide) ** (COLUMNS / 2) * np.exp(-squared / (2 * wide))).mean(axis=1)

    def judge(rows: np.ndarray, kernel: Gaussian) -> tuple[np.ndarray, float]:
        both = spreads**2 + spreads[:, None] ** 2
        return similar(rows, spreads**2, kernel.width), float(similar(centres, both, kernel.width).mean())

    return judge


def line(name: str, path: Path, width: float | str, judge: Judge) -> None:
    """One line of the table."""
    rows = -(-pq.read_metadata(path).num_rows // PARTITIONS)
    asked = Options([str(path)], M, kernel_of("gaussian", width), scale="none", partition_rows=rows)
    start = time.perf_counter()
    one = select(path, M, kernel="gaussian", width=width, scale="none")
    middle = time.perf_counter()
    merged = drive(begin(asked), Serial())
    end = time.perf_counter()
    others = [merged, drive(begin(asked), Serial(), at_once=4), chosen_only(asked)]
    best = residual(one, judge)
    ratios = " | ".join(f"{residual(other, judge) / best:.2f}" for other in others)
    spent = f"{middle - start:.1f} / {end - middle:.1f}"
    print(f"| {name} | {one.kernel.width:.3g} | {best:.3g} | {ratios} | {spent} |", flush=True)


def chosen_only(asked: Options) -> Prototypes:
    """The merge of what partitions have chosen, and no more."""
    job = begin(asked)
    plan = replace(planned(job), limit=0)
    conclude(job.run, [select_partition(partition, plan) for partition in job.inputs], plan)
    return finish(job.run, [file["name"] for file in job.run.files])


def planned(job: Job) -> Plan:
    """The first pass."""
    return settle(job.run, merge_summaries(summarise(partition, job.outline()) for partition in job.inputs))


def residual(result: Prototypes, judge: Judge) -> float:
    """Of a result's rows and weights, by the exact mean."""
    rows, w = result.rows.astype(np.float64), result.weights
    with one_thread():
        mu, norm = judge(rows, result.kernel)
        return 1 - float(2 * w @ mu - w @ result.kernel(rows) @ w) / norm


if __name__ == "__main__":
    main()
