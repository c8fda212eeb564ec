"""The sample of rows with their columns: the rows with the smallest hashes, whatever way they come."""

import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oracles
from protosieve import DataSample, _state, select
from protosieve.passes import LeftOut, Position, RowBlock, RowSample, _row_sample
from protosieve.run._signals import Stopped

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


def smallest(seed, numbers, most):
    """The sample, literally."""
    return sorted(sorted(numbers, key=lambda number: oracles.splitmix64(seed, number))[:most])


def block(rows, table, part):
    """Some of the rows, half of a hundred in one file and half in the next."""
    tables = [table.slice(part[0], len(part))] if len(part) else []
    return RowBlock(rows[part], tables, part, part // 50 % 2, part, LeftOut(), Position(), 0)


def fed(sample, rows, cuts, table, first=0):
    for part in np.split(np.arange(first, len(rows)), [cut - first for cut in cuts]):
        sample.take(block(rows, table, part))
        sample._check()
    return sample


def codes_as_they_are(rows):
    return rows


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(30_000, 3))


@pytest.fixture(scope="module")
def table():
    names = pa.array([f"row {i}" for i in range(30_000)]).dictionary_encode()
    return pa.table({"n": np.arange(30_000), "name": names})


def test_rows_numbers_and_columns_belong_together_however_they_come(rows, table):
    one = fed(RowSample.empty(5, 8192), rows, [10_000, 10_001, 25_000], table)
    found, held = one.light(), one.rows.settled()
    assert found.numbers.tolist() == smallest(5, range(30_000), 8192)
    assert sorted(held.numbers.tolist()) == found.numbers.tolist()
    np.testing.assert_array_equal(held.rows, rows[held.numbers])
    assert found.files.tolist() == (found.numbers // 50 % 2).tolist()
    assert found.table["n"].to_pylist() == found.numbers.tolist()
    assert found.table["name"].to_pylist() == [f"row {i}" for i in found.numbers]
    other = fed(RowSample.empty(5, 8192), rows, range(1000, 30_000, 1000), table)
    again = _state.loads(_state.dumps(other))
    again._check()
    assert again.light().numbers.tolist() == found.numbers.tolist()
    assert again.light().table.equals(found.table)


def test_samples_of_parts_merge_to_that_of_all(rows, table):
    table = table.set_column(1, "name", table["name"].cast(pa.string()))  # a part of one row would weigh all values
    whole = fed(RowSample.empty(5, 1000), rows, [], table)
    merged = fed(RowSample.empty(5, 1000), rows[:7000], [500], table)
    for first, last in ((7000, 7001), (7001, 30_000)):
        merged.merge(fed(RowSample.empty(5, 1000), rows[:last], [], table, first), codes_as_they_are)
        merged._check()
    assert merged.seen == whole.seen == 30_000
    assert merged.records().numbers.tolist() == smallest(5, range(30_000), 1000)
    np.testing.assert_array_equal(merged.records().files, whole.records().files)
    assert merged.records().table.equals(whole.records().table)
    np.testing.assert_array_equal(merged.rows.settled().rows, whole.rows.settled().rows)


def test_columns_of_rows_that_gave_way_are_let_go(rows, table):
    """A dictionary of the file has 30,000 values."""
    sample = fed(RowSample.empty(1, 100), rows, range(500, 30_000, 500), table)
    assert sum(len(part.numbers) for part in sample.parts) <= 300
    (chunk,) = sample.records().table["name"].chunks
    assert len(chunk.dictionary) == 100


def test_heavy_rows_keep_fewer_columns_but_never_very_few(monkeypatch):
    rows = np.zeros((3000, 2))
    text = pa.table({"text": ["x" * 1000] * 3000})
    for most, kept in ((1 << 21, 2048), (1 << 18, 256), (1 << 15, 64)):
        monkeypatch.setattr(_row_sample, "_HELD", most * 1.1)
        found = fed(RowSample.empty(1, 8192), rows, [100, 2000], text)
        assert found.records().numbers.tolist() == smallest(1, range(3000), kept)
        assert len(found.rows.settled().rows) == 3000  # as numbers they are all there


def test_rows_that_happen_to_be_heavy_are_halved_in_the_end(monkeypatch):
    monkeypatch.setattr(_row_sample, "_SHOWN", 1 << 20)
    words = np.full(5000, "x", object)
    words[smallest(1, range(5000), 600)] = "x" * 4000  # the sample's own: the average does not tell
    text = pa.table({"text": pa.array(words, pa.string())})
    sample = fed(RowSample.empty(1, 8192), np.zeros((5000, 1)), [2500], text)
    light = sample.light()
    assert light.table.nbytes <= 1 << 20
    assert light.numbers.tolist() == smallest(1, range(5000), len(light.numbers))
    assert sample.light().table.equals(light.table)
    assert len(sample.records().numbers) == 5000  # what is kept stays


def data(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({
        "name": [f"row {i}" for i in range(n)], "a": rng.normal(size=n), "b": rng.normal(size=n),
        "colour": rng.choice(["red", "green", "blue"], n),
    })  # fmt: skip


def same(one, other):
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.rows, other.rows)
    assert one.table.equals(other.table)
    assert (one.n_rows, one.is_target) == (other.n_rows, other.is_target)


def test_a_run_over_files_has_a_sample_of_its_rows_whatever_the_files(tmp_path):
    table = data()
    pq.write_table(table, tmp_path / "whole.parquet")
    for i, start in enumerate((0, 7, 15_000)):
        pq.write_table(table.slice(start, (7, 15_000, 20_000)[i] - start), tmp_path / f"part{i}.parquet")
    found = select(tmp_path / "whole.parquet", 5, id="name", random_state=4).sample
    assert isinstance(found, DataSample)
    assert found.indices.tolist() == smallest(4, range(20_000), 8192)
    assert found.table.equals(table.take(found.indices))
    assert (found.n_rows, found.is_target, len(found)) == (20_000, False, 8192)
    assert repr(found) == "DataSample(8,192 of 20,000 rows of the input)"
    parts = [tmp_path / f"part{i}.parquet" for i in range(3)]
    for more in ({}, {"partition_rows": 4000}):
        same(found, select(parts, 5, id="name", random_state=4, **more).sample)
    with pytest.raises(ValueError, match="read-only"):
        found.rows[0] = 0


@pytest.mark.parametrize("sample", [None, 1000])
def test_rows_of_a_target_are_shown_where_there_is_one(tmp_path, sample):
    here, there = data(900), data(12_000, seed=1)
    pq.write_table(here, tmp_path / "x.parquet")
    pq.write_table(there, tmp_path / "y.parquet")
    result = select(tmp_path / "x.parquet", 5, target=tmp_path / "y.parquet", id="name", sample=sample)
    assert result.sample.is_target
    assert result.sample.n_rows == 12_000
    assert result.sample.indices.tolist() == smallest(1, range(12_000), sample or 8192)  # its seed is another
    assert result.sample.table.equals(there.take(result.sample.indices))
    np.testing.assert_array_equal(result.encoding.encode(result.sample.table), result.sample.rows)


def test_rows_left_out_are_never_in_it_and_numbers_count_them(tmp_path):
    lines = ["a,b", *(f"{i},{i % 7}" for i in range(2000))]
    for bad in range(3, 2000, 5):
        lines[bad + 1] = "nan,1"
    (tmp_path / "x.csv").write_text("\n".join(lines))
    found = select(tmp_path / "x.csv", 5, bad_rows="skip").sample
    assert found.indices.tolist() == [i for i in range(2000) if i % 5 != 3]
    assert found.table["a"].to_pylist() == found.indices.tolist()
    assert found.n_rows == 1600


@pytest.mark.parametrize("with_target", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_stopped_and_gone_on_with_the_sample_is_the_same(tmp_path, with_target):
    table = data(40_000)
    for name in ("x", "y"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    options = {"id": "name", "target": tmp_path / "y.parquet" if with_target else None, "sample": 500}
    ticks = []
    whole = select(tmp_path / "x.parquet", 5, progress=ticks.append, **options).sample
    surveyed = max(i for i, tick in enumerate(ticks) if tick.label == "survey")  # later passes draw no sample
    for stop in range(2, surveyed, 2):
        left = [stop]

        def watch(tick, left=left):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGINT)

        work = tmp_path / f"{stop}"
        with pytest.raises(Stopped):
            select(tmp_path / "x.parquet", 5, work=work, progress=watch, **options)
        same(select(tmp_path / "x.parquet", 5, work=work, **options).sample, whole)
