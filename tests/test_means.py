"""Means against plain averages, and the reservoir against uniformity."""

import numpy as np
import pytest

import oracles
from protosieve import InputError, ParameterError, ProtoStream, Streak
from protosieve.kernels import Gaussian
from protosieve.means import ExactMean, FixedMean, ReservoirMean
from protosieve.means._reservoir import Reservoir, RunningMean

rng = np.random.default_rng(0)
rows = rng.normal(size=(2500, 3))
kernel = Gaussian(1.5)
points = kernel.prepare(rows[:40])


def test_the_exact_mean_is_the_average_similarity_to_the_target():
    mean = ExactMean().begin(kernel, rows, rows, rng)
    np.testing.assert_allclose(mean.at(points), oracles.gaussian(rows[:40], rows, 1.5).mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("step", [1, 100, 1024, 9999])
def test_the_squared_norm_is_the_mean_of_the_mean(step):
    mean = ExactMean().begin(kernel, rows, rows, rng)
    assert mean.squared_norm(step) == pytest.approx(oracles.gaussian(rows, rows, 1.5).mean(), rel=1e-12)


def test_float32_rows_can_be_asked_in_float64():
    single = rows.astype(np.float32)
    mean = ExactMean().begin(kernel, single, single, rng)
    exact = oracles.gaussian(single[:40].astype(float), single.astype(float), 1.5).mean(axis=1)
    np.testing.assert_allclose(mean.at(kernel.prepare(single[:40])), exact, rtol=1e-5)
    np.testing.assert_allclose(mean.at(kernel.prepare(single[:40].astype(float))), exact, rtol=1e-12)


def test_a_sample_of_the_target_is_drawn_once_without_repeats():
    mean = ReservoirMean(size=500).begin(kernel, rows, rows, np.random.default_rng(1))
    assert isinstance(mean, FixedMean)
    assert len(np.unique(mean.rows, axis=0)) == 500
    whole = ReservoirMean(size=5000).begin(kernel, rows, rows, np.random.default_rng(1))
    np.testing.assert_array_equal(whole.rows, rows)


def test_its_own_seed_overrides_the_selectors():
    draws = [
        ReservoirMean(size=5, random_state=own).begin(kernel, rows, rows, np.random.default_rng(seed)).rows
        for own, seed in [(1, 1), (1, 2), (None, 1), (None, 2)]
    ]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[2], draws[3])


def test_the_reservoir_is_a_uniform_sample():
    """Every row of 200 is kept with probability 20/200; 4,000 runs give each count a standard error of 19."""
    counts = np.zeros(200)
    stream = np.arange(200.0)[:, None]
    generator = np.random.default_rng(0)
    for _ in range(4000):
        reservoir = Reservoir.empty(20, stream, generator)
        for block in np.split(stream, [15, 33, 150]):
            reservoir.observe(block)
        counts[reservoir.sample[:, 0].astype(int)] += 1
    assert counts.sum() == 4000 * 20
    assert np.abs(counts - 400).max() < 5 * 19


def test_the_reservoir_knows_its_rows_numbers():
    stream = np.arange(500.0)[:, None]
    reservoir = Reservoir.empty(20, stream, np.random.default_rng(3))
    for block in np.split(stream, [7, 90, 400]):
        before = reservoir.rows.copy()
        taken, places = reservoir.observe(block)
        before[places] = block[taken]
        np.testing.assert_array_equal(before, reservoir.rows)
    np.testing.assert_array_equal(reservoir.sample[:, 0], reservoir.indices)


def test_the_reservoir_keeps_everything_while_there_is_room():
    reservoir = Reservoir.empty(50, rows, rng)
    taken, places = reservoir.observe(rows[:30])
    np.testing.assert_array_equal(taken, np.arange(30))
    np.testing.assert_array_equal(places, np.arange(30))
    np.testing.assert_array_equal(reservoir.sample, rows[:30])
    assert reservoir.filled == 30


def test_the_running_mean_is_one_target_between_refreshes():
    mean = RunningMean(kernel, Reservoir.empty(100, rows, np.random.default_rng(0)))
    mean.observe(rows[:1000])
    assert mean.stale()
    assert mean.refresh()
    before = mean.at(points)
    mean.observe(rows[1000:1005])
    assert not mean.stale()
    np.testing.assert_array_equal(mean.at(points), before)
    mean.observe(rows[1005:])
    assert mean.stale()
    assert mean.refresh()
    assert not np.array_equal(mean.at(points), before)
    assert not mean.refresh()
    expected = oracles.gaussian(rows[:40], mean.reservoir.sample, 1.5).mean(axis=1)
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
