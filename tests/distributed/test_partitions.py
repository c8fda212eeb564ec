"""Partitions and merges: one answer, whatever carries the pieces, as good as that of one stream."""

import gzip
import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from experiments.datasets import load_letters
from oracles import select_in_turn
from protosieve import InputError, ParameterError, ProtosieveWarning, _state, select
from protosieve._blas import one_thread
from protosieve.distributed import (
    Partition,
    begin,
    conclude,
    fan_in,
    job_of,
    levels,
    merge_candidates,
    merge_summaries,
    merge_weights,
    partitions_of,
    select_partition,
    settle,
    summarise,
    weigh_partition,
)
from protosieve.distributed._drawn import Drawn, key_of, number_of
from protosieve.distributed._summary import Summary
from protosieve.io import BadRows, BatchSource, Stretch, find_sources
from protosieve.kernels import Gaussian
from protosieve.means import FixedMean
from protosieve.pipeline import survey
from protosieve.pipeline._finish import finish
from protosieve.pipeline._options import METHODS, Options, kernel_of
from protosieve.sampling import Bottom
from protosieve.weights import NonNegativeQP

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


def options(inputs, m=20, *, kernel="multiscale", width=None, **others):
    named = {name: [str(value)] if name == "target" else value for name, value in others.items()}
    return Options(inputs=[str(inputs)], n_prototypes=m, kernel=kernel_of(kernel, width), **named)


