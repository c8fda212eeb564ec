"""Criticisms against a literal greedy choice on dense matrices."""

import dataclasses
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import oracles
from problems import make_problem
from protosieve import InputError, ParameterError, ProtoBasic, ProtosieveWarning, ProtoStream, ProtoSwap, criticisms
from protosieve.kernels import Gaussian, Linear
from protosieve.means import ExactMean, ReservoirMean
from protosieve.objectives import Coverage

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


@pytest.fixture
def fitted(selector, X):
    return selector(9, kernel=Gaussian(2.0), random_state=0).fit(X)


def witness(result, X, target, width=2.0):
    mu = oracles.gaussian(X, target, width).mean(axis=1)
    return mu - oracles.gaussian(X, result.rows, width) @ result.weights


def assert_same(one, other):
    for name in ("indices", "rows", "witness"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("diversity", [0.0, 0.01, 1.0])
def test_a_pool_of_all_rows_gives_the_literal_greedy_choice(diversity):
    compared = 0
    for seed in range(60):
        problem = make_problem(seed)
        X = np.unique(problem.X, axis=0)
        result = ProtoStream(4, kernel=Gaussian(problem.width)).fit(X, target=problem.target).result_
        K = oracles.gaussian(X, X, problem.width)
        strength = np.abs(witness(result, X, problem.target, problem.width))
        candidates = [j for j in range(len(X)) if j not in result.indices]
        n = min(6, len(candidates))
        expected, margin = oracles.criticisms(K, strength, candidates, n, diversity)
        if margin < 1e-9:
            continue
        found = criticisms(result, X, n, target=problem.target, diversity=diversity, block_size=7)
        assert found.indices.tolist() == expected
        compared += 1
    assert compared >= 50


def test_the_witness_is_signed_and_rows_are_the_rows(fitted, X):
    found = criticisms(fitted, X, 12)
    np.testing.assert_allclose(found.witness, witness(fitted.result_, found.rows, X), atol=1e-12)
    np.testing.assert_array_equal(found.rows, X[found.indices])
    assert len(found) == len(set(found.indices.tolist())) == 12
    assert not set(found.indices.tolist()) & set(fitted.prototype_indices_.tolist())
    assert found.n_seen == 300


def test_what_is_left_out_has_a_positive_witness(X):
    """A cluster of its own that no prototype stands for."""
    rows = np.concatenate([X, np.full((30, 4), 40.0) + np.random.default_rng(0).normal(size=(30, 4))])
    without = ProtoStream(9, kernel=Gaussian(2.0)).fit(X).result_
    found = criticisms(without, rows, 3, diversity=0.0)
    assert (found.indices >= 300).all()
    assert (found.witness > 0).all()


def test_a_small_pool_holds_the_rows_with_the_largest_witness(fitted, X):
    found = criticisms(fitted, X, 5, pool_size=8)
    strength = np.abs(witness(fitted.result_, X, X))
    strength[fitted.prototype_indices_] = -1
    assert set(found.indices.tolist()) <= set(np.argsort(-strength)[:8].tolist())


def test_any_chunks_give_the_same_bits(fitted, X):
    cuts = [0, 3, 3, 120, 299]
    for kind in (list, iter, tuple):
        assert_same(criticisms(fitted, X, 6), criticisms(fitted, kind(np.split(X, cuts)), 6))
    one, two = (
        criticisms(fitted.result_, iter(chunks), 6, mean=ReservoirMean(50), random_state=0, block_size=64)
        for chunks in (np.split(X, cuts), np.split(X, 300))
    )
    assert_same(one, two)


def test_a_selector_brings_its_own_mean(selector, X):
    """The result alone does not know the target, and takes X for it."""
    target = X[:100] + 1
    fitted = selector(9, kernel=Gaussian(2.0), random_state=0).fit(X, target=target)
    assert_same(criticisms(fitted, X, 6), criticisms(fitted.result_, X, 6, target=target))
    np.testing.assert_allclose(
        criticisms(fitted.result_, X, 6).witness,
        witness(fitted.result_, X[criticisms(fitted.result_, X, 6).indices], X),
        atol=1e-12,
    )
    np.testing.assert_allclose(criticisms(fitted, X, 3).witness, criticisms(fitted, iter([X]), 3).witness)


def test_a_stream_is_criticised_by_its_running_mean_and_goes_on(selector, X):
    fed = selector(9, kernel=Gaussian(2.0), mean=ReservoirMean(500), block_size=64, random_state=0).partial_fit(X[:250])
    found = criticisms(fed, X, 6)
    np.testing.assert_allclose(found.witness, witness(fed.result_, found.rows, X[:250]), atol=1e-12)
    twin = selector(9, kernel=Gaussian(2.0), mean=ReservoirMean(500), block_size=64, random_state=0).partial_fit(X)
    np.testing.assert_array_equal(fed.partial_fit(X[250:]).prototype_indices_, twin.prototype_indices_)


def test_chunks_alone_are_judged_by_their_own_mean_in_the_end(fitted, X):
    found = criticisms(fitted.result_, iter(np.array_split(X, 7)), 6, block_size=32)
    np.testing.assert_allclose(found.witness, witness(fitted.result_, found.rows, X), atol=1e-12)


def test_float32_rows_stay_so_and_their_witness_is_exact(fitted, X):
    rows = X.astype(np.float32)
    found = criticisms(fitted.result_, rows, 4)
    assert found.rows.dtype == np.float32
    np.testing.assert_allclose(
        found.witness, witness(fitted.result_, rows[found.indices].astype(float), rows), atol=1e-9
    )


def test_copies_of_prototypes_and_of_criticisms_are_none(fitted, X):
    found = criticisms(fitted, np.concatenate([X, X]), 20)
    assert len(np.unique(found.rows, axis=0)) == 20
    assert not {row.tobytes() for row in found.rows} & {row.tobytes() for row in fitted.prototypes_}


def test_fewer_than_wanted_come_with_a_reason(X):
    rows = np.abs(X) + 1
    result = ProtoBasic(3, kernel=Linear()).fit(rows).result_
    with pytest.warns(ProtosieveWarning, match=r"criticisms found 4 of n=10: .* are combinations of these"):
        assert len(criticisms(result, rows, 10)) == 4  # as many as there are columns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(criticisms(result, rows, 10, diversity=0)) == 10


def test_the_value_is_frozen(fitted, X):
    found = criticisms(fitted, X, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.witness = None
    with pytest.raises(ValueError, match="read-only"):
        found.witness[0] = 1.0
    assert repr(found).startswith("Criticisms(4 of 300 rows, |witness| up to ")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"n": 0}, ParameterError, "criticisms: n must be a whole number of at least 1, got 0"),
        ({"n": 2.0}, ParameterError, "criticisms: n must be a whole number"),
        ({"pool_size": 3}, ParameterError, "criticisms: pool_size must be a whole number of at least 5, got 3"),
        ({"block_size": 0}, ParameterError, "criticisms: block_size must be"),
        ({"diversity": -1}, ParameterError, "criticisms: diversity must be a number of at least 0, got -1"),
        ({"mean": "exact"}, ParameterError, "criticisms: mean must be a mean of protosieve.means"),
        ({"random_state": "x", "mean": ReservoirMean(9)}, ParameterError, "random_state must be None"),
        ({"X": np.ones((3, 2))}, InputError, "X has 2 columns and the prototypes have 4"),
        ({"X": []}, InputError, "a minimum of 1 is required"),
        ({"X": iter([])}, InputError, "a minimum of 1 is required"),
        ({"X": [np.ones((3, 4)), np.full((2, 4), np.nan)]}, InputError, "X: row 3, column 0 is NaN"),
        ({"target": np.ones((3, 2))}, InputError, "target has 2 columns and X has 4"),
        ({"target": np.ones((0, 4))}, InputError, "target has no rows"),
        ({"target": np.ones((3, 4)), "mean": ExactMean(np.ones((3, 4)))}, InputError, "there are two targets"),
        ({"X": iter([np.ones((3, 4))]), "mean": ExactMean()}, InputError, "ExactMean needs its target"),
        ({"X": 7}, InputError, "Expected 2D array, got scalar"),
    ],
)
def test_bad_input_is_one_clear_error(X, options, error, match):
    result = ProtoStream(5, kernel=Gaussian(2.0)).fit(X).result_
    with pytest.raises(error, match=match):
        criticisms(result, **{"X": X, "n": 5, **options})


