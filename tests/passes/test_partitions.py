"""Partitions and merges: one answer, whatever carries the pieces, and every row counts once."""

import gzip
import pickle
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from experiments.datasets import load_letters
from oracles import merged_in_turn, select_in_turn
from partition_jobs import people, same
from protosieve import InputError, ParameterError, ProtosieveWarning, ProtoSwap, _state, select
from protosieve.io import BadRows, BatchSource, RowRange, find_sources
from protosieve.kernels import Gaussian
from protosieve.passes import (
    METHODS,
    LeftOut,
    Numbering,
    Partition,
    Pass,
    Position,
    Records,
    RowBlock,
    RowSample,
    _blocks,
    _row_sample,
    job_of,
    key_of,
    options_of,
    partitions_of,
    settle,
)
from protosieve.run import begin, choose, survey
from protosieve.selectors import nearest_for
from protosieve.weights import NonNegativeQP
from volumes import volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


def options(inputs, m=20, **others):
    return options_of({"inputs": inputs, "n_prototypes": m, **others})


def job_over(inputs, m=20, **others):
    return begin(options(inputs, m, **others))[0]


def surveyed(job):
    return merged_in_turn(job.survey(), job.inputs)


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


def everything():
    return pa.concat_tables(people(rows, seed=i) for i, rows in enumerate([1100, 900, 600, 1400]))


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
    assert all(part.rows == sum(s.last - s.first for s in part.row_ranges) for part in partitions)
    assert all(stretch.first == 0 for part in partitions for stretch in part.row_ranges[1:])


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
        for stretch in part.row_ranges
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


# -- which rows are which


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=9))
def test_keys_become_row_numbers_of_the_whole_and_back(partitions):
    """Whether partitions say how many rows they have, or only reading tells."""
    keys, before = [], 0
    for number, (rows, is_told) in enumerate(partitions):
        keys.append(key_of(number, before))
        before = before + rows if is_told and before is not None else None
    ends = [rows for rows, _ in partitions]
    numbering = Numbering(keys, ends)
    homes = np.repeat(np.arange(len(ends)), ends)
    found = np.concatenate(
        [np.zeros(0, np.int64), *(key + np.arange(rows) for key, rows in zip(keys, ends, strict=True))]
    )
    numbers = np.arange(sum(ends))
    assert numbering.numbers(found).tolist() == numbers.tolist()
    assert numbering.homes(numbers).tolist() == homes.tolist()
    assert numbering.key(numbers).tolist() == found.tolist()


def test_partitions_are_read_under_the_keys_they_begin_with(folder):
    """The second file does not tell its rows: what comes after is known by the partition it is in."""
    partitions = partitions_of(find_sources(folder), 500)
    known = [i for i, part in enumerate(partitions) if part.key < 1 << 40]
    assert known == list(range(len(known)))
    assert partitions[len(known) - 1].rows is None
    job = job_over(folder, id="name", partition_rows=500)
    whole = surveyed(job)
    ends = [whole.ends[part.number] for part in job.inputs]
    assert sum(ends) == 4000
    numbering = Numbering([part.key for part in job.inputs], ends)
    records = whole.sample.records()
    assert records.table["name"].to_pylist() == [f"row {i}" for i in numbering.numbers(records.numbers)]


# -- the sample


def block_of(numbers):
    numbers = np.array(numbers, np.int64)
    table = pa.table({"name": [f"row {i}" for i in numbers]})
    rows = (numbers % 1000).astype(np.float64)[:, None]
    return RowBlock(rows, [table], numbers, numbers % 3, numbers, LeftOut(), Position(), 0)


