"""Coverage: what selectors choose by it, however the rows come, and what it says of the result."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from problems import make_problem
from protosieve import (
    InputError,
    ParameterError,
    ProtoBasic,
    ProtoDash,
    ProtosieveWarning,
    ProtoStream,
    ProtoSwap,
    SieveStreaming,
    Streak,
    _state,
    compare,
    load,
    select,
)
from protosieve.guarantees import ratio_range, singleton_guarantee
from protosieve.kernels import Cosine, Gaussian, Linear, MultiScale
from protosieve.means import ExactMean
from protosieve.objectives import Coverage, SetFunction
from protosieve.result import BestOfSize
from protosieve.result import files as result_files
from volumes import repeated, volume


@pytest.fixture(scope="module")
def clusters():
    """1,500 rows in six clusters, one after the other."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(3 * rng.normal(size=4), 0.4, (250, 4)) for _ in range(6)])


def covers(m=8, kernel=None, sample=300, **more):
    return ProtoSwap(m, kernel=kernel or MultiScale(2.0), objective=Coverage(sample), random_state=0, **more)


def covered(kernel, rows, prototypes):
    return oracles.covered(kernel(prototypes, rows), range(len(prototypes))) / len(rows)


@settings(max_examples=volume(8, 40))
@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.integers(1, 150),
    st.sampled_from([Gaussian(1.0), MultiScale(2.0), Cosine(), Linear()]),
    st.integers(1, 3),
)
def test_chooses_what_the_literal_algorithm_chooses(seed, m, n, kernel, passes):
    """Where all rows are candidates and the whole target: any m, then the best exchange of 64 at a time."""
    rows = np.random.default_rng(seed).normal(size=(n, 3)) + 0.5
    ours = ProtoSwap(m, kernel=kernel, objective=Coverage(), passes=passes, random_state=0)
    order = ours.partial_fit(rows, target=rows)._caught_up().known.sample.settled().numbers
    K = kernel.resolve(rows, np.random.default_rng(0))(rows)
    twin = oracles.CoverSet(K, min(m, n))
    twin.members, rng = order[:m].tolist(), np.random.default_rng(0)
    for _ in range(passes):
        before = list(twin.members)
        for start in range(0, n, 64):
            twin.offer(order[start : start + 64].tolist())
        if twin.members == before:
            break
        order = rng.permutation(order)
    if twin.value > 0:
        assert ours.result_.objective == pytest.approx(twin.value / n, rel=1e-9)


TWINS = {
    ProtoBasic: oracles.protobasic_of,
    Streak: oracles.streak_of,
    SieveStreaming: oracles.sievestreaming_of,
    ProtoDash: oracles.greedy_of,
}
each_other = pytest.mark.parametrize("selector", TWINS, ids=lambda cls: cls.__name__)


@repeated
@each_other
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Cosine(), Linear()], ids=repr)
def test_the_others_choose_what_their_literal_twins_choose(selector, kernel):
    """Similarities below zero count as zero: those of cosines are, as often as not."""
    compared, seeds = 0, range(volume(25, 100))
    for seed in seeds:
        problem = make_problem(seed, n=12 + seed % 30)
        K = kernel(problem.X, problem.target)
        options = {"epsilon": problem.epsilon} if hasattr(selector(), "epsilon") else {}
        run = TWINS[selector](oracles.Covering(K), problem.m, *options.values())
        if run.margin < 1e-9 or not run.chosen:
            continue
        ours = selector(problem.m, kernel=kernel, objective=Coverage(), block_size=problem.block_size, **options)
        if selector is ProtoDash:
            ours.fit(problem.X, target=problem.target)
            assert ours.order_.tolist() == run.order
        else:
            for i, chunk in enumerate(problem.chunks()):
                ours.partial_fit(chunk, **({"target": problem.target} if i == 0 else {}))
        assert sorted(ours.prototype_indices_.tolist()) == run.chosen
        assert ours.objective_ == pytest.approx(run.objective, rel=1e-9)
        nearest = np.maximum(K[ours.prototype_indices_], 0)
        assert ours.objective_ == pytest.approx(nearest.max(axis=0).mean(), rel=1e-9)
        assert ours.weights_.sum() == pytest.approx((nearest.max(axis=0) > 0).mean())
        compared += 1
    assert compared >= 0.6 * len(seeds)