def test_what_is_no_result_is_refused(X, selector):
    with pytest.raises(InputError, match="the first argument is a ndarray; give a fitted selector or its result_"):
        criticisms(X, X, 3)
    with pytest.raises(NotFittedError):
        criticisms(selector(), X, 3)
    covering = ProtoSwap(3, objective=Coverage()).fit(X).result_
    with pytest.raises(
        InputError, match=r"criticisms: these cover the data, .* worst are in the report: result\.report"
    ):
        criticisms(covering, X, 3)
    fitted = selector(3, kernel=Gaussian(2.0)).fit(X)
    with pytest.raises(InputError, match="each of its 3 rows is a prototype or a copy of one"):
        criticisms(fitted, np.repeat(fitted.prototypes_[:1], 3, axis=0), 2)


def test_columns_have_names(selector, X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = selector(4, kernel=Gaussian(2.0)).fit(frame)
    assert_same(criticisms(fitted, frame, 3), criticisms(fitted, X, 3))
    with pytest.raises(InputError, match=r"X has the columns \['b', 'a', 'c', 'd'\] and the prototypes \['a', 'b'"):
        criticisms(fitted, frame[["b", "a", "c", "d"]], 3)


def test_memory_does_not_grow_with_the_stream(X):
    result = ProtoStream(9, kernel=Gaussian(2.0)).fit(X).result_

    def peak(chunks):
        rng = np.random.default_rng(0)
        tracemalloc.start()
        try:
            stream = (rng.normal(size=(500, 4)) for _ in range(chunks))
            assert criticisms(result, stream, 5, mean=ReservoirMean(200), pool_size=50).n_seen == 500 * chunks
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(100) < 1.2 * peak(10)