@given(st.integers(0, 99), st.integers(10, 30), st.lists(st.integers(0, 3), min_size=1, max_size=120), st.randoms())
def test_the_sample_is_the_same_in_any_grouping_and_order(seed, most, homes, chance):
    parts = [RowSample.empty(seed, most) for _ in range(4)]
    keys = key_of(2, None) + np.arange(len(homes))
    for key, home in zip(keys.tolist(), homes, strict=True):
        parts[home].take(block_of([key]), first_file=5)
        if chance.random() < 0.1:
            parts[home] = stored(parts[home])
        parts[home]._check()
    chance.shuffle(parts)
    whole = parts.pop()
    while parts:
        into = parts[0] if len(parts) > 1 and chance.random() < 0.5 else whole
        into.merge(parts.pop(), lambda rows: rows)
    whole._check()
    expected = sorted(keys.tolist(), key=lambda key: oracles.splitmix64(seed, key))[:most]
    sample, records = whole.rows.settled(), whole.records()
    assert sample.numbers.tolist() == expected
    assert sample.rows[:, 0].tolist() == [key % 1000 for key in expected]
    assert sample.seen == whole.seen == len(homes)
    assert records.numbers.tolist() == sorted(expected)
    assert records.table["name"].to_pylist() == [f"row {key}" for key in sorted(expected)]
    assert records.files.tolist() == [5 + key % 3 for key in sorted(expected)]


def test_partitions_of_known_size_return_few_rows_each(tmp_path):
    x = np.random.default_rng(0).normal(size=50_000)
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet", row_group_size=500)
    job = job_over(tmp_path, sample=100, partition_rows=500)
    work = job.survey()
    summaries = [work.over(partition) for partition in job.inputs]
    assert max(len(one.sample.rows.all_numbers) for one in summaries) < 20
    assert all(len(one.sample.shown.numbers) == len(one.sample.rows.all_numbers) for one in summaries)
    whole = Pass.merged(summaries)
    hashed = sorted(range(50_000), key=lambda i: oracles.splitmix64(job.seed, i))[:100]
    assert whole.sample.rows.settled().numbers.tolist() == hashed
    assert whole.sample.records().numbers.tolist() == sorted(hashed)


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_a_sample_that_is_cut_short_by_unusable_rows_is_told_of(tmp_path):
    x = np.where(np.arange(20_000) % 20, np.inf, np.arange(20_000))
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet", row_group_size=2000)
    job = job_over(tmp_path, 5, sample=500, bad_rows="skip", partition_rows=2000)
    with pytest.warns(ProtosieveWarning, match=r"rows were skipped that the sample has \d+ instead of 500,"):
        settle(job, surveyed(job))


@pytest.mark.parametrize("usable", [20, 50])
def test_every_usable_row_counts_though_the_sample_was_cut_short(tmp_path, usable):
    """1,000 or 400 usable rows of 20,000: as many as the sample has room for, or fewer, and not all of them drawn."""
    x = np.where(np.arange(20_000) % usable, np.inf, np.arange(20_000) / 1000)
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet", row_group_size=2000)
    job = job_over(tmp_path, 5, sample=500, bad_rows="skip", partition_rows=2000)
    plan = settle(job, surveyed(job))
    assert plan.n_rows == 20_000 // usable
    assert len(plan.candidates.rows) < min(500, plan.n_rows)
    assert not plan.fits_in_memory
    found = select_in_turn(job)
    assert found.n_seen == plan.n_rows
    assert same(found, select(tmp_path, 5, sample=500, bad_rows="skip", partition_rows=2000))


def test_a_sample_of_next_to_nothing_is_an_error(tmp_path):
    x = np.where(np.arange(20_000) % 1000, np.inf, np.arange(20_000) / 1000)
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet", row_group_size=2000)
    asked = {"sample": 500, "bad_rows": "skip", "partition_rows": 2000}
    with pytest.raises(
        InputError,
        match=r"x\.parquet: 20 rows can be used and 19,980 cannot, so the sample has \d; store the rows",
    ):
        select(tmp_path, 5, **asked)
    assert len(select(tmp_path, 5, **{**asked, "sample": 5000})) == 5


# -- summaries


