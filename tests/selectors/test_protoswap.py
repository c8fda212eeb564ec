"""ProtoSwap: never worse than what it is measured against, and what its own parameters do."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import oracles
from problems import problems
from protosieve import ParameterError, ProtoBasic, ProtoSwap, load
from protosieve.kernels import Cosine, Gaussian, Laplacian, Linear, MultiScale, Polynomial
from protosieve.means import Calibrated, CalibratedMean, ExactMean, FixedMean, ReservoirMean, candidates_of
from protosieve.objectives import KernelMean
from protosieve.sampling import UniformSample, hashes
from protosieve.selectors import Best
from volumes import repeated, volume


def worth(problem, chosen):
    """``f`` of a set of rows, by SciPy."""
    K = oracles.gaussian(problem.X[chosen], problem.X[chosen], problem.width)
    mu = oracles.gaussian(problem.X[chosen], problem.target, problem.width).mean(axis=1)
    return oracles.value(K, mu, oracles.solve(K, mu))


@settings(max_examples=volume(15, 100), deadline=None)
@given(problem=problems, seed=st.integers(0, 2**32 - 1))
def test_never_below_protobasic_nor_below_random_rows(problem, seed):
    options = {"kernel": Gaussian(problem.width), "block_size": problem.block_size, "random_state": seed}
    ours = ProtoSwap(problem.m, **options).fit(problem.X, target=problem.target).objective_
    basic = ProtoBasic(problem.m, **options).fit(problem.X, target=problem.target).objective_
    n = len(problem.X)
    random = worth(problem, np.random.default_rng(seed).choice(n, min(problem.m, n), replace=False))
    assert ours >= basic * (1 - 1e-8)
    assert ours >= random * (1 - 1e-8)


@settings(max_examples=volume(10, 40), deadline=None)
@given(problem=problems)
def test_more_passes_never_lower_the_value(problem):
    options = {"kernel": Gaussian(problem.width), "block_size": problem.block_size, "candidates": "all"}
    values = [ProtoSwap(problem.m, passes=p, **options).fit(problem.X, target=problem.target) for p in (1, 2, 4)]
    for one, more in itertools.pairwise(values):
        assert more.objective_ >= one.objective_ * (1 - 1e-8)
        assert more.result_.n_seen == len(problem.X)
        assert len(set(more.prototype_indices_.tolist())) == len(more.prototype_indices_)
        np.testing.assert_array_equal(more.prototypes_, problem.X[more.prototype_indices_])


@pytest.mark.parametrize("kernel", [Linear(), Cosine(), Polynomial(2)])
def test_more_prototypes_than_the_kernel_has_dimensions(kernel):
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(400, 3)) + 0.5
        result = ProtoSwap(60, kernel=kernel, random_state=0).fit(X).result_
        assert result.residual < 1e-6


def test_a_row_of_zeros_is_similar_to_nothing():
    X = np.random.default_rng(0).normal(size=(30, 3)) + 1
    X[5] = 0
    assert 5 not in ProtoSwap(30, kernel=Linear()).fit(X).prototype_indices_


@repeated
def test_ties_are_decided_alike_however_the_stream_is_cut():
    """On a lattice exchanges tie exactly: what a copy of the state computes anew must have the same bits."""
    for seed in range(volume(8, 40)):
        rng = np.random.default_rng(seed)
        X = rng.integers(-1, 2, size=(120, 2)).astype(float)
        options = {"kernel": Gaussian(0.7), "block_size": 16, "random_state": 0}
        whole = ProtoSwap(4, **options).fit(X)
        parts = ProtoSwap(4, **options)
        for start in range(0, 120, 16):
            parts.partial_fit(X[start : start + 16], target=X if start == 0 else None)
        np.testing.assert_array_equal(whole.prototype_indices_, parts.prototype_indices_)
        np.testing.assert_array_equal(whole.weights_, parts.weights_)


def test_the_order_of_the_rows_hurts_only_who_judges_them_as_they_come(X):
    """Far away rows first: what serves the rest has gone by before anybody knows."""
    order = np.argsort(np.linalg.norm(X - X.mean(axis=0), axis=1))[::-1]

    def residual(rows, candidates):
        """Over five samples: single exchanges end in one of many good sets."""
        options = {"kernel": Gaussian(3.0), "block_size": 32, "candidates": candidates}
        return np.mean([ProtoSwap(8, random_state=seed, **options).fit(rows).result_.residual for seed in range(5)])

    assert residual(X[order], "auto") < 0.5 * residual(X[order], "all")
    assert residual(X[order], "auto") == pytest.approx(residual(X, "auto"), rel=0.05)


def test_rows_like_a_target_that_a_sample_has_next_to_none_of_are_found():
    rng = np.random.default_rng(0)
    X, target = 2 * rng.normal(size=(60_000, 6)).astype("f4"), (0.4 * rng.normal(size=(1000, 6)) + 1.5).astype("f4")
    found = {
        candidates: ProtoSwap(20, candidates=candidates, random_state=0).fit(X, target=target).result_
        for candidates in ("auto", "all", 8192)
    }
    assert found["auto"].residual < 1.05 * found["all"].residual
    assert found["auto"].residual < found[8192].residual  # a sample of so many rows, and no others


def test_the_stream_goes_on_as_if_nobody_had_looked(X):
    options = {"kernel": Gaussian(2.0), "block_size": 32, "random_state": 0}
    watched, blind = (ProtoSwap(8, candidates=50, **options) for _ in range(2))
    for start in range(0, 300, 50):
        target = X if start == 0 else None
        watched.partial_fit(X[start : start + 50], target=target)
        blind.partial_fit(X[start : start + 50], target=target)
        assert watched.objective_ > 0
    np.testing.assert_array_equal(watched.weights_, blind.weights_)


def test_candidates_are_the_rows_with_the_smallest_hashes(X):
    chosen = ProtoSwap(8, candidates=20, kernel=Gaussian(2.0), block_size=32, random_state=0).fit(X)
    sample = chosen._stream.progress.sample.settled()
    assert set(chosen.prototype_indices_.tolist()) <= set(sample.numbers.tolist())
    np.testing.assert_array_equal(sample.rows, X[sample.numbers])
    found = hashes(sample.seed, np.arange(300))
    np.testing.assert_array_equal(sample.numbers, np.argsort(found)[:20])


def test_the_sample_of_a_running_mean_serves_for_the_candidates(X):
    running = ProtoSwap(8, mean=ReservoirMean(100), candidates=80, block_size=32, random_state=0).partial_fit(X)
    fixed = ProtoSwap(8, block_size=32, random_state=0).partial_fit(X, target=X)
    larger = ProtoSwap(8, mean=ReservoirMean(100), candidates=200, block_size=32, random_state=0).partial_fit(X)
    assert running._stream.progress.sample is None
    assert fixed._stream.progress.sample.seen == 288  # nine full blocks; twelve rows wait
    assert larger._stream.progress.sample.size == 200


def test_to_offer_the_rows_nearest_to_an_exchange_does_as_well_as_to_offer_all(monkeypatch):
    """Over five samples: within what single exchanges vary by."""
    X = np.random.default_rng(0).standard_t(4, size=(6000, 5))

    def residual():
        fitted = (ProtoSwap(20, candidates=6000, mean=ReservoirMean(1000), random_state=seed) for seed in range(5))
        return np.mean([selector.fit(X).result_.residual for selector in fitted])

    monkeypatch.setattr("protosieve.selectors._matching._LEAST", 6000)
    all_rows = residual()
    monkeypatch.setattr("protosieve.selectors._matching._LEAST", 500)
    assert residual() == pytest.approx(all_rows, rel=0.03)


def test_a_sample_that_holds_all_rows_is_exact_and_cut_as_one_likes():
    """From some 9,000 rows on each pair is compared once: other bits than the exact mean's, the same numbers."""
    X = np.random.default_rng(0).normal(size=(9200, 3))
    whole = ProtoSwap(10, kernel=Gaussian(1.0), random_state=0).fit(X)
    assert isinstance(whole._stream.running.mean, Calibrated)
    K = oracles.gaussian(whole.prototypes_, whole.prototypes_, 1.0)
    mu = oracles.gaussian(whole.prototypes_, X, 1.0).mean(axis=1)
    bound = np.mean([oracles.gaussian(part, X, 1.0).mean() for part in np.split(X, 10)]) / 2
    assert whole.objective_ == pytest.approx(oracles.value(K, mu, oracles.solve(K, mu)), rel=1e-9)
    assert whole.result_.residual == pytest.approx(1 - whole.objective_ / bound, rel=1e-6)
    assert whole.result_.certificate.sample is None
    parts = ProtoSwap(10, kernel=Gaussian(1.0), random_state=0)
    for chunk in np.split(X, [700, 701, 4000]):
        parts.partial_fit(chunk, target=X if parts.__sklearn_is_fitted__() is False else None)
    np.testing.assert_array_equal(whole.prototype_indices_, parts.prototype_indices_)
    np.testing.assert_array_equal(whole.weights_, parts.weights_)


