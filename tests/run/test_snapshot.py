"""A look at a run on its way."""

import io
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from protosieve import select
from protosieve.passes import Options, _blocks
from protosieve.run import Onlookers, begin
from protosieve.run._drive import snapshot

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


@pytest.fixture
def looked(monkeypatch):
    """From when it is called, a look at every tick: its pass, the rows it had used, and what was seen."""
    found = []

    def begin():
        monkeypatch.setattr(
            Onlookers, "__call__", lambda shown, tick: found.append((tick.label, tick.rows, shown.look()))
        )
        return found

    return begin


def rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(scale=3, size=(6, 3))[rng.integers(6, size=n)] + rng.normal(size=(n, 3))
    return pa.table({"name": [f"row {i}" for i in range(n)], **{f"c{j}": X[:, j] for j in range(3)}})


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Three blocks of rows, for blocks are small."""
    monkeypatch.setattr(_blocks, "_MOST", 2048)
    table = rows(5000)
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2500)
    pq.write_table(table.slice(1000, 2000), tmp_path / "y.parquet")
    return table


@pytest.mark.parametrize(
    "options",
    [{}, {"partition_rows": 2500}, {"sample": 4000}, {"target": "y.parquet"}, {"method": "basic"}, {"goal": "cover"}],
    ids=["one partition", "partitions", "most rows", "a target", "one by one", "cover"],
)
def test_a_run_that_is_looked_at_after_every_block_writes_the_same_bytes(table, tmp_path, looked, options):
    given = {"sample": 1000, **options}
    given |= {"target": tmp_path / options["target"]} if "target" in options else {}
    select(tmp_path / "x.parquet", 10, id="name", output=tmp_path / "plain.parquet", **given)
    found = looked()
    select(tmp_path / "x.parquet", 10, id="name", output=tmp_path / "seen.parquet", **given)
    assert (tmp_path / "plain.parquet").read_bytes() == (tmp_path / "seen.parquet").read_bytes()
    assert {label for label, _, _ in found} >= ({"survey"} if "goal" in options else {"survey", "sum"})
    for label, rows, seen in found:
        assert (seen is not None) == (label == "survey" and rows > 0 and "target" not in options)
        if seen is not None:
            check_look(seen, rows, table)


def check_look(seen, rows, table):
    """It is of the rows so far, and says no more of them than their sample can."""
    assert len(seen) == 10
    assert seen.n_seen == seen.provenance["rows"] == seen.sample.n_rows == rows
    assert seen.indices.max() < rows
    assert seen.certificate.whole or seen.certificate.sampling.population == rows
    np.testing.assert_array_equal(seen.encoding.encode(seen.table), seen.rows)
    assert seen.table["name"].to_pylist() == table["name"].take(seen.indices).to_pylist()


def test_the_last_look_at_few_rows_is_the_result(table, tmp_path, looked):
    pq.write_table(table.slice(0, 1500), tmp_path / "few.parquet", row_group_size=500)
    found = looked()
    result = select(tmp_path / "few.parquet", 10, id="name", partition_rows=500)
    assert [rows for _, rows, _ in found] == [0, 500, 500, 1000, 1000, 1500, 1500]
    last = found[-1][2]
    np.testing.assert_array_equal(last.indices, result.indices)
    np.testing.assert_array_equal(last.weights, result.weights)
    assert (last.residual, last.certificate.sampling) == (result.residual, None)


def test_what_a_look_says_is_left_is_near_to_what_is_left_of_the_rows_so_far(table, tmp_path, looked):
    found = looked()
    select(tmp_path / "x.parquet", 10, id="name", sample=1000)
    _, rows, seen = next(one for one in found if one[2] is not None)
    X = seen.encoding.encode(table.slice(0, rows)).astype(np.float64)
    mine, w, kernel = seen.rows.astype(np.float64), seen.weights, seen.kernel
    norm = np.mean([kernel(part, X).mean(axis=1).mean() for part in np.array_split(X, 64)])
    left = 1 - (2 * w @ kernel(mine, X).mean(axis=1) - w @ kernel(mine) @ w) / norm
    assert abs(left - seen.residual) < 4 * seen.certificate.standard_error


def test_standard_input_is_looked_at_once_its_head_is_settled(looked, monkeypatch):
    text = io.BytesIO()
    pa.csv.write_csv(rows(40_000), text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.getvalue())))
    found = looked()
    result = select("-", 10, id="name", format="csv")
    assert found[0][1:] == (0, None)
    # as of files: after each block, and at the end
    assert [seen.n_seen for _, _, seen in found[1:]] == [16_384, 32_768, 40_000, 40_000]
    np.testing.assert_array_equal(found[-1][2].indices, result.indices)


def test_before_any_row_is_sampled_there_is_nothing_to_look_at(tmp_path):
    pq.write_table(pa.table({"x": np.arange(3000.0)}), tmp_path / "rows.parquet")
    job, _ = begin(Options([str(tmp_path / "rows.parquet")], 3, sample=10))
    work = replace(job.survey(), limit=0)
    assert snapshot(job, work.over(job.inputs[0])) is None