def test_summaries_merged_say_what_one_survey_says(folder):
    job = job_over(folder, id="name", partition_rows=500)
    plan = settle(job, surveyed(job))
    one = survey(folder, id="name", partition_rows=10_000)
    assert plan.encoding.names == one.encoding.names
    mine, theirs = plan.encoding.as_dict(), one.encoding.as_dict()
    assert mine["rows_surveyed"] == theirs["rows_surveyed"] == 4000
    assert mine["nulls_replaced"] == theirs["nulls_replaced"]
    encoded = plan.encoding.encode(everything())
    np.testing.assert_allclose(encoded, one.encoding.encode(everything()), rtol=1e-6, atol=1e-6)
    assert (
        plan.numbering.homes(np.arange(4000)).tolist()
        == np.repeat(np.arange(len(job.inputs)), plan.numbering.ends).tolist()
    )
    assert sum(plan.counts.values()) == 4000


def test_merged_statistics_are_those_of_all_rows(folder):
    """By NumPy, over all of them at once."""
    job = job_over(folder, id="name", partition_rows=500)
    plan = settle(job, surveyed(job))
    whole = everything()
    encoded = plan.encoding.encode(whole)
    for i, name in enumerate(("height", "depth")):
        column = whole[name].to_numpy(zero_copy_only=False)
        scaled = (column - np.nanmean(column)) / np.nanstd(column)
        there = ~np.isnan(column)
        np.testing.assert_allclose(encoded[there, i], scaled[there], rtol=1e-5, atol=1e-5)


def test_lists_of_two_lengths_name_both_files():
    schema = pa.schema({"v": pa.list_(pa.float32())})
    job = job_of(options("-x", embedding="v"), [BatchSource.of("first", pa.table({"v": [[1.0, 2.0]]}))], [])
    job.layout.items[0].length = 0  # as an engine would that has not looked at any row
    parts = [
        partitions_of([BatchSource.of(name, pa.table({"v": rows}, schema))])[0]
        for name, rows in (("first", [[1.0, 2.0]]), ("second", [[1.0, 2.0, 3.0]]))
    ]
    with pytest.raises(InputError, match=r"^first and second: column 'v' begins with lists of 2 values in one place"):
        merged_in_turn(job.survey(), parts)


# -- sums


@settings(max_examples=volume(10, 50))
@given(
    st.lists(st.integers(0, 1500), max_size=5),
    st.integers(1, 60),
    st.sampled_from(["multiscale", "gaussian", "laplacian", "linear", "polynomial"]),
)
def test_merged_sums_are_those_over_all_rows_and_the_best_rows_the_largest(cuts, m, kernel):
    """By brute force, every row compared with every point in float64, however rows are cut into partitions."""
    table = people(1500, seed=2)
    edges = [0, *sorted(cuts), 1500]
    sources = [BatchSource.of(f"{a}", table.slice(a, b - a)) for a, b in pairwise(edges)]
    asked = options("x", m, id="name", sample=200, partition_rows=1, kernel=kernel)
    job = job_of(asked, sources, [])
    plan = settle(job, surveyed(job))
    sums = merged_in_turn(plan.sums("sums", plan.estimate, of_target=True, of_input=True), job.inputs)
    assert sums.rows == 1500

    rows = plan.working(plan.encoding.encode(table)).astype(np.float64)
    K = plan.kernel(plan.estimate.mean.points.astype(np.float64), rows)
    size = np.abs(K).sum(axis=1)
    assert (np.abs(sums.sums - K.sum(axis=1)) <= 1e-5 * size).all()

    pull = plan.estimate.mean.weights @ K
    rounding = 1e-5 * (np.abs(plan.estimate.mean.weights) @ np.abs(K)).max()
    best = plan.best(plan.estimate, sums)
    best._check(m)
    assert len(best.indices) == min(m, 1500)
    np.testing.assert_array_equal(best.rows, plan.working(plan.encoding.encode(table.take(best.indices))))
    np.testing.assert_allclose(best.pull, pull[best.indices], atol=rounding)
    np.testing.assert_allclose(np.sort(best.pull), np.sort(pull)[-m:], atol=rounding)