def gathered(problem, selector, objective, seed):
    """What a run over partitions has of all rows: a sample that holds them, not judged yet, and ProtoBasic's best."""
    X, numbers = problem.X, np.arange(len(problem.X))
    sample, best = UniformSample.empty(len(X), X, seed), Best.none(X)
    sample.observe(X, numbers)
    best.take(objective.means(X), numbers, X, selector.n_prototypes)
    return candidates_of(sample), best


@settings(max_examples=volume(15, 100), deadline=None)
@given(problem=problems, seed=st.integers(0, 2**32 - 1), exact=st.booleans())
def test_chosen_from_a_whole_sample_it_is_what_fit_finds(problem, seed, exact):
    """The same candidates in the same order, so the same exchanges: values differ by rounding, rows where they tie."""
    mean = ExactMean() if exact else CalibratedMean(max(len(problem.target), 10), random_state=seed)
    block_size = min(problem.block_size, len(problem.X))
    options = {"kernel": Gaussian(problem.width), "block_size": block_size, "random_state": seed}
    selector = ProtoSwap(problem.m, mean=mean, **options)
    fitted = clone(selector).fit(problem.X, target=problem.target)
    objective = selector.objective_for(problem.target)
    candidates, best = gathered(problem, selector, objective, fitted._stream.progress.sample.seed)
    found = selector.choose_from(candidates, best, objective, len(problem.X))
    assert not hasattr(selector, "n_features_in_")  # it stays unfitted
    basic = worth(problem, best.indices)
    assert found.objective >= basic * (1 - 1e-8)
    assert found.objective == pytest.approx(worth(problem, found.indices), rel=1e-8)
    np.testing.assert_array_equal(found.rows, problem.X[found.indices])
    assert found.objective == pytest.approx(fitted.objective_, rel=1e-9)
    assert found.residual == pytest.approx(fitted.result_.residual, rel=1e-6, abs=1e-9)
    assert found.n_seen == len(problem.X)