@settings(max_examples=volume(6, 30))
@given(st.lists(st.integers(60, 900), min_size=1, max_size=6), st.booleans())
def test_any_chunking_gives_the_same_bits(clusters, sizes, with_target):
    target = clusters[200:900] if with_target else None
    whole = covers().partial_fit(clusters, target=target).result_
    cut, start, i = covers(), 0, 0
    while start < len(clusters):
        cut.partial_fit(clusters[start : start + sizes[i % len(sizes)]], target=target if start == 0 else None)
        start, i = start + sizes[i % len(sizes)], i + 1
        if i == 3:
            assert len(cut.result_)  # to look changes nothing
    assert np.array_equal(cut.result_.indices, whole.indices)
    assert np.array_equal(cut.result_.weights, whole.weights)
    assert cut.result_.objective == whole.objective


@pytest.mark.parametrize("target", [None, slice(0, 400)])
def test_saved_and_resumed_is_uninterrupted(clusters, target, tmp_path):
    target = None if target is None else clusters[target]
    for at in (1, 600, 1024):
        through = covers().partial_fit(clusters[:at], target=target)
        through.save(tmp_path / "state.npz")
        again = load(tmp_path / "state.npz")
        for selector in (through, again):
            selector.partial_fit(clusters[at:])
        assert np.array_equal(through.result_.indices, again.result_.indices)
        assert through.result_.objective == again.result_.objective


def test_the_order_of_rows_does_not_matter(clusters):
    """With so many rows as the sample holds all, the target is the same in any order, and so nearly is the value."""
    rng, values = np.random.default_rng(1), []
    for order in (np.arange(1500), np.arange(1500)[::-1], rng.permutation(1500), np.argsort(clusters[:, 0])):
        values.append(covers(sample=1500).partial_fit(clusters[order]).result_.objective)
    assert min(values) > 0.98 * max(values)


def test_the_value_is_that_of_all_rows_and_weights_are_their_shares(clusters):
    result = covers(sample=5000).fit(clusters).result_
    kernel = MultiScale(2.0)
    assert result.objective == pytest.approx(covered(kernel, clusters, result.rows), rel=1e-9)
    assert result.residual == pytest.approx(1 - result.objective)
    nearest = kernel(clusters, result.rows).argmax(axis=1)
    assert np.allclose(result.weights, np.bincount(nearest, minlength=8) / 1500)
    assert np.isnan(result.mmd)
    assert "of full coverage" in str(result.certificate)


@pytest.mark.parametrize("kernel", [Cosine(), Gaussian(0.02)], ids=repr)
def test_weights_sum_to_the_share_of_the_rows_that_are_covered_at_all(kernel):
    rows = np.random.default_rng(0).normal(size=(200, 2))
    result = covers(2, kernel).fit(rows).result_
    share = (kernel(rows, result.rows).max(axis=1) > 0).mean()
    assert share < 1
    assert result.weights.sum() == pytest.approx(share)


def test_the_value_by_a_sample_is_near_that_of_all_rows(clusters):
    rows = np.tile(clusters, (4, 1)) + np.random.default_rng(2).normal(0, 0.1, (6000, 4))
    result = covers(sample=1000).fit(rows).result_
    assert result.objective == pytest.approx(covered(MultiScale(2.0), rows, result.rows), rel=0.05)
    assert result.weights.sum() == pytest.approx(1)


def test_it_covers_more_than_random_rows_and_than_rows_that_match(clusters):
    kernel = MultiScale(2.0)
    ours = covered(kernel, clusters, covers(sample=5000).fit(clusters).result_.rows)
    match = covered(kernel, clusters, ProtoSwap(8, kernel=kernel, random_state=0).fit(clusters).result_.rows)
    rng = np.random.default_rng(3)
    chance = max(covered(kernel, clusters, clusters[rng.permutation(1500)[:8]]) for _ in range(20))
    assert ours > max(match, chance)


