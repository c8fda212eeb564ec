"""Objectives other than the kernel mean: weights against scikit-learn and SciPy, selectors against literal twins."""

import copy
import inspect
import pickle
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, orthogonal_mp

import oracles
from protosieve import (
    InputError,
    ParameterError,
    ProtoBasic,
    ProtoDash,
    ProtoStream,
    ProtoSwap,
    Streak,
    compare,
    criticisms,
    load,
    objectives,
)
from protosieve.errors import ProtosieveWarning, StateFileError
from protosieve.exchange import FreeExchangeSet
from protosieve.objectives import FeatureObjective, LeastSquares, Logistic, Poisson, SetFunction, SmoothObjective
from protosieve.weights import Newton, free_weights
from volumes import repeated, volume

pytestmark = pytest.mark.usefixtures("one_blas_thread")

# Every regression there is; the twin of each is that of its name in `oracles.REGRESSIONS`.
KINDS = {
    name.lower(): cls
    for name, cls in vars(objectives).items()
    if isinstance(cls, type) and issubclass(cls, FeatureObjective) and not inspect.isabstract(cls)
}
TWINS = {
    ProtoBasic: oracles.protobasic_of,
    ProtoStream: oracles.protostream_of,
    Streak: oracles.streak_of,
    ProtoDash: oracles.protodash_of,
}
TOO_CLOSE = 1e-6  # SciPy's fits are good to that


def make_regression(kind, seed, n_features=12, n_samples=60):
    """Features, some of which matter, and what they explain."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_features, n_samples)) * rng.uniform(0.5, 2, size=(n_features, 1))
    eta = 0.7 * rows[: n_features // 3].sum(axis=0) / np.sqrt(n_features / 3) + 0.2
    return rows, oracles.REGRESSIONS[kind][1](eta, rng)


each_kind = pytest.mark.parametrize("kind", KINDS)
each_sign = pytest.mark.parametrize("signed", [False, True], ids=["nonnegative", "signed"])


# -- weights


@pytest.mark.parametrize("intercept", [False, True])
def test_logistic_weights_are_those_of_scikit_learn(intercept):
    rows, y = make_regression("logistic", 0, 6, 200)
    found = Logistic(y, signed=True, intercept=intercept).weigh(rows, np.zeros(6))
    theirs = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-12, max_iter=10000).fit(rows.T, y)
    np.testing.assert_allclose(found.weights, theirs.coef_[0], atol=1e-6)
    np.testing.assert_allclose(found.intercept, theirs.intercept_[0] if intercept else 0.0, atol=1e-6)


def test_a_chosen_support_has_the_weights_of_scikit_learn():
    rows, y = make_regression("logistic", 1, 40, 300)
    for selector in (ProtoBasic, ProtoDash, ProtoStream):
        result = selector(5, objective=Logistic(y, signed=True)).fit(rows).result_
        theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10000).fit(rows[result.indices].T, y)
        np.testing.assert_allclose(result.weights, theirs.coef_[0], atol=1e-6)
        np.testing.assert_allclose(result.intercept, theirs.intercept_[0], atol=1e-6)


def test_poisson_weights_are_those_of_scikit_learn():
    rows, y = make_regression("poisson", 2, 5, 200)
    found = Poisson(y, signed=True, ridge=0.01).weigh(rows, np.zeros(5))
    theirs = PoissonRegressor(alpha=0.01, tol=1e-10, max_iter=10000).fit(rows.T, y)
    np.testing.assert_allclose(found.weights, theirs.coef_, atol=1e-6)


def test_least_squares_weights_are_those_of_scikit_learn():
    rows, y = make_regression("leastsquares", 3, 5, 50)
    for selector in (ProtoSwap, ProtoDash):
        result = selector(5, objective=LeastSquares(y, signed=True), random_state=0).fit(rows).result_
        theirs = LinearRegression().fit(rows[result.indices].T, y)
        np.testing.assert_allclose(result.weights, theirs.coef_, atol=1e-9)
        np.testing.assert_allclose(result.intercept, theirs.intercept_, atol=1e-9)
        assert result.residual == pytest.approx(1 - theirs.score(rows[result.indices].T, y), abs=1e-9)
    ridge = LeastSquares(y, signed=True, ridge=0.3).weigh(rows, np.zeros(5))
    np.testing.assert_allclose(ridge.weights, Ridge(alpha=0.3 * 50).fit(rows.T, y).coef_, atol=1e-9)


def test_non_negative_least_squares_are_those_of_scipy():
    for seed in range(20):
        rows, y = make_regression("leastsquares", seed, 8, 30)
        found = LeastSquares(y, intercept=False).weigh(rows, np.zeros(8))
        np.testing.assert_allclose(found.weights, nnls(rows.T, y)[0], atol=1e-8)


@each_kind
@each_sign
@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("intercept", [False, True])
def test_weights_and_values_are_those_of_scipy(kind, signed, ridge, intercept):
    for seed in range(5):
        rows, y = make_regression(kind, seed, 6, 80)
        twin = oracles.Regression(rows, y, kind, signed=signed, ridge=ridge, intercept=intercept)
        found = KINDS[kind](y, signed=signed, ridge=ridge, intercept=intercept).weigh(rows, np.zeros(6))
        weights, offset, value, _ = twin.best(range(6))
        np.testing.assert_allclose(found.weights, weights, atol=1e-5)
        np.testing.assert_allclose(found.intercept, offset, atol=1e-5)
        np.testing.assert_allclose(found.value, value, atol=1e-10)


@st.composite
def odd_features(draw):
    """Copies, features of zeros, constants, wide scales; classes that can be told apart."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q, n = draw(st.integers(1, 7)), draw(st.integers(3, 40))
    rows = rng.normal(size=(q, n)) * 10.0 ** rng.integers(-3, 4, size=(q, 1))
    for i in range(q):
        kind = draw(st.integers(0, 6))
        if kind == 0:
            rows[i] = rows[draw(st.integers(0, q - 1))]
        elif kind == 1:
            rows[i] = 0.0
        elif kind == 2:
            rows[i] = 1.0
    y = (rows[0] + draw(st.sampled_from([0.0, 1.0, 5.0])) * rng.normal(size=n) > np.median(rows[0])).astype(float)
    y[:2] = 0.0, 1.0
    return rows, y


