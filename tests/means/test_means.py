"""Means against plain averages."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import oracles
from protosieve import InputError, ParameterError, ProtoStream, ProtoSwap, Streak
from protosieve.kernels import Gaussian, Laplacian, Linear
from protosieve.means import (
    CalibratedMean,
    ExactMean,
    FixedMean,
    PointSums,
    ReservoirMean,
    calibrated,
    candidates_of,
    points_for,
    sample_for,
)
from protosieve.means._calibrated import sums_over
from protosieve.sampling import UniformSample

rng = np.random.default_rng(0)
rows = rng.normal(size=(2500, 3))
kernel = Gaussian(1.5)
points = kernel.prepare(rows[:40])


def test_the_exact_mean_is_the_average_similarity_to_the_target():
    mean = ExactMean().begin(kernel, rows, rows, rng, 10)
    np.testing.assert_allclose(mean.at(points), oracles.gaussian(rows[:40], rows, 1.5).mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("step", [1, 100, 1024, 9999])
def test_the_squared_norm_is_the_mean_of_the_mean(step):
    mean = ExactMean().begin(kernel, rows, rows, rng, 10)
    assert mean.squared_norm(step) == pytest.approx(oracles.gaussian(rows, rows, 1.5).mean(), rel=1e-12)


def test_float32_rows_can_be_asked_in_float64():
    single = rows.astype(np.float32)
    mean = ExactMean().begin(kernel, single, single, rng, 10)
    exact = oracles.gaussian(single[:40].astype(float), single.astype(float), 1.5).mean(axis=1)
    np.testing.assert_allclose(mean.at(kernel.prepare(single[:40])), exact, rtol=1e-5)
    np.testing.assert_allclose(mean.at(kernel.prepare(single[:40].astype(float))), exact, rtol=1e-12)


def test_a_sample_of_the_target_is_drawn_once_without_repeats():
    mean = ReservoirMean(size=500).begin(kernel, rows, rows, np.random.default_rng(1), 10)
    assert isinstance(mean, FixedMean)
    assert len(np.unique(mean.rows, axis=0)) == 500
    whole = ReservoirMean(size=5000).begin(kernel, rows, rows, np.random.default_rng(1), 10)
    np.testing.assert_array_equal(whole.rows, rows)


def test_its_own_seed_overrides_the_selectors():
    draws = [
        ReservoirMean(size=5, random_state=own).begin(kernel, rows, rows, np.random.default_rng(seed), 10).rows
        for own, seed in [(1, 1), (1, 2), (None, 1), (None, 2)]
    ]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[2], draws[3])


def test_the_running_mean_is_one_target_between_refreshes():
    mean = ReservoirMean(100).begin(kernel, None, rows[:50], np.random.default_rng(0), 10)
    np.testing.assert_allclose(mean.at(points), oracles.gaussian(rows[:40], rows[:50], 1.5).mean(axis=1), rtol=1e-12)
    mean.observe(rows[:1000], np.arange(1000), None)
    assert mean.rows_ahead() <= 0
    assert mean.refresh()
    before = mean.at(points)
    mean.observe(rows[1000:1050], np.arange(1000, 1050), None)
    assert mean.rows_ahead() == 50
    np.testing.assert_array_equal(mean.at(points), before)
    mean.observe(rows[1050:], np.arange(1050, len(rows)), None)
    assert mean.rows_ahead() <= 0
    assert mean.refresh()
    assert not np.array_equal(mean.at(points), before)
    assert not mean.refresh()
    expected = oracles.gaussian(rows[:40], mean.sample.settled().rows, 1.5).mean(axis=1)
    np.testing.assert_allclose(mean.at(points), expected, rtol=1e-12)


def test_following_the_stream_ends_with_the_mean_of_the_final_sample(X):
    """A reservoir as large as the stream is the stream: weights must be those of the exact mean."""
    selector = ProtoStream(10, kernel=Gaussian(2.0), mean=ReservoirMean(size=1000), block_size=16, random_state=0)
    result = selector.partial_fit(X).result_
    K = oracles.gaussian(result.rows, result.rows, 2.0)
    mu = oracles.gaussian(result.rows, X, 2.0).mean(axis=1)
    np.testing.assert_allclose(result.weights, oracles.solve(K, mu), atol=1e-8)
    bound = oracles.gaussian(X, X, 2.0).mean()
    assert result.mmd**2 == pytest.approx(bound - 2 * oracles.value(K, mu, result.weights), rel=1e-6)


@pytest.mark.parametrize("selector", [ProtoStream, Streak])
def test_thresholds_follow_a_target_that_moves(selector):
    """After a head of nearly equal rows no single row is as typical again: the window has to come down."""
    generator = np.random.default_rng(0)
    head = generator.normal(scale=0.05, size=(600, 3))
    body = generator.normal(scale=4, size=(20, 3))[generator.integers(20, size=3000)] + generator.normal(size=(3000, 3))
    fed = selector(30, kernel=Gaussian(1.0), random_state=0).partial_fit(np.concatenate([head, body]))
    known = selector(30, kernel=Gaussian(1.0)).fit(np.concatenate([head, body]))
    assert len(fed.weights_) >= 0.8 * len(known.weights_)
    fed._stream.progress._check(30)


def test_an_exact_mean_cannot_follow_the_stream(X):
    with pytest.raises(InputError, match="ExactMean needs its target before the stream starts"):
        ProtoStream(mean=ExactMean()).partial_fit(X)


def test_a_target_in_the_mean_is_the_target_of_the_call(X):
    one = ProtoStream(5, mean=ExactMean(X[:50]), random_state=0).fit(X)
    two = ProtoStream(5, random_state=0).fit(X, target=X[:50])
    np.testing.assert_array_equal(one.weights_, two.weights_)
    with pytest.raises(InputError, match="there are two targets"):
        ProtoStream(mean=ExactMean(X)).fit(X, target=X)


@pytest.mark.parametrize("size", [0, -3, 2.5, "big"])
def test_a_reservoir_has_at_least_one_row(size):
    with pytest.raises(ParameterError, match="ReservoirMean: size must be a whole number of at least 1"):
        ReservoirMean(size=size)


@pytest.mark.parametrize("seed", [-1, "x", 0.5])
def test_a_reservoirs_seed_is_a_number(seed):
    with pytest.raises(ParameterError, match="ReservoirMean: random_state must be None or a whole number"):
        ReservoirMean(random_state=seed)


def _calibrated(X, sample=500, points=40, seed=0):
    return CalibratedMean(sample, points, random_state=seed).begin(kernel, X, X, rng, 10)


def test_at_its_points_a_calibrated_mean_is_that_of_all_rows():
    mean = _calibrated(rows)
    exact = oracles.gaussian(mean.points, rows, 1.5).mean(axis=1)
    at_points = kernel.prepare(mean.points)
    np.testing.assert_allclose(mean.at(at_points), exact, rtol=1e-9)
    np.testing.assert_allclose(mean.exactly_at(at_points), exact, rtol=1e-9)
    assert (len(mean.points), len(mean.sample), len(mean.held_out)) == (40, 400, 100)


def test_elsewhere_it_is_the_projection_and_the_corrected_sample():
    mean, everywhere = _calibrated(rows), kernel.prepare(rows)
    twin = oracles.Calibrated(lambda A, B: oracles.gaussian(A, B, 1.5), mean.points, rows, mean.rest)
    np.testing.assert_allclose(mean.at(everywhere), twin.quick(rows), rtol=1e-7)
    np.testing.assert_allclose(mean.exactly_at(everywhere), twin.full(rows), rtol=1e-7)
    np.testing.assert_allclose(mean.at_candidates(mean.sample), twin.full(mean.sample), rtol=1e-7)


def test_few_prototypes_are_judged_by_few_rows_of_the_sample():
    mean = replace(_calibrated(rows), judging=100)
    twin = oracles.Calibrated(lambda A, B: oracles.gaussian(A, B, 1.5), mean.points, rows, mean.rest[:100])
    np.testing.assert_allclose(mean.at_candidates(mean.sample), twin.full(mean.sample), rtol=1e-7)
    np.testing.assert_allclose(mean.at_candidates(rows), twin.full(rows), rtol=1e-7)


def test_it_is_nearer_to_the_mean_of_all_rows_than_its_sample_is():
    K = oracles.gaussian(rows, rows, 1.5)
    exact, off = K.mean(axis=1), []
    for seed in range(10):
        mean = _calibrated(rows, seed=seed)
        by_sample = oracles.gaussian(rows, mean.rest, 1.5).mean(axis=1)
        full, quick = (each(kernel.prepare(rows)) for each in (mean.exactly_at, mean.at))
        off.append([np.abs(found - exact).mean() for found in (full, quick, by_sample)])
    full, quick, by_sample = np.mean(off, axis=0)
    assert full < quick
    assert full < 0.2 * by_sample


def test_a_sample_of_all_rows_is_exact():
    mean = _calibrated(rows, sample=5000)
    exact = oracles.gaussian(rows, rows, 1.5).mean(axis=1)
    np.testing.assert_allclose(mean.exactly_at(kernel.prepare(rows)), exact, rtol=1e-12)
    np.testing.assert_allclose(mean.at_candidates(mean.sample), oracles.gaussian(mean.sample, rows, 1.5).mean(axis=1))
    assert mean.squared_norm(64) == pytest.approx(exact.mean(), rel=1e-12)
    assert mean.sampled() is None


def test_parts_of_a_target_merge_to_the_mean_of_the_whole():
    whole = _calibrated(rows)
    parts = [np.arange(700), np.arange(700, len(rows))]
    at = kernel.prepare(whole.points)
    sums = sum(sums_over(kernel, rows[part], at) for part in parts)
    np.testing.assert_allclose(sums / len(rows), whole.at_points, rtol=1e-12)
    samples = [UniformSample.empty(500, rows, whole.seed(500)) for _ in parts]
    for sample, part in zip(samples, parts, strict=True):
        sample.observe(rows[part], part)
    samples[1].merge(samples[0])
    np.testing.assert_array_equal(samples[1].settled().rows, np.concatenate([whole.sample, whole.held_out]))


@pytest.mark.parametrize("order", ["as they come", "sorted"])
def test_along_a_stream_it_stays_near_the_mean_of_all_rows_seen(order):
    X = rows if order == "as they come" else rows[np.argsort(rows[:, 0])]
    mean = CalibratedMean(500, 60).begin(kernel, None, X[:50], np.random.default_rng(0), 10)
    for first in range(0, len(X), 50):
        if mean.rows_ahead() <= 0:
            assert mean.refresh()
        block = X[first : first + 50]
        at = mean.at(points)
        _, sums = mean.meet(kernel.prepare(block))
        np.testing.assert_allclose(sums, oracles.gaussian(mean.points, block, 1.5).sum(axis=1))
        mean.observe(block, np.arange(first, first + 50), sums)
        np.testing.assert_array_equal(mean.at(points), at)  # adopted later
        seen = X[: first + 50]
        exact = oracles.gaussian(mean.points, seen, 1.5).sum(axis=1)
        np.testing.assert_allclose(mean.sums, exact, rtol=1e-9 if len(seen) <= 500 else 0.05)
    assert mean.refresh()
    assert not mean.refresh()
    exact = oracles.gaussian(X, X, 1.5).mean(axis=1)
    by_sample = oracles.gaussian(X, mean.sample.settled().rows, 1.5).mean(axis=1)
    full = mean.exactly_at(kernel.prepare(X))
    assert np.abs(full - exact).mean() < 0.5 * np.abs(by_sample - exact).mean()
    assert mean.judged_norm(64) == pytest.approx(exact.mean(), rel=0.02)


def test_points_follow_the_number_of_prototypes():
    assert [points_for(m) for m in (10, 300, 5000)] == [1024, 1200, 3072]
    assert [sample_for(m, 2) for m in (10, 100, 5000)] == [10_240, 32_000, 40_960]
    assert [sample_for(1000, d) for d in (1024, 4096, 10**6)] == [40_960, 10_240, 5_120]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sample": 0}, "CalibratedMean: sample must be a whole number of at least 10, got 0"),
        ({"points": 2.5}, "CalibratedMean: points must be a whole number of at least 1, got 2.5"),
        ({"random_state": -1}, "CalibratedMean: random_state must be None or a whole number of at least 0, got -1"),
    ],
)
def test_a_calibrated_means_parameters_are_checked(options, match):
    with pytest.raises(ParameterError, match=match):
        CalibratedMean(**options)


def test_the_mean_is_exact_where_that_is_cheaper():
    small, large = np.zeros((10_000, 2)), np.zeros((60_000, 2))
    for selector in (ProtoStream(), ProtoSwap(candidates="all")):
        assert selector._mean(small) == ExactMean()
        assert selector._mean(large) == CalibratedMean()
        assert selector._mean(None) == CalibratedMean()
    assert ProtoStream(1000)._mean(np.zeros((40_000, 2))) == ExactMean()  # more points and a larger sample cost more
    assert ProtoStream(100)._mean(np.zeros((40_000, 2))) == CalibratedMean()
    assert ProtoSwap()._mean(np.zeros((8000, 2))) == ExactMean()
    assert ProtoSwap()._mean(small) == CalibratedMean()  # whose sample holds all rows: as exact, each pair once


@pytest.mark.thorough
def test_letters_by_512_points_is_as_good_as_all_of_it(letters):
    options = {"kernel": Gaussian(5.0), "random_state": 0}
    exact = ProtoSwap(150, **options).fit(letters).result_
    quick = ProtoSwap(150, mean=CalibratedMean(points=512), **options).fit(letters).result_
    assert quick.certificate.upper_bound == pytest.approx(exact.certificate.upper_bound, rel=1e-5)
    assert quick.residual <= 1.02 * exact.residual
    half = ProtoSwap(150, mean=CalibratedMean(8000, points=512), **options).fit(letters).result_
    true = oracles.residual(half.kernel, letters, half.rows, half.weights)
    assert true <= 1.1 * exact.residual
    assert half.residual == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("three columns", np.float64),
        ("heavy tails", np.float32),
        ("few kinds", np.float32),
        pytest.param("three columns", np.float32, marks=pytest.mark.thorough),
        pytest.param("heavy tails", np.float64, marks=pytest.mark.thorough),
        pytest.param("few kinds", np.float64, marks=pytest.mark.thorough),
    ],
)
def test_what_is_claimed_of_a_stream_is_true_of_all_rows(kind, dtype):
    """Few columns and far rows make the points' matrix all but singular; all pairs of rows tell the truth."""
    rng = np.random.default_rng(0)
    made = {
        "three columns": lambda: rng.normal(size=(9000, 3)),
        "heavy tails": lambda: np.exp(3 * rng.normal(size=(6000, 6))),
        "few kinds": lambda: rng.normal(size=(40, 3))[rng.integers(40, size=6000)],
    }
    X = made[kind]().astype(dtype)
    found = ProtoSwap(20, mean=CalibratedMean(2500, 256), random_state=0).partial_fit(X).result_
    true = oracles.residual(found.kernel, X, found.rows, found.weights)
    assert abs(found.residual - true) < 4 * found.certificate.standard_error + 0.03 * true


