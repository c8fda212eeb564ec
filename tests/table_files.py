"""Tables of numbers, ids, labels and categories in files of every format, and whether two runs came to the same."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

COLUMNS = {"id": "name", "label": "kind"}


def numbers(n=1500, d=4, seed=0):
    """Clusters, in numbers that text formats hold exactly."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(scale=3, size=(5, d))[rng.integers(5, size=n)] + rng.normal(size=(n, d))
    return rows.round(3)


def frame(X, seed=0):
    """A table with ids, a label and a category beside the numbers."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    table.insert(0, "name", [f"row {i}" for i in range(len(X))])
    table["colour"] = rng.choice(["red", "green", "blue"], size=len(X))
    table["kind"] = rng.integers(3, size=len(X))
    return table


def write(table, path):
    """A table in the format its ending says."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    match path.suffix:
        case ".parquet":
            pq.write_table(arrow, path, row_group_size=400)
        case ".csv":
            pa.csv.write_csv(arrow, path)
        case ".arrow":
            pyarrow.feather.write_feather(arrow, path, compression="uncompressed", chunksize=333)
        case ".jsonl":
            table.to_json(path, orient="records", lines=True, double_precision=15)
        case ".gz":
            with gzip.open(path, "wt") as file:
                table.to_csv(file, index=False)
    return path


def assert_same(one, other):
    """Bit for bit."""
    for name in ("indices", "rows", "weights", "shares"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.residual == other.residual