@settings(max_examples=volume(20, 80))
@given(odd_features(), st.sampled_from(list(KINDS)), st.booleans(), st.sampled_from([0.0, 0.1]), st.booleans())
def test_weights_meet_the_conditions_of_optimality(problem, kind, signed, ridge, intercept):
    rows, y = problem
    objective = KINDS[kind](y, signed=signed, ridge=ridge, intercept=intercept)
    found = objective.weigh(rows, np.zeros(len(rows)))
    assert signed or (found.weights >= 0).all()
    if not intercept:
        assert found.intercept == 0
    assert Newton(signed, ridge, intercept).violation(objective, rows, found.weights, found.intercept) <= 1e-8
    assert found.value >= -1e-12


def test_a_warm_start_ends_where_a_cold_one_does():
    rows, y = make_regression("logistic", 5, 8, 100)
    objective = Logistic(y)
    fit = objective.empty()
    for q in range(8):
        fit = objective.grow(fit, rows[:q], rows[q])
        cold = objective.fitted(rows[: q + 1], np.zeros(q + 1))
        np.testing.assert_allclose(fit.weights, cold.weights, atol=1e-7)
        assert fit.value == pytest.approx(cold.value, abs=1e-12)


@each_kind
@each_sign
def test_an_intercept_makes_the_means_of_features_matter_not_at_all(kind, signed):
    rows, y = make_regression(kind, 4, 20, 50)
    for selector in (ProtoBasic, ProtoStream, Streak, ProtoDash):
        far, near = (
            selector(4, objective=KINDS[kind](y, signed=signed)).fit(rows + offset).result_ for offset in (1e6, 0.0)
        )
        assert far.indices.tolist() == near.indices.tolist()
        np.testing.assert_allclose(far.weights, near.weights, rtol=1e-5)
        assert far.objective == pytest.approx(near.objective, rel=1e-7)


