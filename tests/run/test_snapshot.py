"""A look at a run on its way."""

import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from protosieve.pipeline import _job
from protosieve.pipeline._finish import snapshot

from protosieve import select

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


@pytest.fixture
def looked(monkeypatch):
    """A snapshot after every block, with the pass it was taken in and the rows it had used."""
    found = []
    take = _job.Job._take

    def look(job, phase, block):
        take(job, phase, block)
        found.append((phase.label, job.run.rows, snapshot(job.run, [source.name for source in job.inputs])))

    def begin():
        monkeypatch.setattr(_job.Job, "_take", look)
        return found

    return begin


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(scale=3, size=(6, 3))[rng.integers(6, size=40_000)] + rng.normal(size=(40_000, 3))
    table = pa.table({"name": [f"row {i}" for i in range(len(X))], **{f"c{j}": X[:, j] for j in range(3)}})
    pq.write_table(table, tmp_path / "x.parquet")
    pq.write_table(table.slice(5000, 9000), tmp_path / "y.parquet")
    return table


@pytest.mark.parametrize("options", [{}, {"exact_weights": True}, {"target": "y.parquet"}, {"method": "stream"}])
def test_a_run_that_is_looked_at_after_every_block_writes_the_same_bytes(table, tmp_path, looked, options):
    given = {name: tmp_path / value if name == "target" else value for name, value in options.items()}
    select(tmp_path / "x.parquet", 10, id="name", sample=1000, output=tmp_path / "plain.parquet", **given)
    found = looked()
    result = select(tmp_path / "x.parquet", 10, id="name", sample=1000, output=tmp_path / "seen.parquet", **given)
    assert (tmp_path / "plain.parquet").read_bytes() == (tmp_path / "seen.parquet").read_bytes()
    for label, rows, seen in found:
        assert (seen is not None) == (label in ("select", "review"))
        if label == "select":
            assert seen.n_seen == rows
            assert seen.indices.max() < rows
            assert seen.provenance["rows"] == rows
            assert seen.sample.n_rows == (9000 if "target" in options else rows)
            np.testing.assert_array_equal(seen.encoding.encode(seen.table), seen.rows)
    if "exact_weights" not in options:
        last = next(seen for _, _, seen in reversed(found) if seen is not None)
        np.testing.assert_array_equal(last.weights, result.weights)
        assert last.residual == result.residual


def test_standard_input_is_looked_at_once_its_head_is_settled(table, looked, monkeypatch):
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.getvalue())))
    found = looked()
    result = select("-", 10, id="name", format="csv")
    assert [seen.n_seen for _, _, seen in found] == [16_384, 32_768, 40_000]
    np.testing.assert_array_equal(found[-1][2].indices, result.indices)
