"""The curve of residual against the number of prototypes, without the data it was judged by."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import protosieve
from protosieve import MMDCritic, ProtoBasic, ProtoDash, ProtoStream, ProtoSwap, SieveStreaming, Streak
from protosieve.insight import ResidualCurve, ResultWithData, curve_of, quality_of
from protosieve.insight._residual_curve import curve_sentence, residual_curve
from protosieve.insight._sample_judge import SampleJudge
from protosieve.kernels import Gaussian, Linear
from protosieve.objectives import LeastSquares
from report_runs import run, with_source
from volumes import volume


def clouds(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, d))[rng.integers(6, size=n)] * 3 + rng.normal(size=(n, d))


@pytest.mark.parametrize("selector", [ProtoSwap, ProtoStream, ProtoBasic, ProtoDash, Streak])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_last_point_is_what_the_result_leaves(selector, dtype):
    result = selector(n_prototypes=25).fit(clouds().astype(dtype)).result_
    curve = residual_curve(result)
    assert curve.count[-1] == len(result)
    assert curve.residual[-1] == pytest.approx(result.residual, rel=1e-6, abs=1e-9)
    assert curve.by_result


@settings(max_examples=volume(10, 25), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.7, 2.0, 6.0]))
def test_it_is_that_of_a_literal_greedy_choice(seed, m, width):
    X = clouds(60, 3, seed)
    result = ProtoSwap(n_prototypes=m, kernel=Gaussian(width)).fit(X).result_
    used = result.weights > 0
    rows = result.rows[used]
    K, mu = oracles.gaussian(rows, rows, width), oracles.gaussian(rows, X, width).mean(axis=1)
    bound = oracles.gaussian(X, X, width).mean() / 2
    found = residual_curve(result)
    assert found.residual[: used.sum()] == pytest.approx(oracles.greedy_curve(K, mu, bound), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("options", [{"sample": 200}, {"method": "stream"}, {"sample": 200, "target": True}])
def test_so_it_is_of_runs_over_files(tmp_path, options):
    rows = clouds(1500, 3)
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "target.npy", rows[:600] / 2)
    if "target" in options:
        options = {**options, "target": tmp_path / "target.npy"}
    result = protosieve.select(tmp_path / "rows.npy", 20, **options)
    assert residual_curve(result).residual[-1] == pytest.approx(result.residual, rel=1e-6, abs=1e-9)


def of_another_mean(result):
    """As runs of earlier versions could end: chosen by a sample, and weighed by all rows."""
    known = {**result.provenance, "parameters": {**result.provenance["parameters"], "exact_weights": True}}
    return with_source(result, provenance=known)


def test_weights_of_another_mean_need_the_data(tmp_path):
    np.save(tmp_path / "rows.npy", clouds(1500, 3))
    result = protosieve.select(tmp_path / "rows.npy", 20)
    assert residual_curve(result).by_result
    for other in (of_another_mean(result), replace(result, weights=1.01 * result.weights)):
        assert "The weights are those of another mean" in residual_curve(other)


def test_random_rows_on_the_curve_are_judged_as_the_curve_is(tmp_path):
    result = of_another_mean(run(tmp_path, {f"x{i}": column for i, column in enumerate(clouds().T)}, m=8))
    subject = ResultWithData.of(result)
    curve = curve_of(subject)
    assert not curve.by_result
    rows = result.sample.rows
    judge = SampleJudge.of(result.kernel, rows)
    assert curve.random == pytest.approx(judge.residual_of_random(rows, 8), rel=1e-4)
    assert curve.own == pytest.approx(judge.residual(result.rows, result.weights), rel=1e-4)
    found = quality_of(subject, None)
    assert found.own == result.residual
    assert found.random == pytest.approx(result.provenance["residual_of_random_rows"], rel=1e-4)
    of_target = with_source(result, sample=replace(result.sample, is_target=True))
    assert curve_of(ResultWithData.of(of_target)).random is None


def test_it_never_rises():
    curve = residual_curve(ProtoSwap(n_prototypes=60).fit(clouds()).result_)
    assert (np.diff(curve.residual) <= 1e-12).all()


@pytest.mark.parametrize("selector", [MMDCritic, SieveStreaming])
def test_equal_weights_need_the_data(selector):
    X = clouds()
    result = selector(n_prototypes=10).fit(X).result_
    assert "All weigh the same" in residual_curve(result)
    judge = SampleJudge.of(result.kernel, X)
    curve = residual_curve(result, judge)
    assert not curve.by_result
    assert curve.residual[-1] <= result.residual + 1e-12
    assert judge.residual(result.rows, result.weights) == pytest.approx(result.residual, rel=1e-9)


def test_other_objectives_have_none():
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(20, 50)), rng.normal(size=50)
    result = ProtoDash(n_prototypes=3, objective=LeastSquares(y, signed=True)).fit(features).result_
    assert "another objective" in residual_curve(result)


def test_beyond_five_hundred_the_last_point_is_that_of_all():
    result = ProtoDash(n_prototypes=600, kernel=Gaussian(0.3)).fit(clouds(700, 8)).result_
    curve = residual_curve(result)
    assert len(curve.count) <= 202
    assert curve.count[-1] == len(result)
    assert curve.residual[-1] == pytest.approx(result.residual, abs=1e-9)


def test_members_without_weight_come_last():
    result = ProtoBasic(n_prototypes=30).fit(clouds()).result_
    assert (result.weights == 0).any()
    curve = residual_curve(result)
    assert curve.count[-2:] == [int((result.weights > 0).sum()), 30]
    assert curve.residual[-1] == curve.residual[-2]


def test_members_without_weight_do_not_count():
    result = ProtoBasic(n_prototypes=30).fit(clouds()).result_
    used = int((result.weights > 0).sum())
    assert used < 30
    said = curve_sentence(residual_curve(result))
    assert "Each of them counts" not in said
    assert f"Each of the {used} that weigh something counts." in said or "fewer would have done" in said
    curve = ResidualCurve([1, 2, 3, 4, 5], [0.5, 0.3, 0.2, 0.1, 0.1], idle=1)
    assert curve_sentence(curve).endswith("Each of the 4 that weigh something counts.")


def test_kernels_that_can_be_negative_have_a_curve_too():
    result = ProtoSwap(n_prototypes=4, kernel=Linear()).fit(np.abs(clouds())).result_
    assert residual_curve(result).residual[-1] == pytest.approx(result.residual, abs=1e-6)


def test_the_sentence_says_whether_fewer_would_have_done():
    assert "Each of them counts" in curve_sentence(ResidualCurve([1, 2, 3, 4], [0.5, 0.3, 0.2, 0.1]))
    assert "2 would carry 90.0 %, nearly as much" in curve_sentence(ResidualCurve([1, 2, 3, 4], [0.5, 0.1, 0.1, 0.1]))
    left = curve_sentence(ResidualCurve([1, 2, 3, 4], [0.7, 0.66, 0.6, 0.57]), covers=True)
    assert left.endswith("with all 4 it is 43.0 %. Each of them counts.")
    assert curve_sentence(ResidualCurve([1], [0.25])) == "One prototype carries 75.0 %."