@pytest.mark.filterwarnings("ignore::protosieve.errors.ProtosieveWarning")
@each_sign
@pytest.mark.parametrize("n_samples", [10, 30, pytest.param(60, marks=pytest.mark.thorough)])
def test_classes_that_can_be_told_apart_leave_nothing(n_samples, signed):
    rows, y = make_regression("logistic", n_samples, 80, n_samples)
    for selector in (ProtoBasic, ProtoStream, ProtoDash):
        result = selector(40, objective=Logistic(y, signed=signed)).fit(rows).result_
        assert result.residual < 1e-6
        assert np.isfinite(result.weights).all()


# -- selectors


@repeated
@pytest.mark.parametrize("selector", TWINS, ids=lambda cls: cls.__name__)
@each_kind
@each_sign
def test_selects_what_the_literal_algorithm_selects(selector, kind, signed):
    compared, seeds = 0, range(volume(6, 12))  # six have every ridge with every intercept
    for seed in seeds:
        rows, y = make_regression(kind, seed)
        ridge, intercept, m = (0.0, 0.1)[seed % 2], seed % 3 != 0, 2 + seed % 3
        twin = oracles.Regression(rows, y, kind, signed=signed, ridge=ridge, intercept=intercept)
        options = {"epsilon": 0.4} if selector in (ProtoStream, Streak) else {}
        run = TWINS[selector](twin, m, *options.values())
        if run.margin < TOO_CLOSE:
            continue
        objective = KINDS[kind](y, signed=signed, ridge=ridge, intercept=intercept)
        ours = selector(m, objective=objective, block_size=5, **options).fit(rows)
        assert sorted(ours.prototype_indices_.tolist()) == run.chosen
        assert ours.objective_ == pytest.approx(run.objective, abs=1e-9)
        compared += 1
    assert compared >= 3 / 4 * len(seeds)


@each_sign
def test_protoswap_exchanges_as_its_literal_twin_does(signed):
    compared = 0
    for seed in range(12):
        rows, y = make_regression("leastsquares", seed, 14, 40)
        ridge, intercept, m = (0.0, 0.1)[seed % 2], seed % 3 != 0, 2 + seed % 3
        twin = oracles.Regression(rows, y, "leastsquares", signed=signed, ridge=ridge, intercept=intercept)
        objective = LeastSquares(y, signed=signed, ridge=ridge, intercept=intercept)
        ours = ProtoSwap(m, objective=objective, candidates="all", block_size=5, random_state=0).fit(rows)
        if signed:
            run, basic = oracles.swaps_of(twin, m), oracles.protobasic_of(twin, m)
            if min(run.margin, basic.margin) < TOO_CLOSE:
                continue
            best = max([run, basic], key=lambda one: one.objective)
            assert sorted(ours.prototype_indices_.tolist()) == best.chosen
        else:
            K, mu = objective.quadratic().exact(rows)
            run = oracles.protoswap(K, mu, m)
            if run.margin < TOO_CLOSE:
                continue
            assert sorted(ours.prototype_indices_.tolist()) == run.chosen
        compared += 1
    assert compared >= 9


def test_greedy_and_signed_is_orthogonal_matching_pursuit():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(60, 40))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        y = 3 * rows[:4].sum(axis=0) + 0.3 * rng.normal(size=40)
        ours = ProtoDash(10, objective=LeastSquares(y, signed=True, intercept=False)).fit(rows)
        path = orthogonal_mp(rows.T, y, n_nonzero_coefs=10, return_path=True)
        for step in range(10):
            assert set(np.flatnonzero(path[:, step])) == set(ours.order_[: step + 1].tolist())
        np.testing.assert_allclose(ours.weights_, path[ours.prototype_indices_, -1], atol=1e-9)


@each_kind
@each_sign
def test_the_bound_is_never_below_the_best_there_is(kind, signed):
    rows, y = make_regression(kind, 7, 8, 30)
    result = ProtoDash(8, objective=KINDS[kind](y, signed=signed)).fit(rows).result_
    everything = oracles.Regression(rows, y, kind, signed=signed, ridge=0.0, intercept=True).value(range(8))
    assert everything <= result.certificate.upper_bound + 1e-12
    assert 0 <= result.residual <= 1


