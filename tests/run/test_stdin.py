"""Runs over standard input, which comes once: its head settles what columns are like, and all rows count."""

import io
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from protosieve import InputError, ParameterError, ProtosieveWarning, ProtoSwap, select
from protosieve.insight import unlike_head
from protosieve.objectives import Coverage
from table_files import COLUMNS, frame, numbers, write

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


@pytest.fixture
def stdin(monkeypatch):
    def feed(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return feed


def test_standard_input_is_read_once(tmp_path, stdin):
    table = frame(numbers(25_000))
    stdin(table.to_csv(index=False).encode())
    found = select("-", 20, sample=2000, **COLUMNS)
    assert found.n_seen == 25_000
    assert 300 < found.certificate.sample <= 400  # of 2,000, but for points among them
    kept = found.table.to_pandas()
    assert kept["name"].tolist() == [f"row {i}" for i in found.indices]
    assert found.residual < found.provenance["residual_of_random_rows"]
    stored = select(write(table, tmp_path / "t.parquet"), 20, sample=2000, **COLUMNS)
    assert found.residual < 3 * stored.residual


def test_standard_input_is_covered_as_files_are(tmp_path, stdin):
    """Its rows all alike, and where the first are unlike the rest; of few rows it is the selector in memory."""
    for table, more in ((frame(numbers(25_000)), COLUMNS), (sorted_stream(40_000), {"id": "id"})):
        stdin(table.to_csv(index=False).encode())
        found = select("-", 20, goal="cover", **more)
        assert (found.n_seen, found.certificate.whole) == (len(table), "full coverage")
        assert found.weights.sum() == pytest.approx(1)
        assert found.shares.tolist() == found.weights.tolist()
        assert found.residual < found.provenance["residual_of_random_rows"]
        stored = select(write(table, tmp_path / "t.parquet"), 20, goal="cover", **more)
        assert found.objective == pytest.approx(stored.objective, rel=0.02)
        assert found.residual == pytest.approx(1 - covered_share(found, table), abs=0.02)
    X = numbers(300).astype(np.float32)
    stdin(pd.DataFrame(X, columns=list("abcd")).to_csv(index=False).encode())
    found = select("-", 20, goal="cover", scale="none")
    expected = ProtoSwap(20, objective=Coverage(), random_state=0).fit(X).result_
    np.testing.assert_array_equal(np.sort(found.indices), np.sort(expected.indices))


def covered_share(found, table):
    """The mean similarity of all rows to the nearest prototype, every pair compared."""
    rows = found.encoding.encode(table).astype(np.float64)
    return np.mean(
        [found.kernel(part, found.rows.astype(np.float64)).max(axis=1).mean() for part in np.split(rows, 20)]
    )


def test_short_standard_input_settles_what_it_has(stdin):
    stdin(frame(numbers(300)).to_csv(index=False).encode())
    found = select("-", 20, **COLUMNS)
    assert found.n_seen == 300
    assert found.certificate.sample is None


def test_standard_input_without_rows_is_an_error_also_beside_a_target(tmp_path, stdin):
    path = write(frame(numbers(100)), tmp_path / "t.csv")
    stdin(b"name,c0,c1,c2,c3,colour,kind\n")
    with pytest.raises(InputError, match="standard input: there are no rows"):
        select("-", 5, target=path, **COLUMNS)
    with pytest.raises(ParameterError, match="target must be a file where standard input holds the rows"):
        select("-", 5, target="-")


def sorted_stream(n):
    """Kinds a and b, then c and d, and a number that rises."""
    kinds = np.where(np.arange(n) < n // 2, "ab", "cd")
    which = np.random.default_rng(0).integers(2, size=n)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "year": 1900 + 100 * np.arange(n) // n,
            "kind": [pair[i] for pair, i in zip(kinds, which, strict=True)],
        }
    )


def test_what_comes_after_an_unlike_head_of_a_stream_is_told_apart(tmp_path, stdin):
    table = sorted_stream(40_000)
    stdin(table.to_csv(index=False).encode())
    found = select("-", 40, id="id")
    stored = select(write(table, tmp_path / "t.csv"), 40, id="id")
    assert found.encoding.names == stored.encoding.names
    np.testing.assert_allclose(found.encoding.encode(table), stored.encoding.encode(table), rtol=1e-6)
    assert found.n_seen == 40_000
    kept = found.table.to_pandas()
    assert kept["id"].astype(int).tolist() == found.indices.tolist() == kept["row"].tolist()
    assert kept["kind"].tolist() == table["kind"][found.indices].tolist()
    shares = kept.groupby("kind")["weight"].sum() / kept["weight"].sum()
    np.testing.assert_allclose(shares[list("abcd")], 0.25, atol=0.02)
    late = kept["weight"][kept["year"] >= 1980].sum() / kept["weight"].sum()
    assert abs(late - 0.2) < 0.03
    assert found.certificate.sample == 8192
    head = found.provenance["unlike_head"]
    assert (head["rows"], head["chosen_from"], head["why_not"]) == (16_384, 8192, None)
    assert head["differences"] == ["year has another range", "kind is 'c', 'd' in 20,000 later rows"]
    assert len(found.trace) == 1
    assert found.sample.rows.shape == (8192, 5)
    np.testing.assert_array_equal(found.encoding.encode(found.table), found.rows)