def test_a_large_margin_makes_a_steadier_worse_set(X):
    options = {"kernel": Gaussian(2.0), "candidates": "all", "random_state": 0}
    free, steady = (ProtoSwap(12, margin=margin, **options).fit(X) for margin in (0.0, 0.05))
    assert steady.objective_ < free.objective_
    assert steady.prototype_indices_.max() < free.prototype_indices_.max()


def test_more_passes_need_stored_data(X):
    with pytest.raises(
        ParameterError, match=r"passes=2 over all rows needs stored data.* use fit, candidates='auto' or passes=1"
    ):
        ProtoSwap(passes=2, candidates="all").partial_fit(X)
    assert len(ProtoSwap(5, passes=3).partial_fit(X).result_) == 5


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("margin", -0.1, "a number from 0 to below 1"),
        ("margin", "much", "a number from 0 to below 1"),
        ("candidates", 0, '"auto", "all" or a whole number of at least 1, got 0'),
        ("candidates", "some", '"auto", "all" or a whole number of at least 1, got \'some\''),
        ("candidates", 5, "candidates=5 is fewer than n_prototypes=10"),
        ("passes", 0, "None or a whole number of at least 1, got 0"),
    ],
)
def test_parameters_are_checked(X, name, value, words):
    with pytest.raises(ParameterError, match=words if "fewer" in words else f"{name} must be {words}"):
        ProtoSwap(**{name: value}).fit(X)


def by_cluster(n=6000):
    """Rows of clusters that are far apart, one cluster after the other."""
    rng = np.random.default_rng(2)
    centres = rng.normal(scale=4, size=(12, 3))
    return centres[np.repeat(np.arange(12), n // 12)] + rng.normal(scale=0.3, size=(n, 3))


@pytest.mark.parametrize("kernel", [MultiScale(), Gaussian(), Laplacian()])
@pytest.mark.parametrize("mean", [None, ReservoirMean(1000)])
def test_a_median_width_follows_a_sorted_stream(kernel, mean):
    X = by_cluster()
    stored = ProtoSwap(30, kernel=kernel, random_state=0).fit(X).result_
    stream = ProtoSwap(30, kernel=kernel, mean=mean, random_state=0)
    for chunk in np.array_split(X, 7):
        stream.partial_fit(chunk)
    assert 0.85 < stream.result_.kernel.width / stored.kernel.width < 1.15


@pytest.mark.parametrize("kernel", [MultiScale(), Gaussian(), Laplacian()])
def test_a_sorted_stream_is_matched_as_well_as_stored_rows_at_the_width_it_has_come_to(kernel):
    X = by_cluster()
    found = ProtoSwap(30, kernel=kernel, random_state=0).partial_fit(X).result_
    truth = KernelMean(found.kernel, FixedMean.over(found.kernel, X))
    left = 1 - truth.weighed(found.rows, found.weights).value / truth.upper_bound(512)
    assert found.residual == pytest.approx(left, rel=0.2)
    assert left <= 1.25 * ProtoSwap(30, kernel=found.kernel, random_state=0).fit(X).result_.residual


def test_a_width_that_follows_does_not_depend_on_chunks_nor_on_looks_in_between(tmp_path):
    X = by_cluster()
    whole = ProtoSwap(20, random_state=0).partial_fit(X)
    pieces = ProtoSwap(20, random_state=0)
    for chunk in np.array_split(X, 11):
        pieces.partial_fit(chunk)
        assert len(pieces.result_)
        pieces.save(tmp_path / "run.npz")
        pieces = load(tmp_path / "run.npz")
    assert pieces.result_.kernel == whole.result_.kernel
    np.testing.assert_array_equal(pieces.result_.indices, whole.result_.indices)
    np.testing.assert_array_equal(pieces.result_.weights, whole.result_.weights)


@pytest.mark.parametrize("selector", [ProtoSwap(20, kernel=Gaussian(0.5)), ProtoSwap(20, candidates="all")])
def test_a_width_that_was_given_stays_and_so_does_one_that_members_were_judged_by(selector):
    X = by_cluster()
    head = clone(selector).set_params(random_state=0).partial_fit(X[:512]).result_.kernel
    assert clone(selector).set_params(random_state=0).partial_fit(X).result_.kernel.width == head.width