def test_signed_swaps_beat_the_greedy_choice_or_equal_it():
    better = 0
    for seed in range(10):
        rows, y = make_regression("leastsquares", seed, 60, 50)
        objective = LeastSquares(y, signed=True)
        swaps = ProtoSwap(6, objective=objective, random_state=0).fit(rows).objective_
        greedy = ProtoDash(6, objective=objective).fit(rows).objective_
        better += swaps >= greedy - 1e-12
    assert better >= 8


# -- promises


def _all_pairs():
    for selector in (ProtoBasic, ProtoStream, Streak):
        yield from ((selector, kind) for kind in KINDS)
    yield ProtoSwap, "leastsquares"


each_pair = pytest.mark.parametrize(("selector", "kind"), list(_all_pairs()), ids=lambda v: getattr(v, "__name__", v))


@pytest.mark.parametrize(
    ("selector", "kind", "signed"),
    [  # in the quick suite each selector and each kind has each sign, though not every pair of them
        pytest.param(*pair, signed, marks=pytest.mark.thorough if (n + signed) % 2 else ())
        for n, pair in enumerate(_all_pairs())
        for signed in (False, True)
    ],
)
def test_any_chunks_and_a_saved_run_give_the_same_result(selector, kind, signed, tmp_path):
    rows, y = make_regression(kind, 8, 30, 40)
    make = lambda: selector(4, objective=KINDS[kind](y, signed=signed), block_size=8, random_state=0)  # noqa: E731
    whole = make().fit(rows).result_
    parts = make()
    for chunk in np.split(rows, [1, 7, 8, 21]):
        parts.partial_fit(chunk)
        assert len(parts.result_) <= 4  # asked for on the way: changes nothing
    saved = make().partial_fit(rows[:11])
    saved.save(tmp_path / "run.npz")
    again = load(tmp_path / "run.npz").partial_fit(rows[11:])
    for other in (parts.result_, again.result_):
        assert np.array_equal(whole.indices, other.indices)
        assert np.array_equal(whole.weights, other.weights)
        assert whole.objective == other.objective
        assert whole.intercept == other.intercept


@each_pair
def test_the_value_never_falls_along_the_stream(selector, kind):
    rows, y = make_regression(kind, 9, 60, 40)
    fitted = selector(4, objective=KINDS[kind](y, signed=True), block_size=4, random_state=0)
    before = 0.0
    for chunk in np.split(rows, 15):
        value = fitted.partial_fit(chunk)._value(fitted._stream.progress)
        if value is not None:
            assert value >= before - 1e-12
            before = value
            assert fitted.objective_ >= value - 1e-12


def test_a_bad_chunk_changes_nothing():
    rows, y = make_regression("logistic", 10, 30, 40)
    selector = ProtoStream(4, objective=Logistic(y), block_size=8).partial_fit(rows[:20])
    before = selector.result_
    bad = rows[20:].copy()
    bad[3, 5] = np.nan
    with pytest.raises(InputError, match="row 23"):
        selector.partial_fit(bad)
    assert np.array_equal(selector.result_.indices, before.indices)
    assert selector.n_samples_seen_ == 20


def test_memory_does_not_grow_with_the_stream():
    rows, y = make_regression("logistic", 11, 64, 50)
    selector = ProtoStream(4, objective=Logistic(y, signed=True), block_size=32)
    sizes = []
    for turn in range(40):
        rng = np.random.default_rng(turn)
        selector.partial_fit(rows + 0.3 * rng.normal(size=rows.shape))
        pool = selector._stream.progress.pool
        sizes.append(len(pool.rows))
        assert pool.size <= 2 * sum(len(s.members) for s in selector._stream.progress.all()) + 32
    most = 2 * 4 * (2 + 2 * np.log(4) / np.log(1.4))
    assert max(sizes) <= 2 * most + 32


@each_sign
def test_more_passes_serve_least_squares_too(signed):
    rows, y = make_regression("leastsquares", 12, 80, 40)
    make = partial(
        ProtoSwap, 5, objective=LeastSquares(y, signed=signed), candidates="all", block_size=8, random_state=0
    )
    once, twice = (make(passes=passes).fit(rows) for passes in (1, 2))
    assert twice.objective_ >= once.objective_ - 1e-12
    assert set(once.prototype_indices_) <= set(once.held_indices_)
    again = pickle.loads(pickle.dumps(once.result_))
    assert np.array_equal(again.weights, once.weights_)
    assert again.certificate.residual == once.result_.residual


