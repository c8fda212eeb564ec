"""Prototypes for each value of a column: as of each group alone, in the passes over all rows."""

import copy
import json
import random
import re
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executors import Counting, Unruly
from killed_processes import FORKS
from oracles import select_per_group
from partition_jobs import people, same
from protosieve import InputError, ParameterError, ProtosieveWarning, ProtoSwap, Prototypes, _state, select
from protosieve.kernels import Laplacian
from protosieve.objectives import Coverage
from protosieve.passes import _groups, _job, options_of
from protosieve.passes._group_plans import seats
from protosieve.run import begin, estimate
from protosieve.run._engine import Here
from protosieve.run._progress import RunProgress
from protosieve.run._signals import stops
from table_files import frame, numbers, write
from terminals import call
from volumes import volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

ASKED = {"id": "name", "per": "town", "partition_rows": 250}
OBJECTIVES = {"match": None, "cover": Coverage()}


def moody(n, seed=0):
    """People with a category more, whose values every partition meets in another order."""
    moods = np.random.default_rng(seed + 1).choice(["calm", "cross", "glad", None], size=n)
    return people(n, seed).append_column("mood", pa.array(moods.tolist()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """3,000 rows in twelve row groups of two files, sorted: most towns are in some of the partitions only."""
    folder, whole = tmp_path_factory.mktemp("people"), moody(3000)
    pq.write_table(whole.slice(0, 2500), folder / "a.parquet", row_group_size=250)
    pq.write_table(whole.slice(2500), folder / "b.parquet", row_group_size=250)
    return folder


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """600 rows of another distribution."""
    folder = tmp_path_factory.mktemp("target")
    pq.write_table(moody(1200, seed=4).slice(600), folder / "t.parquet", row_group_size=200)
    return folder


def written(table, folder, **others):
    pq.write_table(pa.table(table), folder / "rows.parquet", **others)
    return folder / "rows.parquet"


def by_group(result, column="town"):
    """Row numbers with their weights within the group, by group."""
    found = {}
    names = ("row", "group_weight", column)
    for row, weight, name in zip(*(result.table[of].to_pylist() for of in names), strict=True):
        found.setdefault(name, {})[row] = weight
    return found


def figures(result):
    return {one["value"]: one for one in result.provenance["groups"]["values"]}


# -- as of each group alone


@pytest.mark.parametrize("goal", OBJECTIVES)
def test_of_each_group_it_is_the_selector_in_memory_with_the_encoding_and_kernel_of_all(folder, goal):
    result = select(folder, 7, goal=goal, **ASKED)
    table = pa.concat_tables(pq.read_table(folder / name) for name in ("a.parquet", "b.parquet"))

    def selector(m):
        return ProtoSwap(m, kernel=result.kernel, objective=OBJECTIVES[goal], random_state=0)

    X = result.encoding.encode(table)
    assert by_group(result) == select_per_group(selector, X, table["town"].to_pylist(), 7)
    assert X[result.indices].tobytes() == result.rows.tobytes()
    assert not any(name.startswith("town") for name in result.encoding.names)


@pytest.mark.parametrize("goal", OBJECTIVES)
def test_encoding_and_kernel_are_those_of_a_run_without_groups(folder, goal):
    whole = select(folder, 7, id="name", exclude="town", goal=goal)
    result = select(folder, 7, goal=goal, **ASKED)
    assert result.encoding.names == whole.encoding.names
    np.testing.assert_array_equal(result.sample.rows, whole.sample.rows)
    assert result.kernel.width == pytest.approx(whole.kernel.width, rel=0.05)  # of other rows of the same sample


@pytest.mark.parametrize("goal", OBJECTIVES)
def test_a_group_is_to_represent_the_rows_of_its_value_in_a_target(folder, target, goal):
    result = select(folder, 5, goal=goal, target=target, **ASKED)
    rows = pa.concat_tables(pq.read_table(folder / name) for name in ("a.parquet", "b.parquet"))
    others = pq.read_table(target)
    X, Y = result.encoding.encode(rows), result.encoding.encode(others)
    towns, theirs = (np.array(table["town"].to_pylist(), object) for table in (rows, others))
    assert set(by_group(result)) == set(towns) & set(theirs)
    for name, found in by_group(result).items():
        own = np.flatnonzero(towns == name)
        alone = ProtoSwap(5, kernel=result.kernel, objective=OBJECTIVES[goal], random_state=0)
        alone.fit(X[own], target=Y[theirs == name])
        expected = dict(zip(own[alone.result_.indices], alone.result_.weights, strict=True))
        assert found == expected
        assert figures(result)[name]["share"] == pytest.approx((theirs == name).sum() / sum(np.isin(theirs, towns)))


def test_sums_are_those_of_the_rows_of_each_group(folder):
    """The pass over all rows, beside the kernel between the points and all rows of a group."""
    job, _ = begin(options_of({"inputs": folder, "n_prototypes": 5, "sample": 200, **ASKED}))
    gathered = []

    class Noted(Here):
        def gather(self, work, partitions):
            gathered.append((work, super().gather(work, partitions)))
            return gathered[-1][1]

    from protosieve.run import choose

    with stops() as stop:
        result = choose(job, Noted(job, RunProgress(job), stop, None))
    (_, survey), (work, value) = gathered
    assert [one.stage for one, _ in gathered] == ["survey", "sums"]
    table = pa.concat_tables(pq.read_table(folder / name) for name in ("a.parquet", "b.parquet"))
    X, towns = result.encoding.encode(table), np.array(table["town"].to_pylist(), object)
    assert value.rows == survey.rows == 3000
    assert {name for name in towns if (towns == name).sum() > 200} == set(work.names)
    for name, own, sums in zip(work.names, work.passes, value.sums, strict=True):
        points = own.objective.mean.points
        assert sums.rows == (towns == name).sum()
        np.testing.assert_allclose(sums.sums, result.kernel(points, X[towns == name]).sum(axis=1), rtol=1e-5)


def test_where_samples_do_not_hold_all_rows_each_group_is_matched_nearly_as_well(folder):
    whole, sampled = (figures(select(folder, 8, sample=sample, **ASKED)) for sample in (None, 400))
    for name, one in whole.items():
        assert sampled[name]["residual"] < 2 * one["residual"] + 0.01


# -- any table


VALUES = st.lists(st.sampled_from(["a", "b", "c", None, "", "d.rows", "None"]), min_size=30, max_size=120)


@settings(max_examples=volume(25, 300), deadline=None)
@given(
    values=VALUES,
    m=st.integers(1, 9),
    split=st.sampled_from(["each", "even", "proportional"]),
    goal=st.sampled_from(["match", "cover"]),
    sample=st.sampled_from([None, 20]),
    size=st.sampled_from([7, 40, 1000]),
    seed=st.integers(0, 99),
)
def test_groups_have_rows_of_their_own_and_as_many_as_they_should(
    tmp_path_factory, values, m, split, goal, sample, size, seed
):
    rng, counts = np.random.default_rng(seed), Counter(values)
    table = {"x": rng.normal(size=len(values)), "y": rng.normal(size=len(values)), "kind": values}
    path = written(table, tmp_path_factory.mktemp("rows"), row_group_size=size)
    given = {"per": "kind", "split": split, "goal": goal, "sample": sample, "kernel": Laplacian(0.3)}
    result = select(path, m, partition_rows=size, random_state=seed, **given)
    chosen = Counter(result.table["kind"].to_pylist())
    assert [values[row] for row in result.indices] == result.table["kind"].to_pylist()
    assert len(set(result.indices.tolist())) == len(result)
    if split == "each":
        assert chosen == Counter({name: min(m, count) for name, count in counts.items()})
    else:
        assert len(result) == min(m, len(values))
        assert m < len(counts) or set(chosen) == set(counts)
    weights, shares = (np.array(result.table[f"group_{name}"]) for name in ("weight", "share"))
    assert shares.tolist() == [counts[name] / len(values) for name in result.table["kind"].to_pylist()]
    np.testing.assert_array_equal(result.weights, weights * shares)
    assert (np.diff(result.weights) <= 0).all()
    if goal == "cover" and m >= len(counts):
        assert result.weights.sum() == pytest.approx(1)
        for name in counts:
            assert sum(by_group(result, "kind")[name].values()) == pytest.approx(1)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8), st.data())