def test_rows_are_chosen_for_the_target_that_is_given(clusters):
    result = covers().fit(clusters, target=clusters[500:750]).result_
    assert (result.indices >= 500).mean() > 0.5
    assert covered(MultiScale(2.0), clusters[500:750], result.rows) > 0.5


@pytest.mark.parametrize("way", ["fit", "stream", "files"])
def test_rows_like_the_target_are_found_where_few_are(way, tmp_path):
    """A uniform sample has next to none of them."""
    rng = np.random.default_rng(0)
    rows, target = rng.normal(size=(20_000, 3)), rng.normal(size=(300, 3)) + 6
    rows[rng.permutation(20_000)[:40]] += 6
    kernel = Gaussian(2.0)
    if way == "files":
        for name, part in (("rows", rows), ("target", target)):
            np.save(tmp_path / f"{name}.npy", part)
        options = {"goal": "cover", "kernel": kernel, "scale": "none", "sample": 4000, "random_state": 0}
        found = select(tmp_path / "rows.npy", 10, target=tmp_path / "target.npy", **options).rows
    else:
        selector = ProtoSwap(10, kernel=kernel, objective=Coverage(), random_state=0)
        fed = selector.fit(rows, target=target) if way == "fit" else selector.partial_fit(rows, target=target)
        found = fed.prototypes_
    greedy = ProtoDash(10, kernel=kernel, objective=Coverage()).fit(rows, target=target).prototypes_
    assert covered(kernel, target, found) >= 0.99 * covered(kernel, target, greedy)


def test_with_a_target_the_rows_that_cover_most_alone_are_no_better():
    """However few candidates there are."""
    rng = np.random.default_rng(3)
    for seed in range(volume(10, 40)):
        rows, target = rng.normal(size=(300, 2)), rng.normal(size=(30, 2)) + 2
        basic, ours = (
            cls(3, kernel=Gaussian(0.7), objective=Coverage(), random_state=seed, **more).fit(rows, target=target)
            for cls, more in ((ProtoBasic, {}), (ProtoSwap, {"candidates": 3}))
        )
        assert ours.objective_ >= basic.objective_ * (1 - 1e-12)


def test_copies_are_chosen_once():
    rows = np.repeat(np.eye(3), 50, axis=0)
    with pytest.warns(ProtosieveWarning, match=r"kept 3 of n_prototypes=8: .* represent the target completely"):
        result = covers().fit(rows).result_
    assert len(result) == 3
    assert result.residual == pytest.approx(0)
    assert np.allclose(result.weights, 1 / 3)


def test_float32_rows_stay_float32(clusters):
    result = covers(sample=5000).fit(clusters.astype(np.float32)).result_
    assert result.rows.dtype == np.float32
    assert result.objective == pytest.approx(covers(sample=5000).fit(clusters).result_.objective, rel=0.01)


def test_similarity_to_prototypes_and_the_nearest_are_there(clusters):
    selector = covers().fit(clusters)
    assert selector.transform(clusters[:5]).shape == (5, 8)
    assert np.array_equal(selector.predict(clusters[:50]), selector.transform(clusters[:50]).argmax(axis=1))