# -- set functions


def test_any_chunks_give_a_set_function_the_same_result():
    rows = np.random.default_rng(2).random((60, 20)) < 0.15
    for selector in (ProtoBasic, Streak):
        whole = selector(4, objective=SetFunction(covered), block_size=8).fit(rows).result_
        parts = selector(4, objective=SetFunction(covered), block_size=8)
        for chunk in np.split(rows, [3, 20, 41]):
            parts.partial_fit(chunk)
        assert np.array_equal(whole.indices, parts.result_.indices)
        assert whole.objective == parts.result_.objective


def covered(rows):
    """How many columns the rows touch."""
    return float(np.count_nonzero(rows.any(axis=0)))


def test_set_functions_select_what_the_literal_algorithms_select():
    rng = np.random.default_rng(0)
    for seed in range(20):
        rows = np.random.default_rng(seed).random((40, 12)) < 0.3
        worth = rng.random(12)
        function = lambda part, worth=worth: float(worth @ (part > 0).any(axis=0))  # noqa: E731
        for selector, twin in ((ProtoBasic, oracles.protobasic_of), (Streak, oracles.streak_of)):
            run = twin(oracles.ByValues(rows, function), 4, *((0.4,) if selector is Streak else ()))
            if run.margin < 1e-9:
                continue
            result = selector(4, objective=SetFunction(function), block_size=7).fit(rows).result_
            assert sorted(result.indices.tolist()) == run.chosen
            assert result.objective == pytest.approx(run.objective)
            assert (result.weights == 1).all()


def test_calls_of_a_set_function_are_counted():
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return covered(rows)

    rows = np.random.default_rng(1).random((100, 30)) < 0.1
    result = ProtoBasic(5, objective=SetFunction(counted)).fit(rows).result_
    assert result.evaluations == len(calls) == 101  # every row once, and the answer
    calls.clear()
    selector = Streak(5, objective=SetFunction(counted), block_size=16)
    for chunk in np.split(rows, 4):
        selector.partial_fit(chunk)
        assert selector.result_.evaluations == len(calls)
    assert "no bound is known" in str(selector.result_.certificate)
    assert np.isnan(selector.result_.residual)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_a_set_function_must_be_finite_and_not_negative(wrong):
    selector = Streak(3, objective=SetFunction(lambda rows: wrong if rows[-1, 0] == 7 else 1.0), block_size=4)
    rows = np.arange(10.0)[:, None]
    with pytest.raises(InputError, match=r"row 7 is worth (-1.0|nan|inf)"):
        selector.fit(rows)


def test_values_of_sets_are_those_of_their_best_weights():
    rows, y = make_regression("logistic", 3, 5, 40)
    f = Logistic(y).values(rows)
    twin = oracles.Regression(rows, y, "logistic", signed=False, ridge=0.0, intercept=True)
    assert f(()) == 0.0
    assert f((3, 1)) == f([1, 3]) == pytest.approx(twin.value([1, 3]), abs=1e-9)


def test_methods_with_another_objective_are_not_compared():
    rows, y = make_regression("leastsquares", 3)
    with pytest.raises(ParameterError, match=r"methods\[1\] chooses by LeastSquares"):
        compare(rows, 3, ["swap", ProtoSwap(3, objective=LeastSquares(y))])


def test_a_set_function_cannot_be_saved(tmp_path):
    selector = Streak(3, objective=SetFunction(covered)).partial_fit(np.eye(4))
    with pytest.raises(StateFileError, match="holds data, never code"):
        selector.save(tmp_path / "run.npz")


# -- one's own


@dataclass(frozen=True, eq=False)
class Huber(SmoothObjective):
    """Squares near, distances far."""

    delta: float = 1.0

    def value(self, predictor):
        left = np.abs(self.y - predictor)
        near = left <= self.delta
        return -float(np.where(near, left**2 / 2, self.delta * (left - self.delta / 2)).mean())

    def gradient(self, predictor):
        return np.clip(self.y - predictor, -self.delta, self.delta) / len(self.y)

    def curvature(self, predictor):
        return (np.abs(self.y - predictor) <= self.delta) / len(self.y)

    def ceiling(self):
        return 0.0