def test_a_target_is_summed_up_without_the_inputs_and_the_inputs_without_sums(folder, shifted):
    job = job_over(folder, target=shifted, id="name", sample=200, partition_rows=200)
    plan = settle(job, surveyed(job), merged_in_turn(job.survey(of_target=True), job.targets))
    of_target = merged_in_turn(plan.sums("a", plan.estimate, of_target=True, of_input=False), job.targets)
    points = plan.estimate.mean.points.astype(np.float64)
    rows = plan.encoding.encode(pq.read_table(shifted)).astype(np.float64)
    np.testing.assert_allclose(of_target.sums, plan.kernel(points, rows).sum(axis=1), rtol=1e-5)
    assert (of_target.rows, len(of_target.best.indices)) == (500, 0)
    mean = plan.mean(of_target.sums)
    work, some = plan.sums("b", mean, of_target=False, of_input=True), plan.working(rows[:100])
    assert len(pickle.dumps(work)) < len(pickle.dumps(replace(work, objective=mean)))  # the sample stays here
    np.testing.assert_array_equal(work.objective.block(0, some).pull, mean.block(0, some).pull)
    of_input = merged_in_turn(work, job.inputs)
    assert (of_input.rows, len(of_input.sums), len(of_input.best.indices)) == (4000, 0, nearest_for(20))


# -- the passes, carried by anything


def untouched(value):
    return value


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def stored(value):
    return _state.loads(_state.dumps(value))


def shuffled(items):
    random.Random(3).shuffle(items)
    return items


class Carried:
    """A driver whose values are carried as an engine would, and which works on partitions in any order."""

    def __init__(self, carry, shuffle=untouched):
        self._carry, self._shuffle = carry, shuffle

    def gather(self, work, partitions):
        found = {part.number: self.one_by_one(work, part) for part in self._shuffle(list(partitions))}
        return Pass.merged(found[number] for number in sorted(found))

    def one_by_one(self, work, partition):
        return self._carry(self._carry(work).over(pickled(partition)))


def carried(job, carry, shuffle=untouched):
    return choose(job, Carried(carry, shuffle))


@pytest.mark.parametrize("carry", [stored, pickled])
@pytest.mark.parametrize(
    "more", [{"sample": 1000}, pytest.param({}, marks=pytest.mark.thorough), {"sample": 1000, "method": "basic"}]
)
def test_the_answer_is_the_same_whatever_carries_it_and_in_whatever_order(folder, carry, more):
    asked = {"id": "name", "partition_rows": 500, **more}
    alone = select_in_turn(job_over(folder, **asked))
    assert same(alone, select_in_turn(job_over(folder, **asked)))
    assert same(alone, carried(job_over(folder, **asked), carry, shuffled))


class CutShortError(Exception):
    pass


def cut_and_resumed(work, partition, cuts):
    """A pass that is cut short after so many blocks, again and again, and goes on from its value as it was stored."""
    value = None
    for left in cuts:
        blocks = iter(range(left))
        seen = []

        def watch(value, block, blocks=blocks, seen=seen):
            seen.append(stored(value))
            if next(blocks, None) is None:
                raise CutShortError

        try:
            return work.over(partition, value, watch=watch)
        except CutShortError:
            value = seen[-1]
    return work.over(partition, value)


