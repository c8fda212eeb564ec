"""Rows to keep and to exclude, groups and quotas, in any combination on any small table: nothing is violated, and the
result is the same however the rows are cut, and wherever they are read.

PROTOSIEVE_CASES says how many tables to try: `make test` tries 80, `make test-rest` 1,200, `make soak` 10,000.
"""

import os
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from killed_processes import FORKS
from partition_jobs import same
from protosieve import InputError, ParameterError, ProtoSwap, select
from protosieve.objectives import Coverage
from protosieve.passes import _stream
from volumes import PROFILE, repeated, volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

CASES = int(os.environ.get("PROTOSIEVE_CASES") or volume(80, 1200))
PARTS = 4  # of the cases of each goal: workers share them
PHASES = set(Phase) - {Phase.explain}  # a case takes a tenth of a second, and shrinking one some seconds
goals = pytest.mark.parametrize("goal", ["match", "cover"])
COMPARED = ["x", "y", "colour"]


@dataclass
class Case:
    """A table, what stands beside it, and what is asked for; ``quota`` as (at least, at most)."""

    rows: pa.Table
    keep: pa.Table
    exclude: pa.Table
    asked: dict[str, object]
    quota: dict[str, tuple[int, int]]
    cuts: list[int]

    @property
    def options(self):
        quota = {"quota": [f"{kind}={least}:{most}" for kind, (least, most) in self.quota.items()]}
        return {"features": COMPARED, **self.asked, **(quota if self.quota else {}), **self.beside}

    @property
    def beside(self):
        both = {"keep": self.keep, "exclude_rows": self.exclude}
        return {name: table for name, table in both.items() if len(table)}

    @property
    def parts(self):
        return [self.rows.slice(i, j - i) for i, j in pairwise([0, *self.cuts, len(self.rows)])]

    @property
    def is_stream(self):
        """Whether the rows could come once."""
        return "per" not in self.asked and isinstance(self.asked["n_prototypes"], int)

    def count_of(self, n):
        """Prototypes of so many rows."""
        asked = self.asked["n_prototypes"]
        return min(asked, n) if isinstance(asked, int) else max(1, round(float(asked[:-1]) / 100 * n))

    @property
    def m(self):
        return self.count_of(len(self.rows))

    @cached_property
    def allowed(self):
        """The rows that may be chosen: none equals a row that stands beside, or has the id of one."""
        equal = {row for table in self.beside.values() for row in compared(table)}
        names = {name for table in self.beside.values() for name in table["name"].to_pylist()} - {None}
        every = zip(compared(self.rows), self.rows["name"].to_pylist(), strict=True)
        return [
            place
            for place, (row, name) in enumerate(every)
            if row not in equal and not ("id" in self.asked and name in names)
        ]

    @cached_property
    def kinds(self):
        """How many rows of each kind may be chosen."""
        return Counter(self.rows["kind"].take(self.allowed).to_pylist())


def compared(table):
    """Rows as they are compared: a null number is the mean, which no cell here is."""
    return list(zip(*(table[name].to_pylist() for name in COMPARED), strict=True))


def table_of(rng, n, first=0, *, digits, missing, late):
    """Numbers, with few digits so that some rows are alike; a category; groups, of which one comes late; names."""
    kinds = rng.choice(["a", "b", "c", None], n, p=[0.5, 0.2, 0.2, 0.1])
    if late:
        kinds[(kinds == "c") & (np.arange(n) < 0.8 * n)] = "a"
    names = np.array([f"row {first + i}" for i in range(n)], object)
    return pa.table(
        {
            "x": pa.array(np.round(rng.normal(size=n), digits), mask=rng.random(n) < missing),
            "y": np.round(rng.normal(size=n), digits),
            "colour": pa.array(rng.choice(["red", "blue", None], n), pa.string()),
            "kind": pa.array(kinds, pa.string()),
            "name": pa.array(names, pa.string(), mask=rng.random(n) < missing),
        }
    )


def with_copies(rows, rng, n):
    """Some rows again, under other names."""
    copies = rows.take(rng.integers(len(rows), size=n))
    return pa.concat_tables(
        [rows, copies.set_column(4, "name", pa.array([f"copy {i}" for i in range(n)], pa.string()))]
    )