def test_places_go_where_they_are_missing_most(weights, data):
    """One to each first; then nobody would rather give one of theirs away: Webster's rule, all of it."""
    room = data.draw(st.lists(st.integers(0, 30), min_size=len(weights), max_size=len(weights)))
    m = data.draw(st.integers(1, 100))
    found = seats(np.array(weights, float), np.array(room), m)
    assert found.sum() == min(m, sum(room))
    assert (found <= room).all()
    assert (found >= 1).sum() == min(m, np.count_nonzero(room))
    for i, j in np.ndindex(len(weights), len(weights)):
        if found[i] < room[i] and found[j] > 1:
            assert weights[i] / (2 * found[i] + 1) <= weights[j] / (2 * found[j] - 1)


def test_the_same_groups_in_every_format(tmp_path):
    """Numbers, with nulls among them, are spelt alike."""
    table = frame(numbers(700))
    table["kind"] = table["kind"].where(table.index % 9 > 0).astype("Int64")
    found = [
        select(write(table, tmp_path / f"t{ending}"), 4, id="name", per="kind")
        for ending in (".parquet", ".csv", ".arrow")
    ]
    for one in found:
        assert figures(one).keys() == {"0", "1", "2", None}
        np.testing.assert_array_equal(one.indices, found[0].indices)
        np.testing.assert_array_equal(one.weights, found[0].weights)