@settings(max_examples=volume(4, 20))
@given(st.lists(st.integers(0, 3), max_size=5), st.sampled_from(["swap", "basic", "stream"]))
def test_a_pass_cut_short_in_a_partition_goes_on_bit_for_bit(cuts, method):
    """Also in the middle of a file, of rows left out and of categories that were not seen before."""
    table = people(3000, seed=3).to_pandas()
    table.loc[[0, 511, 512, 2300, 2999], "depth"] = np.inf
    whole = pa.Table.from_pandas(table, preserve_index=False)
    sources = [BatchSource.of(f"file {i}", whole.slice(a, b)) for i, (a, b) in enumerate([(0, 1700), (1700, 1300)])]
    asked = options("x", id="name", method=method, sample=600, bad_rows="skip")
    job = job_of(asked, sources, [])
    assert len(job.inputs) == 1

    class Resumed(Carried):
        def one_by_one(self, work, partition):
            return cut_and_resumed(work, partition, cuts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_MOST", 512)
        assert same(choose(job, Resumed(untouched)), select_in_turn(job_of(asked, sources, [])))


def test_the_size_of_blocks_changes_nothing(folder, monkeypatch):
    asked = {"id": "name", "sample": 1000, "partition_rows": 1500}
    expected = select_in_turn(job_over(folder, **asked))
    monkeypatch.setattr(_blocks, "_MOST", 512)
    assert same(select_in_turn(job_over(folder, **asked)), expected)


def test_batches_in_memory_are_files_too():
    """As an engine has them that holds partitions of its own: their sizes may not be known, and some may be empty."""
    table, asked = people(1200, seed=4), options("x", id="name", sample=400)
    slices = [table.slice(0, 0), *(table.slice(first, 300) for first in range(0, 1200, 300))]
    sources = [BatchSource.of(f"partition {i}", part) for i, part in enumerate(slices)]
    job = job_of(asked, sources, [])
    firsts = np.cumsum([0, *map(len, slices)]).tolist()
    row_ranges = [RowRange(source) for source in sources]
    known = [Partition(i, i, [row_ranges[i]], len(slices[i]), key_of(i, firsts[i])) for i in range(5)]
    unknown = [Partition(i, i, [row_ranges[i]], None, key_of(i, None)) for i in range(5)]
    for partitions in (known, unknown):
        found = select_in_turn(replace(job, inputs=partitions))
        assert same(found, carried(replace(job, inputs=partitions), stored, shuffled))
        assert found.table["name"].to_pylist() == [f"row {i}" for i in found.indices]
        assert set(found.table["file"].to_pylist()) <= {source.name for source in sources[1:]}


def test_rows_are_named_by_their_numbers_in_the_whole_input_and_keep_their_columns(folder):
    found = select_in_turn(job_over(folder, id="name", partition_rows=500))
    whole = everything()
    assert found.table["name"].to_pylist() == [f"row {i}" for i in found.indices]
    assert found.table["row"].to_pylist() == found.indices.tolist()
    for name in ("town", "depth"):
        assert found.table[name].to_pylist() == whole[name].take(found.indices).to_pylist()
    files = [name.rsplit("/", 1)[1] for name in found.table["file"].to_pylist()]
    named = np.repeat(["0.parquet", "1.csv", "2.parquet", "3.parquet"], [1100, 900, 600, 1400])
    assert files == named[found.indices].tolist()
    np.testing.assert_allclose(found.rows, found.encoding.encode(whole.take(found.indices)), rtol=1e-6)


def test_a_result_says_what_that_of_one_partition_does(folder):
    many = select_in_turn(job_over(folder, id="name", sample=1000, partition_rows=500))
    one = select(folder, 20, id="name", sample=1000)
    assert many.provenance.keys() == one.provenance.keys()
    assert many.table.schema == one.table.schema
    assert many.n_seen == one.n_seen == 4000
    assert many.shares.sum() == pytest.approx(1)
    assert 0 < many.residual < many.provenance["residual_of_random_rows"] < 1
    assert many.sample.n_rows == one.sample.n_rows == 4000
    assert len(many.sample.indices) == len(one.sample.indices) == 1000
    assert (many.weights > 0).all()
    assert (np.diff(many.weights) <= 0).all()


def test_partitions_say_nothing_about_the_choice_where_the_sample_holds_all_rows(tmp_path):
    """It is made in memory then, and only statistics of columns know of partitions, by their last bits."""
    rows = np.random.default_rng(0).normal(size=(3000, 4))
    pq.write_table(pa.table({f"x{i}": rows[:, i] for i in range(4)}), tmp_path / "x.parquet", row_group_size=100)
    asked = {"scale": "none", "kernel": "gaussian"}
    found = [select_in_turn(job_over(tmp_path, 30, partition_rows=size, **asked)) for size in (100, 1000, 10_000)]
    alone = ProtoSwap(30, kernel=Gaussian(), random_state=0).fit(rows.astype(np.float32))
    for one in found:
        assert same(one, found[0])
        assert one.indices.tolist() == alone.result_.indices.tolist()
        assert one.weights.tolist() == alone.result_.weights.tolist()


@pytest.mark.parametrize("sample", [None, 1000])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_that_streams_can_be_used(folder, method, sample):
    found = select_in_turn(job_over(folder, id="name", method=method, sample=sample, partition_rows=1000))
    assert 0 < len(found) <= 20
    assert found.residual < 1


@pytest.mark.parametrize("kernel", ["laplacian", "linear", "cosine", "polynomial"])
def test_every_kernel_can_be_used(tmp_path, kernel):
    columns = {"x": np.arange(1.0, 900), "y": np.arange(899.0) % 7 + 1}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=300)
    for sample in (None, 300):
        job = job_over(tmp_path, 5, kernel=kernel, scale="none", sample=sample, partition_rows=300)
        found = select_in_turn(job)
        assert found.residual < 0.5
        assert same(found, carried(job, stored, shuffled))