def test_an_objective_of_ones_own_finds_what_outliers_hide():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 200))
    y = rows[3] - rows[17] + 0.1 * rng.normal(size=200)
    y[:10] += 100 * rng.normal(size=10)
    for selector in (ProtoBasic, ProtoDash):
        chosen = selector(2, objective=Huber(y, signed=True)).fit(rows).result_
        assert sorted(chosen.indices.tolist()) == [3, 17]
        np.testing.assert_allclose(np.abs(chosen.weights), 1.0, atol=0.1)


def test_newton_climbs_where_nothing_curves():
    rows = np.random.default_rng(0).normal(size=(3, 200))
    objective = Huber(1000 + 100 * rows[0], signed=True)
    found = objective.weigh(rows, np.zeros(3))
    assert found.value == pytest.approx(objective.upper_bound(1))
    np.testing.assert_allclose(found.weights, [100, 0, 0], atol=1e-6)


def test_an_objective_of_ones_own_may_compare_as_it_likes():
    rows, y = make_regression("leastsquares", 0)
    Plain = dataclass(frozen=True)(type("Plain", (Huber,), {}))
    selector = ProtoStream(3, objective=Plain(y), block_size=4).partial_fit(rows[:6])
    selector.set_params(objective=Plain(y)).partial_fit(rows[6:])
    with pytest.raises(ParameterError, match="when the stream began"):
        selector.set_params(objective=Plain(-y)).partial_fit(rows)


def test_without_a_largest_value_there_is_no_bound():
    rows, y = make_regression("leastsquares", 0)

    class Boundless(Huber):
        def ceiling(self):
            return np.inf

    result = ProtoDash(2, objective=Boundless(y)).fit(rows).result_
    assert np.isnan(result.residual)
    assert "no bound is known" in str(result.certificate)


def test_to_offer_exchanges_is_to_have_a_quadratic():
    rows, y = make_regression("leastsquares", 0)

    class Offering(Huber):
        offers = LeastSquares.offers

    with pytest.raises(NotImplementedError, match=r"has to have quadratic\(\)"):
        ProtoSwap(2, objective=Offering(y)).fit(rows)


def test_ones_own_cannot_be_saved(tmp_path):
    rows, y = make_regression("leastsquares", 0)
    with pytest.raises(StateFileError, match=r"never code\. Use the kernels, means and objectives of protosieve"):
        ProtoStream(3, objective=Huber(y)).partial_fit(rows).save(tmp_path / "run.npz")


# -- errors, and what is not theirs


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_features_whose_squares_no_number_holds_are_refused(scale):
    rows, y = make_regression("leastsquares", 0)
    for selector in (ProtoBasic, ProtoStream, Streak, ProtoDash):
        with pytest.raises(InputError, match=r"row 0: .* squared length (inf|0.0); scale the features"):
            selector(3, objective=LeastSquares(y)).fit(scale * rows)


def test_warnings_do_not_speak_of_kernels():
    rows, y = make_regression("leastsquares", 1, 40, 30)
    objective = LeastSquares(y)
    with pytest.warns(ProtosieveWarning) as caught:
        ProtoStream(30, objective=objective).fit(np.repeat(rows[:1], 40, axis=0))
    for selector in (ProtoSwap, ProtoStream):
        with pytest.raises(InputError, match=r"gradient under LeastSquares.*rows are features") as error:
            selector(3, objective=objective).fit(np.zeros((4, 30)))
        assert "kernel" not in str(error.value)
    assert not any("kernel" in str(warning.message) for warning in caught)
    with pytest.raises(InputError, match="0 for every row alone"):
        Streak(3, objective=SetFunction(lambda rows: 0.0)).fit(rows)


def test_only_the_kernel_mean_has_an_mmd():
    rows, y = make_regression("leastsquares", 2)
    certificate = ProtoSwap(3, objective=LeastSquares(y)).fit(rows).result_.certificate
    assert np.isnan(certificate.mmd)
    assert np.isnan(certificate.mmd_bound())
    assert "what there is to explain of y" in str(certificate)


