"""What a sample leaves unknown, against what is left when all rows are looked at."""

import math
import pickle

import numpy as np
import pytest
from scipy.stats import binom

import oracles
from protosieve import Certificate, ProtoSwap, load
from protosieve.errors import ParameterError
from protosieve.kernels import Gaussian, Linear
from protosieve.means import CalibratedMean, FixedMean, Judge, ReservoirMean, Sampled, SamplingError
from protosieve.means._span import Span


def rows(kind, n=800):
    rng = np.random.default_rng(11)
    if kind == "clusters":
        return rng.normal(scale=3, size=(6, 4))[rng.integers(6, size=n)] + rng.normal(size=(n, 4))
    return rng.lognormal(size=(n, 2))


def judged(kernel, X, sample, prototypes, weights, **known):
    """The certificate of prototypes, by a sample of the rows."""
    return Certificate.by(Judge(Sampled(kernel, X[sample], len(X), **known)), prototypes, weights)


def few_surprises(held, repeats, level):
    """Whether so many of the repeats are what this level gives, in all but one of a thousand tests."""
    return binom.ppf(5e-4, repeats, level) <= held <= binom.ppf(1 - 5e-4, repeats, level)


@pytest.mark.parametrize(
    ("kind", "kernel", "size"),
    [
        ("clusters", Gaussian(8.0), 150),
        pytest.param("skewed", Linear(), 300, marks=pytest.mark.thorough),
        pytest.param("clusters", Gaussian(0.5), 150, marks=pytest.mark.thorough),
        pytest.param("clusters", Gaussian(8.0), 600, marks=pytest.mark.thorough),
        pytest.param("skewed", Gaussian(1.0), 150, marks=pytest.mark.thorough),
    ],
)
def test_rows_that_had_no_part_in_the_choice_judge_without_bias(kind, kernel, size):
    X = rows(kind)
    K, L = kernel(X), np.arange(30)
    mu = K.mean(axis=1)
    w = oracles.solve(K[np.ix_(L, L)], mu[L])
    value, found, held = oracles.value(K[np.ix_(L, L)], mu[L], w), [], 0
    for seed in range(200):
        sample = np.random.default_rng(seed).choice(len(X), size, replace=False)
        certificate = judged(kernel, X, sample, X[L], w, is_fitted=False)
        found.append([certificate.value, 2 * certificate.upper_bound, certificate.mmd**2])
        held += certificate.mmd_bound() ** 2 >= mu.mean() - 2 * value
    true = np.array([value, mu.mean(), mu.mean() - 2 * value])
    off = (np.mean(found, axis=0) - true) / (np.std(found, axis=0) / math.sqrt(200))
    assert (np.abs(off[:2]) < 4).all(), off
    assert held >= binom.ppf(1e-3, 200, 0.95)


def test_what_is_known_at_points_makes_the_judge_surer():
    X, kernel = rows("clusters"), Gaussian(3.0)
    K, L = kernel(X), np.arange(30)
    w = oracles.solve(K[np.ix_(L, L)], K[L].mean(axis=1))
    true = K.mean() - 2 * oracles.value(K[np.ix_(L, L)], K[L].mean(axis=1), w)
    span = Span(kernel, X[100:200])
    known = {"span": span, "share": 700 / 800, "at_points": K[100:200].mean(axis=1), "is_fitted": False}
    plain, beside = [], []
    for seed in range(60):
        sample = 200 + np.random.default_rng(seed).choice(600, 100, replace=False)
        plain.append(judged(kernel, X, sample, X[L], w, is_fitted=False))
        beside.append(Certificate.by(Judge(Sampled(kernel, X[sample], 700, **known)), X[L], w))
    spread = [np.std([each.mmd**2 for each in some]) for some in (plain, beside)]
    assert spread[1] < 0.3 * spread[0]
    assert np.mean([each.mmd**2 for each in beside]) == pytest.approx(
        true, abs=3 * spread[1] / math.sqrt(60) + 0.05 * true
    )
    told = np.mean([each.standard_error * 2 * each.upper_bound for each in beside])
    assert told == pytest.approx(spread[1], rel=0.3)


