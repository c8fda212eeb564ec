"""The result and its numbers, against their definitions."""

import dataclasses
import pickle

import numpy as np
import pytest

import oracles
import protosieve
from protosieve import ProtoBasic, ProtoStream, ProtoSwap, SieveStreaming, Streak
from protosieve.kernels import Gaussian
from protosieve.means import ReservoirMean


@pytest.fixture
def result(selector, X):
    return selector(9, kernel=Gaussian(2.0), random_state=0).fit(X).result_


def test_objective_residual_mmd_and_certificate_are_what_they_say(result, X):
    K = oracles.gaussian(result.rows, result.rows, 2.0)
    mu = oracles.gaussian(result.rows, X, 2.0).mean(axis=1)
    norm = oracles.gaussian(X, X, 2.0).mean()
    squared = norm - 2 * result.weights @ mu + result.weights @ K @ result.weights
    assert result.objective == pytest.approx(oracles.value(K, mu, result.weights), rel=1e-10)
    assert result.mmd == pytest.approx(np.sqrt(squared), rel=1e-6)
    assert result.residual == pytest.approx(squared / norm, rel=1e-6)
    assert result.certificate.upper_bound == pytest.approx(norm / 2, rel=1e-10)
    assert result.certificate.ratio == pytest.approx(1 - result.residual)
    assert f"carry {100 * result.certificate.ratio:.4g} % of what the kernel sees of the target" in str(
        result.certificate
    )
    assert result.certificate.sample is None


def test_the_certificate_says_when_it_speaks_of_a_sample(selector, X):
    for options in ({}, {"target": X}):
        fed = selector(9, kernel=Gaussian(2.0), mean=ReservoirMean(100), random_state=0).partial_fit(X, **options)
        assert fed.result_.certificate.sample == 100
        assert "estimated by 100 of them" in str(fed.result_.certificate)
    short = selector(9, kernel=Gaussian(2.0), mean=ReservoirMean(1000), random_state=0).partial_fit(X)
    assert short.result_.certificate.sample is None


def test_another_target_has_its_own_bound(selector, X):
    target = X[:40] + 1
    result = selector(9, kernel=Gaussian(2.0)).fit(X, target=target).result_
    assert result.certificate.upper_bound == pytest.approx(oracles.gaussian(target, target, 2.0).mean() / 2, rel=1e-10)


def test_the_result_is_frozen(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.objective = 1.0
    with pytest.raises(ValueError, match="read-only"):
        result.weights[0] = 1.0
    with pytest.raises(TypeError, match="does not support item assignment"):
        result.parameters["n_prototypes"] = 1
    again = pickle.loads(pickle.dumps(result))
    with pytest.raises(ValueError, match="read-only"):
        again.weights[0] = 1.0
    assert again.parameters == result.parameters


def test_it_says_how_it_was_made(result, selector):
    assert result.selector == selector.__name__
    assert result.parameters["n_prototypes"] == 9
    assert result.kernel == Gaussian(2.0)
    assert result.n_seen == 300
    assert result.random_state == 0
    assert result.version == protosieve.__version__
    assert f"{len(result)} of 300 rows by {selector.__name__}" in repr(result)


@pytest.mark.parametrize("selector", [ProtoStream, SieveStreaming, Streak])
def test_the_trace_follows_the_objective_in_fixed_memory(selector):
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    trace = selector(5, kernel=Gaussian(1.0), block_size=4).fit(rows).result_.trace
    assert 100 < len(trace) <= 258
    assert (np.diff(trace.rows_seen) > 0).all()
    assert trace.rows_seen[-1] == 3000
    assert (np.diff(trace.objective) >= -1e-12).all()


def test_protobasic_traces_the_end_only(X):
    trace = ProtoBasic(5).fit(X).result_.trace
    assert trace.rows_seen.tolist() == [300]
    assert trace.accepted is None
    assert trace.exchanged is None


def test_the_trace_counts_the_rows_that_joined_and_those_that_gave_way():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    fed, joined, left, before = ProtoSwap(6, kernel=Gaussian(1.0), candidates="all", block_size=4), 0, 0, set()
    for part in np.array_split(rows, 100):
        fed.partial_fit(part)
        members = fed._stream.progress.members
        now = set(members.indices[members.exchange.slots].tolist())
        joined, left, before = joined + len(now - before), left + len(before - now), now
    trace = fed.result_.trace
    assert len(trace.accepted) == len(trace.exchanged) == len(trace) == 100
    assert (np.diff(trace.accepted) >= 0).all()
    assert (np.diff(trace.exchanged) >= 0).all()
    assert trace.accepted[-1] >= joined  # a row may come and go within a block
    assert trace.accepted[-1] - trace.exchanged[-1] == joined - left == len(before)


@pytest.mark.parametrize("selector", [ProtoStream, SieveStreaming, Streak])
def test_rows_that_some_set_took_are_counted_once(selector):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    fed, ever = selector(5, kernel=Gaussian(1.0), block_size=1), set()
    for row in rows:
        fed.partial_fit(row[None], target=None if ever else rows)
        ever |= set(fed.held_indices_.tolist())
    trace = fed.result_.trace
    assert trace.exchanged is None
    assert len(trace.accepted) == len(trace)
    assert len(ever) <= trace.accepted[-1] <= 300
    assert (np.diff(trace.accepted) >= 0).all()


def test_long_work_says_how_far_it_is(selector, X, capsys, monkeypatch):
    monkeypatch.setattr("protosieve.selectors._progress._EVERY", 0.0)
    selector(5, block_size=100, random_state=0).fit(X)
    assert capsys.readouterr().err == ""
    selector(5, block_size=100, random_state=0, verbose=True).fit(X)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith(f"{selector.__name__}: 200 of 300 rows, ")
    assert ("l = " in lines[1]) == (selector not in (ProtoBasic, ProtoSwap))


def test_attributes_are_the_results(selector, X):
    fitted = selector(5, random_state=0).fit(X)
    result = fitted.result_
    assert fitted.result_ is result
    assert fitted.objective_ == result.objective
    assert fitted.mmd_ == result.mmd
    assert fitted.kernel_ is result.kernel
    assert fitted.prototype_indices_ is result.indices
