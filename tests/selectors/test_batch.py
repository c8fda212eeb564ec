"""The promises that apply to selectors that need all rows at once."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import oracles
from conftest import BATCH_SELECTORS
from problems import generic_problems, make_problem, problems
from protosieve import InputError, MMDCritic, ParameterError, ProtoBasic, ProtoDash, ProtosieveWarning, ProtoStream
from protosieve.kernels import Cosine, Gaussian, Linear, Polynomial
from protosieve.means import ExactMean, ReservoirMean
from volumes import repeated, volume

each_selector = pytest.mark.parametrize("selector", BATCH_SELECTORS)
relaxed = settings(
    max_examples=volume(12, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
dtypes = st.sampled_from([np.float32, np.float64])


def make(selector, problem, **options):
    return selector(problem.m, kernel=Gaussian(problem.width), block_size=problem.block_size, random_state=3, **options)


def known(problem):
    """The Gram matrix and the means, from plain distances."""
    K = oracles.gaussian(problem.X, problem.X, problem.width)
    return K, oracles.gaussian(problem.X, problem.target, problem.width).mean(axis=1)


# -- the order of choice


@each_selector
@relaxed
@given(problem=generic_problems)
def test_rows_are_chosen_in_the_order_of_the_literal_twin(selector, problem):
    K, mu = known(problem)
    run = getattr(oracles, selector.__name__.lower())(K, mu, problem.m)
    if run.margin < 1e-10:
        return
    fitted = make(selector, problem).fit(problem.X, target=problem.target)
    assert fitted.order_.tolist() == run.order
    for k in range(1, len(run.order) + 1):
        chosen = run.order[:k]
        inside = np.ix_(chosen, chosen)
        w = oracles.solve(K[inside], mu[chosen]) if selector is ProtoDash else np.full(k, 1 / k)
        assert fitted.order_objectives_[k - 1] == pytest.approx(oracles.value(K[inside], mu[chosen], w), rel=1e-8)


@each_selector
@relaxed
@given(problem=problems)
def test_choices_are_nested(selector, problem):
    whole = make(selector, problem).fit(problem.X, target=problem.target)
    for k in {1, (len(whole.order_) + 1) // 2}:
        less = make(selector, problem).set_params(n_prototypes=k).fit(problem.X, target=problem.target)
        assert less.order_.tolist() == whole.order_[:k].tolist()


@pytest.fixture
def unsure(monkeypatch):
    """Guesses from so few rows that most of them fail, and gradients in many small parts."""
    monkeypatch.setattr("protosieve.selectors._protodash._SHORTLIST", 3)
    monkeypatch.setattr("protosieve.selectors._protodash._PER_STEP", 0)
    monkeypatch.setattr("protosieve.selectors._protodash._PART", 17)


@relaxed
@given(problem=problems, dtype=dtypes)
def test_protodash_chooses_the_same_however_bad_its_guesses(unsure, problem, dtype):
    X, target = problem.X.astype(np.float64), problem.target
    fitted = make(ProtoDash, problem).fit(X, target=target)
    K, mu = known(problem)
    run = oracles.protodash(K, mu, problem.m)
    if run.margin > 1e-10:
        assert fitted.order_.tolist() == run.order
    rough = make(ProtoDash, problem).fit(X.astype(dtype), target=target.astype(dtype))
    assert (np.diff(rough.order_objectives_) >= -1e-6 * mu.max()).all()


@repeated
@pytest.mark.parametrize("cache_size", [0, 0.004, 0.01])
@pytest.mark.parametrize("surely", [True, False])
def test_similarities_that_are_not_kept_change_nothing(cache_size, surely, request):
    if not surely:
        request.getfixturevalue("unsure")
    for seed in range(volume(10, 40)):
        problem = make_problem(seed, n=120, m=20)
        plain = make(ProtoDash, problem).fit(problem.X, target=problem.target)
        small = make(ProtoDash, problem, cache_size=cache_size).fit(problem.X, target=problem.target)
        if oracles.protodash(*known(problem), problem.m).margin > 1e-10:
            assert small.order_.tolist() == plain.order_.tolist()
            np.testing.assert_array_equal(small.weights_, plain.weights_)
        assert small.objective_ == pytest.approx(plain.objective_, rel=1e-8)


def test_of_copies_the_earliest_is_taken(batch_selector):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 3))
    for dtype in (np.float32, np.float64):
        once = batch_selector(12, kernel=Gaussian(1.0)).fit(rows.astype(dtype), target=rows.astype(dtype))
        again = batch_selector(12, kernel=Gaussian(1.0)).fit(
            np.tile(rows, (3, 1)).astype(dtype), target=rows.astype(dtype)
        )
        assert again.order_[0] == once.order_[0]
        if batch_selector is ProtoDash:  # equal weights are a reason to take a copy, too
            assert again.order_.tolist() == once.order_.tolist()


# -- the result


@relaxed
@given(problem=problems, dtype=dtypes)
def test_protodash_weights_are_non_negative_and_optimal_to_1e_8(problem, dtype):
    X, target = problem.X.astype(dtype), problem.target.astype(dtype)
    fitted = make(ProtoDash, problem).fit(X, target=target)
    kept = fitted.prototypes_.astype(np.float64)
    K = oracles.gaussian(kept, kept, problem.width)
    gradient = oracles.gaussian(kept, target.astype(np.float64), problem.width).mean(axis=1) - K @ fitted.weights_
    assert (fitted.weights_ >= 0).all()
    assert gradient.max() <= 1e-8
    assert np.abs(gradient[fitted.weights_ > 0]).max(initial=0) <= 1e-8


@each_selector
@relaxed
@given(problem=problems)
def test_indices_are_row_numbers_and_rows_are_kept(selector, problem):
    fitted = make(selector, problem).fit(problem.X, target=problem.target)
    np.testing.assert_array_equal(fitted.prototypes_, problem.X[fitted.prototype_indices_])
    assert len(set(fitted.prototype_indices_.tolist())) == len(fitted.prototype_indices_) <= problem.m
    assert sorted(fitted.order_.tolist()) == sorted(fitted.prototype_indices_.tolist())
    assert fitted.n_samples_seen_ == fitted.result_.n_seen == len(problem.X)
    assert (np.diff(fitted.weights_) <= 0).all()


@relaxed
@given(problem=problems)
def test_mmdcritic_weighs_all_rows_the_same(problem):
    fitted = make(MMDCritic, problem).fit(problem.X, target=problem.target)
    kept = min(problem.m, len(problem.X))
    assert fitted.weights_.tolist() == [1 / kept] * kept


def test_the_numbers_are_what_they_say(batch_selector, X):
    result = batch_selector(9, kernel=Gaussian(2.0), random_state=0).fit(X).result_
    K, norm = oracles.gaussian(result.rows, result.rows, 2.0), oracles.gaussian(X, X, 2.0).mean()
    mu = oracles.gaussian(result.rows, X, 2.0).mean(axis=1)
    squared = norm - 2 * result.weights @ mu + result.weights @ K @ result.weights
    assert result.objective == pytest.approx(oracles.value(K, mu, result.weights), rel=1e-10)
    assert result.residual == pytest.approx(squared / norm, rel=1e-6)
    assert result.mmd == pytest.approx(np.sqrt(squared), rel=1e-6)
    assert result.certificate.upper_bound == pytest.approx(norm / 2, rel=1e-10)
    assert result.selector == batch_selector.__name__
    assert result.trace.rows_seen.tolist() == [300]


def test_width_and_mean_are_those_of_a_stream_selector(batch_selector, X):
    for mean in (None, ReservoirMean(100)):
        for target in (None, X[:50] + 1):
            ours, stream = (
                S(5, mean=mean, random_state=4, block_size=64).fit(X, target=target).result_
                for S in (batch_selector, ProtoBasic)
            )
            assert ours.kernel.width == stream.kernel.width
            assert ours.certificate.upper_bound == stream.certificate.upper_bound
            assert ours.certificate.sample == stream.certificate.sample


def test_a_target_may_come_with_the_mean(batch_selector, X):
    one = batch_selector(5, mean=ExactMean(X[:50]), random_state=0).fit(X)
    two = batch_selector(5, random_state=0).fit(X, target=X[:50])
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.order_, two.order_)


def test_same_seed_same_result(batch_selector, X):
    one, two, three = (batch_selector(12, mean=ReservoirMean(50), random_state=seed).fit(X) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.order_, two.order_)
    assert one.objective_ != three.objective_


def test_block_size_is_a_matter_of_speed(batch_selector, X):
    results = [batch_selector(20, kernel=Gaussian(1.0), block_size=size).fit(X) for size in (1, 7, 300, 1000)]
    for other in results[1:]:
        assert other.order_.tolist() == results[0].order_.tolist()


def test_protodash_is_at_least_as_good_as_the_others(X):
    value = {S: S(20, kernel=Gaussian(1.0)).fit(X).objective_ for S in (MMDCritic, ProtoBasic, ProtoDash, ProtoStream)}
    assert max(value, key=value.get) is ProtoDash


# -- awkward data


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [0.05, 1.0, 30.0, 1000.0])
def test_copies_and_near_singular_kernels(batch_selector, dtype, width):
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(40, 2)), 4, axis=0).astype(dtype)
    result = batch_selector(60, kernel=Gaussian(width)).fit(rows).result_
    assert np.isfinite(result.weights).all()
    assert (result.weights >= 0).all()
    # in float32 -|x - y|^2 / (2 width^2) is the sum of terms of up to 3^2 / width^2, and as exact as these
    exact = np.finfo(dtype).eps * (4 + (3 / width) ** 2)
    assert result.objective <= result.certificate.upper_bound * (1 + 1e-9 + exact)
    if batch_selector is ProtoDash:
        assert result.residual < 1e-3
        assert len(result) <= 40 or dtype == np.float32


def test_float32_and_kernels_that_can_be_negative(batch_selector):
    tiny = (np.random.default_rng(0).normal(size=(600, 3)) * 1e-6).astype(np.float32)
    for kernel in (Cosine(), Linear(), Polynomial(3, 0.0)):
        result = batch_selector(10, kernel=kernel, random_state=0).fit(tiny + np.float32(1e-7)).result_
        assert result.objective <= result.certificate.upper_bound * (1 + 1e-9)
        assert (result.weights >= 0).all()


def test_constant_rows_stand_for_themselves(batch_selector):
    fitted = batch_selector(5, kernel=Gaussian(1.0)).fit(np.full((40, 3), 2.5))
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert fitted.mmd_ == pytest.approx(0.0, abs=1e-7)
    assert len(fitted.weights_) == (1 if batch_selector is ProtoDash else 5)
    assert fitted.order_.tolist() == list(range(len(fitted.weights_)))


def test_one_row_and_more_prototypes_than_rows(batch_selector, X):
    with pytest.warns(ProtosieveWarning, match="n_prototypes=5 but X has 1 rows"):
        fitted = batch_selector(5).fit(np.array([[1.0, 2.0]]))
    assert fitted.prototype_indices_.tolist() == [0]
    assert fitted.weights_.tolist() == [1.0]
    with pytest.warns(ProtosieveWarning, match="n_prototypes=50 but X has 20 rows"):
        assert 1 <= len(batch_selector(50, kernel=Gaussian(1.0)).fit(X[:20]).weights_) <= 20


def test_protodash_says_why_it_stopped_early(X):
    with pytest.warns(ProtosieveWarning, match=r"ProtoDash kept 4 of n_prototypes=50: under Linear\(\)"):
        assert len(ProtoDash(50, kernel=Linear()).fit(X + 10).weights_) == 4


def test_a_users_function_is_a_kernel(batch_selector, X):
    ours = batch_selector(8, kernel=lambda A, B: oracles.gaussian(A, B, 2.0)).fit(X)
    np.testing.assert_array_equal(ours.order_, batch_selector(8, kernel=Gaussian(2.0)).fit(X).order_)


# -- what users get wrong


def fingerprint(selector):
    """Everything a failed call must leave alone."""
    result = selector.result_
    state = {name: value for name, value in vars(selector).items() if name not in ("_result", "_choice")}
    return repr((copy.deepcopy(state), result.indices.tolist(), result.weights.tolist(), selector.order_.tolist()))


def bad(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


def test_a_failed_fit_leaves_the_previous_one(batch_selector, X, monkeypatch):
    fitted = batch_selector(8, random_state=0).fit(X)
    before = fingerprint(fitted)
    for wrong in (X[:, :2] * np.nan, np.empty((0, 2)), X[0], X[:, :3] * 1e200):
        with pytest.raises(InputError):
            fitted.fit(wrong)
        assert fingerprint(fitted) == before

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(batch_selector, "_prototypes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X[:, :3])
    assert fingerprint(fitted) == before


def test_a_failed_first_fit_leaves_an_unfitted_selector(batch_selector, X):
    fresh = batch_selector()
    with pytest.raises(InputError):
        fresh.fit(bad(X, 0, 0, np.nan))
    for attribute in ("weights_", "order_", "order_objectives_", "n_samples_seen_"):
        with pytest.raises(NotFittedError):
            getattr(fresh, attribute)
    assert not hasattr(fresh, "n_features_in_")


@pytest.mark.parametrize(
    ("rows", "options", "match"),
    [
        (lambda X: bad(X, 4, 2, np.nan), {}, r"X: row 4, column 2 is NaN; drop the row or fill the value in"),
        (lambda X: X[0], {}, "Expected 2D array, got 1D array"),
        (lambda X: X[:0], {}, r"0 row\(s\) \(shape=\(0, 4\)\) while a minimum of 1 is required"),
        (lambda X: pd.DataFrame(X).assign(b="x"), {}, "column 'b' holds 'x', which is not a number"),
        (lambda X: X, {"target": [[1.0, 2.0]]}, "target has 2 columns and X has 4"),
        (lambda X: X, {"target": np.empty((0, 4))}, "target has no rows"),
        (lambda X: X, {"y": np.zeros((300, 4))}, r"y has shape \(300, 4\), the columns of X: .* pass them as target="),
        (
            lambda X: X,
            {"target": np.full((3, 4), 1000.0)},
            "too far from the target for this width: choose a larger one",
        ),
    ],
)
def test_bad_input_says_what_to_do(batch_selector, X, rows, options, match):
    with pytest.raises(InputError, match=match):
        batch_selector(kernel=Gaussian(1.0)).fit(rows(X), **options)


def test_nothing_similar_to_the_target_says_so(batch_selector, X):
    rows = np.abs(X) + 1
    with pytest.raises(InputError, match=r"none of the 300 rows has a positive mean similarity .* Linear\(\)"):
        batch_selector(kernel=Linear()).fit(rows, target=-rows)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_prototypes": 0}, "n_prototypes must be a whole number of at least 1, got 0"),
        ({"block_size": 0}, "block_size must be a whole number of at least 1, got 0"),
        ({"kernel": "rbf"}, "kernel must be a kernel of protosieve.kernels"),
        ({"mean": "exact"}, "mean must be a mean of protosieve.means"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_parameters_are_checked_when_work_starts(batch_selector, X, options, match):
    with pytest.raises(ParameterError, match=match):
        batch_selector(**options).fit(X)


@pytest.mark.parametrize("cache_size", [-1, "1 GB", None, float("nan")])
def test_the_cache_is_a_number_of_megabytes(X, cache_size):
    with pytest.raises(ParameterError, match="ProtoDash: cache_size must be a number of megabytes of at least 0, got"):
        ProtoDash(cache_size=cache_size).fit(X)


def test_a_boundless_cache_keeps_what_there_is(X):
    assert len(ProtoDash(5, cache_size=float("inf")).fit(X).weights_) == 5


def test_data_frames_are_welcome_and_their_columns_remembered(batch_selector, X):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = batch_selector(6, random_state=0).fit(frame)
    assert fitted.result_.feature_names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(fitted.order_, batch_selector(6, random_state=0).fit(X).order_)
    with pytest.raises(InputError, match="feature names should match"):
        fitted.predict(frame.rename(columns={"a": "z"}))


def test_long_work_says_how_far_it_is(batch_selector, X, capsys, monkeypatch):
    monkeypatch.setattr("protosieve.selectors._progress._EVERY", 0.0)
    batch_selector(5, kernel=Gaussian(1.0), block_size=100).fit(X)
    assert capsys.readouterr().err == ""
    batch_selector(5, kernel=Gaussian(1.0), block_size=100, verbose=True).fit(X)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith(f"{batch_selector.__name__}: 200 of 300 rows, ")
    assert lines[-1].startswith(f"{batch_selector.__name__}: 5 of 5 prototypes, ")
    assert "l = " in lines[-1]