@pytest.mark.parametrize(
    ("mean", "is_stream"),
    [
        (ReservoirMean(100), False),
        (CalibratedMean(200, points=30), True),
        pytest.param(ReservoirMean(100), True, marks=pytest.mark.thorough),
        pytest.param(CalibratedMean(200, points=30), False, marks=pytest.mark.thorough),
    ],
)
def test_prototypes_chosen_by_the_sample_are_within_the_bound_of_the_whole_target(mean, is_stream):
    X, held = rows("clusters", 500), 0
    K = oracles.gaussian(X, X, 6.0)
    for seed in range(40):
        selector = ProtoSwap(15, kernel=Gaussian(6.0), mean=mean, random_state=seed, candidates="all")
        result = (selector.partial_fit(X) if is_stream else selector.fit(X)).result_
        L, w = result.indices, result.weights
        true = K.mean() - 2 * w @ K[L].mean(axis=1) + w @ K[np.ix_(L, L)] @ w
        held += true <= result.certificate.mmd_bound() ** 2
        assert result.certificate.sampling.population == len(X)
    assert held >= binom.ppf(1e-3, 40, 0.95)


@pytest.mark.thorough
def test_the_standard_error_is_how_much_the_residual_of_given_prototypes_varies():
    X, kernel = rows("clusters", 1000), Gaussian(3.0)
    K = oracles.gaussian(X, X, 3.0)
    for L in ([0, 1, 2], list(range(60))):  # the error is of first order with the few, of second with the many
        w = oracles.solve(K[np.ix_(L, L)], K[L].mean(axis=1))
        residuals, errors = [], []
        for seed in range(400):
            sample = np.random.default_rng(seed).choice(len(X), 200, replace=False)
            norm = K[np.ix_(sample, sample)].mean()
            residual = 1 - 2 * oracles.value(K[np.ix_(L, L)], K[np.ix_(L, sample)].mean(axis=1), w) / norm
            residuals.append(residual)
            errors.append(judged(kernel, X, sample, X[L], w).standard_error)
        assert np.mean(errors) == pytest.approx(np.std(residuals), rel=0.15)


def test_an_exact_mean_has_no_sampling_error(X):
    result = ProtoSwap(9, random_state=0).fit(X).result_
    assert result.certificate.standard_error is None
    assert result.certificate.mmd_bound() == result.certificate.mmd == result.mmd
    assert "confidence" not in str(result.certificate)


def test_nearly_all_rows_have_nearly_none(X):
    nearly = ProtoSwap(9, mean=ReservoirMean(299), random_state=0).partial_fit(X).result_.certificate
    third = ProtoSwap(9, mean=ReservoirMean(100), random_state=0).partial_fit(X).result_.certificate
    assert 0 < nearly.standard_error < 0.1 * third.standard_error


def test_it_says_so_in_plain_words(X):
    certificate = ProtoSwap(9, mean=ReservoirMean(100), random_state=0).partial_fit(X).result_.certificate
    words = (
        f"their MMD to all rows is {certificate.mmd:.3g}, estimated by 100 of them, and with 95 % confidence at most "
    )
    assert str(certificate).endswith(f"{words}{certificate.mmd_bound(0.95):.3g}")
    assert certificate.mmd == certificate.mmd_bound(0.5) < certificate.mmd_bound() < certificate.mmd_bound(0.99)


def test_the_same_however_cut_saved_or_pickled(X, tmp_path):
    def fresh():
        return ProtoSwap(9, mean=CalibratedMean(200, points=30), random_state=0, block_size=64)

    whole, cut = fresh().partial_fit(X), fresh()
    for chunk in np.array_split(X, 7):
        cut.partial_fit(chunk)
        cut.save(tmp_path / "state.npz")
        cut = load(tmp_path / "state.npz")
    certificate = whole.result_.certificate
    assert certificate == cut.result_.certificate == pickle.loads(pickle.dumps(whole.result_)).certificate


def test_a_sample_of_two_rows_says_nothing_of_its_error(X):
    certificate = ProtoSwap(1, mean=ReservoirMean(2), random_state=0).partial_fit(X).result_.certificate
    assert certificate.standard_error == certificate.mmd_bound() == math.inf


def test_a_level_is_a_share():
    with pytest.raises(ParameterError, match=r"level must be between 0 and 1, such as 0.95; got 95"):
        Certificate(1.0, 2.0, SamplingError(10, 20, 0.1, 0.1)).mmd_bound(95)


def test_a_mean_of_all_rows_is_no_sample(X):
    assert FixedMean.over(Gaussian(1.0), X, len(X)).sampled() is None
    sampled = FixedMean.over(Gaussian(1.0), X, 1000).sampled()
    assert isinstance(sampled, Sampled)
    assert (len(sampled.rows), sampled.population) == (300, 1000)