@pytest.mark.thorough
def test_many_prototypes_of_a_stream_are_chosen_again_from_more_rows(stdin):
    stdin(sorted_stream(40_000).to_csv(index=False).encode())
    found = select("-", 2500, id="id", method="basic")
    assert found.provenance["unlike_head"]["chosen_from"] == 10_000
    assert len(found.sample.rows) == 8192


def test_an_unlike_head_of_rows_too_large_to_keep_is_told(stdin, monkeypatch):
    monkeypatch.setattr("protosieve.passes._row_sample._HELD", 1 << 10)
    stdin(sorted_stream(40_000).to_csv(index=False).encode())
    found = select("-", 40, id="id")
    assert found.provenance["unlike_head"]["chosen_from"] is None
    assert found.encoding.names == ["year", "kind=b", "kind=a"]
    (said,) = unlike_head(found.provenance)
    assert "still chosen by what the first rows show, because rows are too large to keep enough of them" in said


def test_columns_of_a_stream_that_take_much_memory_are_told_of_once(stdin, monkeypatch):
    monkeypatch.setattr("protosieve.passes._stream._HEAVY", 1 << 16)
    stdin(sorted_stream(40_000).to_csv(index=False).encode())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ProtosieveWarning)
        select("-", 40, id="id")
    (said,) = (str(one.message) for one in found if "take" in str(one.message))
    assert re.match(r"the columns of [\d,]+ rows that may be selected take 0\.\d GB; drop large columns before", said)


def test_a_few_late_rows_of_another_category_are_told(stdin):
    table = sorted_stream(40_000).sample(frac=1, random_state=0)
    table.iloc[39_000:39_003, 2] = "z"
    stdin(table.to_csv(index=False).encode())
    found = select("-", 10, id="id").provenance
    assert found["unlike_head"]["differences"] == ["kind is 'z' in 3 later rows"]
    assert "chosen by what the first rows show, because they are few;" in unlike_head(found)[0]


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2))])
def test_a_head_like_the_rest_settles_a_stream(stdin, scale, seed):
    """Shuffled, with more categories than columns for them, rare ones among them, a heavy tail and nulls."""
    rng, n = np.random.default_rng(seed), 40_000
    table = sorted_stream(n).sample(frac=1, random_state=seed)
    table["town"] = rng.integers(300, size=n).astype(str)
    table["colour"] = rng.choice(["red", "blue", "grey"], p=[0.8, 0.199, 0.001], size=n)
    table["sales"] = rng.pareto(1.1, size=n)
    table["height"] = np.where(rng.random(n) < 0.001, np.nan, rng.normal(size=n))
    stdin(table.to_csv(index=False).encode())
    assert select("-", 10, id="id", categorical="town", scale=scale).provenance["unlike_head"] is None


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_standard_input_can_represent_a_stored_target(tmp_path, stdin, goal):
    X = numbers(3000)
    table = frame(X)
    write(table[X[:, 0] > 0], tmp_path / "y.parquet")
    stdin(table.to_csv(index=False).encode())
    found = select("-", 15, target=tmp_path / "y.parquet", goal=goal, **COLUMNS)
    assert found.n_seen == 3000
    share = sum(w for w, row in zip(found.weights, found.indices, strict=True) if X[row, 0] > 0) / found.weights.sum()
    assert share > 0.9


def test_what_needs_more_than_one_pass_is_refused_for_standard_input(tmp_path):
    with pytest.raises(ParameterError, match="work cannot bring back rows of standard input; store them in a file"):
        select("-", 5, work=tmp_path / "work")
    assert not (tmp_path / "work").exists()
    with pytest.raises(
        ParameterError, match=r"n_prototypes='1%' is a share, and standard input does not .* n_prototypes=500$"
    ):
        select("-", "1%")


def test_a_target_of_fewer_rows_than_prototypes_does_not_limit_them(tmp_path, stdin):
    rng = np.random.default_rng(0)
    (tmp_path / "target.csv").write_text("x\n" + "".join(f"{value}\n" for value in rng.normal(size=4)))
    stdin(("x\n" + "".join(f"{value}\n" for value in rng.normal(size=100))).encode())
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "20 prototypes were asked for", ProtosieveWarning)
        result = select("-", 20, target=tmp_path / "target.csv", format="csv")
    assert result.provenance["n_prototypes"] == 20
