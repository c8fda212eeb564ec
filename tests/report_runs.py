"""Results and what their pages show, for the tests of reports: runs over small files with a sample of their own."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import protosieve
from protosieve.insight import View, describe
from protosieve.report import page_data
from protosieve.result import DataSample


def run(folder, columns, m=6, **options):
    """The result of a run over a table, all of whose rows are its sample."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    path = folder / "rows.parquet"
    pq.write_table(table, path)
    result = protosieve.select(path, m, **options)
    every = np.arange(table.num_rows)
    return with_source(result, sample=DataSample(every, result.encoding.encode(table), table, table.num_rows, False))


def with_source(result, **changed):
    """The same result, as if its run over files had known other things."""
    return replace(result, source=replace(result.source, **changed))


def told(result, data=None, **view):
    """What a page shows, which can be written and read."""
    found = page_data(describe(result, data, View(**view)))
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == found
    return found


def people(n=200, seed=0):
    """A mixed table."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return {
        "name": [f"person {i:04d}" for i in range(n)],
        "age": age,
        "colour": rng.choice(["red", "green", "blue"], n, p=[0.7, 0.2, 0.1]),
        "joined": np.datetime64("2020-01-01", "s") + rng.integers(0, 10**8, n).astype("timedelta64[s]"),
        "old": np.where(age > 60, "old", "young"),
        "note": [f"a longer remark on person number {i}, who is {a} years of age" for i, a in enumerate(age)],
    }
