"""The selectors against literal transcriptions of the pseudo-code."""

import numpy as np
import pytest

import oracles
from conftest import BATCH_SELECTORS
from problems import make_problem
from protosieve import ProtoStream, ProtoSwap, Streak
from protosieve.kernels import Gaussian, Polynomial
from protosieve.selectors import SELECTORS
from volumes import repeated, volume

# The same problems whatever else is loaded: hypothesis draws by the constants it has seen.
SEEDS = range(volume(100, 300))  # the limits are shares of these: a few would be luck
TOO_CLOSE = 1e-10


def _weights_by_row(X, chosen, weights):
    """Weights summed over exact copies: between copies they are not determined."""
    rows, place = np.unique(X[chosen], axis=0, return_inverse=True)
    return rows, np.bincount(place.ravel(), weights, minlength=len(rows))


def _agrees(selector, run, problem, K):
    """Same index set; same weights to 1e-8 where the Gram matrix determines them, else the same sums ``K w``."""
    chosen, weights = selector.prototype_indices_, selector.weights_
    expected = np.array(run.chosen)
    if run.tied:  # which members of weight zero come along is not determined
        chosen, weights = chosen[weights > 1e-12], weights[weights > 1e-12]
        expected, run.weights = expected[run.weights > 1e-12], run.weights[run.weights > 1e-12]
    assert sorted(chosen.tolist()) == expected.tolist()
    weights = weights[np.argsort(chosen)]
    rows, ours = _weights_by_row(problem.X, expected, weights)
    _, theirs = _weights_by_row(problem.X, expected, run.weights)
    smallest = np.linalg.eigvalsh(oracles.gaussian(rows, rows, problem.width))[0]
    if smallest > 1e-7:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)
        return True
    function = K[np.ix_(expected, expected)]
    mu = oracles.gaussian(problem.X[expected], problem.target, problem.width).mean(axis=1)
    if not oracles.is_optimal(function, mu, run.weights):
        return False  # near a singular matrix SciPy's NNLS sometimes stops short of the optimum
    np.testing.assert_allclose(function @ weights, function @ run.weights, rtol=0, atol=1e-8)
    return False


# The twin of a selector is the function of its name.
each_pair = pytest.mark.parametrize(
    ("selector", "literal"),
    [pytest.param(cls, getattr(oracles, cls.__name__.lower()), id=cls.__name__) for cls in SELECTORS],
)


def _options(selector, problem):
    """For the literal twin, and for the selector."""
    if selector is ProtoSwap:
        return {}, {"candidates": "all"}
    options = {"epsilon": problem.epsilon} if hasattr(selector(), "epsilon") else {}
    return options, options


def _seeds(selector):
    """Fewer in the quick suite for Streak, which solves a program for every row and threshold, as its twin does."""
    return SEEDS[: volume(30, len(SEEDS))] if selector is Streak else SEEDS


def _feed(ours, problem):
    """The rows in the problem's chunks, or at once where a selector needs them so."""
    if isinstance(ours, BATCH_SELECTORS):
        return ours.fit(problem.X, target=problem.target)
    for i, chunk in enumerate(problem.chunks()):
        ours.partial_fit(chunk, **({"target": problem.target} if i == 0 else {}))
    return ours


@repeated
@each_pair
def test_selects_what_the_pseudo_code_selects(selector, literal):
    count = {"compared": 0, "weights": 0, "aside": 0}
    # An exchange set takes newcomers to add a millionth at least: that moves values by some 1e-8 of themselves.
    too_close = 1e-7 if selector is ProtoSwap else TOO_CLOSE

    def compare(problem):
        K = oracles.gaussian(problem.X, problem.X, problem.width)
        mu = oracles.gaussian(problem.X, problem.target, problem.width).mean(axis=1)
        given_to_literal, options = _options(selector, problem)
        run = literal(K, mu, problem.m, **given_to_literal)
        if run.margin < too_close:
            count["aside"] += 1
            return
        ours = selector(problem.m, kernel=Gaussian(problem.width), block_size=problem.block_size, **options)
        _feed(ours, problem)
        count["compared"] += 1
        count["weights"] += _agrees(ours, run, problem, K)
        assert ours.objective_ == pytest.approx(run.objective, rel=1e-9, abs=1e-12)

    seeds = _seeds(selector)
    for seed in seeds:
        compare(make_problem(seed))
    print(f"\n{selector.__name__}: {count}")  # noqa: T201  (the evidence: pytest -s shows it)
    assert count["compared"] >= 2 / 3 * len(seeds)
    # ProtoSwap compares values, not gradients: gains of less than 1e-7 of the value are no rare thing
    limit = {ProtoSwap: 0.12, ProtoStream: 0.02, Streak: 0.02}.get(selector, 0.03)
    assert count["aside"] <= limit * len(seeds), count
    assert count["weights"] > 0.8 * count["compared"]


@repeated
@each_pair
def test_the_same_where_the_diagonal_varies(selector, literal):
    """Polynomial of degree 2: single rows differ in length, and twelve rows are often nearly dependent."""
    kernel, compared = Polynomial(degree=2, scale=0.1), 0
    seeds = _seeds(selector)
    for seed in seeds[: len(seeds) // 2]:
        problem = make_problem(seed)
        K, mu = kernel(problem.X), kernel(problem.X, problem.target).mean(axis=1)
        given_to_literal, options = _options(selector, problem)
        run = literal(K, mu, problem.m, **given_to_literal)
        if run.margin < 1e-7 or run.tied or mu.max() <= 0:
            continue
        ours = _feed(selector(problem.m, kernel=kernel, block_size=problem.block_size, **options), problem)
        assert sorted(ours.prototype_indices_.tolist()) == run.chosen
        assert ours.objective_ == pytest.approx(run.objective, rel=1e-7)
        compared += 1
    assert compared > len(seeds) / 4
