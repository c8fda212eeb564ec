"""Runs over partitions of a table of people, and whether two of them came to the same result."""

import numpy as np
import pyarrow as pa

from protosieve import select
from protosieve.passes import options_of
from protosieve.run import begin

# 250 rows each, and a sample that does not hold all of them: so there are sums to be made
ASKED = {"id": "name", "sample": 1000, "partition_rows": 250}


def people(n, seed=0, first=0):
    """Numbers, categories, nulls, a text that must survive, and its own row number; sorted, so that partitions are
    unlike each other.
    """
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(5, size=n))
    height = rng.normal(size=n) + group
    return pa.table(
        {
            "height": pa.array(height, mask=rng.random(n) < 0.05),
            "depth": rng.normal(size=n) - height,
            "town": [["Ulm", "Bonn", "Kiel", "Jena", None][i] for i in (group + rng.integers(2, size=n)) % 5],
            "name": [f"row {first + i}" for i in range(n)],
        }
    )


def options(folder, m=20, **others):
    return options_of({"inputs": folder, "n_prototypes": m, **ASKED, **others})


def job_of(folder, m=20, **others):
    return begin(options(folder, m, **others))[0]


def selected(folder, m=20, **others):
    """`protosieve.select`, asked for what `job_of` is."""
    return select(folder, m, **{**ASKED, **others})


def same(one, other):
    """Bit for bit, all that is told of the data."""
    return (
        one.indices.tolist() == other.indices.tolist()
        and one.weights.tolist() == other.weights.tolist()
        and one.rows.tobytes() == other.rows.tobytes()
        and one.table.equals(other.table)
        and (one.residual, one.objective) == (other.residual, other.objective)
        and one.sample.indices.tolist() == other.sample.indices.tolist()
        and one.sample.rows.tobytes() == other.sample.rows.tobytes()
        and one.sample.table.equals(other.sample.table)
    )
