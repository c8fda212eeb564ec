"""The sample of rows to look at: the rows with the smallest hashes, whatever way they come."""

import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from protosieve.pipeline import Stopped, _gallery
from protosieve.pipeline._gallery import Gallery

import oracles
from protosieve import DataSample, select
from protosieve.sampling import Bottom, hashes

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


def smallest(seed, numbers, most):
    """The sample, literally."""
    return sorted(sorted(numbers, key=lambda number: oracles.splitmix64(seed, number))[:most])


@given(st.integers(0, 2**70), st.lists(st.integers(0, 2**62), max_size=50))
def test_hashes_are_those_of_splitmix64(seed, numbers):
    expected = [oracles.splitmix64(seed, number) for number in numbers]
    assert hashes(seed, np.array(numbers, np.int64)).tolist() == expected


@given(st.integers(0, 99), st.integers(1, 30), st.lists(st.integers(0, 3), max_size=120), st.randoms())
def test_the_sample_is_the_smallest_hashes_in_any_order_cut_and_merge(seed, most, homes, random):
    numbers = list(range(len(homes)))
    random.shuffle(numbers)
    parts = [Bottom(seed, most) for _ in range(4)]
    for number, home in zip(numbers, homes, strict=True):
        parts[home].offer(np.array([number]))
        parts[home]._check()
    random.shuffle(parts)
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    assert sorted(whole.numbers.tolist()) == smallest(seed, numbers, most)
    assert whole.seen == len(homes)
    whole.lower(max(most // 2, 1))
    assert sorted(whole.numbers.tolist()) == smallest(seed, numbers, max(most // 2, 1))


def test_offered_rows_that_join_are_named_by_their_places():
    bottom, numbers = Bottom(3, 20), np.random.default_rng(0).permutation(500)
    for part in np.array_split(numbers, 7):
        before = set(bottom.numbers.tolist())
        joined = part[bottom.offer(part)]
        assert set(joined.tolist()) == set(bottom.numbers.tolist()) - before


def test_every_row_is_as_likely_as_any_other():
    counts = np.zeros(40)
    for seed in range(4000):
        bottom = Bottom(seed, 10)
        bottom.offer(np.arange(40))
        counts[bottom.numbers] += 1
    # a count is binomial, of 4,000 draws at 1/4: a standard deviation of 27
    assert np.abs(counts - 1000).max() < 5 * 27


def fed(gallery, rows, cuts, table):
    for part in np.split(np.arange(len(rows)), cuts):
        gallery.take(part, rows[part], [table.slice(part[0], len(part))] if len(part) else [])
        gallery._check()
    return gallery


def test_rows_numbers_and_columns_belong_together_however_they_come():
    rows = np.random.default_rng(0).normal(size=(30_000, 3))
    table = pa.table(
        {"n": np.arange(30_000), "name": pa.array([f"row {i}" for i in range(30_000)]).dictionary_encode()}
    )
    one = fed(Gallery.empty(5), rows, [10_000, 10_001, 25_000], table).shown()
    assert one.numbers.tolist() == smallest(5, range(30_000), 8192)
    np.testing.assert_array_equal(one.rows, rows[one.numbers])
    assert one.table["n"].to_pylist() == one.numbers.tolist()
    assert one.table["name"].to_pylist() == [f"row {i}" for i in one.numbers]
    other = fed(Gallery.empty(5), rows, range(1000, 30_000, 1000), table).pack()
    again = Gallery(other.bottom, other.weight, other.numbers, other.rows, other.packed).light()
    np.testing.assert_array_equal(again.numbers, one.numbers)
    assert again.table.equals(one.table)


def test_heavy_rows_make_it_smaller_but_never_very_small(monkeypatch):
    rows = np.zeros((3000, 2))
    text = pa.table({"text": ["x" * 1000] * 3000})
    for most, kept in ((1 << 21, 2048), (1 << 18, 256), (1 << 15, 64)):
        monkeypatch.setattr(_gallery, "_BYTES", most * 1.1)
        found = fed(Gallery.empty(1), rows, [100, 2000], text).light()
        assert found.numbers.tolist() == smallest(1, range(3000), kept)


def test_rows_that_happen_to_be_heavy_are_halved_in_the_end(monkeypatch):
    monkeypatch.setattr(_gallery, "_BYTES", 1 << 20)
    words = np.full(5000, "x", object)
    words[smallest(1, range(5000), 600)] = "x" * 4000  # the sample's own: the average does not tell
    gallery = fed(Gallery.empty(1), np.zeros((5000, 1)), [2500], pa.table({"text": pa.array(words, pa.string())}))
    light = gallery.light()
    assert light.rows.nbytes + light.table.nbytes <= 1 << 20
    assert light.numbers.tolist() == smallest(1, range(5000), len(light.numbers))
    assert gallery.light().table.equals(light.table)


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
    same(found, select([tmp_path / f"part{i}.parquet" for i in range(3)], 5, id="name", random_state=4).sample)
    with pytest.raises(ValueError, match="read-only"):
        found.rows[0] = 0


def test_rows_of_a_target_are_shown_where_there_is_one(tmp_path):
    here, there = data(900), data(12_000, seed=1)
    pq.write_table(here, tmp_path / "x.parquet")
    pq.write_table(there, tmp_path / "y.parquet")
    result = select(tmp_path / "x.parquet", 5, target=tmp_path / "y.parquet", id="name", exact_weights=True)
    assert result.sample.is_target
    assert result.sample.n_rows == 12_000
    assert result.sample.indices.tolist() == smallest(0, range(12_000), 8192)
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
def test_stopped_and_resumed_the_sample_is_the_same(tmp_path, with_target):
    table = data(40_000)
    for name in ("x", "y"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    options = {"id": "name", "target": tmp_path / "y.parquet" if with_target else None}
    ticks = []
    whole = select(tmp_path / "x.parquet", 5, progress=ticks.append, **options).sample
    for stop in range(4, len(ticks), 2):
        left = [stop]

        def watch(tick, left=left):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(Stopped):
            select(tmp_path / "x.parquet", 5, checkpoint=tmp_path / "run", progress=watch, **options)
        same(select(tmp_path / "x.parquet", 5, checkpoint=tmp_path / "run", resume=True, **options).sample, whole)
