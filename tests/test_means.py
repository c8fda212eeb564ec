"""Means against plain averages, and the reservoir against uniformity."""

import numpy as np
import pytest

import oracles
from protosieve import InputError, ParameterError, ProtoStream, ProtoSwap, Streak
from protosieve.kernels import Gaussian
from protosieve.means import CompressedMean, ExactMean, FixedMean, Reservoir, ReservoirMean
from protosieve.means._reservoir import RunningMean
from protosieve.sampling import lengthened
from protosieve.selectors import _selector

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
        before = lengthened(reservoir.rows, 20)
        taken, places = reservoir.observe(block)
        before[places] = block[taken]
        np.testing.assert_array_equal(before[: reservoir.filled], reservoir.sample)
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


def _compressed(points=40, sample=1500):
    return CompressedMean(sample=sample, points=points, random_state=0)


def test_a_compressed_target_is_near_its_sample_and_the_sample_has_the_last_word():
    mean = _compressed().begin(kernel, rows, rows, rng, 10)
    sample = mean.source.rows
    assert len(sample) == mean.sample_size() == 1500
    assert len(mean.points.rows) <= 40
    exact = oracles.gaussian(rows, sample, 1.5).mean(axis=1)
    everywhere = kernel.prepare(rows)
    np.testing.assert_allclose(mean.exactly_at(everywhere), exact, rtol=1e-12)
    assert mean.squared_norm(64) == pytest.approx(oracles.gaussian(sample, sample, 1.5).mean(), rel=1e-12)
    # |mu - h|^2, which the points minimise, bounds (mu(x) - h(x))^2 for a kernel of diagonal one
    K, w = oracles.gaussian(mean.points.rows, mean.points.rows, 1.5), mean.points.weights
    at_points = oracles.gaussian(mean.points.rows, sample, 1.5).mean(axis=1)
    distance = mean.squared_norm(64) - 2 * w @ at_points + w @ K @ w
    assert 0 < distance < 1e-3 * mean.squared_norm(64)
    assert (np.abs(mean.at(everywhere) - exact) <= np.sqrt(distance) + 1e-12).all()


def test_what_is_too_small_to_compress_is_taken_as_it_is():
    mean = _compressed(points=500).begin(kernel, rows, rows, rng, 10)
    assert isinstance(mean, FixedMean)
    assert len(mean.rows) == 1500
    assert CompressedMean().begin(kernel, rows, rows, rng, 10).sample_size() is None


def test_points_follow_the_number_of_prototypes():
    sizes = [CompressedMean().begin(kernel, None, rows, rng, m).size for m in (10, 300)]
    assert sizes == [512, 1200]


def test_a_running_mean_is_compressed_when_half_of_its_sample_has_changed():
    mean = _compressed(points=30, sample=300).begin(kernel, None, rows, np.random.default_rng(0), 10)
    mean.observe(rows[:100])
    assert mean.refresh()
    np.testing.assert_allclose(mean.at(points), oracles.gaussian(rows[:40], rows[:100], 1.5).mean(axis=1), rtol=1e-12)
    mean.observe(rows[100:250])
    assert mean.stale()
    assert mean.refresh()
    assert len(mean.points.rows) <= 30
    before = mean.at(points)
    for start in range(250, 2000, 50):
        was = int(mean.fresh.sum())
        mean.observe(rows[start : start + 50])
        assert mean.stale() == (2 * mean.fresh.sum() >= mean.reservoir.filled)
        assert mean.fresh.sum() >= was
        np.testing.assert_array_equal(mean.at(points), before)
        if mean.stale():
            assert mean.refresh()
            mean.members._check()
            before = mean.at(points)
    mean.refresh()
    assert not mean.refresh()
    expected = oracles.gaussian(rows[:40], mean.reservoir.sample, 1.5).mean(axis=1)
    np.testing.assert_allclose(mean.exactly_at(points), expected, rtol=1e-12)
    np.testing.assert_allclose(mean.at(points), expected, atol=0.02)
    norm = oracles.gaussian(mean.reservoir.sample, mean.reservoir.sample, 1.5).mean()
    assert mean.squared_norm(64) == pytest.approx(norm, rel=1e-12)
    assert mean.sample_size() == 300


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sample": 0}, "CompressedMean: sample must be a whole number of at least 1, got 0"),
        ({"points": 2.5}, "CompressedMean: points must be a whole number of at least 1, got 2.5"),
        ({"random_state": -1}, "CompressedMean: random_state must be None or a whole number of at least 0, got -1"),
    ],
)
def test_a_compressed_means_parameters_are_checked(options, match):
    with pytest.raises(ParameterError, match=match):
        CompressedMean(**options)


def test_large_targets_and_streams_are_compressed_by_default(monkeypatch, X):
    monkeypatch.setattr(_selector, "_EXACT_UP_TO", 200)
    assert ProtoSwap()._mean(X[:200]) == ExactMean()
    assert ProtoSwap()._mean(X[:201]) == CompressedMean()
    assert ProtoSwap()._mean(None) == CompressedMean()
    assert ProtoSwap(random_state=0).fit(X).result_.certificate.sample is None  # 300 rows are all of them


def test_letters_compressed_to_512_points_is_as_good_as_all_of_it(letters):
    options = {"kernel": Gaussian(5.0), "random_state": 0}
    exact = ProtoSwap(150, **options).fit(letters).result_
    quick = ProtoSwap(150, mean=CompressedMean(points=512), **options).fit(letters).result_
    assert quick.certificate.upper_bound == pytest.approx(exact.certificate.upper_bound, rel=1e-5)
    assert quick.residual <= 1.02 * exact.residual
