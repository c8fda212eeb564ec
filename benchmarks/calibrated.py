"""``make bench-calibrated``: what the mean of all rows in fixed memory is worth, against a run with the exact mean.

Tables of 60,000 rows and more: in memory, in a Parquet file of 16 partitions, and streamed once; the latter two as they
come, and sorted by cluster, so that partitions are unlike each other. Residuals are of the weights that were returned,
over all rows. The exact mean is that of all rows at as many candidates.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._measure import mixture
from protosieve import ProtoSwap, Prototypes, select
from protosieve._blas import one_thread
from protosieve.kernels import Gaussian, Kernel, MultiScale
from protosieve.means import FixedMean
from protosieve.objectives import KernelMean
from protosieve.sampling import SampledRows
from protosieve.weights import NonNegativeQP

CHUNK, PARTITIONS = 10_000, 16
KERNELS = {"MultiScale": MultiScale(), "Gaussian": Gaussian()}


def heavy(n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """40 clusters of unlike size and width with heavy tails, and which cluster a row is of."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(40, columns))
    shares, widths = rng.dirichlet(np.ones(40)), np.exp(rng.normal(0, 0.5, size=40))
    cluster = rng.choice(40, n, p=shares)
    tails = np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    rows = centres[cluster] + widths[cluster, None] * rng.normal(size=(n, columns)) / tails
    return rows.astype(np.float32), cluster


def repeated(file: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Real rows, repeated with noise of a tenth of each column's spread, and their labels."""
    stored = np.load(Path(os.environ.get("PROTOSIEVE_DATA", "")) / file)
    rows, labels = stored["x_train"].reshape(len(stored["x_train"]), -1).astype(np.float32), stored["y_train"]
    rng = np.random.default_rng(0)
    which = rng.integers(len(rows), size=n)
    noise = 0.1 * rows.std(axis=0) * rng.standard_normal((n, rows.shape[1]), dtype=np.float32)
    return (rows[which] + noise).astype(np.float32), labels[which]


def blobs(n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """50 Gaussians, and on which side of the first column's middle, in twenty steps, a row is."""
    rows = next(mixture(n, columns))
    return rows, np.digitize(rows[:, 0], np.quantile(rows[:, 0], np.linspace(0, 1, 21)[1:-1]))


TABLES: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "heavy 60,000 x 32": lambda: heavy(60_000, 32),
    "heavy 400,000 x 24": lambda: heavy(400_000, 24),
    "mixture 200,000 x 64": lambda: blobs(200_000, 64),
    "banking77 200,000 x 384": lambda: repeated("banking77_minilm.npz", 200_000),
}


class Truth:
    """The mean of all rows of a table, for one kernel."""

    def __init__(self, X: np.ndarray, kernel: Kernel) -> None:
        self.kernel = kernel.resolve(X[:: max(1, len(X) // 5000)], np.random.default_rng(0))
        self.mean = FixedMean.over(self.kernel, X.astype(np.float64))
        with one_thread():
            self.norm = float(self.mean.at_own_rows().mean())

    def residual(self, rows: np.ndarray, weights: np.ndarray | None = None) -> float:
        """Of rows at given weights, or at their best."""
        with one_thread():
            mu, gram = self.mean.at_many(rows.astype(np.float64)), KernelMean(self.kernel, self.mean).gram(rows)
            w = NonNegativeQP.from_gram(gram.copy(), mu).weights if weights is None else weights
        return 1 - float(2 * w @ mu - w @ gram @ w) / self.norm

    def exact(self, X: np.ndarray, m: int, candidates: np.ndarray) -> float:
        """Of a run that knows the mean of all rows at its candidates."""
        rows = X[candidates]
        with one_thread():
            mean = FixedMean.over(self.kernel, X)
            drawn = SampledRows(rows, candidates, mean.at_many(rows))
            members = ProtoSwap(m)._exchange(drawn, KernelMean(self.kernel, mean))
        return self.residual(members.rows[members.exchange.slots])


def runs(X: np.ndarray, cluster: np.ndarray, kernel: Kernel, m: int) -> Iterator[tuple[str, Prototypes, float]]:
    """In memory; then of a file and streamed, as it comes and by cluster: with the seconds each takes."""
    start = time.perf_counter()
    yield "in memory", ProtoSwap(m, kernel=kernel, random_state=0).fit(X).result_, time.perf_counter() - start
    for order, rows in (("", X), (" by cluster", X[np.argsort(cluster, kind="stable")])):
        yield f"of a file{order}", *of_file(rows, kernel, m)
        yield f"streamed{order}", *streamed(rows, kernel, m)


def of_file(X: np.ndarray, kernel: Kernel, m: int) -> tuple[Prototypes, float]:
    """All rows summed up partition by partition, and a choice from a sample of them."""
    rows = -(-len(X) // PARTITIONS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
        pq.write_table(pa.table({"x": lists}), path, row_group_size=rows)
        start = time.perf_counter()
        found = select(path, m, embedding="x", kernel=kernel, partition_rows=rows)
        return found, time.perf_counter() - start


def streamed(X: np.ndarray, kernel: Kernel, m: int) -> tuple[Prototypes, float]:
    """Rows that come once."""
    selector, start = ProtoSwap(m, kernel=kernel, random_state=0), time.perf_counter()
    for first in range(0, len(X), CHUNK):
        selector.partial_fit(X[first : first + CHUNK])
    return selector.result_, time.perf_counter() - start


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrated", description=__doc__)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=list(KERNELS))
    parser.add_argument("--m", type=int, nargs="+", default=[100, 400, 1000])
    options = parser.parse_args()
    print("| table | kernel | m | run | residual | / exact | / random rows' | claimed / true | bound / true | s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in options.tables:
        X, cluster = TABLES[name]()
        for kernel in options.kernels:
            truth = Truth(X, KERNELS[kernel])
            for m in options.m:
                candidates = np.random.default_rng(1).permutation(len(X))[:32_768]
                exact, random = truth.exact(X, m, candidates), truth.residual(X[candidates[:m]])
                for how, found, seconds in runs(X, cluster, truth.kernel, m):
                    true = truth.residual(found.rows, found.weights)
                    bound = found.certificate.mmd_bound() ** 2 / truth.norm
                    print(
                        f"| {name} | {kernel} | {m:,} | {how} | {true:.3g} | {true / exact:.3f} | {true / random:.2f} "
                        f"| {found.residual / true:.3f} | {bound / true:.2f} | {seconds:.1f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
