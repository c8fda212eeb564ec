"""The comparison against the selectors run by hand, and against definitions."""

import builtins
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans

import oracles
from protosieve import InputError, ParameterError, ProtoBasic, ProtoStream, ProtoSwap, compare
from protosieve.kernels import Gaussian, Linear
from protosieve.means import CalibratedMean, ExactMean, ReservoirMean
from protosieve.objectives import Coverage
from protosieve.selectors import SELECTORS

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

NAMES = {cls.method: cls for cls in SELECTORS}


def scores(target, rows, weights, width=2.0):
    """Residual at the best weights by SciPy, and at the ones given."""
    K, mu = oracles.gaussian(rows, rows, width), oracles.gaussian(rows, target, width).mean(axis=1)
    norm = oracles.gaussian(target, target, width).mean()
    best = oracles.value(K, mu, oracles.solve(K, mu))
    return 1 - 2 * best / norm, 1 - 2 * oracles.value(K, mu, weights) / norm, best


@pytest.mark.parametrize("with_target", [False, True])
def test_each_line_is_the_method_run_by_hand_scored_by_one_measure(X, with_target):
    target = X[:90] + 1 if with_target else None
    table = compare(X, 9, list(NAMES), target=target, kernel=Gaussian(2.0))
    assert table["method"].tolist() == list(NAMES)
    for row in table.rows:
        result = NAMES[row["method"]](9, kernel=Gaussian(2.0), random_state=0).fit(X, target=target).result_
        best, own, value = scores(X if target is None else target, result.rows, result.weights)
        assert row["kept"] == len(result)
        assert row["residual"] == pytest.approx(best, rel=1e-6)
        assert row["own_residual"] == pytest.approx(own, rel=1e-6) == pytest.approx(result.residual, rel=1e-6)
        assert row["own_objective"] == pytest.approx(result.objective, rel=1e-8)
        assert row["objective"] == pytest.approx(value, rel=1e-8)
        assert row["mmd"] ** 2 == pytest.approx(
            best * oracles.gaussian(*2 * [X if target is None else target], 2.0).mean(), rel=1e-6
        )


def test_all_known_methods_by_default_random_rows_among_them(X):
    table = compare(X, 5, kernel=Gaussian(2.0), draws=2)
    quick = [cls.method for cls in SELECTORS if not cls.is_slow]
    assert table["method"].tolist() == sorted(["random", "kmeans", "cover", *quick])
    assert "streak" not in table["method"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=repr)
