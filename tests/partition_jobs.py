"""Jobs over partitions of a table of people, and whether two of them came to the same result."""

import numpy as np
import pyarrow as pa

from protosieve.distributed import begin
from protosieve.kernels import MultiScale
from protosieve.pipeline._options import Options


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(5, size=n))
    return pa.table(
        {
            "height": rng.normal(size=n) + group,
            "depth": rng.normal(size=n),
            "town": [["Ulm", "Bonn", "Kiel", "Jena", None][i] for i in group],
            "name": [f"row {i}" for i in range(n)],
        }
    )


def options(folder, m=20, **others):
    asked = {"id": ["name"], "exact_weights": True, "sample": 1000, "partition_rows": 250, **others}
    return Options([str(folder)], m, MultiScale(), **asked)


def job_of(folder, **others):
    return begin(options(folder, **others))


def same(one, other):
    return (
        one.indices.tolist() == other.indices.tolist()
        and one.weights.tolist() == other.weights.tolist()
        and one.table.equals(other.table)
    )