def test_a_percentage_is_of_all_rows(folder):
    assert len(select_in_turn(job_over(folder, "1%", id="name", partition_rows=500))) == 40


def test_embeddings_of_open_length_are_those_of_the_first_row(tmp_path):
    rng = np.random.default_rng(0)
    rows = [row.tolist() for row in rng.normal(size=(60, 4))]
    rows[0] = None
    rows[30] = [1.0, 2.0]  # the first of the second partition
    pq.write_table(pa.table({"v": rows, "i": range(60)}), tmp_path / "v.parquet", row_group_size=30)
    with pytest.raises(InputError, match=r"v\.parquet, row 0: column 'v' is null; fix the row"):
        select_in_turn(job_over(tmp_path, 5, embedding="v", partition_rows=30))
    found = select_in_turn(job_over(tmp_path, 5, embedding="v", bad_rows="skip", partition_rows=30))
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
        select_in_turn(job_over(tmp_path, 5, id="i", partition_rows=5))
    job = job_over(tmp_path, 5, id="i", bad_rows="skip", partition_rows=5)
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
    found = select_in_turn(job_over(tmp_path, 5, bad_rows="skip", partition_rows=10))
    assert (found.indices >= 10).all()
    assert found.n_seen == 50
    pq.write_table(pa.table({"x": [float("nan")] * 10}), tmp_path / "b.parquet", row_group_size=5)
    with pytest.raises(InputError, match=r"2 files: no row can be used; the first problem is .*b\.parquet, row 0"):
        select_in_turn(job_over(tmp_path, 5, bad_rows="skip", partition_rows=5))


def test_a_file_that_changes_between_the_passes_is_named(tmp_path):
    pq.write_table(pa.table({"x": np.arange(100.0)}), tmp_path / "x.parquet", row_group_size=50)
    job = job_over(tmp_path, 5, sample=20, partition_rows=50)
    plan = settle(job, surveyed(job))
    pq.write_table(pa.table({"x": np.arange(70.0)}), tmp_path / "x.parquet", row_group_size=50)
    with pytest.raises(InputError, match=r"x\.parquet: had 50 usable rows when read first and 20 now"):
        plan.sums("sums", plan.estimate, of_target=True, of_input=True).over(job.inputs[1])


def test_what_comes_once_is_said_first():
    once = BatchSource("pipe", pa.schema({"x": pa.int64()}), iter([]))
    with pytest.raises(InputError, match="pipe: comes once, and this run would read it twice; store its rows in a"):
        job_of(options("x"), [once], [])


# -- columns that were not kept