def test_values_of_any_kind_make_groups(tmp_path):
    rng, n = np.random.default_rng(0), 200
    kinds = {
        "whole": pa.array(rng.integers(3, size=n)),
        "fraction": pa.array(rng.integers(3, size=n) / 2),
        "flag": pa.array(rng.random(n) < 0.5),
        "day": pa.array(rng.integers(2, size=n).astype("datetime64[D]")),
        "code": pa.array(rng.choice(["x", "y"], size=n)).dictionary_encode(),
        "nothing": pa.nulls(n),
    }
    path = written({"v": rng.normal(size=n), **kinds}, tmp_path)
    names = {name: set(figures(select(path, 2, features="v", per=name))) for name in kinds}
    assert names == {
        "whole": {"0", "1", "2"}, "fraction": {"0", "0.5", "1"}, "flag": {"false", "true"},
        "day": {"1970-01-01", "1970-01-02"}, "code": {"x", "y"}, "nothing": {None},
    }  # fmt: skip


def test_splits():
    """By Webster's rule, one each at least; evenly as far as there are rows."""
    sizes = np.array([600.0, 300, 80, 20])
    assert seats(sizes, np.array([600, 300, 80, 20]), 10).tolist() == [5, 3, 1, 1]
    assert seats(np.ones(4), np.array([600, 300, 80, 2]), 21).tolist() == [7, 6, 6, 2]
    assert seats(np.ones(4), np.array([600, 300, 80, 20]), 2).tolist() == [1, 1, 0, 0]


# -- anywhere

KINDS = [{}, {"sample": 200}, {"sample": 200, "target": True}, {"sample": 200, "goal": "cover", "target": True}]


@pytest.fixture(scope="module")
def known(folder, target):
    found = {}

    def of(asked):
        if str(asked) not in found:
            found[str(asked)] = select(folder, 5, **ASKED, **asked)
        return found[str(asked)]

    return of


def asked_of(kind, target):
    return {**kind, **({"target": target} if "target" in kind else {})}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_threads_and_processes_give_the_same_answer(folder, target, known, kind):
    asked = asked_of(kind, target)
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, FORKS) as processes:
        for pool in (threads, processes):
            assert same(select(folder, 5, **ASKED, **asked, executor=pool), known(asked))


@settings(max_examples=volume(4, 20), deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 99), st.booleans())
def test_any_order_of_completion_gives_the_same_answer(folder, target, known, kind, seed, is_heavy):
    """Whether the columns of chosen rows are kept or fetched."""
    asked, ticks = asked_of(kind, target), []
    with pytest.MonkeyPatch.context() as patch, Unruly(random.Random(seed).randrange) as unruly:
        if is_heavy:
            patch.setattr(_groups, "_HELD", 1)
            asked = {**asked, "sample": 100}
        found = select(folder, 5, **ASKED, **asked, executor=unruly, progress=ticks.append)
        assert same(found, select(folder, 5, **ASKED, **asked) if is_heavy else known(asked))
    assert ("fetch" in {tick.label for tick in ticks}) == is_heavy or "target" in kind


