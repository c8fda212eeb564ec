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
from protosieve.means import CompressedMean, FixedMean, ReservoirMean, Sampled, SamplingError, sampling_error


def rows(kind, n=800):
    rng = np.random.default_rng(11)
    if kind == "clusters":
        return rng.normal(scale=3, size=(6, 4))[rng.integers(6, size=n)] + rng.normal(size=(n, 4))
    return rng.lognormal(size=(n, 2))


def matched(kernel, X, K, sample):
    """The certificate of prototypes that match their sample perfectly, as the sample itself does."""
    norm, weights = K[np.ix_(sample, sample)].mean(), np.full(len(sample), 1 / len(sample))
    return Certificate.of(norm / 2, norm / 2, FixedMean.over(kernel, X[sample], len(X)).sampled(), X[sample], weights)


def few_surprises(held, repeats, level):
    """Whether so many of the repeats are what this level gives, in all but one of a thousand tests."""
    return binom.ppf(5e-4, repeats, level) <= held <= binom.ppf(1 - 5e-4, repeats, level)


@pytest.mark.parametrize(
    ("kind", "kernel", "size"),
    [
        ("clusters", Gaussian(0.5), 150),
        ("clusters", Gaussian(8.0), 150),
        ("clusters", Gaussian(8.0), 600),
        ("skewed", Gaussian(1.0), 150),
        ("skewed", Linear(), 300),
    ],
)
def test_where_all_of_the_mmd_is_the_samples_the_bound_holds_as_often_as_it_says(kind, kernel, size):
    X = rows(kind)
    K = kernel(X)
    mu, held = K.mean(axis=1), dict.fromkeys((0.5, 0.95), 0)
    for seed in range(100):
        sample = np.random.default_rng(seed).choice(len(X), size, replace=False)
        true = math.sqrt(max(0.0, mu.mean() - 2 * mu[sample].mean() + K[np.ix_(sample, sample)].mean()))
        certificate = matched(kernel, X, K, sample)
        for level in held:
            held[level] += true <= certificate.mmd_bound(level)
    assert all(few_surprises(held[level], 100, level) for level in held), held


@pytest.mark.parametrize("mean", [ReservoirMean(100), CompressedMean(200, points=30)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("is_stream", [False, True])
def test_prototypes_chosen_by_the_sample_are_within_the_bound_of_the_whole_target(mean, is_stream):
    X, held = rows("clusters", 500), 0
    K = oracles.gaussian(X, X, 6.0)
    for seed in range(40):
        selector = ProtoSwap(15, kernel=Gaussian(6.0), mean=mean, random_state=seed, second_look=0)
        result = (selector.partial_fit(X) if is_stream else selector.fit(X)).result_
        L, w = result.indices, result.weights
        true = K.mean() - 2 * w @ K[L].mean(axis=1) + w @ K[np.ix_(L, L)] @ w
        held += true <= result.certificate.mmd_bound() ** 2
        assert result.certificate.sampling.population == 500
    assert held >= binom.ppf(1e-3, 40, 0.95)


def test_the_powers_are_those_of_the_covariances_eigenvalues():
    X = rows("clusters", 1000)
    K = oracles.gaussian(X, X, 3.0)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    eigenvalues = np.linalg.eigvalsh(centred)[::-1] / (len(X) - 1)
    found = []
    for seed in range(100):
        sample = np.random.default_rng(seed).choice(len(X), 250, replace=False)
        found.append(matched(Gaussian(3.0), X, K, sample).sampling.powers)
    factor = (1 - 250 / 1000) / 250
    expected = [factor**k * (eigenvalues**k).sum() for k in (1, 2, 3)]
    np.testing.assert_allclose(np.mean(found, axis=0), expected, rtol=0.05)


@pytest.mark.parametrize("eigenvalues", [[1.0], [1.0, 1.0, 1.0], 0.5 ** np.arange(8), np.r_[1.0, np.full(20, 0.1)]])
def test_the_quantile_is_that_of_a_sum_of_chi_squares(eigenvalues):
    draws = np.random.default_rng(0).chisquare(1, size=(200_000, len(eigenvalues))) @ np.asarray(eigenvalues)
    error = SamplingError(10, tuple(float(np.sum(np.asarray(eigenvalues) ** k)) for k in (1, 2, 3)), 0.0)
    for level in (0.5, 0.9, 0.95, 0.99):
        assert error.quantile(level) == pytest.approx(math.sqrt(np.quantile(draws, level)), rel=0.03)


def test_powers_that_no_eigenvalues_have_still_give_a_quantile():
    assert SamplingError(10, (1.0, 4.0, -1.0), 0.0).quantile(0.95) > 1
    assert SamplingError(10, (0.0, 0.0, 0.0), 0.0).quantile(0.95) == 0
    assert SamplingError(10, (1.0, 0.01, 0.0), 0.0).quantile(0.5) == pytest.approx(1, rel=0.01)


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
            mean = FixedMean.over(kernel, X[sample], len(X))
            residuals.append(residual)
            errors.append(sampling_error(mean.sampled(), norm, residual, X[L], w).standard_error)
        assert np.mean(errors) == pytest.approx(np.std(residuals), rel=0.15)


def test_an_exact_mean_has_no_sampling_error(X):
    result = ProtoSwap(9, random_state=0).fit(X).result_
    assert result.certificate.standard_error is None
    assert result.certificate.mmd_bound() == result.certificate.mmd == result.mmd
    assert "confidence" not in str(result.certificate)


def test_nearly_all_rows_have_nearly_none(X):
    nearly = ProtoSwap(9, mean=ReservoirMean(299), random_state=0).partial_fit(X).result_.certificate
    third = ProtoSwap(9, mean=ReservoirMean(100), random_state=0).partial_fit(X).result_.certificate
    assert 0 < nearly.sampling.quantile(0.95) < 0.1 * third.sampling.quantile(0.95)
    assert 0 < nearly.standard_error < third.standard_error


def test_it_says_so_in_plain_words(X):
    certificate = ProtoSwap(9, mean=ReservoirMean(100), random_state=0).partial_fit(X).result_.certificate
    assert f"with 95 % confidence, at most {certificate.mmd_bound(0.95):.3g} to all 300 rows" in str(certificate)
    assert certificate.mmd < certificate.mmd_bound(0.5) < certificate.mmd_bound() < certificate.mmd_bound(0.99)


def test_the_same_however_cut_saved_or_pickled(X, tmp_path):
    def fresh():
        return ProtoSwap(9, mean=CompressedMean(200, points=30), random_state=0, block_size=64)

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
        SamplingError(10, (1.0, 1.0, 1.0), 0.0).quantile(95)


def test_a_mean_of_all_rows_is_no_sample(X):
    assert FixedMean.over(Gaussian(1.0), X, len(X)).sampled() is None
    sampled = FixedMean.over(Gaussian(1.0), X, 1000).sampled()
    assert isinstance(sampled, Sampled)
    assert (len(sampled.mean.rows), sampled.population) == (300, 1000)
