"""The interface of AIX360's ProtoDash."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import oracles
from problems import make_problem
from protosieve import InputError, ParameterError, ProtoDash
from protosieve.compat import ProtodashExplainer
from protosieve.kernels import Gaussian

explain = ProtodashExplainer().explain


def test_it_is_called_as_the_original_is():
    assert list(inspect.signature(explain).parameters) == ["X", "Y", "m", "kernelType", "sigma", "optimizer"]
    defaults = [p.default for p in inspect.signature(explain).parameters.values()][3:]
    assert defaults == ["other", 2, "cvxpy"]


@pytest.mark.parametrize("kernel", ["Gaussian", "other"])
def test_weights_rows_and_values_are_those_of_the_literal_twin(kernel):
    compared = 0
    for seed in range(80):
        problem = make_problem(seed)
        X, Y = problem.target + 1.0, problem.X + 1.0
        K, M = (
            (oracles.gaussian(Y, Y, 1.5), oracles.gaussian(Y, X, 1.5)) if kernel == "Gaussian" else (Y @ Y.T, Y @ X.T)
        )
        mu = M.mean(axis=1)
        if mu.max() <= 0:
            continue
        run = oracles.protodash(K, mu, problem.m)
        if run.margin < 1e-9:
            continue
        W, S, values = explain(X, Y, problem.m, kernelType=kernel, sigma=1.5)
        assert S.tolist() == run.order
        assert (W >= 0).all()
        at_end = np.ix_(S, S)
        np.testing.assert_allclose(K[at_end] @ W, K[at_end] @ run.weights[np.argsort(np.argsort(S))], atol=1e-7)
        assert values[-1] == pytest.approx(oracles.value(K[at_end], mu[S], W), rel=1e-8)
        assert (np.diff(values) >= -1e-12).all()
        compared += 1
    assert compared > 30


def test_the_first_remaining_row_can_be_chosen():
    """Row 0 is all there is to explain; then, with it gone, row 1 is the first that remains."""
    Y = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    W, S, _ = explain(Y[:2], Y, 2, kernelType="Gaussian", sigma=1.0)
    assert sorted(S.tolist()) == [0, 1]
    np.testing.assert_allclose(W, 0.5, atol=0.01)


def test_weights_are_never_negative_with_the_linear_kernel():
    """Most rows lie on the other side of the target: alone, their best weight would be below zero."""
    rng = np.random.default_rng(0)
    Y = np.concatenate([rng.normal(size=(30, 3)) - 4, rng.normal(size=(5, 3)) + 4])
    W, S, _ = explain(Y[-5:], Y, 4)
    assert (W >= 0).all()
    assert S[0] >= 30


def test_it_is_protodash_in_float64(X):
    W, S, values = explain(X[:80].astype(np.float32), X.astype(np.float32), 12, kernelType="Gaussian", sigma=1.5)
    rounded = X.astype(np.float32).astype(np.float64)
    fitted = ProtoDash(12, kernel=Gaussian(1.5)).fit(rounded, target=rounded[:80])
    assert S.tolist() == fitted.order_.tolist()
    assert sorted(W.tolist(), reverse=True) == fitted.weights_.tolist()
    np.testing.assert_array_equal(values, fitted.order_objectives_)
    assert W.dtype == values.dtype == np.float64


def test_data_frames_are_welcome(X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    ours = explain(frame[:80], frame, 6, kernelType="Gaussian", sigma=2, optimizer="osqp")
    plain = explain(X[:80], X, 6, kernelType="Gaussian", sigma=2)
    for one, other in zip(ours, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_more_rows_than_there_are_or_than_help(X):
    W, S, values = explain(X + 10, X[:20] + 10, 50)
    assert len(W) == len(S) == len(values) == 4  # the linear kernel sees four columns
    W, S, _ = explain(X, X[:3], 5, kernelType="Gaussian", sigma=1.0)
    assert sorted(S.tolist()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"X": [[np.nan, 1.0, 2.0, 3.0]]}, "X: row 0, column 0 is NaN; drop the row or fill the value in"),
        ({"Y": [[1.0, np.inf, 2.0, 3.0]]}, r"Y: row 0, column 1 is inf \(infinity\)"),
        ({"Y": sparse.eye(4).tocsr()}, r"Y is a sparse matrix, which is not supported; pass Y.toarray\(\)"),
        ({"X": [[1.0, 2.0]]}, "X has 2 columns and Y has 4; they must be the same columns"),
        ({"X": np.empty((0, 4))}, "X has no rows; give at least one"),
        ({"Y": np.zeros(4)}, "Y: Expected 2D array, got 1D array"),
    ],
)
def test_bad_input_is_one_clear_error(X, change, match):
    with pytest.raises(InputError, match=match):
        explain(**({"X": X, "Y": X, "m": 3} | change))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"m": 0}, "ProtodashExplainer: m must be a whole number of at least 1, got 0"),
        ({"kernelType": "gaussian"}, 'kernelType must be "Gaussian" or "other", got \'gaussian\''),
        ({"sigma": 0}, "sigma must be a positive number, got 0"),
        ({"optimizer": "cvxopt"}, 'optimizer must be "cvxpy" or "osqp", got \'cvxopt\''),
    ],
)
def test_arguments_are_checked(X, change, match):
    with pytest.raises(ParameterError, match=match):
        explain(**({"X": X, "Y": X, "m": 3} | change))