@st.composite
def cases(draw, goal):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    how = {"digits": draw(st.sampled_from([6, 6, 1, 0])), "missing": draw(st.sampled_from([0, 0.1]))}
    rows = table_of(rng, draw(st.integers(12, 60)), late=draw(st.booleans()), **how)
    rows = with_copies(rows, rng, draw(st.sampled_from([0, 0, 3, 12])))
    pool = pa.concat_tables([rows, table_of(rng, 8, 1000, late=False, **how)])  # some from elsewhere
    keep, exclude = (pool.take(rng.integers(len(pool), size=draw(st.integers(0, most)))) for most in (9, 12))
    m = draw(st.one_of(st.integers(1, 14), st.sampled_from(["5%", "20%"])))
    asked = {"n_prototypes": m, "goal": goal, "random_state": draw(st.integers(0, 9))}
    asked |= draw(st.sampled_from([{}, {"id": "name"}])) | draw(
        st.sampled_from([{}, {}, {"sample": 10}, {"sample": 24}])
    )
    splits = [{}, {"per": "kind", "split": draw(st.sampled_from(["each", "even", "proportional"]))}]
    asked |= draw(st.sampled_from(splits))
    quota = {}
    if "per" not in asked and draw(st.booleans()):
        asked["per"] = "kind"
        for kind in draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)):
            least = draw(st.integers(0, 5))
            quota[kind] = (least, least + draw(st.integers(0, 9)))
    return Case(rows, keep, exclude, asked, quota, sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4))))


def check_result(case, found):
    new, rows = found.indices[found.is_new], case.rows
    assert set(new.tolist()) <= set(case.allowed)
    assert len(set(new.tolist())) == len(new)
    assert (found.weights >= 0).all()
    check_kept(case, found)
    chosen = rows.take(new)
    assert found.table.filter(pa.array(found.is_new)).select(rows.column_names).equals(chosen)
    check_counts(case, found, Counter(chosen["kind"].to_pylist()))


def check_counts(case, found, counts):
    """To cover, m rows, or all that differ once encoded; to match, some rows are of no use."""
    there, m = Counter(case.rows["kind"].to_pylist()), case.m
    if case.asked.get("split") == "each":
        most = {kind: min(case.count_of(n), case.kinds[kind]) for kind, n in there.items()}
        assert all(counts[kind] <= n for kind, n in most.items())
    else:
        assert counts.total() <= m
    for kind, (least, most) in case.quota.items():
        assert least <= counts[kind] <= most
    if case.asked["goal"] == "cover" and "sample" not in case.asked:
        check_enough(case, found, counts)


def encoded(encoding, table):
    """Rows as they are chosen by; a null number may be one that is there, where these have few digits."""
    return [row.tobytes() for row in encoding.encode(table) + 0]


def check_enough(case, found, counts):
    """That all places are taken, as far as there are rows; and a group that is left out has no place."""
    barred = {row for table in case.beside.values() for row in encoded(found.encoding, table)}
    allowed = case.rows.take(case.allowed)
    every = zip(allowed["kind"].to_pylist(), encoded(found.encoding, allowed), strict=True)
    left = [(kind, row) for kind, row in every if row not in barred]
    there, apart = Counter(case.rows["kind"].to_pylist()), Counter(kind for kind, _ in set(left))
    if case.asked.get("split") == "each":
        assert all(counts[kind] == min(case.count_of(n), apart[kind]) for kind, n in there.items())
    elif "split" in case.asked:
        assert counts.total() == min(case.m, apart.total())
        present = {kind for kind in there if counts[kind] or not apart[kind]}
        kept = Counter(case.keep["kind"].to_pylist())
        assert (~found.is_new).sum() == sum(n for kind, n in kept.items() if kind in present)
    else:
        copies = Counter(kind for kind, _ in left)
        open_to = sum(min(n, case.quota.get(kind, (0, n))[1]) for kind, n in copies.items())
        least = sum(least for least, _ in case.quota.values())
        assert counts.total() == min(case.m, max(len({row for _, row in left}), least), open_to)