def test_a_function_that_is_no_kernel_is_called_so():
    apart = lambda A, B: np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=-1))  # noqa: E731
    with pytest.raises(InputError, match=r"is no kernel: .* A distance d becomes a kernel as exp"):
        ProtoSwap(5, kernel=apart, random_state=0).partial_fit(rows[:600])


KERNELS = {
    Gaussian(1.5): lambda A, B: oracles.gaussian(A, B, 1.5),
    Laplacian(4.0): lambda A, B: np.exp(-cdist(A, B, "cityblock") / 4),
    Linear(): lambda A, B: A @ B.T,
}
LOOSE = {np.float32: 1e-4, np.float64: 1e-11}  # some hundred terms, each off by some roundings of numbers up to ten


def drawn(seed, dtype=np.float64):
    """Rows of a few columns, some of them copies; and a generator for the rest."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(rng.integers(12, 300), rng.integers(1, 6)))
    X[rng.integers(len(X), size=len(X) // 20)] = X[0]
    return X.astype(dtype), rng


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(KERNELS)), st.sampled_from(list(LOOSE)))
def test_rows_are_added_up_at_the_points_block_by_block(seed, kernel, dtype):
    (X, rng), plain = drawn(seed, dtype), KERNELS[kernel]
    sample, n_points = X[: rng.integers(1, len(X) + 1)], int(rng.integers(1, 50))
    state, sums, exact = PointSums.by(kernel, sample, n_points), 0.0, X.astype(float)
    points = exact[: min(n_points, len(sample))]
    np.testing.assert_array_equal(state.points, points)
    for part in np.split(np.arange(len(X)), np.sort(rng.integers(len(X), size=3))):
        mu, found = state.meet(kernel.prepare(X[part]))
        near = plain(exact[part], points)
        assert (np.abs(mu - near @ state.weights) <= LOOSE[dtype] * (np.abs(near) @ np.abs(state.weights))).all()
        sums = sums + found
    near = plain(points, exact)
    assert (np.abs(sums - near.sum(axis=1)) <= LOOSE[dtype] * np.abs(near).sum(axis=1)).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(KERNELS)))
def test_until_all_rows_are_added_up_the_points_agree_with_the_sample(seed, kernel):
    """At the points themselves: ``(K + r) v = c``, so ``K v`` is off by ``r v``, with r about 1e-12 of the diagonal."""
    (X, rng), plain = drawn(seed), KERNELS[kernel]
    state = PointSums.by(kernel, X, int(rng.integers(1, 50)))
    found, exact = state.at(kernel.prepare(state.points)), plain(state.points, X).mean(axis=1)
    size = np.abs(state.weights).sum() * np.abs(plain(state.points, state.points)).max()
    assert np.abs(found - exact).max() <= 1e-11 * max(size, 1)


@given(st.integers(0, 2**32 - 1), st.sampled_from([k for k in KERNELS if k != Linear()]), st.booleans())
def test_sums_of_all_rows_and_a_sample_make_the_calibrated_mean(seed, kernel, is_whole):
    """Of the formulas, every pair compared; and where the sample is whole, the mean itself.

    The ridge r of the points' matrix moves weights v by ``r K^-1 v``: by 1e-12 / 1e-3 of them, where no direction of
    the points is shorter than that.
    """
    (X, rng), plain = drawn(seed), KERNELS[kernel]
    size = len(X) + int(rng.integers(9)) if is_whole else int(rng.integers(10, len(X)))
    sample = UniformSample.empty(size, X, seed)
    sample.observe(X, np.arange(len(X)))
    candidates = candidates_of(sample).rows
    points = candidates[: rng.integers(1, min(len(candidates), 40))]
    assume(np.linalg.eigvalsh(plain(points, points))[0] > 1e-3)
    mean = calibrated(kernel, sample, plain(points, X).sum(axis=1), int(rng.integers(1, 200)))
    at_points, prepared = plain(points, X).mean(axis=1), kernel.prepare(X)
    scale = 1e-8 * max(np.abs(mean.quick.weights).sum(), 1)
    np.testing.assert_allclose(mean.at(kernel.prepare(points)), at_points, rtol=0, atol=scale)
    if is_whole:
        np.testing.assert_allclose(mean.exactly_at(prepared), plain(X, X).mean(axis=1), rtol=1e-11)
        np.testing.assert_allclose(mean.at_candidates(mean.sample), plain(mean.sample, X).mean(axis=1), rtol=1e-11)
        assert mean.sampled() is None
        return
    np.testing.assert_allclose(mean.exactly_at(kernel.prepare(points)), at_points, rtol=0, atol=scale)
    twin = oracles.Calibrated(plain, points, X, candidates[len(points) :])
    np.testing.assert_allclose(mean.at(prepared), twin.quick(X), rtol=0, atol=scale)
    np.testing.assert_allclose(mean.exactly_at(prepared), twin.full(X), rtol=0, atol=scale)
    rest = candidates[len(points) :]
    some = rest if len(rest) <= 2 * mean.judging else rest[: mean.judging]
    judged = oracles.Calibrated(plain, points, X, some).full(candidates)
    np.testing.assert_allclose(mean.at_candidates(mean.sample), judged, rtol=0, atol=scale)
    assert len(mean.sample) + len(mean.held_out) == size