def test_groups_are_surveyed_and_summed_up_in_one_pass_each(folder, target):
    with ThreadPoolExecutor(2) as pool:
        counting = Counting(pool)
        select(folder, 5, **ASKED, sample=100, target=target, executor=counting)
    assert Counter(counting.given) | Counter(fetch=99) == Counter(
        {"survey": 12, "target-survey": 3, "target-sums": 3, "sums": 12, "fetch": 99}
    )


def test_values_are_stored_and_come_back_as_they_were(folder, known):
    """As Spark's tasks send them, and folders of unfinished work keep them."""

    class Stored(Executor):
        def submit(self, fn, /, *args):
            future = Future()
            future.set_result(_state.loads(_state.dumps(fn(*args))))
            return future

    assert same(select(folder, 5, **ASKED, sample=200, executor=Stored()), known({"sample": 200}))


def test_the_order_in_which_samples_merge_does_not_matter(folder, monkeypatch):
    monkeypatch.setattr(_job, "_IN_ALL", 500)
    job, _ = begin(options_of({"inputs": folder, "n_prototypes": 5, "sample": 300, **ASKED}))
    values = [job.survey().over(partition).groups for partition in job.inputs]
    found = []
    for order in (range(12), range(11, -1, -1), [3, 7, 1, 11, 0, 2, 10, 4, 9, 5, 8, 6]):
        merged = copy.deepcopy(values[order[0]])
        for place in order[1:]:
            merged.merge(values[place], lambda rows: rows, 1.0)
        held = [sample.settled().numbers.tolist() for sample in merged.samples]
        found.append(dict(zip(merged.names, held, strict=True)))
        assert sum(map(len, held)) <= 500
        merged._check_form()
    assert found[0] == found[1] == found[2]


def test_samples_share_the_room_there_is_and_small_groups_are_held_whole(tmp_path, monkeypatch):
    """Halved until all have room: of 20 large groups and a small one, and never below twice what is chosen."""
    monkeypatch.setattr(_job, "_IN_ALL", 1100)
    kinds = [f"kind {i % 20}" for i in range(6000)] + ["small"] * 30
    path = written({"x": np.random.default_rng(0).normal(size=6030), "kind": kinds}, tmp_path, row_group_size=500)
    for m, size in ((5, 50), (40, 100)):
        job, _ = begin(options_of({"inputs": path, "n_prototypes": m, "per": "kind", "sample": 800}))
        groups = job.survey().over(job.inputs[0]).groups
        held = {name: len(sample.settled().numbers) for name, sample in zip(groups.names, groups.samples, strict=True)}
        assert held == {**{f"kind {i}": size for i in range(20)}, "small": 30}
    result = select(path, 40, per="kind", sample=800, goal="cover")
    assert {one["prototypes"] for one in result.provenance["groups"]["values"]} == {40, 30}


# -- what users are told


def test_a_group_that_appears_late_is_one_like_the_others(tmp_path):
    rng, kinds = np.random.default_rng(0), ["early"] * 900 + ["late"] * 100
    path = written({"x": rng.normal(size=1000), "kind": kinds}, tmp_path, row_group_size=100)
    for sample in (None, 50):
        found = figures(select(path, 5, per="kind", sample=sample, partition_rows=100))
        assert {name: (one["rows"], one["prototypes"]) for name, one in found.items()} == {
            "early": (900, 5), "late": (100, 5),
        }  # fmt: skip