def check_kept(case, found):
    """They come last, by their numbers; those of groups without prototypes are not there."""
    kept = -1 - found.indices[~found.is_new]
    assert found.is_new.tolist() == sorted(found.is_new, reverse=True)
    table = found.table.filter(pa.array(~found.is_new)).select(case.rows.column_names)
    assert table.equals(case.keep.take(kept))
    if case.asked.get("split", "each") == "each":
        there = set(case.rows["kind"].to_pylist())
        grouped = "per" in case.asked and not case.quota
        expected = [i for i, kind in enumerate(case.keep["kind"].to_pylist()) if not grouped or kind in there]
        assert sorted(kept.tolist()) == expected
    if "split" in case.asked and case.asked["goal"] == "cover":
        weights = Counter()
        for kind, weight in zip(*(found.table[name].to_pylist() for name in ("kind", "group_weight")), strict=True):
            weights[kind] += weight
        assert list(weights.values()) == pytest.approx([1] * len(weights))


def is_refused(case):
    """Whether there is no choice as is asked for; None where that depends on the sample."""
    if "split" in case.asked and not case.kinds and len(case.keep):
        return None  # those to keep stand for their groups, if there are such groups
    if case.quota and all(case.quota.get(kind, (0, 1))[1] == 0 for kind in set(case.rows["kind"].to_pylist())):
        return True
    short = any(case.kinds[kind] < least for kind, (least, _) in case.quota.items())
    if short or sum(least for least, _ in case.quota.values()) > case.m or not case.allowed:
        return True
    return None if "sample" in case.asked else False


def chosen(case, rows, **others):
    """The result, or the words by which it is refused."""
    try:
        return select(rows, **{**case.options, **others})
    except (InputError, ParameterError) as error:
        return str(error)


def assert_alike(one, other):
    assert same(one, other) if not isinstance(one, str) else one == other


def check_cuts(case, found):
    """The rows in pieces of any size: as one table, as a stream, and as chunks for a selector."""
    batches = [batch for part in case.parts for batch in part.to_batches()]
    assert_alike(found, chosen(case, pa.Table.from_batches(batches, case.rows.schema)))
    if case.is_stream:
        streamed = [chosen(case, iter(parts)) for parts in ([case.rows], case.parts)]
        assert_alike(*streamed)
        if not isinstance(streamed[0], str):
            check_stream(case, streamed[0])
            check_chunks(case, streamed[0].encoding)


def check_stream(case, found):
    """Rows of a stream are told apart by their values only."""
    equal = {row for table in case.beside.values() for row in compared(table)}
    new = found.indices[found.is_new]
    assert not equal & set(compared(case.rows.take(new)))
    assert len(new) <= case.m
    check_kept(case, found)


def check_chunks(case, encoding):
    beside = {name.removesuffix("_rows"): encoding.encode(table) for name, table in case.beside.items()}
    objective = Coverage() if case.asked["goal"] == "cover" else None
    found = []
    for parts in ([case.rows], case.parts):
        selector = ProtoSwap(case.m, objective=objective, random_state=0)
        for first, part in enumerate(parts):
            selector.partial_fit(encoding.encode(part), **({} if first else beside))
        found.append(selector.result_)
    assert found[0].indices.tolist() == found[1].indices.tolist()
    assert found[0].weights.tolist() == found[1].weights.tolist()


def check_executor(case, path, executor):
    pq.write_table(case.rows, path, row_group_size=9)
    options = {"partition_rows": 18}
    assert_alike(chosen(case, path, **options), chosen(case, path, **options, executor=executor))


def tried(check, goal, part, count):
    """A check of so many cases; every part has cases of its own."""
    numbered = seed(random.getrandbits(64) if PROFILE == "explore" else part)
    numbered(settings(max_examples=max(count, 1), phases=PHASES)(given(cases(goal))(check)))()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("rows") / "rows.parquet"


@pytest.fixture(autouse=True)
def short_head(monkeypatch):
    """So few rows of a stream settle how all are encoded."""
    monkeypatch.setattr(_stream, "_HEAD", 20)


@repeated
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(PARTS))
@goals
def test_nothing_is_violated_and_neither_cuts_nor_threads_matter(part, goal, path):
    with ThreadPoolExecutor(2) as threads:

        def check(case):
            found = chosen(case, case.rows)
            assert is_refused(case) in (None, isinstance(found, str)), found
            if not isinstance(found, str):
                check_result(case, found)
            check_cuts(case, found)
            check_executor(case, path, threads)

        tried(check, goal, part, CASES // (2 * PARTS))


@repeated
@pytest.mark.timeout(0)
@goals
def test_processes_do_not_matter(goal, path):
    with ProcessPoolExecutor(2, FORKS) as processes:
        tried(lambda case: check_executor(case, path, processes), goal, PARTS, CASES // 40)
