"""Drift: against sums over all rows, on streams that change and on streams that do not."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protosieve import Drift, InputError, ParameterError, ProtoSwap, StateFileError
from protosieve._drift import _level
from protosieve.kernels import Gaussian
from volumes import volume

FIGURES = ("mmd_", "threshold_", "is_drifting_", "alarms_", "n_samples_seen_")


def rows(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def figures(drift):
    return [getattr(drift, name) for name in FIGURES] + drift.shifts_.tolist()


def similar(kernel, one, other):
    return kernel.block(kernel.prepare(one), kernel.prepare(other))


@pytest.mark.parametrize("reference", [None, 3000])
def test_a_drift_is_what_sums_over_all_weighted_rows_say(reference):
    X = rows(10_240)
    X[9000:] += 0.3
    drift = Drift(half_life=700, reference=reference, kernel=Gaussian(2.0), random_state=0).partial_fit(X)
    watched = drift._saved.watched
    ages = np.arange(len(X))[::-1]
    w, v = 2.0 ** (-ages / 700), np.ones(len(X)) if reference is None else 2.0 ** (-ages / reference)
    a = w / w.sum() - v / v.sum()
    K, own = similar(watched.kernel, watched.points, X), similar(watched.kernel, watched.points, watched.points)
    squared = (K @ a) @ np.linalg.solve(own, K @ a)
    assert watched.squared() == pytest.approx(squared, rel=1e-6)
    assert watched.noise() == pytest.approx(a @ a, rel=1e-6)
    chance = a @ a * watched.eigenvalues.sum()
    assert drift.mmd_ == pytest.approx(np.sqrt(max(squared - chance, 0)), rel=1e-5)
    assert drift.threshold_ == pytest.approx(np.sqrt(a @ a * watched.level - chance), rel=1e-5)
    past = v @ X / v.sum()
    spread = np.sqrt(v @ (X - past) ** 2 / v.sum())
    np.testing.assert_allclose(drift.shifts_, (w @ X / w.sum() - past) / spread, rtol=1e-6)
    witness = np.linalg.solve(own, K @ a) @ similar(watched.kernel, watched.points, X[:50])
    np.testing.assert_allclose(drift.witness(X[:50]), witness, atol=1e-6)
    assert drift.is_drifting_
    assert drift.alarms_[-1].row in (9216, 9728)


def test_rows_to_be_like_count_once_each():
    X, reference = rows(3000) + 0.5, rows(2000, seed=1)
    drift = Drift(half_life=700, reference=reference, random_state=0).partial_fit(X)
    n = 3000 // 512 * 512
    w = 2.0 ** (-np.arange(n)[::-1] / 700)
    assert drift._saved.watched.noise() == pytest.approx((w @ w) / w.sum() ** 2 + 1 / 2000)
    assert drift.is_drifting_
    assert drift.alarms_[0].row == 512
    assert not Drift(half_life=700, reference=reference, random_state=0).partial_fit(rows(5000, seed=2)).alarms_


@settings(max_examples=volume(5, 30))
@given(cuts=st.lists(st.integers(0, 12_000), max_size=6), narrow=st.booleans(), reference=st.sampled_from([None, 2000]))
def test_any_chunking_and_saving_give_the_same_bits(cuts, narrow, reference, tmp_path_factory):
    X = rows(12_000).astype(np.float32 if narrow else np.float64)
    X[10_500:] += 1
    options = {"half_life": 400, "reference": reference, "false_alarm_every": 50_000, "random_state": 3}
    whole, path = Drift(**options).partial_fit(X), tmp_path_factory.mktemp("state") / "drift.npz"
    parts = Drift(**options)
    for part in np.split(X, sorted(cuts)):
        parts.partial_fit(part)
        if parts.__sklearn_is_fitted__():
            assert len(figures(parts)) == 9  # looking changes nothing
            parts.save(path)
            parts = Drift.load(path)
    assert figures(parts) == figures(whole)
    assert len(whole.alarms_) == 1
    assert figures(Drift(**options).fit(X)) == figures(whole)


def test_false_alarms_are_as_rare_as_was_asked_for():
    """Of 20 streams of 100,000 rows, which cross the threshold once in 20,000: 96 are expected, give or take 10."""
    alarms = 0
    for seed in range(20):
        drift = Drift(half_life=500, false_alarm_every=20_000, random_state=0)
        alarms += len(drift.partial_fit(rows(100_000, 3, seed)).alarms_)
    assert 20 * 98_000 / 20_000 / 2 < alarms < 1.4 * 20 * 98_000 / 20_000


@pytest.mark.parametrize(("columns", "shift", "within"), [(1, 2.0, 2_000), (1, 0.5, 6_000), (4, 0.5, 3_000)])
def test_a_change_is_noticed_and_its_columns_are_told(columns, shift, within):
    X = rows(60_000, 8)
    X[40_000:, :columns] += shift
    told = []
    drift = Drift(half_life=5000, random_state=0, on_drift=lambda _, alarm: told.append(alarm))
    drift.partial_fit(X[:40_000])
    assert not drift.is_drifting_
    drift.partial_fit(X[40_000 : 40_000 + within])
    assert drift.is_drifting_
    assert told == list(drift.alarms_)
    assert drift.mmd_ > drift.threshold_
    assert drift.alarms_[0].mmd > drift.alarms_[0].threshold
    assert set(np.argsort(-drift.shifts_)[:columns]) == set(range(columns))


def test_a_reference_with_a_longer_half_life_gets_used_to_a_change():
    X = rows(80_000, 3)
    X[30_000:] += 1
    slow, whole = Drift(500, 5000, random_state=0), Drift(500, random_state=0)
    assert slow.partial_fit(X).alarms_[0].row < 31_000
    assert not slow.is_drifting_
    assert whole.partial_fit(X).is_drifting_


def test_prototypes_that_stand_for_what_is_new_are_told_by_the_witness():
    X = rows(30_000, 3)
    X[28_000:] = X[28_000:] / 3 + [3, 0, 0]
    found = ProtoSwap(20, half_life=2000, random_state=0).partial_fit(X).result_
    new = found.indices >= 28_000
    witness = Drift(2000, random_state=0).partial_fit(X).witness(found.rows)
    assert (witness[new] > 0).all()
    assert witness[new].min() > witness[~new].max()


def test_rarer_levels_are_higher():
    eigenvalues = np.array([1.0, 0.5, 0.1, 1e-9])
    levels = [_level(eigenvalues, 0.9, looks) for looks in (10, 100, 1000, 10_000, 1e6, 1e9)]
    assert all(np.diff(levels) > 0)
    assert levels[-1] < 60  # of a chi-squared variable with few degrees of freedom


def test_before_there_is_enough_nothing_is_said():
    drift = Drift(1000).partial_fit(rows(0)).partial_fit(pd.DataFrame(rows(5000), columns=list("abcd")))
    assert np.isnan([drift.mmd_, drift.threshold_, *drift.shifts_]).all()
    assert (drift.is_drifting_, drift.alarms_) == (False, ())
    with pytest.raises(InputError, match="feature names"):
        drift.partial_fit(pd.DataFrame(rows(5), columns=list("abce")))
    with pytest.raises(InputError, match="X has 3 features, but Drift is expecting 4"):
        Drift(1000).partial_fit(rows(5)).partial_fit(rows(5, 3))
    assert drift.n_samples_seen_ == 5000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"half_life": 50}, "Drift: half_life must be a whole number of at least 100, got 50"),
        ({"reference": 500, "half_life": 500}, "reference=500 is a half-life that must be longer than half_life=500"),
        (
            {"half_life": 100, "false_alarm_every": 0},
            "Drift: false_alarm_every must be a whole number of at least 1, got 0",
        ),
        ({"false_alarm_every": 15_000}, "false_alarm_every=15000 must be at least twice half_life=10000"),
        ({"reference": rows(9)}, "reference has 9 rows; give 512 or more"),
        ({"reference": rows(600, 3)}, "reference has 3 columns and X has 4; they must be the same columns"),
        ({"reference": np.ones((600, 4))}, "all of the 600 rows that tell what is normal are alike"),
    ],
)
def test_what_cannot_be_is_told(options, words):
    with pytest.raises((InputError, ParameterError), match=words):
        Drift(**options).partial_fit(rows(600))


def test_other_files_are_refused(tmp_path):
    ProtoSwap(2).partial_fit(rows(20)).save(tmp_path / "swap.npz")
    with pytest.raises(StateFileError, match="holds a Saved, and not a Drift"):
        Drift.load(tmp_path / "swap.npz")


def test_every_alarm_of_a_chunk_is_told_once_its_rows_are_counted():
    X, told = rows(60_000, 3), []
    for start in (20_000, 35_000, 50_000):
        X[start : start + 1500] += 3

    def note(drift, alarm):
        told.append((alarm, drift.n_samples_seen_))
        if len(told) == 2:
            raise RuntimeError("stop")

    drift = Drift(500, 5000, random_state=0, on_drift=note)
    with pytest.raises(RuntimeError, match="stop"):
        drift.partial_fit(X)
    assert drift.n_samples_seen_ == 60_000
    assert len(drift.alarms_) >= 3
    assert told == [(alarm, 60_000) for alarm in drift.alarms_[:2]]


def test_a_call_that_fails_leaves_everything_as_it_was():
    drift = Drift(1000, random_state=0).partial_fit(rows(9000))
    before = figures(drift)
    for call in (drift.fit, drift.partial_fit):
        with pytest.raises(InputError, match="NaN"):
            call(np.full((3, 4), np.nan))
    assert figures(drift) == before
    empty = Drift(1000, reference=rows(9))
    with pytest.raises(InputError, match="reference has 9 rows"):
        empty.partial_fit(rows(600))
    assert not hasattr(empty, "n_features_in_")


def test_calls_of_several_threads_take_turns():
    drift = Drift(1000, random_state=0)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda seed: drift.partial_fit(rows(67, seed=seed)), range(300)))
    assert drift.n_samples_seen_ == 300 * 67


def test_levels_of_long_half_lives_are_known_as_well():
    X, levels = rows(9000, 3), []
    for half_life in (10_000, 1_000_000, 100_000_000):
        made = Drift(half_life, false_alarm_every=100 * half_life, random_state=0).partial_fit(X)
        levels.append(made._saved.watched.level / made._saved.watched.eigenvalues.sum())
    assert 1.5 < min(levels) <= max(levels) < 1.2 * min(levels)


def test_a_longer_half_life_may_be_a_number_of_numpy():
    one, other = (Drift(500, kind(5000), random_state=0).partial_fit(rows(9000)) for kind in (int, np.int64))
    assert figures(one) == figures(other)
    assert Drift(500, np.int64(5000), random_state=np.int64(0)).partial_fit(rows(9000)).mmd_ == one.mmd_


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: setattr(saved.watched.past, "weight", -1.0),
        lambda saved: setattr(saved.watched, "eigenvalues", -saved.watched.eigenvalues),
        lambda saved: setattr(saved, "n_seen", 3),
        lambda saved: setattr(saved, "feature_names", ["x"]),
        lambda saved: setattr(saved.watched, "alarms", [[1.0, 2.0]]),
    ],
)
def test_forged_files_are_refused(change, tmp_path):
    drift = Drift(500, random_state=0).partial_fit(rows(9000))
    change(drift._saved)
    drift.save(tmp_path / "drift.npz")
    with pytest.raises(StateFileError, match=r"drift.npz"):
        Drift.load(tmp_path / "drift.npz")