def test_a_target_with_an_empty_chunk_is_refused_at_once():
    rows, y = make_regression("leastsquares", 2)
    selector = ProtoStream(3, objective=LeastSquares(y))
    with pytest.raises(InputError, match="target was given"):
        selector.partial_fit(rows[:0], target=rows)
    assert len(selector.partial_fit(rows).result_) <= 3


def test_what_is_missing_is_said_before_work_starts():
    rows, y = make_regression("logistic", 0)
    with pytest.raises(
        ParameterError, match="ProtoStream needs gradients; SetFunction has only values: use ProtoBasic"
    ):
        ProtoStream(3, objective=SetFunction(covered)).fit(rows)
    with pytest.raises(ParameterError, match="ProtoSwap needs exchanges; Logistic has only values and gradients"):
        ProtoSwap(3, objective=Logistic(y)).partial_fit(rows)
    with pytest.raises(ParameterError, match="ProtoDash needs gradients"):
        ProtoDash(3, objective=SetFunction(covered)).fit(rows)
    with pytest.raises(ParameterError, match=r"must be one of protosieve.objectives.*got 'squares'"):
        ProtoStream(3, objective="squares").fit(rows)


def test_input_errors_name_the_remedy():
    rows, y = make_regression("logistic", 0)
    objective = Logistic(y)
    with pytest.raises(InputError, match=r"X has 12 columns and y of Logistic has 60 values.*pass X.T"):
        ProtoStream(3, objective=objective).fit(rows.T)
    with pytest.raises(InputError, match="target was given, and Logistic has none"):
        ProtoStream(3, objective=objective).fit(rows, target=rows)
    with pytest.raises(ParameterError, match=r"kernel=.* belongs to the kernel mean"):
        ProtoStream(3, objective=objective, kernel=lambda X, Y: X @ Y.T).fit(rows)
    fitted = ProtoStream(3, objective=objective).fit(rows)
    for method in (fitted.transform, fitted.predict):
        with pytest.raises(ParameterError, match="only where the objective is the kernel mean"):
            method(rows)
    assert not hasattr(fitted, "kernel_")
    assert "weights_" in dir(fitted)
    assert "ProtoStream" in fitted._repr_html_()
    with pytest.raises(InputError, match="only selections by the kernel mean have criticisms"):
        criticisms(fitted, rows, 2)
    with pytest.raises(InputError, match="No feature helps on its own"):
        ProtoStream(3, objective=objective).fit(np.zeros((4, 60)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Logistic([1, 1, 1]), "labels of two classes"),
        (lambda: Logistic([[0, 1]]), "labels of two classes"),
        (lambda: Poisson([1, -2]), r"y\[1\] is -2"),
        (lambda: Poisson([0, 0], intercept=False), "all are zero"),
        (lambda: LeastSquares([1, np.nan]), r"y\[1\] is nan"),
        (lambda: LeastSquares([]), "one number per sample"),
        (lambda: LeastSquares(["a", "b"]), "must be numbers"),
        (lambda: LeastSquares([1, 2], ridge=-1), "ridge must be a number of at least 0, got -1"),
        (lambda: LeastSquares([1, 2], signed="no"), "signed must be True or False, got 'no'"),
        (lambda: Logistic([0, 1], intercept=None), "intercept must be True or False, got None"),
        (lambda: Logistic(np.array([0, 1, "b"], dtype=object)), "labels of one kind"),
        (lambda: SetFunction(3), "function must be callable"),
        (lambda: Logistic([1.0, 1.0, np.nan]), r"y\[2\] has no label"),
        (lambda: Logistic(["a", None, "b"]), r"y\[1\] has no label"),
        (lambda: LeastSquares(np.full(30, 0.1)), "nothing is left to choose by"),
        (lambda: Poisson(np.full(30, 3)), "nothing is left to choose by"),
        (lambda: LeastSquares([1, 2]).values(np.ones((2, 3))), "rows has 3 columns and y of LeastSquares has 2"),
        (lambda: Streak(1, objective=SetFunction(lambda rows: None)).fit(np.eye(2)), "has to return a number"),
    ],
)
def test_wrong_objectives_are_refused(make, words):
    with pytest.raises((ParameterError, InputError), match=words):
        make()


