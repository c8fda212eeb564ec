"""The non-negative quadratic program against SciPy, under stress."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracles
from protosieve.weights import NonNegativeQP, Projections
from volumes import volume


def problem(seed, size=None, width=None, shift=0.0):
    """A Gram matrix, from harmless to numerically singular, with exact copies in every third."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)) if size is None else size, int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    if seed % 3 == 0:
        X = X[rng.integers(0, n, n)]
    width = 10 ** rng.uniform(-1, 1.5) if width is None else width
    target = rng.normal(size=(30, d)) + rng.normal(size=d) + shift
    return oracles.gaussian(X, X, width), oracles.gaussian(X, target, width).mean(axis=1)


seeds = st.integers(0, 2**32 - 1)
relaxed = settings(deadline=None, max_examples=volume(15, 40))


def best_value(K, mu):
    """The optimum by SciPy, where it finds it."""
    if not len(mu):
        return 0.0
    w = oracles.solve(K, mu)
    assume(oracles.is_optimal(K, mu, w))
    return oracles.value(K, mu, w)


def append_all(qp, K, mu):
    for i in range(len(mu)):
        qp.append(K[i, :i], K[i, i], mu[i])
    return qp


@relaxed
@given(seeds)
def test_every_append_solves_the_program(seed):
    K, mu = problem(seed)
    qp, before = NonNegativeQP(), 0.0
    for i in range(len(mu)):
        qp.append(K[i, :i], K[i, i], mu[i])
        qp._check()
        assert qp.value >= before - 1e-14
        before = qp.value
        if i % 5 == 0:
            inside = slice(i + 1)
            assert qp.value == pytest.approx(best_value(K[inside, inside], mu[inside]), rel=1e-8)


@relaxed
@given(seeds)
def test_from_gram_and_append_agree(seed):
    K, mu = problem(seed)
    whole, grown = NonNegativeQP.from_gram(K, mu), append_all(NonNegativeQP(), K, mu)
    whole._check()
    assert whole.value == pytest.approx(grown.value, rel=1e-9)
    both = (whole.weights > 0) & (grown.weights > 0)
    np.testing.assert_allclose((K @ whole.weights)[both], (K @ grown.weights)[both], atol=1e-8)
    again = NonNegativeQP.from_gram(K, mu, grown.weights)
    again._check()
    assert again.value == pytest.approx(grown.value, rel=1e-9)


def moved_at_once(many):
    """Whole sets change sides where more than so many are wrong."""
    return patch("protosieve.weights._nonnegative._MANY", many)


@settings(deadline=None, max_examples=volume(20, 100))
@given(seeds, st.sampled_from([1, 2, 20]))
def test_whole_sets_that_change_sides_solve_the_same_program(seed, turns):
    K, mu = problem(seed, size=seed % 97)
    rng = np.random.default_rng(seed)
    start = rng.random(len(mu)) * (rng.random(len(mu)) < 0.5) if seed % 2 else None
    with moved_at_once(np.inf):
        slow = NonNegativeQP.from_gram(K, mu, start)
    with moved_at_once(0), patch("protosieve.weights._pivoting._TURNS", turns):
        quick = NonNegativeQP.from_gram(K, mu, start)
        quick._check()
        assert quick.value == pytest.approx(slow.value, rel=1e-8)
        other = mu * rng.uniform(0.5, 1.5, size=len(mu))
        quick.renew(other)
        quick._check()
    with moved_at_once(np.inf):
        assert quick.value == pytest.approx(NonNegativeQP.from_gram(K, other).value, rel=1e-8)
        assert slow.value == pytest.approx(best_value(K, mu), rel=1e-8)