@pytest.fixture
def heavy(monkeypatch):
    """Of the columns of sampled rows but two are kept."""
    monkeypatch.setattr(_row_sample, "_HELD", 1)
    monkeypatch.setattr(_row_sample, "_SHOWN", 1)
    monkeypatch.setattr(_row_sample, "_FEWEST", 2)


@pytest.mark.parametrize("sample", [None, 1000])
def test_columns_that_were_not_kept_are_fetched(folder, request, sample):
    asked = {"id": "name", "sample": sample, "partition_rows": 500}
    light = select_in_turn(job_over(folder, **asked))
    request.getfixturevalue("heavy")
    stages, job = [], job_over(folder, **asked)

    class Listed(Carried):
        def gather(self, work, partitions):
            stages.append((work.stage, [one.number for one in partitions]))
            return super().gather(work, partitions)

    found = choose(job, Listed(stored, shuffled))
    assert same(found, select_in_turn(job_over(folder, **asked)))
    assert found.indices.tolist() == light.indices.tolist()
    assert found.weights.tolist() == light.weights.tolist()
    assert found.table.equals(light.table)
    assert 0 < len(found.sample.table) <= 3
    assert set(found.sample.indices) <= set(light.sample.indices)
    fetched, homes = stages[-1]
    plan = settle(job, surveyed(job))
    missing = np.setdiff1d(found.indices, plan.records.numbers)
    assert (fetched, homes) == ("fetch", sorted(set(plan.numbering.homes(missing).tolist())))
    assert len(missing) > 15


@given(st.lists(st.integers(0, 599), max_size=30, unique=True), st.lists(st.integers(0, 600), max_size=4))
def test_any_rows_can_be_fetched_from_any_partitions(wanted, cuts):
    table = people(600, seed=5)
    edges = [0, *sorted(cuts), 600]
    sources = [BatchSource.of(f"{a}", table.slice(a, b - a)) for a, b in pairwise(edges)]
    job = job_of(options("x", id="name", partition_rows=1, sample=50), sources, [])
    plan = settle(job, surveyed(job))
    none = replace(plan, records=plan.records.taken(np.zeros(0, np.int64)))
    work, partitions = none.fetching(np.array(wanted, np.int64))
    if not wanted:
        assert partitions == []
        return
    parts = merged_in_turn(stored(work), partitions).records
    found = Records.joined([one.under(plan.numbering.numbers) for one in parts])
    assert found.numbers.tolist() == sorted(wanted)
    assert found.table["name"].to_pylist() == [f"row {i}" for i in sorted(wanted)]
    named = [job.names[file] for file in found.files]
    assert named == [str(edges[np.searchsorted(edges, i, "right") - 1]) for i in sorted(wanted)]


# -- targets, and weights


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """Rows of a target that is but one end of the input."""
    folder = tmp_path_factory.mktemp("target")
    whole = people(1500, seed=9)
    pq.write_table(whole.slice(1000), folder / "t.parquet", row_group_size=100)  # towns come in another order
    return folder


@pytest.mark.parametrize("sample", [None, 300])
def test_a_target_is_matched_and_looked_at(folder, shifted, sample):
    asked = {"target": shifted, "id": "name", "sample": sample, "partition_rows": 200}
    job = job_over(folder, **asked)
    assert len(job.targets) == 3
    found = select_in_turn(job)
    one = select(folder, 20, target=shifted, id="name")
    assert residual_of(found, pq.read_table(shifted)) < found.provenance["residual_of_random_rows"]
    if sample is None:
        assert residual_of(found, pq.read_table(shifted)) <= 1.15 * residual_of(one, pq.read_table(shifted))
    assert found.sample.is_target
    assert found.sample.n_rows == 500
    drawn = sorted(range(500), key=lambda i: oracles.splitmix64(1, i))[
        : sample or 500
    ]  # the seed of a target is another
    assert found.sample.indices.tolist() == sorted(drawn)
    np.testing.assert_allclose(found.sample.rows, found.encoding.encode(found.sample.table), rtol=1e-6)
    assert found.sample.table["name"].to_pylist() == [f"row {1000 + i}" for i in sorted(drawn)]
    assert found.table["name"].to_pylist() == [f"row {i}" for i in found.indices]
    assert same(found, carried(job_over(folder, **asked), stored, shuffled))