def test_labels_of_any_kind_will_do():
    rows, y = make_regression("logistic", 2)
    words = np.where(y > 0, "yes", "no")
    one, other = (ProtoDash(3, objective=Logistic(labels)).fit(rows) for labels in (y, words))
    assert np.array_equal(one.weights_, other.weights_)


def test_an_objective_is_the_users_and_stays_as_it_is():
    rows, y = make_regression("leastsquares", 4)
    mine = y.copy()
    objective = LeastSquares(mine)
    before = ProtoStream(3, objective=objective, block_size=4).partial_fit(rows[:6])
    mine[:] = 0  # the objective has its own copy
    assert np.array_equal(objective.y, y)
    before.partial_fit(rows[6:])
    assert objective == copy.deepcopy(objective) == LeastSquares(y)
    assert objective != LeastSquares(y, signed=True)
    assert clone(before).get_params()["objective"] == objective
    with pytest.raises(ParameterError, match=r"objective was .* when the stream began"):
        before.set_params(objective=LeastSquares(y + 1)).partial_fit(rows)


def test_the_heaviest_come_first_whatever_their_sign():
    rows, y = make_regression("leastsquares", 6)
    rows[1] *= -1
    weights = ProtoDash(6, objective=LeastSquares(y, signed=True)).fit(rows).weights_
    assert (np.diff(np.abs(weights)) <= 0).all()
    assert (weights < 0).any()


# -- the set that exchanges members of either sign


@settings(max_examples=volume(15, 60))
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 30), st.booleans())
def test_free_exchanges_are_exact(seed, m, n, copies):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 8))
    if copies:
        rows[n // 2 :] = rows[: n - n // 2]
    K, mu = rows @ rows.T, rows @ rng.normal(size=8)
    chosen, members = FreeExchangeSet(m), {}
    value = 0.0
    for start in range(0, n, 7):
        part = np.arange(start, min(start + 7, n))
        chosen.reserve(chosen.size + len(part))
        near = np.zeros((len(part), len(chosen.w)))
        for slot, row in members.items():
            near[:, slot] = K[part, row]
        events = chosen.offer(near, lambda part=part: K[np.ix_(part, part)], K.diagonal()[part], mu[part])
        for row, slot in events:
            if row >= 0:
                members[slot] = int(part[row])
            else:
                del members[slot]
        chosen.settle()
        chosen._check()
        assert sorted(members) == chosen.slots.tolist()
        held = [members[slot] for slot in sorted(members)]
        weights, best = free_weights(K[np.ix_(held, held)], mu[held])
        assert chosen.value == pytest.approx(best, rel=1e-6, abs=1e-9)
        if not copies and len(held) <= 8:
            np.testing.assert_allclose(chosen.w[chosen.slots], weights, rtol=1e-5, atol=1e-7)
        assert chosen.value >= value - 1e-9 * (1 + value)
        value = chosen.value


@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-5, 1e-4, 1e-3])
def test_near_copies_do_not_lower_the_value(noise):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        kinds = rng.normal(size=(4, 25))
        rows = kinds[rng.integers(4, size=40)] + noise * rng.normal(size=(40, 25))
        y = kinds.sum(axis=0) + 0.1 * rng.normal(size=25)
        selector = ProtoSwap(5, objective=LeastSquares(y, signed=True), candidates="all", block_size=8, random_state=0)
        seen = [selector.partial_fit(part).standing_.residual for part in np.split(rows, 5)]
        assert (np.diff(seen) <= 1e-9).all()
        assert selector.result_.residual <= seen[-1] + 1e-9


@pytest.mark.filterwarnings("ignore::protosieve.errors.ProtosieveWarning")
def test_few_features_are_no_trouble():
    rows, y = make_regression("logistic", 3, 2, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for selector in (ProtoBasic, ProtoStream, Streak, ProtoDash):
            assert len(selector(5, objective=Logistic(y, signed=True)).fit(rows).result_) <= 2