def test_more_values_than_groups_there_can_be_are_an_error_wherever_they_meet(tmp_path):
    rng = np.random.default_rng(0)
    path = written({"x": rng.normal(size=3000), "name": list(map(str, range(3000)))}, tmp_path, row_group_size=600)
    said = (
        r"per='name': column 'name' has {} different values so far, and there can be 1,000 groups at most; name a "
        "column of fewer values, or make one first, such as ranges of a number"
    )
    with pytest.raises(InputError, match=said.format("3,000")):
        select(path, 2, per="name")
    with pytest.raises(InputError, match=said.format("1,200")):
        select(path, 2, per="name", partition_rows=600)
    many = written({"x": rng.normal(size=12000), "name": list(map(str, range(12000)))}, tmp_path)
    with pytest.raises(InputError, match=said.format("12,000")):  # more than a vocabulary holds
        select(many, 2, per="name")
    kinds = [str(i % 1000) for i in range(3000)]
    assert len(figures(select(written({"x": rng.normal(size=3000), "kind": kinds}, tmp_path), 1, per="kind"))) == 1000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"per": "kinds"}, r"per: there is no column 'kinds'; did you mean 'kind'\?"),
        ({"per": "kind", "features": ["x", "kind"]}, "features: column 'kind' is named with per too; name it in one"),
        ({"per": ["kind"]}, r"per must be the name of one column, got \['kind'\]"),
        ({"per": "list"}, r"per: column 'list' holds list<.*>, whose values are no groups; name a column of text"),
        (
            {"split": "even"},
            "split='even' says how prototypes are split between the values of a column; name one with per",
        ),
        ({"per": "kind", "split": "both"}, "split must be one of each, even, proportional, got 'both'"),
        ({"per": "kind", "method": "stream"}, "per='kind' needs method='swap': method='stream' judges rows one by one"),
        (
            {"inputs": "-", "per": "kind"},
            "per='kind' reads rows twice, and standard input comes once; store the rows in",
        ),
    ],
)
def test_what_cannot_be_is_an_error_that_says_so(tmp_path, given, said):
    table = {"x": [1.0, 2.0, 4.0], "kind": ["a", "b", "a"], "list": [[1], [2], [3]]}
    with pytest.raises((InputError, ParameterError), match=said):
        select(**{"inputs": written(table, tmp_path), "n_prototypes": 2, "id": "list", **given})


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_groups_that_only_inputs_or_target_have_are_told_of(tmp_path):
    rng = np.random.default_rng(0)
    tables = []
    for name, kinds in (("inputs", "aab"), ("target", "acc"), ("others", "xyz")):
        (tmp_path / name).mkdir()
        tables.append(written({"x": rng.normal(size=30), "kind": list(kinds) * 10}, tmp_path / name))
    with pytest.warns(ProtosieveWarning) as told:
        result = select(tables[0], 3, per="kind", target=tables[1])
    assert [str(one.message) for one in told] == [
        "'b' of column 'kind' has 10 rows in the inputs, and the target has none of it, so none of its rows is chosen",
        "'c' of column 'kind' has 20 rows in the target, and the inputs have none of it, so no prototype stands for it",
    ]
    assert set(figures(result)) == {"a"}
    with pytest.raises(InputError, match="per='kind': no value of column 'kind' in the inputs occurs in the target"):
        select(tables[0], 3, per="kind", target=tables[2])


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_groups_without_a_prototype_and_with_few_are_told_of(tmp_path):
    kinds = ["a"] * 50 + ["b"] * 30 + ["c"] * 20
    path = written({"x": np.r_[np.zeros(50), np.arange(50)], "kind": kinds}, tmp_path)
    with pytest.warns(
        ProtosieveWarning, match="2 prototypes for 3 values of column 'kind': 'c' has none; for one each"
    ):
        assert set(figures(select(path, 2, per="kind", split="even"))) == {"a", "b"}
    with pytest.warns(ProtosieveWarning, match="'a' of column 'kind' has less than half as many prototypes as asked"):
        assert figures(select(path, 5, per="kind", goal="cover"))["a"]["prototypes"] == 1


def test_an_error_of_one_group_names_it(tmp_path):
    path = written({"x": [0.0] * 6 + [1.0, 2.0, 3.0], "kind": [None] * 6 + ["b"] * 3}, tmp_path)
    with pytest.raises(InputError, match=r"^kind \(null\): none of the 6 rows"):
        select(path, 2, per="kind", kernel="linear", scale="none")


