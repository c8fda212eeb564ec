"""Prototypes of the recent past: weights that fade."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from problems import problems
from protosieve import InputError, ParameterError, ProtoSwap, load
from protosieve.kernels import Gaussian
from protosieve.means import CalibratedMean, ExactMean, ReservoirMean
from protosieve.objectives import Coverage, LeastSquares
from protosieve.weights import NonNegativeQP
from volumes import volume

goals = pytest.mark.parametrize("goal", [None, Coverage()], ids=["match", "cover"])


def fading(m, goal=None, half_life=100, **more):
    return ProtoSwap(m, objective=goal, half_life=half_life, random_state=3, **more)


def assert_same(one, other):
    for name in ("indices", "rows", "weights"):
        np.testing.assert_array_equal(getattr(one.result_, name), getattr(other.result_, name))
    assert str(one.result_.certificate) == str(other.result_.certificate)


@goals
@settings(max_examples=volume(8, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems, times=st.integers(1, 30))
def test_any_chunking_looking_and_saving_give_the_same_bits(goal, problem, times, tmp_path_factory):
    X = np.concatenate([problem.X + nth / 4 for nth in range(times)])
    whole = fading(problem.m, goal, block_size=problem.block_size).partial_fit(X)
    assert_same(whole, fading(problem.m, goal, block_size=problem.block_size).fit(X))
    parts, path = fading(problem.m, goal, block_size=problem.block_size), tmp_path_factory.mktemp("state") / "state.npz"
    for part in np.array_split(X, 1 + times % 5):
        parts.partial_fit(part)
        assert len(parts.result_)  # looking changes nothing
        parts.save(path)
        parts = load(path)
    assert_same(whole, parts)
    assert set(whole.prototype_indices_) <= set(whole.held_indices_)


def drift(n=6000, d=6, seed=0):
    """Clusters that are all replaced by others half way."""
    rng = np.random.default_rng(seed)
    before, after = rng.normal(size=(12, d)) * 3, rng.normal(size=(12, d)) * 3 + 5
    centres = np.concatenate([before[rng.integers(12, size=n // 2)], after[rng.integers(12, size=n // 2)]])
    return centres + rng.normal(size=(n, d))


def similar(kernel, one, other):
    return kernel.block(kernel.prepare(one), kernel.prepare(other))


def judged(kernel, rows, X, weights):
    """The squared MMD of rows at their best weights, and what they miss to cover, over all weighted rows."""
    p = weights / weights.sum()
    K = similar(kernel, rows, X)
    norm = sum(p[part] @ similar(kernel, X[part], X) @ p for part in np.array_split(np.arange(len(X)), 20))
    gram = similar(kernel, rows, rows)
    return norm - 2 * NonNegativeQP.from_gram((gram + gram.T) / 2, K @ p).value, 1 - float(K.max(axis=0) @ p)


@pytest.mark.parametrize("share", [0.5, 0.53, 0.6, 0.75, 1])
def test_before_during_and_after_a_change_the_recent_past_is_represented_as_well_as_by_a_batch(share):
    """Judged by all rows with the weights that they have then, beside what is chosen from rows drawn by these."""
    half_life, kernel = 2000, Gaussian(6.0)
    X = drift(16_000)[: int(share * 16_000)]
    weights = 2.0 ** (-np.arange(len(X))[::-1] / half_life)
    drawn = np.random.default_rng(1).choice(len(X), 8000, p=weights / weights.sum())
    for nth, goal in enumerate((None, Coverage())):
        stream = fading(40, goal, half_life, kernel=kernel).partial_fit(X).result_
        batch = ProtoSwap(40, objective=goal, kernel=kernel, random_state=0).fit(X[drawn]).result_
        mine, theirs = (judged(kernel, found.rows, X, weights)[nth] for found in (stream, batch))
        assert mine <= 1.15 * theirs


def test_a_mean_of_the_recent_past_is_that_of_rows_by_what_they_weigh():
    X, half_life = drift(), 500
    weights = 2.0 ** (-(len(X) - 1 - np.arange(len(X))) / half_life)
    kernel = Gaussian(6.0)
    wanted = similar(kernel, X[::50], X) @ (weights / weights.sum())
    wrong = {}
    for mean in (CalibratedMean(), ReservoirMean(400)):
        known = fading(10, None, half_life, kernel=kernel, mean=mean).partial_fit(X).known_mean()
        found = known.mean.exactly_at(known.kernel.prepare(X[::50]))
        wrong[type(mean).__name__] = np.abs(found - wanted).max() / wanted.max()
    assert wrong["CalibratedMean"] < 0.01
    assert wrong["ReservoirMean"] < 0.2


@goals
def test_what_is_gone_for_good_is_not_chosen_any_more(goal):
    X = drift()
    assert min(fading(24, goal, 150).partial_fit(X).prototype_indices_) >= 3000
    assert min(ProtoSwap(24, objective=goal, random_state=3).partial_fit(X).prototype_indices_) < 3000


def test_a_long_half_life_is_as_good_as_none():
    X = drift()
    plain, long = ProtoSwap(20, random_state=3).partial_fit(X), fading(20, None, 10**9).partial_fit(X)
    assert long.result_.residual < 1.1 * plain.result_.residual


def test_rows_that_were_chosen_before_stay_beside_a_stream_that_fades():
    X = drift()
    found = fading(5, None, 200).partial_fit(X[:3000], keep=X[:2]).partial_fit(X[3000:]).result_
    assert found.is_new.sum() == 5
    np.testing.assert_array_equal(found.rows[~found.is_new], X[-1 - found.indices[~found.is_new]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"half_life": 99}, "half_life must be None or a whole number of at least 100, got 99"),
        ({"half_life": 1e5}, "half_life must be None or a whole number of at least 100, got 100000.0"),
        ({"half_life": 200, "candidates": "all"}, "half_life=200 needs a sample of rows that are compared, and candid"),
        (
            {"half_life": 200, "objective": LeastSquares([1.0, 2.0])},
            "half_life=200 needs a sample of rows that are compare",
        ),
    ],
)
def test_a_half_life_that_cannot_be_is_told(options, words):
    with pytest.raises(ParameterError, match=words):
        ProtoSwap(3, **options).partial_fit([[1.0]])


def test_a_target_does_not_fade():
    X = drift(100)
    for selector, target in ((fading(3), {"target": X}), (fading(3, mean=ExactMean()), {})):
        with pytest.raises(InputError, match="target"):
            selector.partial_fit(X, **target)
        with pytest.raises(InputError, match="target"):
            selector.fit(X, **target)


def test_points_that_no_longer_express_what_comes_are_taken_anew_at_once():
    """Else the mean at rows that are unlike all before would be that of a sample until half of it is new."""
    half_life = 4000
    X = drift(10_000)
    X[9000:] += 20
    for width in (2.0, 6.0):  # of the first the points express little, before and after
        kernel = Gaussian(width)
        known = fading(40, None, half_life, kernel=kernel).partial_fit(X).known_mean()
        assert known.mean.renewed > 9000  # else at 8,192 rows, twice as many as before, and then at 12,192
        assert (known.mean.numbers >= 9000).sum() > 10
    rows, weights = X[9000::20], 2.0 ** (-np.arange(len(X))[::-1] / half_life)
    wanted = similar(kernel, rows, X) @ (weights / weights.sum())
    found = known.mean.exactly_at(known.kernel.prepare(rows))
    assert np.abs(found - wanted).max() < 0.05 * wanted.max()


def test_more_prototypes_than_a_short_half_life_has_rows_for():
    X = drift(3000)
    found = fading(400, half_life=100).partial_fit(X).result_
    assert 100 < len(found) <= 400
    assert found.indices.min() > 1500