@pytest.mark.parametrize(
    ("width", "copies"),
    [(0.3, 2), (3.0, 1), *(pytest.param(*one, marks=pytest.mark.thorough) for one in ((0.3, 1), (3.0, 2)))],
)
def test_many_members_are_weighed_as_one_after_the_other(width, copies):
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(400 // copies, 5)), copies, axis=0)
    K, mu = oracles.gaussian(X, X, width), oracles.gaussian(X, rng.normal(size=(99, 5)), width).mean(axis=1)
    with patch.object(NonNegativeQP, "_release_one", autospec=True, side_effect=NonNegativeQP._release_one) as wakes:
        quick = NonNegativeQP.from_gram(K, mu)
    quick._check()
    with moved_at_once(np.inf):
        slow = NonNegativeQP.from_gram(K, mu)
    np.testing.assert_allclose(K @ quick.weights, K @ slow.weights, atol=1e-9)
    assert np.count_nonzero(quick.weights) <= 1.02 * np.count_nonzero(slow.weights)  # copies have no share of a weight
    assert wakes.call_count <= 0.1 * np.count_nonzero(slow.weights)


def test_members_that_say_nothing_are_no_trouble_to_whole_sets():
    X = np.random.default_rng(6).normal(size=(200, 3))
    X[::4] = 0.0
    X[1::4] *= 1e-120
    K = X @ X.T
    qp = NonNegativeQP.from_gram(K, K @ np.full(200, 0.01))
    qp._check()
    assert not qp.weights[::4].any()


@relaxed
@given(seeds)
def test_drop_leaves_the_program_of_the_others(seed):
    rng = np.random.default_rng(seed)
    K, mu = problem(seed)
    qp, left = append_all(NonNegativeQP(), K, mu), np.arange(len(mu))
    while len(left):
        gone = int(rng.integers(len(left)))
        qp.drop(gone)
        left = np.delete(left, gone)
        qp._check()
        inside = np.ix_(left, left)
        np.testing.assert_allclose(qp.members_gram(), K[inside], atol=1e-12)
        assert qp.value == pytest.approx(best_value(K[inside], mu[left]), rel=1e-8)


@relaxed
@given(seeds, st.floats(0, 1))
def test_truncate_goes_back_and_the_others_can_come_again(seed, share):
    K, mu = problem(seed)
    qp, weights = NonNegativeQP(), [np.zeros(0)]
    for i in range(len(mu)):
        qp.append(K[i, :i], K[i, i], mu[i])
        weights.append(qp.weights)
    whole, stop = qp.value, int(share * len(mu))
    qp.truncate(weights[stop])
    qp._check()
    assert qp.value == pytest.approx(best_value(K[:stop, :stop], mu[:stop]), rel=1e-8)
    for i in range(stop, len(mu)):
        qp.append(K[i, :i], K[i, i], mu[i])
        qp._check()
    assert qp.value == pytest.approx(whole, rel=1e-8)


@relaxed
@given(seeds)
def test_renew_solves_for_other_means(seed):
    K, mu = problem(seed)
    _, other = problem(seed, shift=1.0)
    qp = append_all(NonNegativeQP(), K, mu)
    qp.renew(other)
    qp._check()
    assert qp.value == pytest.approx(best_value(K, other), rel=1e-7)


@relaxed
@given(seeds, st.floats(-9, 0))
def test_gain_and_its_verdicts_are_the_true_marginal_value(seed, exponent):
    K, mu = problem(seed, size=30)
    qp = append_all(NonNegativeQP(), K[:20, :20], mu[:20])
    inside = slice(20)
    base = best_value(K[inside, inside], mu[inside])
    threshold = mu.max() * 10**exponent
    projections = Projections(qp, K[inside, 20:])
    verdicts = projections.gains_reach(threshold, np.diag(K)[20:], mu[20:])
    for which, j in enumerate(range(20, 30)):
        members = [*range(20), j]
        true = best_value(K[np.ix_(members, members)], mu[members])
        gain = qp.gain(K[inside, j], K[j, j], mu[j])
        assert gain == pytest.approx(true - base, abs=1e-9 * mu.max())
        if verdicts[which] and abs(gain - threshold) > 1e-9 * mu.max():
            assert (verdicts[which] == 1) == (gain >= threshold)


@relaxed
@given(seeds)
def test_projections_stay_good_while_the_set_grows(seed):
    K, mu = problem(seed, size=30, width=0.7)
    qp = append_all(NonNegativeQP(), K[:15, :15], mu[:15])
    projections = Projections(qp, K[:15, 15:])
    for which, j in enumerate(range(15, 30)):
        if not projections.good:
            projections = Projections(qp, K[:j, 15:])
        b, s = projections.of(which, K[:j, j], K[j, j])
        active = qp.inside
        residual = K[j, active] - K[np.ix_(active, active)] @ b
        assert np.abs(residual).max(initial=0) < 1e-8
        assert s == pytest.approx(K[j, j] - K[j, active] @ b, abs=1e-8)
        qp.append(K[j, :j], K[j, j], mu[j], projections.of(which, K[:j, j], K[j, j]))
        qp._check()


def test_a_float32_gram_that_rounding_made_indefinite_is_survived():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    K = oracles.gaussian(X, X, 5.0).astype(np.float32).astype(np.float64)
    mu = oracles.gaussian(X, rng.normal(size=(50, 2)), 5.0).mean(axis=1).astype(np.float32).astype(np.float64)
    assert np.linalg.eigvalsh(K)[0] < 0
    qp = append_all(NonNegativeQP(noise=float(np.finfo(np.float32).eps)), K, mu)
    qp._check()
    assert qp.value == pytest.approx(oracles.value(K, mu, oracles.solve(K, mu)), rel=1e-5)


def test_exact_copies_share_one_weight():
    K = np.ones((3, 3))
    qp = append_all(NonNegativeQP(), K, np.full(3, 0.5))
    assert qp.weights.tolist() == [0.5, 0.0, 0.0]


def test_nothing_to_gain_gives_weight_zero():
    qp = append_all(NonNegativeQP(), np.eye(2), np.array([-1.0, 0.0]))
    assert qp.weights.tolist() == [0.0, 0.0]
    assert qp.value == 0.0


def test_a_sealed_program_keeps_its_answer_in_little_memory():
    K, mu = problem(1, size=30, width=0.5)
    qp = append_all(NonNegativeQP(), K, mu)
    sealed = qp.sealed()
    assert sealed.is_sealed
    assert not qp.is_sealed
    np.testing.assert_array_equal(sealed.weights, qp.weights)
    assert sealed.value == qp.value
    assert sealed.gram.size == sealed.basis.size == 0
    sealed._check()


def test_a_long_life_of_joining_and_leaving_stays_exact():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2))
    K, mu = oracles.gaussian(X, X, 1.5), oracles.gaussian(X, X, 1.5).mean(axis=1)
    qp, members = NonNegativeQP(), []
    for step in range(1500):
        if len(members) > 40 or (members and rng.random() < 0.4):
            gone = int(rng.integers(len(members)))
            qp.drop(gone)
            del members[gone]
        else:
            j = int(rng.integers(len(X)))
            qp.append(K[j, members], K[j, j], mu[j])
            members.append(j)
        if step % 50 == 0:
            qp._check()
