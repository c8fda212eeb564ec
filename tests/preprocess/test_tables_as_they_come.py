"""Tables as they come: ids, names, heavy tails and nulls, against plain twins."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from protosieve import _state
from protosieve.preprocess import Encoding, Layout, Survey
from protosieve.sampling import SampledRows
from tests import oracles


def settled(table, scale="auto", **words):
    """The encoding by a survey and a sample of all rows, and these rows."""
    layout = Layout.of(table.schema, **words)
    survey = Survey.of(layout)
    raw, problems = layout.raw(table, grow=True)
    assert problems == []
    survey.update(raw)
    return survey.settle(scale, samples=[SampledRows(raw, np.arange(len(raw)), np.zeros(len(raw)))]), raw


def sums(n, seed=0):
    """Sums of money, as they are: most are small."""
    return np.exp(2 * np.random.default_rng(seed).normal(size=n))


def test_heavy_tails_are_compared_by_ranks_and_others_are_standardised():
    height = np.random.default_rng(1).normal(size=500)
    encoding, raw = settled(pa.table({"height": height, "income": sums(500)}))
    found = encoding.transform(raw)
    np.testing.assert_allclose(found[:, 0], (height - height.mean()) / height.std(), rtol=1e-5, atol=1e-6)
    by_rank = norm.ppf((np.argsort(np.argsort(sums(500))) + 0.5) / 500)
    np.testing.assert_allclose(found[:, 1], by_rank, atol=0.3)  # in the tails there is a value for several knots
    assert np.abs(found[:, 1] - by_rank).mean() < 0.02
    assert encoding.describe() == [
        "1 number column standardised: height",
        "1 heavy-tailed column compared by ranks, made normal: income (scale='standard' standardises all)",
    ]


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_ranks_are_for_auto_alone(scale):
    encoding, _ = settled(pa.table({"income": sums(200)}), scale)
    assert [step.kind for step in encoding.steps] == ["scaled"]


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).uniform(size=2000),
        np.random.default_rng(0).normal(size=2000),
        np.random.default_rng(0).exponential(size=2000),
        np.r_[np.zeros(1990), np.ones(10)],  # few values: a flag
        sums(20),  # too few rows to tell
    ],
)
def test_usual_columns_are_standardised(values):
    encoding, _ = settled(pa.table({"x": values}))
    assert [step.kind for step in encoding.steps] == ["scaled"]


@given(
    arrays(
        np.float64, st.integers(60, 200), elements=st.integers(-6, 6).map(lambda e: float(np.sign(e) * 10.0 ** abs(e)))
    )
)
def test_ranks_are_those_of_the_twin(values):
    values = np.r_[values, np.arange(12) / 8]  # different ones enough
    encoding, raw = settled(pa.table({"x": values}))
    if encoding.steps[0].kind == "ranked":
        np.testing.assert_allclose(encoding.transform(raw)[:, 0], oracles.ranked(values), rtol=1e-5, atol=1e-5)


def test_an_encoding_by_ranks_is_stored_and_read_and_so_are_its_nulls(tmp_path):
    table = pa.table({"income": pa.array(sums(300), mask=np.arange(300) % 5 == 0), "age": [*range(150)] * 2})
    encoding, raw = settled(table)
    assert encoding.names == ["income", "age", "income=missing"]
    told = json.loads(json.dumps(encoding.as_dict(), allow_nan=False))
    _state.write(tmp_path / "encoding.npz", encoding)
    for again in (Encoding.from_dict(told), _state.read(tmp_path / "encoding.npz")):
        np.testing.assert_array_equal(again.encode(table), encoding.transform(raw))


def test_values_beyond_the_survey_get_the_last_rank():
    encoding, _ = settled(pa.table({"income": sums(300)}))
    assert encoding.encode({"income": [-1e9, 1e9, None]})[:, 0].tolist() == [-3, 3, 0]


def test_a_null_differs_from_a_value_as_two_values_do():
    rng = np.random.default_rng(0)
    mask = rng.random(1000) < 0.4
    for scale in ("standard", "minmax", "none"):
        encoding, raw = settled(pa.table({"x": pa.array(rng.normal(size=1000) * 3, mask=mask)}), scale)
        Z = encoding.transform(raw).astype(np.float64)
        there, null = Z[~mask], Z[mask][:1]
        between = 2 * there.var(axis=0).sum()
        np.testing.assert_allclose(((there - null) ** 2).sum(axis=1).mean(), between, rtol=1e-5)


def test_a_few_nulls_are_the_mean_and_no_more():
    encoding, _ = settled(pa.table({"x": pa.array(np.arange(40.0) % 7, mask=np.arange(40) < 3)}))
    assert encoding.names == ["x"]


@pytest.mark.parametrize("rows", [5, 60, 3000])
@pytest.mark.parametrize("name", ["id", "PassengerId", "user_id", "Sample Number", "order no.", "Unnamed: 0", "index"])
def test_ids_are_left_out_of_any_table(rows, name):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.permutation(rows) + 1000, "x": rng.normal(size=rows)})
    encoding, _ = settled(table)
    assert encoding.names == ["x"]
    assert encoding.describe()[-1] == (
        f"dropped: {name}, whole numbers that differ from row to row: it names rows rather than describing them; "
        "features compares the columns it names"
    )
    assert settled(table, features=[name, "x"])[0].names == [name, "x"]


@pytest.mark.parametrize("values", [np.arange(100), np.arange(100) * 10 + 7, np.arange(100) + np.arange(100) // 9])
def test_what_rises_with_the_row_numbers_is_left_out_under_any_name(values):
    assert settled(pa.table({"t": values, "x": np.random.default_rng(0).normal(size=100)}))[0].names == ["x"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("year", np.arange(1900, 2000)),
        ("age", np.arange(100)),
        ("count", np.random.default_rng(0).permutation(100)),
        ("number of rooms", np.random.default_rng(0).permutation(100)),
        ("price", np.sort(np.random.default_rng(0).integers(0, 10**6, 100))),
        ("sorted", np.sort(np.random.default_rng(0).integers(0, 10**6, 100))),
        ("shuffled", np.random.default_rng(0).permutation(100)),
        ("id", np.arange(100) / 8),
        ("shop_id", np.arange(100) % 20),
        ("grid", np.random.default_rng(0).permutation(100)),
    ],
)
def test_measures_are_compared(name, values):
    table = pa.table({name: values, "x": np.random.default_rng(1).normal(size=100)})
    assert settled(table)[0].names == [name, "x"]


def test_a_table_of_nothing_but_ids_is_compared_by_them():
    assert settled(pa.table({"id": np.arange(50), "pad": [1] * 50}))[0].names == ["id"]


@pytest.mark.parametrize("rows", [30, 50, 500])
def test_names_of_people_are_not_compared_by_their_spelling(rows):
    rng = np.random.default_rng(0)
    table = pa.table({"name": [f"Person {i}" for i in range(rows)], "town": rng.choice(["A", "B"], rows)})
    encoding, _ = settled(table)
    assert encoding.names == ["town=A", "town=B"] or encoding.names == ["town=B", "town=A"]
    reason = "nearly every value differs: it names rows rather than describing them"
    assert encoding.dropped == {"name": reason}
    assert encoding.describe()[-1] == f"dropped: name, {reason}; text compares the columns it names"
    assert "name" not in settled(table, categorical="name")[0].dropped


def test_text_is_judged_by_the_cells_there_are():
    notes = pa.array([f"note {i}" if i < 60 else None for i in range(1000)])
    encoding, _ = settled(pa.table({"note": notes, "x": np.arange(1000) % 7}))
    assert list(encoding.dropped) == ["note"]
