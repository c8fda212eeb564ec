"""A sample of row numbers: those with the smallest hashes, whatever way they come."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracles
from protosieve.sampling import Bottom, hashes


def smallest(seed, numbers, most):
    """The sample, literally."""
    return sorted(sorted(numbers, key=lambda number: oracles.splitmix64(seed, number))[:most])


def merged(parts, random):
    """One of all, in any order."""
    random.shuffle(parts)
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
        whole._check()
    return whole


@given(st.integers(0, 2**70), st.lists(st.integers(0, 2**62), max_size=50))
def test_hashes_are_those_of_splitmix64(seed, numbers):
    expected = [oracles.splitmix64(seed, number) for number in numbers]
    assert hashes(seed, np.array(numbers, np.int64)).tolist() == expected


@given(st.integers(0, 99), st.integers(1, 30), st.lists(st.integers(0, 3), max_size=120), st.randoms())
def test_the_sample_is_the_smallest_hashes_in_any_order_cut_and_merge(seed, most, homes, random):
    numbers = list(range(len(homes)))
    random.shuffle(numbers)
    parts = [Bottom(seed, most) for _ in range(4)]
    for number, home in zip(numbers, homes, strict=True):
        parts[home].offer(np.array([number]))
        parts[home]._check()
    whole = merged(parts, random)
    assert sorted(whole.numbers.tolist()) == smallest(seed, numbers, most)
    assert whole.seen == len(homes)
    whole.lower(max(most // 2, 1))
    assert sorted(whole.numbers.tolist()) == smallest(seed, numbers, max(most // 2, 1))


@given(
    st.integers(0, 99),
    st.integers(1, 30),
    st.lists(st.integers(0, 3), max_size=120),
    st.floats(0, 0.99),
    st.randoms(),
)
def test_hashes_above_a_limit_are_passed_over(seed, most, homes, share, random):
    limit = int(share * (2**64 - 1))
    parts = [Bottom(seed, most, limit=limit) for _ in range(4)]
    for number, home in enumerate(homes):
        parts[home].offer(np.array([number]))
        parts[home]._check()
    low = [number for number in range(len(homes)) if oracles.splitmix64(seed, number) <= limit]
    whole = merged(parts, random)
    assert sorted(whole.numbers.tolist()) == smallest(seed, low, most)
    assert whole.seen == len(homes)


def test_offered_rows_that_join_are_named_by_their_places():
    bottom, numbers = Bottom(3, 20), np.random.default_rng(0).permutation(500)
    for part in np.array_split(numbers, 7):
        before = set(bottom.numbers.tolist())
        joined = part[bottom.offer(part)]
        assert set(joined.tolist()) == set(bottom.numbers.tolist()) - before


def test_every_row_is_as_likely_as_any_other():
    counts = np.zeros(40)
    for seed in range(4000):
        bottom = Bottom(seed, 10)
        bottom.offer(np.arange(40))
        counts[bottom.numbers] += 1
    # a count is binomial, of 4,000 draws at 1/4: a standard deviation of 27
    assert np.abs(counts - 1000).max() < 5 * 27