def test_rows_whose_label_is_missing_are_not_classified(X, missing):
    labels = pd.Series(["a", "b"] * (len(X) // 2), dtype=object)
    some = labels.copy()
    some[:40] = missing
    expected = [None] * 40 + labels[40:].tolist()
    given = [some, some.astype("string")] if missing is pd.NA else [some]
    for one in given:
        found = compare(X, 6, ["cover"], kernel=Gaussian(2.0), labels=one, random_state=0).rows[0]
        same = compare(X, 6, ["cover"], kernel=Gaussian(2.0), labels=expected, random_state=0).rows[0]
        assert found["accuracy"] == same["accuracy"]


@pytest.mark.parametrize("with_target", [False, True])
def test_what_each_method_covers_and_how_well_it_labels_the_other_rows(X, with_target):
    """Every pair compared; of ``cover`` and ``kmeans`` as they are by hand."""
    target = X[:90] + 1 if with_target else None
    match, kernel = X if target is None else target, Gaussian(2.0)
    labels = (X[:, 0] > np.median(X[:, 0])).astype(object)
    labels[:40] = None
    table = compare(X, 9, ["cover", "kmeans", "swap"], target=target, kernel=kernel, labels=labels)
    covering = ProtoSwap(9, kernel=kernel, objective=Coverage(), random_state=0).fit(X, target=target).result_
    seed = int(np.random.default_rng(0).integers(2**31))
    centres = KMeans(9, n_init=1, random_state=seed).fit(match).cluster_centers_
    matching = ProtoSwap(9, kernel=kernel, random_state=0).fit(X, target=target).result_
    for row, chosen in zip(
        table.rows, [covering.indices, cdist(centres, X).argmin(axis=1), matching.indices], strict=True
    ):
        assert row["kept"] == len(set(chosen))
        assert row["covered"] == pytest.approx(kernel(X[chosen], match).max(axis=0).mean(), rel=1e-9)
        known = [i for i in chosen if i >= 40]
        others = np.setdiff1d(np.arange(40, len(X)), known)
        nearest = np.array(known)[cdist(X[others], X[known]).argmin(axis=1)]
        assert row["accuracy"] == pytest.approx((labels[nearest] == labels[others]).mean(), rel=1e-9)
    assert table["own_residual"][0] >= table["residual"][0] - 1e-12
    assert table["covered"][0] >= table["covered"][2]
    assert "accuracy" not in compare(X, 3, ["cover"], kernel=kernel).columns


def test_a_selector_that_covers_can_be_compared(X):
    named, given = compare(X, 6, ["cover", ProtoSwap(6, objective=Coverage())], kernel=Gaussian(2.0)).rows
    assert {**named, "method": 0, "seconds": 0, "seconds_with_mean": 0} == {
        **given, "method": 0, "seconds": 0, "seconds_with_mean": 0
    }  # fmt: skip


def test_random_rows_are_the_mean_over_draws(X):
    """With as many draws as it takes the mean is that of all choices of one row."""
    table = compare(X[:12], 1, "random", kernel=Gaussian(2.0), draws=600)
    K = oracles.gaussian(X[:12], X[:12], 2.0)
    every = K.mean(axis=1) ** 2 / 2
    # 600 draws: six standard errors
    assert table["objective"][0] == pytest.approx(every.mean(), abs=6 * every.std() / np.sqrt(600))
    assert table["kept"].tolist() == [1]


def test_a_selector_is_run_as_it_is_and_left_alone(X):
    given = ProtoStream(7, epsilon=0.2, random_state=3)
    before = given.get_params()
    table = compare(X, 9, ["stream", given], kernel=Gaussian(2.0))
    assert given.get_params() == before
    assert not given.__sklearn_is_fitted__()
    assert table["method"][1] == repr(given)
    by_hand = clone(given).set_params(kernel=Gaussian(2.0)).fit(X).result_
    assert table["kept"][1] == len(by_hand)
    assert table["own_residual"][1] == pytest.approx(by_hand.residual, rel=1e-9)


def test_a_kernel_or_mean_of_ones_own_chooses_but_does_not_score(X):
    narrow = ProtoStream(9, kernel=Gaussian(0.7), random_state=0)
    sampled = ProtoStream(9, mean=ReservoirMean(40), random_state=0)
    table = compare(X, 9, [narrow, sampled], kernel=Gaussian(2.0))
    for row, selector in zip(table.rows, (narrow, sampled), strict=True):
        kernel = selector.kernel or Gaussian(2.0)
        result = clone(selector).set_params(kernel=kernel).fit(X).result_
        best, own, _ = scores(X, result.rows, result.weights)
        assert row["residual"] == pytest.approx(best, rel=1e-6)
        assert row["own_residual"] == pytest.approx(own, rel=1e-6)


def test_another_seed_prepares_rows_another_way_and_is_scored_the_same():
    """Above 1,000 rows the Gaussian's shift follows the seed: blocks then are not those the comparison knows."""
    X = np.random.default_rng(0).normal(size=(1500, 3)) + 50
    given = ProtoStream(9, random_state=7)
    table = compare(X, 9, [given], kernel=Gaussian(1.0), random_state=0)
    by_hand = clone(given).set_params(kernel=Gaussian(1.0)).fit(X).result_
    assert table["own_residual"][0] == pytest.approx(by_hand.residual, rel=1e-9)


def test_the_mean_is_computed_once(X, monkeypatch):
    from protosieve.means import FixedMean

    at, seen = FixedMean.at, []

    def counted(self, points):
        seen.append(len(points))
        return at(self, points)

    monkeypatch.setattr(FixedMean, "at", counted)
    table = compare(X, 9, ["stream", "basic", "streak"], kernel=Gaussian(2.0))
    assert seen.count(len(X)) == 1
    assert max(n for n in seen if n != len(X)) <= 9
    assert table.mean_seconds > 0
    assert (table["seconds_with_mean"] > table["seconds"]).all()


def test_a_large_target_is_sampled(X, monkeypatch):
    exact = compare(X, 9, ["stream"], kernel=Gaussian(2.0))
    for mean, judges in ((ReservoirMean(100), 100), (CalibratedMean(sample=200, points=10), 40)):
        table = compare(X, 9, ["stream"], kernel=Gaussian(2.0), mean=mean)
        assert f"mean by a sample, judged by {judges} rows" in table.title
        assert table["residual"] == pytest.approx(exact["residual"], abs=0.1)
    monkeypatch.setattr("protosieve._compare.default_mean", lambda target, m: ReservoirMean(len(target) // 3))
    assert "mean by a sample, judged by 100 rows" in compare(X, 9, ["stream"]).title


def test_peak_memory_is_measured_on_request(X):
    assert "peak_mb" not in compare(X, 3, ["basic"]).columns
    table = compare(np.tile(X, (20, 1)), 3, ["basic", "random"], mean=ExactMean(), draws=1, memory=True)
    assert (table["peak_mb"] > 0).all()
    assert not tracemalloc.is_tracing()


def test_same_seed_same_table(X):
    one, two = (compare(X, 5, ["stream", "random"], draws=3) for _ in range(2))
    assert one["residual"].tolist() == two["residual"].tolist()
    loose = compare(X, 5, ["stream", "random"], random_state=None, draws=3)
    assert np.isfinite(loose["residual"]).all()


def test_the_table_prints_and_exports(X):
    table = compare(X, 5, ["stream", ProtoBasic(4)], kernel=Gaussian(2.0))
    first, head, *lines = str(table).splitlines()
    assert first == table.title
    assert head.split() == list(table.columns)
    assert len(lines) == 2
    assert lines[1].startswith("ProtoBasic(n_prototypes=4)")
    marked = table.to_markdown().splitlines()
    assert len(marked) == 4
    assert len({line.count("|") for line in marked}) == 1
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == list(table.columns) == list(table.rows[0])
    assert frame["residual"].tolist() == [row["residual"] for row in table.rows]
    with pytest.raises(ValueError, match="read-only"):
        table["residual"][0] = 1.0


def test_without_pandas_the_error_says_what_to_do(X, monkeypatch):
    table, real = compare(X, 5, ["basic"]), builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError("no pandas")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"to_pandas needs pandas, .* or use \.rows or \.columns"):
        table.to_pandas()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"methods": ["stream", "dash!"]}, ParameterError, r"methods\[1\] is 'dash!', .* basic, .*random.*stream"),
        ({"methods": [ProtoStream]}, ParameterError, r"methods\[0\] is <class"),
        ({"methods": []}, ParameterError, "methods is empty; name some of basic"),
        ({"labels": [1, 2]}, InputError, "labels has 2 values and X 300 rows; give one for each row"),
        ({"labels": [None] * 300}, InputError, "labels names no label; give those of some rows, or leave it out"),
        ({"n_prototypes": 0}, ParameterError, "compare: n_prototypes must be a whole number of at least 1, got 0"),
        ({"draws": 0}, ParameterError, "compare: draws must be"),
        ({"mean": "exact"}, ParameterError, "compare: mean must be a mean of protosieve.means or None, got 'exact'"),
        ({"kernel": "rbf"}, ParameterError, "kernel must be a kernel of protosieve.kernels"),
        ({"random_state": "x"}, ParameterError, "random_state must be None"),
        ({"X": np.ones((0, 4))}, InputError, "a minimum of 1 is required"),
        ({"X": np.full((2, 4), np.nan)}, InputError, "X: row 0, column 0 is NaN"),
        ({"target": np.ones((3, 2))}, InputError, "target has 2 columns and X has 4"),
        ({"target": np.ones((0, 4))}, InputError, "target has no rows"),
        ({"target": np.ones((3, 4)), "mean": ExactMean(np.ones((3, 4)))}, InputError, "there are two targets"),
    ],
)
def test_bad_input_is_one_clear_error(X, options, error, match):
    with pytest.raises(error, match=match):
        compare(**{"X": X, "methods": ["basic"], **options})


def test_kernels_that_can_be_negative_are_compared_in_float64(X):
    rows = (np.abs(X) + 1).astype(np.float32)
    table = compare(rows, 3, ["basic", "random"], kernel=Linear(), draws=2)
    assert (table["residual"] < 0.5).all()


def test_more_prototypes_than_rows(X):
    table = compare(X[:4], 9, ["random", "basic"], kernel=Gaussian(2.0), draws=2)
    assert table["kept"].tolist() == [4, 4]
    assert table["residual"] == pytest.approx(0, abs=1e-9)
