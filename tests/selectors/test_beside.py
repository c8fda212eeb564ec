"""Rows that were chosen before, and rows that must not be chosen."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracles
from problems import make_problem, problems
from protosieve import InputError, ParameterError, ProtoSwap, load
from protosieve.kernels import Gaussian, Linear, MultiScale, Polynomial
from protosieve.means import Span
from protosieve.objectives import Coverage, LeastSquares
from protosieve.selectors._beside import Outside
from volumes import volume

goals = st.sampled_from([None, Coverage(30)])


def kept_of(problem, share):
    """Some rows like those of the problem, some of them copies of these."""
    rng = np.random.default_rng(len(problem.X))
    copies = problem.X[rng.integers(len(problem.X), size=2)]
    return np.concatenate([copies, problem.X.mean(axis=0) + rng.normal(size=(share, problem.X.shape[1]))])


def made(problem, goal, m=None, **more):
    return ProtoSwap(
        m or problem.m, kernel=Gaussian(problem.width), objective=goal, block_size=problem.block_size, random_state=3,
        **more,
    )  # fmt: skip


@settings(max_examples=volume(40, 1500))
@given(problems, goals, st.integers(0, 5), st.booleans())
def test_what_was_chosen_before_stays_and_what_is_excluded_stays_out(problem, goal, share, follows):
    keep, exclude = kept_of(problem, share), problem.X[:: 1 + share]
    barred = set(map(tuple, np.concatenate([keep, exclude])))
    assume(set(map(tuple, problem.X)) - barred)
    whole = made(problem, goal)
    for i, chunk in enumerate(problem.chunks()):
        first = {"target": None if follows else problem.target, "keep": keep, "exclude": exclude}
        whole.partial_fit(chunk, **(first if i == 0 else {}))
    found = whole.result_
    new = found.is_new
    assert new.sum() <= problem.m
    assert not new[new.sum() :].any()
    assert sorted(map(tuple, found.rows[~new])) == sorted(map(tuple, keep))
    np.testing.assert_array_equal(found.rows[new], problem.X[found.indices[new]])
    assert not barred & set(map(tuple, found.rows[new]))
    at_once = made(problem, goal).partial_fit(
        problem.X, target=None if follows else problem.target, keep=keep, exclude=exclude
    )
    for name in ("indices", "rows", "weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(at_once.result_, name))
    assert found.certificate == at_once.result_.certificate


@settings(max_examples=volume(15, 200))
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 4))
def test_of_what_is_left_to_cover_at_least_half_of_the_best_is_covered(seed, m, share):
    """``f(S + keep) - f(keep)`` is submodular too, and a set that no exchange improves has half of the best.

    The certificate bounds the best beside the rows that were kept.
    """
    problem = make_problem(seed, n=11)
    kernel, keep = Gaussian(problem.width), kept_of(problem, share)
    fitted = ProtoSwap(m, kernel=kernel, objective=Coverage(), passes=20, random_state=0).fit(problem.X, keep=keep)
    K = kernel(np.concatenate([problem.X, keep]), problem.X)
    kept = list(range(11, 11 + len(keep)))
    before = oracles.covered(K, kept)
    _, best = oracles.best_subset(lambda rows: oracles.covered(K, [*rows, *kept]), 11, m)
    found = fitted.result_
    assert found.objective * 11 - before >= (best - before) / 2 - 1e-9
    assert found.certificate.best.bound * 11 >= best - 1e-9
    np.testing.assert_allclose(found.weights.sum(), 1.0)


@settings(max_examples=volume(15, 200))
@given(st.integers(0, 10_000), st.integers(1, 8), st.sampled_from([Gaussian, MultiScale]))
def test_weights_are_the_best_of_new_and_kept_rows_together(seed, share, kernel):
    problem = make_problem(seed, m=4)
    kernel, keep = kernel(problem.width), kept_of(problem, share)
    found = ProtoSwap(4, kernel=kernel, random_state=0).fit(problem.X, keep=keep).result_
    mu = kernel(found.rows, problem.X).mean(axis=1)
    assert oracles.is_optimal(kernel(found.rows), mu, found.weights)
    alone = kernel(keep, problem.X).mean(axis=1)
    assert found.objective >= oracles.value(kernel(keep), alone, oracles.solve(kernel(keep), alone)) - 1e-12


def beside_kept(K, mu, kept, others, m):
    """ProtoDash that begins with some rows."""
    chosen = list(kept)
    for _ in range(m):
        weights = oracles.solve(K[np.ix_(chosen, chosen)], mu[chosen])
        gradient = mu - K[:, chosen] @ weights
        chosen.append(max((row for row in others if row not in chosen), key=lambda row: gradient[row]))
    weights = oracles.solve(K[np.ix_(chosen, chosen)], mu[chosen])
    return oracles.value(K[np.ix_(chosen, chosen)], mu[chosen], weights)


@pytest.mark.parametrize("width", [1.0, 3.0])
def test_matches_as_well_as_greedy_selection_that_begins_with_the_kept_rows(width):
    """Over ten problems; kept rows are from one side of the data, so that some of them want no weight."""
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.concatenate([rng.normal(4 * rng.normal(size=3), 1.0, (60, 3)) for _ in range(5)])
        keep = X[np.argsort(X[:, 0])[:25]] + 0.01
        rows = np.concatenate([X, keep])
        K = oracles.gaussian(rows, rows, width)
        mu = K[:, :300].mean(axis=1)
        found = ProtoSwap(10, kernel=Gaussian(width), random_state=0).fit(X, keep=keep).result_
        norm = K[:300, :300].mean()
        greedy = beside_kept(K, mu, range(300, 325), range(300), 10)
        shares.append((norm - 2 * found.objective) / (norm - 2 * greedy))
    assert np.mean(shares) <= 1.0
    assert max(shares) <= 1.1


@settings(max_examples=volume(15, 200))
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 3))
def test_protobasics_rows_are_never_better(seed, m, share):
    """So the result is worth at least what Theorem 5.3 says of these, beside the rows that were kept."""
    problem = make_problem(seed, n=10)
    kernel, keep = Gaussian(problem.width), kept_of(problem, share)
    rows = np.concatenate([problem.X, keep])
    K, mu = kernel(rows), kernel(rows, problem.X).mean(axis=1)
    found = ProtoSwap(m, kernel=kernel, random_state=0).fit(problem.X, keep=keep).result_
    copies = [row for row in range(10) if not (problem.X[row] == keep).all(axis=1).any()]
    basic = sorted(copies, key=lambda row: -mu[row])[:m] + list(range(10, len(rows)))
    weights = oracles.solve(K[np.ix_(basic, basic)], mu[basic])
    assert found.objective >= oracles.value(K[np.ix_(basic, basic)], mu[basic], weights) - 1e-9


@settings(max_examples=volume(10, 60))
@given(st.integers(0, 10_000), st.sampled_from([Gaussian(1.5), MultiScale(2.0), Linear(), Polynomial(2)]))
def test_a_kernel_outside_a_span_is_the_schur_complement(seed, kernel):
    X = np.random.default_rng(seed).normal(size=(12, 4))
    Z, rest = X[:3], X[3:]
    outside = Outside(kernel, Span(kernel, Z))
    literal = kernel(rest) - kernel(rest, Z) @ np.linalg.solve(kernel(Z), kernel(Z, rest))
    np.testing.assert_allclose(outside(rest), literal, atol=1e-8 * np.abs(kernel(X)).max())
    np.testing.assert_allclose(outside.diagonal(outside.prepare(rest)), literal.diagonal(), atol=1e-8 * kernel(X).max())
    assert np.abs(outside(Z, rest)).max() < 1e-6 * kernel(X).max()


@pytest.mark.parametrize("goal", [None, Coverage(30)], ids=["match", "cover"])
def test_a_stream_that_was_saved_goes_on_beside_the_same_rows(goal, tmp_path):
    problem = make_problem(1, n=60, m=5)
    keep, exclude = problem.X[40:45], problem.X[:10]
    fed = made(problem, goal).partial_fit(problem.X[:0], keep=keep, exclude=exclude)  # no rows yet: they wait
    fed.partial_fit(problem.X[:30]).save(tmp_path / "half.npz")
    again = load(tmp_path / "half.npz").partial_fit(problem.X[30:]).result_
    whole = made(problem, goal).partial_fit(problem.X, keep=keep, exclude=exclude).result_
    np.testing.assert_array_equal(again.indices, whole.indices)
    np.testing.assert_array_equal(again.weights, whole.weights)
    assert sorted(again.indices[~again.is_new]) == [-5, -4, -3, -2, -1]


def test_rows_of_the_input_that_are_kept_are_not_chosen_again():
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    for goal, kernel in itertools.product((None, Coverage()), (Gaussian(), Linear())):
        first = ProtoSwap(5, objective=goal, kernel=kernel, random_state=0).fit(X).result_
        more = ProtoSwap(5, objective=goal, kernel=kernel, random_state=0).fit(X, keep=X[first.indices]).result_
        assert not np.isin(more.indices[more.is_new], first.indices).any()


def test_what_cannot_stand_beside_a_choice_is_refused():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(InputError, match="keep has 2 columns and X has 3; they must be the same columns"):
        ProtoSwap(5).fit(X, keep=X[:4, :2])
    with pytest.raises(InputError, match="exclude: row 1, column 2 is NaN"):
        ProtoSwap(5).fit(X, exclude=[[1.0, 2.0, 3.0], [1.0, 2.0, np.nan]])
    with pytest.raises(InputError, match="keep was given after 50 rows; it belongs to the first call of partial_fit"):
        ProtoSwap(5).partial_fit(X).partial_fit(X, keep=X[:2])
    with pytest.raises(ParameterError, match="keep needs a sample to choose from, and candidates='all' judges rows"):
        ProtoSwap(5, candidates="all").fit(X, keep=X[:2])
    with pytest.raises(InputError, match="keep was given, and LeastSquares compares no rows"):
        ProtoSwap(2, objective=LeastSquares([1.0, 2.0, 3.0])).fit(X, keep=X[:2])
    with pytest.raises(InputError, match="all 50 rows to choose from are among those to keep or to exclude"):
        ProtoSwap(5).fit(X, exclude=X)