@pytest.mark.parametrize("sample", [None, 300])
def test_the_certificate_is_the_mean_of_the_groups_and_bounds_what_all_of_them_leave(folder, sample):
    """Exact where samples hold all rows, else within its own standard error."""
    result = select(folder, 5, sample=sample, **ASKED)
    table = pa.concat_tables(pq.read_table(folder / name) for name in ("a.parquet", "b.parquet"))
    X, towns = result.encoding.encode(table).astype(float), np.array(table["town"].to_pylist(), object)
    K, weights = result.kernel(X, X), np.zeros(len(X))
    weights[result.indices] = result.weights
    left, carried = 0.0, 0.0
    for name, own in by_group(result).items():
        rows, share = (towns == name) / (towns == name).sum(), (towns == name).mean()
        w = np.zeros(len(X))
        w[list(own)] = list(own.values())
        left += share * (rows - w) @ K @ (rows - w)
        carried += share * rows @ K @ rows
    error = result.certificate.standard_error
    assert (error is None) == (sample is None)
    assert result.residual == pytest.approx(left / carried, rel=1e-4, abs=3 * (error or 0))
    if sample is None:
        assert result.mmd**2 == pytest.approx(left, rel=1e-4)
    assert left <= result.certificate.mmd_bound() ** 2 * (1 + 1e-4)
    even = np.full(len(X), 1 / len(X))
    assert (even - weights) @ K @ (even - weights) <= left


def test_columns_called_like_ours_keep_their_values_and_a_result_is_read_back(tmp_path):
    rng = np.random.default_rng(0)
    table = {"group_weight": rng.normal(size=100), "x": rng.normal(size=100), "rows": ["a", "b"] * 50}
    path = written(table, tmp_path)
    result = select(path, 4, per="rows", output=tmp_path / "out.parquet")
    assert result.table.column_names[4:] == ["rows", "group_weight", "group_share", "input_group_weight", "x"]
    assert np.allclose(result.table["input_group_weight"], table["group_weight"][result.indices])
    again = Prototypes.read(tmp_path / "out.parquet")
    np.testing.assert_array_equal(again.rows, result.rows)
    assert again.provenance["groups"] == result.provenance["groups"]
    again.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "2 of rows" in page
    assert "each against its own rows; the worst: " in page


def test_the_command_line_shows_the_groups_the_worst_first(folder, tmp_path):
    given = ["select", folder, "-m", "5", "--id", "name", "--per", "town"]
    done = call(*map(str, given), cwd=tmp_path)
    assert done.returncode == 0
    assert "For each town, judged by its own rows; town itself is not compared:" in done.stdout
    lines = done.stdout[done.stdout.index("For each town") :].splitlines()
    assert lines[2].split() == ["town", "rows", "prototypes", "carried"]
    shares = [float(re.search(r"([\d.]+) %", line)[1]) for line in lines[3:8]]
    assert shares == sorted(shares)
    assert "(null)" in done.stdout
    done = call(*map(str, given), "--split", "even", "--json", cwd=tmp_path)
    run = json.loads(done.stdout)["provenance"]
    assert [one["prototypes"] for one in run["groups"]["values"]] == [1] * 5
    assert "-m 5 --per town --split even" in run["command"]


def test_of_many_groups_the_summary_shows_some(tmp_path):
    kinds = [f"kind {i % 30}" for i in range(600)]
    path = written({"x": np.random.default_rng(0).normal(size=600), "kind": kinds}, tmp_path)
    done = call("select", str(path), "-m", "2", "--per", "kind", "--goal", "cover", cwd=tmp_path)
    assert "For each kind, the worst 10 of 30, judged by its own rows; kind itself is not compared:" in done.stdout
    assert len(re.findall(r"^kind \d+ +20 +2 +[\d.]+ %$", done.stdout, re.M)) == 10


def test_an_estimate_counts_the_samples_of_groups(folder):
    with_groups, without = (
        estimate(begin(options_of({"inputs": folder, "n_prototypes": 5, "id": "name", "per": per}))[0])
        for per in ("town", None)
    )
    assert (with_groups.grouped, without.grouped) == (3000, 0)
    assert replace(with_groups, grouped=0).driver_bytes < with_groups.driver_bytes
    assert "5 prototypes for the values of town, chosen from a sample of 3,000 rows" in str(with_groups)