def people(n, seed=0, first=0):
    """Numbers, categories, nulls, a text that must survive, and its own row number."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(5, size=n))  # sorted: partitions are unlike each other
    height = rng.normal(size=n) + group
    return pa.table(
        {
            "height": pa.array(height, mask=rng.random(n) < 0.05),
            "depth": rng.normal(size=n) - height,
            "town": [["Ulm", "Bonn", "Kiel", "Jena", None][i] for i in (group + rng.integers(2, size=n)) % 5],
            "name": [f"row {first + i}" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """4,000 rows in three Parquet files of groups of 250 and 300 rows, and one CSV between them."""
    folder, first = tmp_path_factory.mktemp("people"), 0
    for i, (rows, group) in enumerate([(1100, 250), (900, None), (600, 300), (1400, 250)]):
        part = people(rows, seed=i, first=first)
        first += rows
        if group:
            pq.write_table(part, folder / f"{i}.parquet", row_group_size=group)
        else:
            pa.csv.write_csv(part, folder / f"{i}.csv")
    return folder


def everything(folder):
    return pa.concat_tables(people(rows, seed=i) for i, rows in enumerate([1100, 900, 600, 1400]))


def same(one, other):
    return (
        one.indices.tolist() == other.indices.tolist()
        and one.weights.tolist() == other.weights.tolist()
        and one.table.equals(other.table)
    )


# -- the partition list


def grouped(groups):
    """A file of row groups, of which only the numbers of rows are looked at."""
    source = BatchSource("file", pa.schema({"x": pa.int64()}), [])
    source.groups = lambda: groups
    return source


some_groups = st.lists(st.lists(st.integers(0, 50), max_size=6), min_size=1, max_size=6)


@given(some_groups, st.integers(1, 120))
def test_partitions_hold_every_row_once_in_order(files, partition_rows):
    partitions = partitions_of([grouped(groups) for groups in files], partition_rows)
    held = [(file, stretch) for part in partitions for file, stretch in part.files()]
    found = [(file, row) for file, stretch in held for row in range(stretch.first, stretch.last)]
    assert found == [(file, row) for file, groups in enumerate(files) for row in range(sum(groups))]
    assert {file for part in partitions for file, _ in part.files()} == set(range(len(files)))
    assert [part.number for part in partitions] == list(range(len(partitions)))
    assert all(part.rows == sum(s.last - s.first for s in part.stretches) for part in partitions)
    assert all(stretch.first == 0 for part in partitions for stretch in part.stretches[1:])


@given(some_groups, st.integers(1, 120))
def test_no_partition_is_more_than_one_group_larger_than_wanted(files, partition_rows):
    partitions = partitions_of([grouped(groups) for groups in files], partition_rows)
    largest = max((rows for groups in files for rows in groups), default=0)
    assert all(part.rows <= partition_rows + largest for part in partitions)
    assert len(partitions) <= max(1, -(-sum(map(sum, files)) // partition_rows))


@pytest.mark.parametrize("rows", [500, 1500])
def test_small_files_share_a_partition_and_large_ones_are_cut(folder, rows):
    partitions = partitions_of(find_sources(folder), rows)
    homes = [part.names for part in partitions]
    assert max(map(len, homes)) == (1 if rows == 500 else 2)
    assert sum(str(folder / "3.parquet") in names for names in homes) == (3 if rows == 500 else 1)
    read = [
        row
        for part in partitions
        for stretch in part.stretches
        for piece in stretch.pieces(["name"], 0, BadRows(skip=False))
        for row in piece.table["name"].to_pylist()
    ]
    assert read == [f"row {i}" for i in range(4000)]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz"])
def test_text_is_cut_by_the_length_of_its_first_rows(tmp_path, ending):
    for i in range(12):
        lines = [f'{{"x": {n:05}}}' if ending == "jsonl" else f"{n:05}" for n in range(1000)]
        text = "\n".join(lines if ending == "jsonl" else ["x", *lines]) + "\n"
        data = text.encode()
        (tmp_path / f"{i:02}.{ending}").write_bytes(gzip.compress(data, mtime=0) if ending.endswith("gz") else data)
    parts = partitions_of(find_sources(tmp_path), 3010)  # a header looks like a row
    assert [len(part.names) for part in parts] == [3, 3, 3, 3]
    assert [part.rows for part in parts] == [None] * 4


def test_text_that_packs_well_or_begins_with_nothing_is_cut_evenly_too(tmp_path):
    text = "x\n" + "".join(f"{n % 7}\n" for n in range(400_000))
    for i in range(4):
        (tmp_path / f"{i + 1}.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    assert [len(part.names) for part in partitions_of(find_sources(tmp_path), 900_000)] == [2, 2]
    (tmp_path / "lines").mkdir()
    for i in range(9):
        (tmp_path / "lines" / f"{i}.jsonl").write_text('{"x": 1}\n' * 1000 * (i > 0))
    assert len(partitions_of(find_sources(tmp_path / "lines"), 4000)) == 2


def test_a_partition_of_no_rows_is_refused(folder):
    with pytest.raises(ParameterError, match="partition_rows must be a whole number of at least 1, got 0"):
        partitions_of(find_sources(folder), 0)


# -- the sample


@given(st.integers(0, 99), st.integers(1, 30), st.lists(st.integers(0, 3), min_size=1, max_size=120), st.randoms())
def test_the_sample_is_the_same_in_any_grouping_and_order(seed, most, homes, chance):
    parts = [Drawn(Bottom(seed, most)) for _ in range(4)]
    keys = key_of(2, np.arange(len(homes)))
    for key, home in zip(keys, homes, strict=True):
        parts[home].take(np.array([key]), np.array([[float(key % 1000)]]))
        if chance.random() < 0.1:
            parts[home].trim()
        parts[home]._check()
    chance.shuffle(parts)
    whole = parts.pop()
    while parts:
        if len(parts) > 1 and chance.random() < 0.5:
            parts[0].merge(parts.pop(), lambda rows: rows)
        else:
            whole.merge(parts.pop(), lambda rows: rows)
    whole._check()
    expected = sorted(sorted(keys.tolist(), key=lambda key: oracles.splitmix64(seed, key))[:most])
    found, rows = whole.sample()
    assert found.tolist() == expected
    assert rows[:, 0].tolist() == [key % 1000 for key in expected]
    assert whole.bottom.seen == len(homes)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=9), st.data())
def test_keys_become_row_numbers_of_the_whole(lengths, data):
    file = data.draw(st.integers(0, len(lengths) - 1))
    row = data.draw(st.integers(0, 2**39))
    before = np.cumsum([0, *lengths])
    assert number_of(key_of(file, np.array([row])), before).tolist() == [sum(lengths[:file]) + row]


def test_partitions_of_known_size_return_few_rows_each(tmp_path):
    x = np.random.default_rng(0).normal(size=50_000)
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet", row_group_size=500)
    job = begin(options(tmp_path, sample=100, partition_rows=500))
    summaries = [summarise(partition, job.outline()) for partition in job.inputs]
    assert max(len(one.drawn.bottom.numbers) for one in summaries) < 20
    assert all(len(one.drawn.keys) == len(one.drawn.bottom.numbers) for one in summaries)
    whole = merge_summaries(summaries)
    assert len(whole.drawn.sample()[0]) == 100
    hashed = sorted(range(50_000), key=lambda i: oracles.splitmix64(job.outline().sample_seed, i))[:100]
    assert whole.drawn.sample()[0].tolist() == sorted(hashed)


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_a_sample_that_is_cut_short_by_unusable_rows_is_told_of(tmp_path):
    x = np.where(np.arange(20_000) % 20, np.inf, np.arange(20_000))
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet", row_group_size=2000)
    job = begin(options(tmp_path, 5, sample=500, bad_rows="skip", partition_rows=2000))
    with pytest.warns(ProtosieveWarning, match=r"rows were left out that the sample has \d+ in place of 500; the mean"):
        settle(job.run, merge_summaries(summarise(part, job.outline()) for part in job.inputs))


# -- summaries


def test_summaries_merged_say_what_one_survey_says(folder):
    job = begin(options(folder, id=["name"], partition_rows=500))
    whole = merge_summaries(summarise(partition, job.outline()) for partition in job.inputs)
    plan = settle(job.run, whole)
    one = survey(folder, id="name")
    assert plan.encoding.names == one.encoding.names
    mine, theirs = plan.encoding.as_dict(), one.encoding.as_dict()
    assert mine["rows_surveyed"] == theirs["rows_surveyed"] == 4000
    assert mine["nulls_replaced"] == theirs["nulls_replaced"]
    np.testing.assert_allclose(
        plan.encoding.encode(everything(folder)), one.encoding.encode(everything(folder)), rtol=1e-6, atol=1e-6
    )
    assert plan.before == [0, 1100, 2000, 2600]
    assert sum(plan.counts.values()) == 4000


def test_lists_of_two_lengths_name_both_files():
    schema = pa.schema({"v": pa.list_(pa.float32())})
    job = job_of(options("-x", embedding="v"), [BatchSource.of("first", pa.table({"v": [[1.0, 2.0]]}))], [])
    job.run.survey.layout.items[0].length = 0  # as an engine would that has not looked at any row
    parts = [
        partitions_of([BatchSource.of(name, pa.table({"v": rows}, schema))])[0]
        for name, rows in (("first", [[1.0, 2.0]]), ("second", [[1.0, 2.0, 3.0]]))
    ]
    with pytest.raises(InputError, match=r"^first and second: column 'v' begins with lists of 2 values in one place"):
        merge_summaries([summarise(part, job.outline()) for part in parts])


# -- the passes, carried by anything


def untouched(value):
    return value


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def stored(value):
    return _state.loads(_state.dumps(value.storable() if isinstance(value, Summary) else value))


def carried(job, carry, shuffle=untouched):
    """`select_in_turn`, every value carried as an engine would, and partitions worked on in any order."""

    def worked(function, partitions, *arguments):
        order = shuffle(list(partitions))
        results = {part.number: carry(function(pickled(part), *map(carry, arguments))) for part in order}
        return [results[number] for number in sorted(results)]

    inputs = merge_summaries(worked(summarise, job.inputs, job.outline()))
    target = merge_summaries(worked(summarise, job.targets, job.target_outline())) if job.targets else None
    plan = settle(job.run, inputs, target)
    candidates = worked(select_partition, job.inputs, plan)
    for one in candidates:
        one._check()
    conclude(job.run, candidates, plan)
    if job.run.options.exact_weights:
        rows = job.run.selector.result_.rows
        parts = [weigh_partition(pickled(part), carry(plan), rows) for part in job.targets or job.inputs]
        job.run.weighing = merge_weights(parts)
    return finish(job.run, [file["name"] for file in job.run.files])


def shuffled(items):
    random.Random(3).shuffle(items)
    return items


@pytest.mark.parametrize(
    ("carry", "exact_weights"),
    [
        (stored, True),
        pytest.param(stored, False, marks=pytest.mark.thorough),
        pytest.param(pickled, True, marks=pytest.mark.thorough),
        (pickled, False),
    ],
)
def test_the_answer_is_the_same_whatever_carries_it_and_in_whatever_order(folder, carry, exact_weights):
    asked = options(folder, id=["name"], exact_weights=exact_weights, sample=1000, partition_rows=500)
    alone = select_in_turn(begin(asked))
    assert same(alone, select_in_turn(begin(asked)))
    assert same(alone, carried(begin(asked), carry, shuffled))


def test_threads_give_the_same_answer(folder):
    asked = options(folder, id=["name"], sample=1000, partition_rows=500)
    job = begin(asked)
    with one_thread(), ThreadPoolExecutor(4) as pool:
        plan = settle(job.run, merge_summaries(pool.map(summarise, job.inputs, [job.outline()] * len(job.inputs))))
        conclude(job.run, list(pool.map(select_partition, job.inputs, [plan] * len(job.inputs))), plan)
        found = finish(job.run, [file["name"] for file in job.run.files])
    assert same(found, select_in_turn(begin(asked)))


def test_batches_in_memory_are_files_too():
    """As an engine has them that holds partitions of its own: their sizes may not be known, and some may be empty."""
    table, asked = people(1200, seed=4), options("x", id=["name"], sample=400)
    slices = [table.slice(0, 0), *(table.slice(first, 300) for first in range(0, 1200, 300))]
    sources = [BatchSource.of(f"partition {i}", part) for i, part in enumerate(slices)]
    known, unknown = (job_of(asked, sources, []) for _ in range(2))
    known.inputs = [Partition(i, i, [Stretch(sources[i])], len(slices[i])) for i in range(5)]
    unknown.inputs = [Partition(i, i, [Stretch(sources[i])], None) for i in range(5)]
    found = select_in_turn(known)
    assert same(found, carried(unknown, stored, shuffled))
    assert found.table["name"].to_pylist() == [f"row {i}" for i in found.indices]
    assert set(found.table["file"].to_pylist()) <= {source.name for source in sources[1:]}


def test_rows_are_named_by_their_numbers_in_the_whole_input_and_keep_their_columns(folder):
    found = select_in_turn(begin(options(folder, id=["name"], partition_rows=500)))
    whole = everything(folder)
    assert found.table["name"].to_pylist() == [f"row {i}" for i in found.indices]
    assert found.table["row"].to_pylist() == found.indices.tolist()
    for name in ("town", "depth"):
        assert found.table[name].to_pylist() == whole[name].take(found.indices).to_pylist()
    files = [name.rsplit("/", 1)[1] for name in found.table["file"].to_pylist()]
    named = np.repeat(["0.parquet", "1.csv", "2.parquet", "3.parquet"], [1100, 900, 600, 1400])
    assert files == named[found.indices].tolist()
    np.testing.assert_allclose(found.rows, found.encoding.encode(whole.take(found.indices)), rtol=1e-6)


def test_a_result_says_what_that_of_one_stream_does(folder):
    many, one = select_in_turn(begin(options(folder, id=["name"], partition_rows=500))), select(folder, 20, id="name")
    assert many.provenance.keys() == one.provenance.keys()
    assert many.table.schema == one.table.schema
    assert many.n_seen == one.n_seen == 4000
    assert many.shares.sum() == pytest.approx(1)
    assert 0 < many.residual < many.provenance["residual_of_random_rows"] < 1
    assert many.sample.indices.tolist() == one.sample.indices.tolist()
    assert many.sample.n_rows == 4000
    assert (many.weights > 0).all()
    assert (np.diff(many.weights) <= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_that_streams_can_be_used(folder, method):
    found = select_in_turn(begin(options(folder, id=["name"], method=method, partition_rows=1000)))
    assert 0 < len(found) <= 20
    assert found.residual < 1


@pytest.mark.parametrize("kernel", ["laplacian", "linear", "cosine", "polynomial"])
def test_every_kernel_can_be_used(tmp_path, kernel):
    columns = {"x": np.arange(1.0, 900), "y": np.arange(899.0) % 7 + 1}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=300)
    asked = Options([str(tmp_path)], 5, kernel_of(kernel, None), scale="none", partition_rows=300)
    found = select_in_turn(begin(asked))
    assert found.residual < 0.5
    assert same(found, carried(begin(asked), stored, shuffled))


def test_a_percentage_is_of_all_rows(folder):
    assert len(select_in_turn(begin(options(folder, "1%", id=["name"], partition_rows=500)))) == 40


def test_embeddings_of_open_length_are_those_of_the_first_row(tmp_path):
    rng = np.random.default_rng(0)
    rows = [row.tolist() for row in rng.normal(size=(60, 4))]
    rows[0] = None
    rows[30] = [1.0, 2.0]  # the first of the second partition
    pq.write_table(pa.table({"v": rows, "i": range(60)}), tmp_path / "v.parquet", row_group_size=30)
    with pytest.raises(InputError, match=r"v\.parquet, row 0: column 'v' is null; fix the row"):
        select_in_turn(begin(options(tmp_path, 5, embedding="v", partition_rows=30)))
    found = select_in_turn(begin(options(tmp_path, 5, embedding="v", bad_rows="skip", partition_rows=30)))
    told = found.provenance["rows_left_out"]
    assert told["count"] == 2
    assert told["first"][1].endswith("v.parquet, row 30: column 'v' has 2 values here and 4 in the first row")
    assert found.table["i"].to_pylist() == found.indices.tolist()


def test_rows_left_out_keep_their_numbers_and_are_told_in_order(tmp_path):
    lines = [f"{i % 17},{i}" for i in range(900)]
    for i in (5, 299, 300, 601):
        lines[i] = f"abc,{i}"
    for part in range(3):
        (tmp_path / f"{part}.csv").write_text("\n".join(["x,i", *lines[300 * part : 300 * part + 300]]) + "\n")
    with pytest.raises(InputError, match=r"0\.csv, row 5: column 'x' holds 'abc', not a number"):
        select_in_turn(begin(options(tmp_path, 5, id=["i"], partition_rows=5)))
    job = begin(options(tmp_path, 5, id=["i"], bad_rows="skip", partition_rows=5))
    assert len(job.inputs) == 3
    found = select_in_turn(job)
    assert [int(i) for i in found.table["i"].to_pylist()] == found.indices.tolist()
    told = found.provenance["rows_left_out"]
    assert told["count"] == 4
    assert [line.split(": ")[0].rsplit("/")[-1] for line in told["first"]] == [
        "0.csv, row 5", "0.csv, row 299", "1.csv, row 0", "2.csv, row 1",
    ]  # fmt: skip
    assert found.n_seen == 896


def test_partitions_without_usable_rows_are_passed_over(tmp_path):
    pq.write_table(pa.table({"x": pa.nulls(0, pa.float64())}), tmp_path / "a.parquet")
    x = [float("nan")] * 10 + list(np.arange(50.0))
    pq.write_table(pa.table({"x": x}), tmp_path / "b.parquet", row_group_size=10)
    found = select_in_turn(begin(options(tmp_path, 5, bad_rows="skip", partition_rows=10)))
    assert (found.indices >= 10).all()
    assert found.n_seen == 50
    pq.write_table(pa.table({"x": [float("nan")] * 10}), tmp_path / "b.parquet", row_group_size=5)
    with pytest.raises(InputError, match=r"2 files: no row can be used; the first problem is .*b\.parquet, row 0"):
        select_in_turn(begin(options(tmp_path, 5, bad_rows="skip", partition_rows=5)))


def test_a_file_that_changes_between_the_passes_is_named(tmp_path):
    pq.write_table(pa.table({"x": np.arange(100.0)}), tmp_path / "x.parquet", row_group_size=50)
    job = begin(options(tmp_path, 5, partition_rows=50))
    plan = settle(job.run, merge_summaries(summarise(part, job.outline()) for part in job.inputs))
    pq.write_table(pa.table({"x": np.arange(70.0)}), tmp_path / "x.parquet", row_group_size=50)
    with pytest.raises(InputError, match=r"x\.parquet: had 50 usable rows when read first and 20 now"):
        select_partition(job.inputs[1], plan)


def test_what_cannot_be_done_over_partitions_is_said_first(folder):
    once = BatchSource("pipe", pa.schema({"x": pa.int64()}), iter([]))
    with pytest.raises(ParameterError, match="pipe: comes once, and partitions are read twice"):
        job_of(options("x"), [once], [])


# -- targets and weights


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """Rows of a target that is but one end of the input."""
    folder = tmp_path_factory.mktemp("target")
    whole = people(1500, seed=9)
    pq.write_table(whole.slice(1000), folder / "t.parquet", row_group_size=100)  # towns come in another order
    return folder


@pytest.mark.parametrize("exact_weights", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_target_is_matched_and_looked_at(folder, shifted, exact_weights):
    asked = options(folder, target=shifted, id=["name"], exact_weights=exact_weights, partition_rows=200)
    one = select(folder, 20, target=shifted, id="name", exact_weights=exact_weights)
    job = begin(asked)
    assert len(job.targets) == 3
    found = select_in_turn(job)
    assert found.residual <= 1.15 * one.residual
    assert found.sample.is_target
    assert found.sample.n_rows == 500
    assert found.sample.indices.tolist() == list(range(500))
    np.testing.assert_allclose(found.sample.rows, found.encoding.encode(found.sample.table), rtol=1e-6)
    assert found.sample.table["name"].to_pylist() == [f"row {1000 + i}" for i in range(500)]
    assert found.table["name"].to_pylist() == [f"row {i}" for i in found.indices]
    assert same(found, carried(begin(asked), stored, shuffled))


def test_exact_weights_are_those_of_the_mean_of_all_rows(folder):
    found = select_in_turn(begin(options(folder, id=["name"], exact_weights=True, sample=500, partition_rows=500)))
    rows = found.encoding.encode(everything(folder)).astype(np.float64)
    kernel = found.kernel
    K = kernel(found.rows.astype(np.float64))
    mu = kernel(rows, found.rows.astype(np.float64)).mean(axis=0)
    np.testing.assert_allclose(found.weights, NonNegativeQP.from_gram(K, mu).weights, atol=2e-4)
    distances = ((rows[:, None] - found.rows) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.shares, np.bincount(distances.argmin(axis=1), minlength=20) / 4000, atol=2e-3)


# -- trees


@given(st.integers(1, 500), st.integers(2, 30))
def test_a_tree_takes_every_result_once_and_ends_with_few(partitions, at_once):
    left = partitions
    for level in levels(partitions, at_once):
        assert [i for group in level for i in group] == list(range(left))
        assert all(len(group) <= at_once for group in level)
        left = len(level)
    assert left <= at_once


def test_the_bound_of_a_merge_follows_from_the_prototypes():
    assert fan_in(100) == 655
    assert fan_in(1_000_000) == 8


def test_a_merged_group_holds_no_more_chosen_rows_than_a_partition_may(folder):
    job = begin(options(folder, id=["name"], partition_rows=500))
    plan = settle(job.run, merge_summaries(summarise(part, job.outline()) for part in job.inputs))
    candidates = [select_partition(part, plan) for part in job.inputs]
    merged = merge_candidates(candidates[:3], plan)
    merged._check()
    assert merged.chosen.sum() <= 20
    assert set(merged.numbers[merged.chosen]) <= {n for one in candidates[:3] for n in one.numbers[one.chosen]}
    assert merged.seen == sum(one.seen for one in candidates[:3])
    assert merged.partition == 0
    again = merge_candidates(candidates[2::-1], plan)
    assert again.numbers.tolist() == merged.numbers.tolist()
    assert again.chosen.tolist() == merged.chosen.tolist()


# -- how good it is


def residual(rows, weights, X, kernel):
    """By the exact mean of all rows."""
    with one_thread():
        points = kernel.prepare(rows.astype(np.float64))
        mu = FixedMean.over(kernel, X.astype(np.float64)).at(points)
        norm = float(FixedMean.over(kernel, X).at_own_rows(512).mean())
        return 1 - float(2 * weights @ mu - weights @ kernel.block(points, points) @ weights) / norm


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["file", "by label"])
def test_sixteen_partitions_of_letters_are_as_good_as_one_stream(letters, paper_data, tmp_path, order):
    X = letters if order == "file" else letters[np.argsort(load_letters(paper_data).base_labels, kind="stable")]
    np_columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    pq.write_table(pa.table(np_columns), tmp_path / "letters.parquet", row_group_size=1000)
    asked = options(tmp_path, 100, kernel="gaussian", width=5.0, scale="none", partition_rows=1000)
    one = select(tmp_path, 100, kernel="gaussian", width=5.0, scale="none")
    best = residual(one.rows, one.weights, X, Gaussian(5.0))
    for at_once in (16, 4):
        job = begin(asked)
        assert len(job.inputs) == 16
        found = select_in_turn(job, at_once)
        assert residual(found.rows, found.weights, X, Gaussian(5.0)) <= 1.15 * best