def residual_of(found, target):
    """What prototypes leave of the mean of all rows of a target, every pair compared."""
    return oracles.residual(found.kernel, found.encoding.encode(target), found.rows, found.weights)


def test_weights_are_those_of_the_mean_of_all_rows(folder):
    found = select_in_turn(job_over(folder, id="name", partition_rows=500))
    rows = found.encoding.encode(everything()).astype(np.float64)
    kernel = found.kernel
    K = kernel(found.rows.astype(np.float64))
    mu = kernel(rows, found.rows.astype(np.float64)).mean(axis=0)
    np.testing.assert_allclose(found.weights, NonNegativeQP.from_gram(K, mu).weights, atol=2e-4)
    distances = ((rows[:, None] - found.rows) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.shares, np.bincount(distances.argmin(axis=1), minlength=20) / 4000, atol=2e-3)


@pytest.mark.parametrize("share", [1, 4])
@pytest.mark.parametrize("most", [8192, 200])
def test_rows_that_cover_are_those_of_the_literal_algorithm_on_the_sample(folder, monkeypatch, most, share):
    """The first rows of it are covered, four fifths may be chosen, and the first of the last fifth judge."""
    monkeypatch.setattr("protosieve.objectives._coverage._EACH", (0, most, most))
    monkeypatch.setattr("protosieve.selectors._covering._SHARE", share)
    monkeypatch.setattr("protosieve.selectors._covering._LEAST", 1)
    job = job_over(folder, 6, id="name", sample=500, partition_rows=500, goal="cover", width=1.0)
    found, plan = select_in_turn(job), settle(job, surveyed(job))
    rows, numbers = plan.candidates.rows, plan.candidates.numbers
    judges = rows[400:][: most // 4]
    K = found.kernel(rows[:400], rows[: min(most, 400)])
    twin, order, rng = oracles.CoverSet(K, 6), np.arange(400), np.random.default_rng(0)
    twin.members = order[:6].tolist()
    changes = [twin.offer(order[start : start + 64].tolist()) for start in range(0, 400, 64)]
    nearest = sorted(order, key=lambda row: -{row: gain for block in changes for row, gain in block.items()}[row])
    again = rng.permutation(sorted(nearest[: 400 // share]))
    for start in range(0, len(again), 64):
        twin.offer(again[start : start + 64].tolist())
    assert sorted(found.indices) == sorted(numbers[twin.members])
    near = found.kernel(judges, found.rows)
    assert found.objective == pytest.approx(near.max(axis=1).mean(), rel=1e-6)
    whole = np.concatenate([rows[: min(most, 400)], judges])
    nearest = found.kernel(whole, found.rows).argmax(axis=1)
    np.testing.assert_allclose(found.weights, np.bincount(nearest, minlength=6) / len(whole))
    random = found.kernel(judges, rows[:6]).max(axis=1).mean()
    assert found.provenance["residual_of_random_rows"] == pytest.approx(1 - random, rel=1e-6)


# -- how good it is


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["file", "by label"])
def test_sixteen_partitions_of_letters_are_as_good_as_one_fit(letters, paper_data, tmp_path, order):
    X = letters if order == "file" else letters[np.argsort(load_letters(paper_data).base_labels, kind="stable")]
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    pq.write_table(pa.table(columns), tmp_path / "letters.parquet", row_group_size=1000)
    kernel = Gaussian(5.0)
    job = job_over(tmp_path, 100, kernel=kernel, scale="none", partition_rows=1000)
    assert len(job.inputs) == 16
    found, one = select_in_turn(job), ProtoSwap(100, kernel=kernel, random_state=0).fit(X).result_
    best = oracles.residual(kernel, X, one.rows, one.weights)
    assert oracles.residual(kernel, X, found.rows, found.weights) <= 1.15 * best
