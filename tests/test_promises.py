"""The promises of the library, each a property."""

import math
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oracles
from conftest import SELECTORS
from problems import problems
from protosieve import InputError, ProtoBasic, ProtoStream, ProtoSwap, SieveStreaming, Streak, load
from protosieve.kernels import Gaussian
from protosieve.means import CalibratedMean, ReservoirMean
from protosieve.objectives import Coverage
from volumes import volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


def covering(cls, sample):
    """The selector where it is to cover, not to match: the sample is its target, and there is no mean."""

    def made(*given, mean=None, **options):
        return cls(*given, objective=Coverage(sample), **options)

    made.__name__ = f"{cls.__name__} covers"
    return made


def matching_and_covering(sample):
    """All selectors, and those that can also cover."""
    covering_too = [covering(cls, sample) for cls in SELECTORS if set(cls._needs) & set(Coverage.offers)]
    return pytest.mark.parametrize("selector", [*SELECTORS, *covering_too], ids=lambda made: made.__name__)


each_selector = matching_and_covering(sample=9)
relaxed = settings(
    max_examples=volume(8, 30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
OPTIMAL = 1e-10  # weights are optimal to this share of the largest mean, so values are known no better
dtypes = st.sampled_from([np.float32, np.float64])


def make(selector, problem, **options):
    if hasattr(selector(), "epsilon"):
        options["epsilon"] = problem.epsilon
    return selector(problem.m, kernel=Gaussian(problem.width), block_size=problem.block_size, random_state=3, **options)


def stream(selector, chunks, target=None):
    """Feed chunks; the target, if any, comes with the first."""
    for i, chunk in enumerate(chunks):
        selector.partial_fit(chunk, target=target if i == 0 else None)
    return selector


def assert_identical(one, other):
    """Bit for bit."""
    for name in ("indices", "rows", "weights"):
        np.testing.assert_array_equal(getattr(one.result_, name), getattr(other.result_, name))
    for name in ("objective", "residual", "mmd", "n_seen"):  # there may be no MMD: NaN
        np.testing.assert_array_equal(getattr(one.result_, name), getattr(other.result_, name))
    assert str(one.result_.certificate) == str(other.result_.certificate)
    np.testing.assert_array_equal(one.result_.trace.objective, other.result_.trace.objective)
    np.testing.assert_array_equal(one.result_.trace.rows_seen, other.result_.trace.rows_seen)


@each_selector
@relaxed
@given(problem=problems, dtype=dtypes)
def test_any_chunking_gives_the_same_bits_with_a_target(selector, problem, dtype):
    X, target = problem.X.astype(dtype), problem.target.astype(dtype)
    whole = make(selector, problem).partial_fit(X, target=target)
    assert_identical(whole, stream(make(selector, problem), np.split(X, problem.cuts), target))
    assert_identical(whole, stream(make(selector, problem), np.split(X, len(X)), target))
    assert_identical(whole, make(selector, problem).fit(X, target=target))


running_means = st.sampled_from([ReservoirMean(size=7), CalibratedMean(sample=12, points=2)])


@each_selector
@relaxed
@given(problem=problems, dtype=dtypes, mean=running_means)
def test_any_chunking_gives_the_same_bits_following_the_stream(selector, problem, dtype, mean):
    X = problem.X.astype(dtype)
    whole = make(selector, problem, mean=mean).partial_fit(X)
    assert_identical(whole, stream(make(selector, problem, mean=mean), np.split(X, problem.cuts)))
    assert_identical(whole, stream(make(selector, problem, mean=mean), np.split(X, len(X))))


@each_selector
@relaxed
@given(problem=problems)
def test_fit_is_a_stream_whose_target_is_the_data(selector, problem):
    fitted = make(selector, problem).fit(problem.X)
    assert_identical(fitted, stream(make(selector, problem), problem.chunks(), problem.X.copy()))


@each_selector
@relaxed
@given(problem=problems)
def test_a_fit_can_go_on_as_a_stream(selector, problem):
    more = problem.X[::-1] + 0.5
    went_on = make(selector, problem).fit(problem.X).partial_fit(more)
    assert_identical(went_on, make(selector, problem).partial_fit(problem.X, target=problem.X).partial_fit(more))


@each_selector
@relaxed
@given(problem=problems)
def test_indices_are_row_numbers_of_the_whole_stream_and_rows_are_kept(selector, problem):
    fitted = stream(make(selector, problem), problem.chunks())
    np.testing.assert_array_equal(fitted.prototypes_, problem.X[fitted.prototype_indices_])
    assert len(set(fitted.prototype_indices_.tolist())) == len(fitted.prototype_indices_) <= problem.m
    assert fitted.n_samples_seen_ == len(problem.X)
    assert (np.diff(fitted.weights_) <= 0).all()


@pytest.mark.parametrize("selector", [cls for cls in SELECTORS if not cls.weighs_equally])
@relaxed
@given(problem=problems, dtype=dtypes)
def test_weights_are_non_negative_and_optimal_to_1e_8(selector, problem, dtype):
    X, target = problem.X.astype(dtype), problem.target.astype(dtype)
    fitted = make(selector, problem).fit(X, target=target)
    kept = fitted.prototypes_.astype(np.float64)
    K = oracles.gaussian(kept, kept, problem.width)
    mu = oracles.gaussian(kept, target.astype(np.float64), problem.width).mean(axis=1)
    gradient = mu - K @ fitted.weights_
    assert (fitted.weights_ >= 0).all()
    assert gradient.max() <= 1e-8
    assert np.abs(gradient[fitted.weights_ > 0]).max(initial=0) <= 1e-8


@relaxed
@given(problem=problems, dtype=dtypes)
def test_equal_weights_are_equal_and_no_row_is_kept_at_a_loss(problem, dtype):
    X, target = problem.X.astype(dtype), problem.target.astype(dtype)
    fitted = make(SieveStreaming, problem).fit(X, target=target)
    kept = fitted.prototypes_.astype(np.float64)
    K = oracles.gaussian(kept, kept, problem.width)
    mu = oracles.gaussian(kept, target.astype(np.float64), problem.width).mean(axis=1)
    assert (fitted.weights_ == 1 / problem.m).all()
    assert fitted.objective_ == pytest.approx(oracles.value(K, mu, fitted.weights_), rel=1e-9, abs=1e-12)
    # each was taken for what it added to those before it; fitted.weights_ are equal, so rows are in the stream's order
    added = mu / problem.m - (K.diagonal() / 2 + np.tril(K, -1).sum(axis=1)) / problem.m**2
    rounding = _rounding(problem, dtype)
    assert len(kept) == 1 or added.min() >= -rounding * mu.max() / problem.m


def _rounding(problem, dtype):
    """-|x - y|^2 / (2 width^2) is a sum of terms as large as |x|^2 / width^2: their rounding is that of k, mu and l."""
    largest = (np.abs(problem.X - problem.target.mean(axis=0)).max() / problem.width) ** 2 * problem.X.shape[1]
    return OPTIMAL if dtype == np.float64 else 4 * np.finfo(np.float32).eps * (1 + largest)


def _similar(X, target, width):
    """Rows with a mean similarity to the target that is well above the smallest number of their dtype."""
    mu = oracles.gaussian(X.astype(float), target.astype(float), width).mean(axis=1)
    return mu > 1e3 * np.finfo(X.dtype).tiny


@pytest.mark.parametrize(
    "selector",
    [ProtoStream, Streak, *(covering(cls, 99) for cls in (Streak, SieveStreaming))],
    ids=lambda made: made.__name__,
)
@relaxed
@given(problem=problems, dtype=dtypes)
def test_the_value_never_falls_with_a_fixed_target(selector, problem, dtype):
    X, target = problem.X.astype(dtype), problem.target.astype(dtype)
    rounding = _rounding(problem, dtype)
    growing = make(selector, problem)
    before = 0.0
    for i in range(len(X)):
        growing.partial_fit(X[i : i + 1], target=target if i == 0 else None)
        held = growing._value(growing._stream.progress) if growing._stream.progress else 0.0
        if before == 0.0 and not _similar(X[: i + 1], target, problem.width).any():
            continue  # so far from the target that float32 sees nothing: there is no result yet
        assert growing.objective_ >= before * (1 - rounding)
        assert growing.objective_ >= held * (1 - rounding)
        before = growing.objective_


@relaxed
@given(problem=problems, dtype=dtypes)
def test_the_value_at_equal_weights_never_falls_with_a_fixed_target(problem, dtype):
    """It may begin below zero, where no row is worth a weight of 1/m, and it is rounded as ``sum mu_j / m`` is."""
    X, target = problem.X.astype(dtype), problem.target.astype(dtype)
    growing, before = make(SieveStreaming, problem), -math.inf
    for i in range(len(X)):
        growing.partial_fit(X[i : i + 1], target=target if i == 0 else None)
        if not _similar(X[: i + 1], target, problem.width).any():
            continue
        progress = growing._stream.progress
        held = growing._value(progress) if progress and progress.single else -math.inf
        mu = oracles.gaussian(growing.prototypes_.astype(float), target.astype(float), problem.width).mean(axis=1)
        slack = _rounding(problem, dtype) * (mu.sum() / problem.m + 1 / problem.m**2)
        assert growing.objective_ >= max(before, held) - slack
        before = growing.objective_


@relaxed
@given(problem=problems, dtype=dtypes)
def test_the_set_of_protoswap_never_gets_worse_and_its_result_is_no_worse_than_the_set(problem, dtype):
    """Where rows are judged as they come; over a sample the set is made anew each time."""
    X, target = problem.X.astype(dtype), problem.target.astype(dtype)
    largest = (np.abs(problem.X - problem.target.mean(axis=0)).max() / problem.width) ** 2 * X.shape[1]
    rounding = 1e-8 if dtype == np.float64 else 16 * np.finfo(np.float32).eps * (1 + largest)
    growing = make(ProtoSwap, problem, candidates="all")
    before = 0.0
    for i in range(len(X)):
        growing.partial_fit(X[i : i + 1], target=target if i == 0 else None)
        held = growing._value(growing._stream.progress) if growing._stream.progress else 0.0
        assert held >= before * (1 - rounding)
        if _similar(X[: i + 1], target, problem.width).any():
            assert growing.objective_ >= held * (1 - rounding)
        before = held


@relaxed
@given(problem=problems)
def test_what_protobasic_rests_on_never_falls(problem):
    """Its guarantee is on the sum of squared gradients at zero; ``l`` itself can fall when a row is replaced."""
    growing = make(ProtoBasic, problem)
    before = 0.0
    for i in range(len(problem.X)):
        growing.partial_fit(problem.X[i : i + 1], target=problem.target if i == 0 else None)
        mu = oracles.gaussian(growing.prototypes_, problem.target, problem.width).mean(axis=1)
        assert (mu**2).sum() >= before * (1 - 1e-12)
        before = (mu**2).sum()


@each_selector
@relaxed
@given(problem=problems, share=st.floats(0, 1), mean=st.none() | running_means, own=st.booleans(), dtype=dtypes)
def test_saved_and_resumed_equals_uninterrupted(selector, problem, share, mean, own, dtype, tmp_path):
    X, options = problem.X.astype(dtype), {"mean": mean}
    target = None if own else problem.target.astype(dtype)
    stop = max(1, math.ceil(share * len(X)))
    first = make(selector, problem, **options).partial_fit(X[:stop], target=target)
    first.save(tmp_path / "run.npz")
    resumed = load(tmp_path / "run.npz").partial_fit(X[stop:])
    assert_identical(resumed, make(selector, problem, **options).partial_fit(X, target=target))


@each_selector
@relaxed
@given(problem=problems)
def test_looking_at_the_result_changes_nothing(selector, problem):
    watched, blind = make(selector, problem), make(selector, problem)
    for chunk in problem.chunks():
        blind.partial_fit(chunk)
        if len(chunk):
            assert len(watched.partial_fit(chunk).result_) <= problem.m
    assert_identical(watched, blind)


@each_selector
@relaxed
@given(problem=problems)
def test_invariants_hold_after_every_row(selector, problem):
    fed = make(selector, problem, mean=ReservoirMean(size=11))
    for row in problem.X:
        fed.partial_fit(row[None])
        if fed._stream.progress is not None:
            fed._stream.progress._check(problem.m)


def _bytes_held(value):
    """Bytes of every array reachable from a state."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(_bytes_held, value.values()))
    if isinstance(value, list | tuple):
        return 8 * len(value) + sum(map(_bytes_held, value))
    return _bytes_held(vars(value)) if hasattr(value, "__dict__") else 0


def _bound(selector, d, reservoir, itemsize):
    """Bytes a state may hold: buffer, sample and its prepared snapshot, and the sets. Nothing here knows n."""
    m, block = selector.n_prototypes, selector.block_size
    sample = 3 * reservoir * ((d + 2) * itemsize + 8)
    per_row = 0
    if selector.objective is not None:
        sample, per_row = sample * 5 // 4, reservoir * itemsize  # those that judge; what a set covers of each row
    sets = m * (d * itemsize + 16)  # for ProtoSwap, ProtoBasic's; the set itself is made for each result
    if isinstance(selector, ProtoSwap):
        sample += 2 * selector.candidates * (d * itemsize + 16)
    if hasattr(selector, "epsilon"):
        windows = {ProtoStream: m**2, SieveStreaming: 2 * m, Streak: 9 * m**3 / (1 - selector.epsilon)}
        low, high = selector._window(1.0)
        thresholds = (
            math.log(windows.get(type(selector), high / low)) / math.log1p(selector.epsilon) + 3
        )  # and the closed one and the single row
        room = max(16, 2 * m)
        per_set = 3 * room**2 * 8 + 8 * room * 8  # Gram matrix, basis, rows of the inverse; vectors
        per_set = 8 * m + per_row if isinstance(selector, SieveStreaming) or per_row else per_set  # the members' slots
        pool = 2 * thresholds * m * ((2 * d + 2) * itemsize + 24)
        sets = thresholds * per_set + pool
    return block * d * itemsize + sample + sets + 20_000  # the trace and numbers


@pytest.mark.parametrize(
    ("m", "epsilon", "dtype"), [(8, 0.4, np.float64), pytest.param(60, 0.7, np.float32, marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("order", ["shuffled", "ever more typical"])
@matching_and_covering(sample=64)
def test_memory_is_bounded_by_m_epsilon_d_and_the_sample(selector, order, m, epsilon, dtype):
    rng = np.random.default_rng(0)
    n, d, reservoir = 300, 5, 64
    options = {"epsilon": epsilon} if hasattr(selector(), "epsilon") else {}
    options |= {"candidates": 100} if isinstance(selector(), ProtoSwap) else {}
    fed = selector(m, kernel=Gaussian(1.0), mean=ReservoirMean(reservoir), block_size=32, random_state=0, **options)
    bound = _bound(fed, d, reservoir, np.dtype(dtype).itemsize)
    for turn in range(100):
        rows = rng.normal(size=(n, d)).astype(dtype)
        if order == "ever more typical":  # better single rows keep coming: the window keeps moving
            rows *= dtype(3 * (1 - turn / 100))
        fed.partial_fit(rows)
        assert _bytes_held(vars(fed)["_stream"]) <= bound, f"after {(turn + 1) * n} rows"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one process")
@pytest.mark.parametrize(
    ("selector", "mean"),
    [
        pytest.param(selector, mean, marks=pytest.mark.thorough if n else ())
        for n, (mean, selector) in enumerate(
            product(
                ["CalibratedMean(sample=2000, points=100)", "ReservoirMean(500)"],
                [ProtoSwap, ProtoBasic, ProtoStream, SieveStreaming, Streak],
            )
        )
    ],
)
def test_resident_memory_stays_flat(selector, mean):
    """In a process of its own: 120,000 rows, none of them kept by the caller."""
    script = f"""
import numpy as np
from pathlib import Path
from protosieve import {selector.__name__}
from protosieve.means import CalibratedMean, ReservoirMean
def peak():  # kB; ru_maxrss would start at the peak of the process that started this one
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
rng = np.random.default_rng(0)
fed = {selector.__name__}(20, mean={mean}, random_state=0)
for turn in range(12):
    fed.partial_fit(rng.standard_normal((10_000, 16), dtype=np.float32))
    if turn == 3:
        settled = peak()
print(peak() - settled)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 20_000


@each_selector
def test_same_seed_same_result(selector, X):
    options = {"n_prototypes": 12, "mean": ReservoirMean(size=50)}
    one, two, three = (selector(**options, random_state=seed).partial_fit(X) for seed in (5, 5, 6))
    assert_identical(one, two)
    assert one.objective_ != three.objective_


@each_selector
@relaxed
@given(problem=problems)
def test_results_are_made_of_rows_that_were_held_all_along(selector, problem):
    follows = make(selector, problem)
    dropped = set()
    seen = 0
    for chunk in problem.chunks():
        follows.partial_fit(chunk, target=problem.target if not seen else None) if len(chunk) else None
        seen += len(chunk)
        if not seen:
            continue
        held = follows.held_indices_
        assert (np.diff(held) > 0).all()
        assert held.max(initial=0) < seen
        dropped |= set(range(seen)) - set(held.tolist())
        assert not dropped & set(held.tolist())
        assert set(_chosen(follows)) <= set(held.tolist())


def _chosen(selector):
    try:
        return selector.prototype_indices_.tolist()
    except InputError:  # no row has a positive mean
        return []


def test_the_standing_is_that_of_the_set_held(selector, X):
    following = selector(10, kernel=Gaussian(2.0), random_state=0).partial_fit(X[:5])
    assert following.standing_.residual is None  # no block is full yet
    following = selector(10, kernel=Gaussian(2.0), block_size=50, random_state=0).partial_fit(X, target=X)
    standing = following.standing_
    assert standing.n_seen == len(X)
    if following._value(following._stream.progress) is None:
        assert not hasattr(following, "epsilon")  # sets of thresholds know what they are worth
        assert standing.residual is None
    else:
        assert following.result_.residual <= standing.residual + 1e-6 < 1
    assert standing.exchanged is None


def test_a_set_that_judges_rows_as_they_come_has_a_standing(X):
    following = ProtoSwap(10, candidates="all", block_size=50, random_state=0).partial_fit(X, target=X)
    assert following.result_.residual <= following.standing_.residual + 1e-6 < 1
    assert following.standing_.exchanged >= 0