@pytest.mark.parametrize(("n", "population", "choosing", "judging"), [
    (100, 100, 80, 100), (90, 100, 72, 18), (500, 9000, 80, 20), (500, 500, 80, 20), (4, 9, 3, 1), (1, 9, 1, 1)
])  # fmt: skip
def test_of_a_sample_drawn_elsewhere_the_last_fifth_judges_unless_it_is_the_whole_target(
    clusters, n, population, choosing, judging
):
    """Where it is, and not too large, all rows judge."""
    objective = Coverage(80).by(Gaussian(1.0), clusters[:n], population)
    assert np.array_equal(objective.chosen_by().left, Gaussian(1.0).prepare(clusters[:choosing]).left)
    judges = objective.judged_by()
    assert len(judges) == judging
    first = 0 if n == population and n <= 100 else n - max(n // 5, 1)
    assert np.array_equal(judges, clusters[first:n][:judging])
    again = _state.loads(_state.dumps(objective))
    assert np.array_equal(again.judged_by(), judges)


def test_the_kernel_is_that_of_the_selector():
    with pytest.raises(TypeError, match="kernel"):
        Coverage(kernel=Cosine())


@pytest.mark.parametrize("sample", [0, -1, 2.5, "many", True])
def test_a_bad_sample_is_refused(sample):
    with pytest.raises(ParameterError, match=r"Coverage: sample must be a whole number of at least 1"):
        Coverage(sample)


def test_what_does_not_go_together_is_refused(clusters):
    with pytest.raises(ParameterError, match=r"candidates='all' judges rows as they come, and Coverage"):
        covers(candidates="all").fit(clusters)
    with pytest.raises(ParameterError, match=r"mean=ExactMean\(\) belongs to the kernel mean"):
        covers(mean=ExactMean()).fit(clusters)
    others = "ProtoBasic, ProtoDash, ProtoSwap, SieveStreaming or Streak"
    with pytest.raises(
        ParameterError, match=f"ProtoStream needs gradients; Coverage has only values .*: use {others}$"
    ):
        ProtoStream(3, objective=Coverage()).fit(clusters)
    with pytest.raises(ParameterError, match="SieveStreaming needs gains; SetFunction has only values: use ProtoBasic"):
        SieveStreaming(3, objective=SetFunction(len)).fit(clusters)


def test_the_sample_can_be_set_by_its_name(clusters):
    selector = covers().set_params(objective__sample=77)
    assert selector.get_params()["objective__sample"] == 77
    assert selector.fit(clusters).result_.parameters["objective"] == Coverage(77)


def small(seed, target_rows=None):
    """A few rows, a target, a kernel whose similarities may be negative, and what sets of the rows cover."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(4, 12)), 2)) + 0.3
    target = rows if target_rows is None else rng.normal(size=(target_rows, 2))
    kernel = [Gaussian(1.0), MultiScale(2.0), Cosine(), Linear()][seed % 4]
    K = kernel(rows, target)
    return rows, target, kernel, lambda members: oracles.covered(K, members) / len(target)


each_cover = pytest.mark.parametrize("selector", [ProtoSwap, *TWINS], ids=lambda cls: cls.__name__)


@repeated
@each_cover
def test_no_rows_of_the_size_cover_more_than_the_certificate_says(selector):
    """By brute force over all sets."""
    seeds = range(volume(24, 120))
    for seed in seeds:
        rows, _, kernel, f = small(seed)
        m = 1 + seed % 4
        result = selector(m, kernel=kernel, objective=Coverage(), random_state=0).fit(rows).result_
        certificate, best = result.certificate, result.certificate.best
        most = oracles.best_subset(f, len(rows), min(m, len(rows)))[1]
        assert certificate.value <= most * (1 + 1e-9) <= best.bound * (1 + 2e-9)
        assert best.ratio == best.at_least() == pytest.approx(certificate.value / best.bound)
        assert (best.size, best.candidates, best.judges, best.population) == (m, *[len(rows)] * 3)
        assert best.bound <= certificate.upper_bound
        gains = sorted((f([*result.indices, j]) - f(result.indices) for j in range(len(rows))), reverse=True)
        assert best.bound <= f(result.indices) + sum(gains[:m]) + 1e-12


@repeated
def test_the_paper_and_others_promise_what_holds():
    """Theorem 5.5; Nemhauser, Wolsey and Fisher for greedy; Badanidiyuru et al. for sieves."""
    for seed in range(volume(12, 60)):
        rows, target, kernel, f = small(seed, target_rows=15)
        m = 2 + seed % 3
        best = oracles.best_subset(f, len(rows), min(m, len(rows)))[1]
        if best <= 0:
            continue
        promised = {
            ProtoBasic: singleton_guarantee(ratio_range(f, len(rows), min(m, len(rows)))).kappa,
            ProtoDash: 1 - 1 / np.e,
            SieveStreaming: 1 / 2 - 0.1,
            ProtoSwap: 1 / 2,
        }
        for selector, share in promised.items():
            ours = selector(m, kernel=kernel, objective=Coverage(), random_state=0).fit(rows, target=target)
            assert share * best <= ours.objective_ * (1 + 1e-9)


@pytest.mark.parametrize("columns", [1, 2])
def test_the_share_of_the_best_holds_where_most_judges_are_covered(columns):
    """One row in 20 is far away, and of 15 that judge often none. The two best rows are one of each kind."""
    held, repeats = 0, volume(40, 100)
    rows = np.repeat([0.0, 9.0], [950, 50])[:, None].repeat(columns, axis=1)
    for seed in range(repeats):
        fitted = ProtoBasic(2, kernel=Gaussian(1.0), objective=Coverage(60), random_state=seed).fit(rows)
        best, sample = fitted.result_.certificate.best, fitted._known_objective().begun.drawn.settled().rows
        assert (best.candidates, best.judges, fitted.prototypes_.any()) == (60, 15, False)
        held += best.at_least() <= (0.95 if sample[:60].any() else 1.0)
    assert held >= 0.95 * repeats


@pytest.mark.parametrize(("judges", "covered_share"), [(15, 0.95), (100, 0.8), (2048, 0.95), (2048, 0.999)])
def test_the_share_of_the_best_holds_in_as_many_samples_as_it_says(judges, covered_share):
    """Of 2,000 samples of judges, of which the best would cover all."""
    near = (np.random.default_rng(0).random((2000, judges)) < covered_share).astype(float)
    found = [BestOfSize.by(line, np.ones(judges), 1.0, 2, 60, 10**6) for line in near]
    for level in (0.8, 0.95):
        held = np.mean([best.at_least(level) <= covered_share for best in found])
        assert held >= level - 2 * np.sqrt(level * (1 - level) / 2000)


def test_greedy_computes_again_what_does_not_fit(clusters):
    rows = clusters.astype(np.float32)
    kept, none, some = (
        ProtoDash(12, kernel=MultiScale(2.0), objective=Coverage(), cache_size=size, random_state=0).fit(rows)
        for size in (1000, 0, 0.5)
    )
    assert kept.order_.tolist() == none.order_.tolist() == some.order_.tolist()
    assert np.all(np.diff(kept.order_objectives_) > 0)
    assert kept.order_objectives_[-1] == pytest.approx(kept.objective_, rel=1e-6)
    few = ProtoDash(5, kernel=MultiScale(2.0), objective=Coverage(), random_state=0).fit(rows)
    assert few.order_.tolist() == kept.order_[:5].tolist()


def test_exchanges_cover_as_much_as_greedy_and_greedy_more_than_sieves(clusters):
    value = {
        cls: cls(20, kernel=MultiScale(2.0), objective=Coverage(), random_state=0).fit(clusters[::2]).objective_
        for cls in (ProtoSwap, ProtoDash, Streak, SieveStreaming, ProtoBasic)
    }
    assert value[ProtoSwap] >= value[ProtoDash] * (1 - 1e-3)
    assert value[ProtoDash] > max(value[Streak], value[SieveStreaming]) > value[ProtoBasic]


@each_cover
def test_rows_that_judge_never_chose(selector, clusters):
    """Nor at any time before, where the target follows the stream."""
    fitted = selector(5, kernel=Linear(), objective=Coverage(100), random_state=0)
    chose = []
    for chunk in [clusters] if selector is ProtoDash else np.split(clusters, 5):
        (fitted.fit if selector is ProtoDash else fitted.partial_fit)(chunk)
        objective = fitted._known_objective()
        chose.append((objective.target if objective.begun.compared else objective.chosen_by()).left)
    judges, chose = objective.judged_by(), chose[-1] if selector is ProtoSwap else np.concatenate(chose)
    assert 10 < len(judges) < 45
    assert not (judges[:, None] == chose).all(axis=2).any()


@pytest.mark.parametrize("way", ["fit", "stream", "more"])
@pytest.mark.parametrize("candidates", ["auto", 80, 150])
def test_rows_that_judge_are_no_candidates_of_a_stream_that_covers_itself(way, candidates, clusters):
    """Those are rows of the same sample; of a fit that goes on, later rows too."""
    selector = ProtoSwap(5, kernel=Gaussian(2.0), objective=Coverage(100), candidates=candidates, random_state=0)
    if way == "stream":
        selector.partial_fit(clusters)
    else:
        selector.fit(clusters[: 900 if way == "more" else None])
    if way == "more":
        selector.partial_fit(clusters[900:])
    stream = selector._caught_up()
    drawn = stream.running.begun.drawn.settled()
    found = selector._by(stream.running).candidates(stream.known.sample)
    assert np.array_equal(stream.running.judged_by(), drawn.rows[100:])
    assert len(drawn.numbers[100:]) == 25
    assert not np.isin(found.numbers, drawn.numbers[100:]).any()
    assert len(found) == (1475 if candidates == "auto" else candidates)
    assert np.isin(drawn.numbers[:80], found.numbers).all() or way == "more"


@pytest.mark.parametrize("selector", [ProtoBasic, Streak, SieveStreaming], ids=lambda cls: cls.__name__)
def test_a_stream_can_begin_by_an_objective_made_elsewhere(selector, clusters):
    kernel = Gaussian(2.0)
    made = Coverage(200).over(kernel, clusters, clusters[:1], 7, m=6, compared=True)
    fed = selector(6, objective=Coverage(200), random_state=0)
    fed.begin_by(made, clusters[:1])
    target = made.begun.drawn.settled().rows[:200]
    plain = selector(6, kernel=kernel, objective=Coverage()).partial_fit(clusters, target=target)
    assert set(fed.partial_fit(clusters).prototype_indices_) == set(plain.prototype_indices_)
    assert fed.result_.certificate.best.candidates == 200


@pytest.mark.parametrize("selector", [Streak, SieveStreaming], ids=lambda cls: cls.__name__)
@settings(max_examples=volume(6, 30))
@given(st.integers(0, 10_000), st.sampled_from([Gaussian(1.0), Cosine()]), st.booleans())
def test_sets_are_worth_what_their_members_cover(selector, seed, kernel, follows):
    """Of the target as it was adopted last, whatever sets were judged by before; full and closed ones too."""
    problem = make_problem(seed, n=50)
    fed = selector(problem.m, kernel=kernel, objective=Coverage(12), block_size=problem.block_size, random_state=seed)
    for i, chunk in enumerate(np.split(problem.X, 7 * np.arange(1, 7))):
        fed.partial_fit(chunk, target=None if follows or i else problem.target)
        progress, objective = fed._stream.progress, fed._stream.objective
        if progress is None:
            continue
        target = objective.begun.snapshot if follows else objective.begun.drawn.rows[:12]
        K = kernel(problem.X, target)
        for sieve in progress.all():
            members = progress.pool.indices[sieve.members]
            assert sieve.value == pytest.approx(oracles.covered(K, members) / len(target), abs=1e-12)
            assert len(sieve.qp.near) == (0 if sieve.qp.is_sealed else len(target))
        alone = np.maximum(K[progress.pool.indices[: progress.pool.size]], 0).mean(axis=1)
        np.testing.assert_allclose(progress.pool.mu[: progress.pool.size], alone, atol=1e-12)


@pytest.mark.parametrize("selector", [Streak, SieveStreaming], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("target", [None, slice(None)])
def test_the_standing_and_the_trace_are_those_of_the_best_set(selector, target, clusters):
    """A stream's own are by what was known at the time, of which a fifth only judges."""
    rows = np.random.default_rng(0).permutation(clusters)
    target = None if target is None else rows
    fed = selector(6, kernel=MultiScale(2.0), objective=Coverage(1500), block_size=100, random_state=0)
    fed.partial_fit(rows, target=target)
    result = fed.result_
    assert result.residual == pytest.approx(fed.standing_.residual, abs=0.05 if target is None else 1e-12)
    assert result.trace.rows_seen.tolist() == list(range(100, 1501, 100))
    assert np.all(result.trace.bound == 1)
    if target is not None:
        assert np.all(np.diff(result.trace.objective) >= 0)


def test_a_level_between_0_and_1_is_asked_for(clusters):
    best = covers().fit(clusters).result_.certificate.best
    assert best.at_least(0.99) < best.at_least(0.6) < best.at_least(0.5) == best.at_least(0.1) < best.ratio
    with pytest.raises(ParameterError, match=r"level must be between 0 and 1, such as 0.95; got 1"):
        best.at_least(1)


@each_cover
def test_rows_longer_than_those_of_the_target_cover_no_more_than_all(selector):
    """The best rows of the target cover less than rows that are ten times as long."""
    rows = np.abs(np.random.default_rng(0).normal(size=(200, 3)))
    result = selector(5, kernel=Linear(), objective=Coverage(), random_state=0).fit(10 * rows, target=rows).result_
    certificate = result.certificate
    assert certificate.value <= certificate.upper_bound
    assert certificate.ratio < 1 == certificate.best.ratio == certificate.best.at_least()
    assert str(certificate).endswith(": at least 100 % of what the best 5 of 200 rows of the target could cover")
    (line,) = compare(10 * rows, 5, [selector(5, objective=Coverage())], target=rows, kernel=Linear()).rows
    assert line["covered"] <= 1


def test_the_best_are_no_more_than_there_are(clusters):
    with pytest.warns(ProtosieveWarning, match="n_prototypes=20 but X has 10 rows"):
        result = covers(20).fit(clusters[::150]).result_
    assert str(result.certificate.best).endswith("% of what the best 10 of 10 rows of the target could cover")
    one = covers(1, sample=4).fit(clusters).result_.certificate.best
    assert str(one).endswith("by 1 other of its 1,500")


def test_two_rows_that_judge_are_too_few_to_be_sure_of_anything(clusters):
    best = covers(1, sample=8).fit(clusters).result_.certificate.best
    assert (best.candidates, best.judges, best.population) == (8, 2, 1500)
    assert best.standard_error == np.inf
    assert best.at_least() == 0
    assert str(best).startswith("with 95 % confidence at least 0 % of what the best 1 of 8 rows of the target could")


def test_the_certificate_speaks_of_the_best_and_is_read_back(clusters):
    certificate = covers().fit(clusters).result_.certificate
    assert str(certificate).endswith(" could cover, by 75 others of its 1,500")
    assert "of full coverage" in str(certificate)
    known = {"value": certificate.value, "upper_bound": certificate.upper_bound, "sampling": None}
    again = result_files._read._certificate(known | {"best": dataclasses.asdict(certificate.best)})
    assert again.best == certificate.best
    assert result_files._read._certificate(known).best is None


@each_cover
def test_similarities_that_no_number_holds_are_refused(selector):
    rows = np.ones((600, 3))
    rows[520] = 1e200
    fitted = selector(3, kernel=Linear(), objective=Coverage(), random_state=0)
    with pytest.raises(InputError, match=r"row 520: its similarity to the target under Linear\(\) is inf; scale"):
        fitted.fit(rows, target=rows[520:521])
    for target in (None, rows):
        with pytest.raises(
            InputError, match=r"row 520: its similarity to the target under Linear\(\) is inf; scale the"
        ):
            fitted.fit(rows, target=target)
        with pytest.raises(
            InputError, match=r"row \d+: its similarity to the target under Linear\(\) is inf; scale the"
        ):
            fitted.fit(1e200 * np.ones((600, 3)), target=target)


@each_cover
def test_rows_of_the_target_that_no_number_holds_are_refused(selector):
    rows = np.ones((600, 3))
    match = (
        r"the largest similarity of a row to itself under Linear\(\) is inf; scale the columns or choose a width that"
    )
    with pytest.raises(InputError, match=match):
        selector(3, kernel=Linear(), objective=Coverage(), random_state=0).fit(rows, target=1e200 * rows[:5])


@each_cover
def test_where_no_row_covers_any_the_error_says_so(selector):
    rows = np.random.default_rng(0).random((30, 2)) + 0.1
    match = r"none of the 30 rows covers any row of the target: under Cosine\(\) no similarity .* Do not centre"
    with pytest.raises(InputError, match=match):
        selector(3, kernel=Cosine(), objective=Coverage()).fit(rows, target=-rows)
    with pytest.raises(InputError, match=r"under Gaussian\(width=0.01\) .* for this width: choose a larger one"):
        selector(3, kernel=Gaussian(0.01), objective=Coverage()).fit(rows, target=rows + 10)
