"""One choice of rows with so many of each value of a column."""

import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import oracles
from partition_jobs import people, same
from protosieve import InputError, ParameterError, ProtosieveWarning, select
from volumes import volume

goals = st.sampled_from(["match", "cover"])


def counts(table, column="town"):
    return Counter(table[column].to_pylist())


@settings(max_examples=volume(10, 300))
@given(st.integers(0, 10_000), st.integers(4, 40), goals, st.data())
def test_no_quota_is_violated(seed, m, goal, data):
    """Whatever is kept or excluded beside; and as many rows are chosen as without quotas, where these leave as many."""
    table = people(300, seed)
    there, left, quota = counts(table), m, {}
    for town in [town for town in there if town is not None and data.draw(st.booleans())]:
        least = data.draw(st.integers(0, min(left, there[town] // 2)))
        quota[town] = (least, data.draw(st.integers(least, m)))
        left -= least
    rng = np.random.default_rng(seed)
    asked = {"goal": goal, "per": "town", "id": "name", "sample": data.draw(st.sampled_from([None, 120]))}
    aside = {"keep": table.take(rng.choice(300, 5)), "exclude_rows": table.take(rng.choice(300, 5))}
    found = select(table, m, quota=quota or ["Ulm=0:"], **asked, **aside)
    chosen = found.table.filter(pa.array(found.is_new))
    for town, (least, most) in quota.items():
        assert least <= counts(chosen)[town] <= most
    assert len(set(chosen["name"].to_pylist())) == len(chosen) <= m
    barred = set(aside["keep"]["name"].to_pylist()) | set(aside["exclude_rows"]["name"].to_pylist())
    assert not barred & set(chosen["name"].to_pylist())
    assert (found.weights >= 0).all()


@pytest.mark.parametrize(
    "quota", [{"Ulm": (10, 20)}, {"Bonn": (0, 2), "Kiel": (0, 2)}, {"Jena": (8, 8), "Ulm": (8, 8)}]
)
def test_matches_as_well_as_greedy_selection_under_the_same_quotas(quota):
    """Over five tables."""
    shares = []
    for seed in range(5):
        table = people(600, seed)
        found = select(table, 20, per="town", quota=quota, exclude="name")
        K = found.kernel(found.encoding.encode(table).astype(np.float64))
        mu = K.mean(axis=1)
        least, most = ({town: bounds[i] for town, bounds in quota.items()} for i in (0, 1))
        rows, weights = oracles.protodash_within(K, mu, table["town"].to_pylist(), least, most, 20)
        greedy = oracles.value(K[np.ix_(rows, rows)], mu[rows], weights)
        shares.append((mu.mean() - 2 * found.objective) / (mu.mean() - 2 * greedy))
    assert np.mean(shares) <= 1.0
    assert max(shares) <= 1.05


@pytest.mark.parametrize("m", [20, 50])
def test_what_is_left_of_the_digits_is_no_more_than_batch_protodash_leaves(m):
    """Of half of the digits, under quotas that ask for much of one digit and allow little of another."""
    X, digit = load_digits(return_X_y=True)
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows, (often, seldom) = rng.permutation(len(X))[:900], rng.permutation(10)[:2].astype(str)
        made = pa.table({"digit": digit[rows].astype(str), "vector": list(X[rows].astype(np.float32))})
        quota = {often: (m // 3, m), seldom: (0, 1)}
        found = select(made, m, per="digit", quota=quota, embedding="vector", random_state=seed)
        assert counts(found.table, "digit")[often] >= m // 3
        assert counts(found.table, "digit")[seldom] <= 1
        K = found.kernel(X[rows])
        mu = K.mean(axis=1)
        greedy, weights = oracles.protodash_within(K, mu, made["digit"].to_pylist(), {often: m // 3}, {seldom: 1}, m)
        left = [mu.mean() - 2 * oracles.value(K[np.ix_(of, of)], mu[of], w)
                for of, w in ((found.indices, found.weights), (greedy, weights))]  # fmt: skip
        ratios.append(left[0] / left[1])
    assert max(ratios) <= 1.05


def test_quotas_that_bind_nothing_change_nothing():
    """Where all rows are in the sample, the choice is among the same rows, in the same order."""
    table = people(500)
    free = select(table, 12, per="town", quota=["Ulm=0:"], exclude="name")
    assert same(free, select(table, 12, per="town", quota={"Ulm": (0, 500), "Kiel": "0:"}, exclude="name"))


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_the_engine_does_not_matter(goal):
    tables = [people(700, part, 700 * part) for part in range(4)]
    asked = {"goal": goal, "per": "town", "quota": ["Ulm=6:", "Bonn=:2"], "sample": 400, "id": "name"}
    alone = select(tables, 15, **asked)
    assert counts(alone.table)["Ulm"] >= 6
    assert counts(alone.table)["Bonn"] <= 2
    with ThreadPoolExecutor(2) as threads:
        assert same(alone, select(tables, 15, executor=threads, **asked))


def test_quotas_are_numbers_of_any_kind_and_values_those_of_any_file():
    """None bounds nothing, and 3.0, 3 and their texts are one value, as they are of the rows."""
    table = people(300).append_column("floor", pa.array(np.arange(300) % 3 + 1.0))
    for quota in ({3: (8, None)}, {3.0: (np.int64(8), None)}, ["3=8:"], ["3.00=8:"], {1.0: 1, "2": np.int64(1)}):
        assert Counter(select(table, 10, per="floor", quota=quota).table["floor"].to_pylist())[3.0] >= 8


@pytest.mark.parametrize(
    ("quota", "match"),
    [
        ({"Ulm": None}, "quota must be like de=20:40 .at least, at most., got 'Ulm='"),
        ({"Ulm": 2.5}, "quota must be like de=20:40 .at least, at most., got 'Ulm=2.5'"),
        (["Ulm"], "quota must be like de=20:40 .at least, at most., got 'Ulm'"),
        (["Ulm=a:b"], "quota must be like de=20:40"),
        (["Ulm=5:2"], "asks for at least 5 and at most 2; give a value one quota"),
        (["Ulm=1:2", "Ulm=3:4"], "is given twice"),
        (["Ulm=8:", "Bonn=8:"], "quota asks for 16 rows at least, and n_prototypes=10 are to be chosen"),
    ],
)
def test_quotas_that_make_no_sense_are_refused(quota, match):
    with pytest.raises(ParameterError, match=match):
        select(people(100), 10, per="town", quota=quota)


def test_quotas_that_ask_for_more_than_the_share_of_the_rows_are_refused():
    with pytest.raises(ParameterError, match="asks for 16 rows at least, and n_prototypes='5%', 15 rows, are to be"):
        select(people(300), "5%", per="town", quota=["Ulm=8:", "Bonn=8:"])
    assert counts(select(people(300), "5%", per="town", quota=["Ulm=8:", "Bonn=7:"]).table) == {"Ulm": 8, "Bonn": 7}


def test_quotas_that_rows_cannot_fill_are_refused():
    table = people(100)
    with pytest.raises(ParameterError, match="quota is of values of a column; name it with per too"):
        select(table, 10, quota=["Ulm=1:"])
    with pytest.raises(ParameterError, match="quota bounds the values of one choice of all rows, and split='even'"):
        select(table, 10, per="town", split="even", quota=["Ulm=1:"])
    with pytest.raises(InputError, match="quota: no row has 'Rom' in column 'town'; correct the value"):
        select(table, 10, per="town", quota=["Rom=1:"])
    few = counts(table)["Ulm"]
    with pytest.raises(InputError, match=rf"quota: at least {few + 1} of 'Ulm' are asked for, and {few} may be chosen"):
        select(table, few + 1, per="town", quota=[f"Ulm={few + 1}:"])


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_quotas_that_allow_fewer_rows_than_are_asked_for_are_told_and_met(goal):
    """Rows to keep are not counted, and where the rows are few it is not the quotas that are short."""
    table = people(200)
    table = table.filter(pc.is_valid(table["town"]))
    quota = {"Ulm": (1, 3), "Bonn": (0, 2), "Kiel": 0, "Jena": 1}
    asked = {"goal": goal, "per": "town", "id": "name", "quota": quota}
    with pytest.warns(ProtosieveWarning) as told:
        found = select(table, 20, keep=table.slice(0, 2), **asked)
    assert [str(one.message) for one in told] == ["quota allows 6 rows: no more are chosen of the 20 asked for"]
    assert counts(found.table.filter(pa.array(found.is_new))) == {"Ulm": 3, "Bonn": 2, "Jena": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProtosieveWarning)
        assert len(select(table.slice(0, 6), 5, goal=goal, per="town", id="name", quota={"Ulm": (0, 6)})) <= 5


def test_quotas_of_values_that_no_row_has_and_quotas_of_nothing_are_told():
    table = pa.table({"x": np.random.default_rng(0).normal(size=40), "kind": ["a", "b"] * 20})
    with pytest.warns(ProtosieveWarning, match="quota: no row has 'aa' in column 'kind'"):
        select(table, 9, per="kind", quota={"aa": (0, 3)})
    with pytest.raises(InputError, match="quota allows no row at all; give larger quotas"):
        select(table, 9, per="kind", quota={"a": 0, "b": 0})
