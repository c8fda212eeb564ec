"""The uniform sample of rows against the rows with the smallest hashes, sorted."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from protosieve import _state
from protosieve.sampling import Bottom, UniformSample


def rows_of(numbers):
    """A row tells its number."""
    return np.column_stack([numbers, -np.asarray(numbers)]).astype(float)


@dataclass(frozen=True)
class Stream:
    """Rows of several parts, each as it comes, and a sample of every part."""

    size: int
    seed: int
    numbers: list[int]
    parts: list[UniformSample]

    def order(self, limit=2**64 - 1):
        """All numbers whose hashes are within the limit, by their hashes."""
        hashed = sorted((oracles.splitmix64(self.seed, number), number) for number in self.numbers)
        return [number for found, number in hashed if found <= limit]

    def merged(self, parts, recode=None):
        """One sample of all; it takes in the others' rows as ``recode`` has them."""
        whole = copy.deepcopy(parts[0])
        for part in parts[1:]:
            whole.merge(part, recode)
        return whole


@st.composite
def streams(draw, share=1.0):
    size, seed = draw(st.integers(1, 40)), draw(st.integers(0, 99))
    limit = int(share * (2**64 - 1)) if share < 1 else 2**64 - 1
    homes = np.array(draw(st.lists(st.integers(0, 3), min_size=1, max_size=150)))
    numbers = np.array(draw(st.permutations(range(len(homes)))))
    parts = [UniformSample.empty(size, rows_of([0]), seed, limit) for _ in range(4)]
    for some in np.array_split(np.arange(len(homes)), draw(st.integers(1, 9))):
        for home, part in enumerate(parts):
            own = numbers[some][homes[some] == home]
            part.observe(rows_of(own), own, own / 2)
            part._check()
    return Stream(size, seed, numbers.tolist(), draw(st.permutations(parts)))


def assert_holds(sample, numbers, seen):
    """Exactly these rows, in this order; nothing waits."""
    assert sample.waiting == []
    assert (sample.numbers.tolist(), sample.seen) == (numbers, seen)
    np.testing.assert_array_equal(sample.rows, rows_of(numbers).reshape(-1, 2))
    np.testing.assert_array_equal(sample.held.mu, np.array(numbers) / 2)


@given(streams())
def test_parts_merge_in_any_order_to_the_smallest_hashes_of_all(stream):
    whole = stream.merged(stream.parts)
    whole._check()
    assert_holds(whole.settled(), stream.order()[: stream.size], len(stream.numbers))
    assert whole.is_whole == (len(stream.numbers) <= stream.size)
    assert set(whole.all_numbers.tolist()) >= set(stream.order()[: stream.size])


@given(streams())
def test_a_merge_brings_the_others_codes_to_ours_and_leaves_them_as_they_are(stream):
    first, *others = stream.parts
    before = [other.settled().rows for other in others]
    whole = stream.merged(stream.parts, lambda rows: rows + 1000).settled()
    own = np.isin(whole.numbers, first.all_numbers)
    np.testing.assert_array_equal(whole.rows, rows_of(whole.numbers) + np.where(own, 0, 1000)[:, None])
    assert whole.numbers.tolist() == stream.order()[: stream.size]
    for other, rows in zip(others, before, strict=True):
        np.testing.assert_array_equal(other.settled().rows, rows)


@given(streams(), st.integers(1, 40))
def test_its_first_rows_are_the_sample_of_that_size(stream, size):
    whole = stream.merged(stream.parts)
    held = len(whole.settled().held)
    few = whole.first(min(size, stream.size))
    few._check()
    assert_holds(few, stream.order()[: min(size, stream.size)], len(stream.numbers))
    assert few.size == min(size, stream.size)
    assert (whole.size, len(whole.settled().held)) == (stream.size, held)


@given(st.data(), st.floats(0, 0.99))
def test_samples_within_a_limit_merge_to_the_rows_within_it(data, share):
    stream = data.draw(streams(share))
    within = stream.order(int(share * (2**64 - 1)))
    whole = stream.merged(stream.parts).settled()
    assert_holds(whole, within[: stream.size], len(stream.numbers))
    assert whole.is_whole == (len(within) == len(stream.numbers) <= stream.size)
    if len(within) >= stream.size:  # then nothing that is needed was let go
        assert within[: stream.size] == stream.order()[: stream.size]


@given(streams())
def test_mapped_it_is_the_same_rows_in_another_form_under_other_numbers(stream):
    whole = stream.merged(stream.parts)
    other = whole.mapped(lambda rows: rows[:, :1] * 2, lambda numbers: numbers + 7)
    held = whole.settled()
    np.testing.assert_array_equal(other.rows, held.rows[:, :1] * 2)
    np.testing.assert_array_equal(other.numbers, held.numbers + 7)
    np.testing.assert_array_equal(other.held.mu, held.held.mu)
    assert (other.seen, other.size, other.seed, other.is_whole) == (held.seen, held.size, held.seed, held.is_whole)


@given(streams())
def test_what_is_made_of_it_changes_nothing_and_it_goes_on_from_a_file(stream):
    whole = stream.merged(stream.parts)
    before = _state.dumps(whole)
    for made in (whole.settled(), whole.first(1), copy.deepcopy(whole)):
        made.observe(rows_of([1000, 1001]), np.array([1000, 1001]))
        made.settle()
    assert _state.dumps(whole) == before
    again = _state.loads(before)
    for sample in (whole, again):
        sample.observe(rows_of([1000, 1001]), np.array([1000, 1001]))
    np.testing.assert_array_equal(whole.settled().numbers, again.settled().numbers)


def test_samples_of_other_seeds_or_sizes_do_not_merge():
    one = UniformSample.empty(5, rows_of([0]), 0)
    for other in (UniformSample.empty(5, rows_of([0]), 1), UniformSample.empty(6, rows_of([0]), 0)):
        with pytest.raises(AssertionError):
            one.merge(other)


@st.composite
def fading_streams(draw):
    """Numbers of rows, with gaps, a half-life in rows, and places where the stream is cut."""
    n, half_life = draw(st.integers(1, 400)), draw(st.integers(5, 60))
    missing = draw(st.sets(st.integers(0, n - 1), max_size=n - 1)) if draw(st.booleans()) else set()
    numbers = np.array(sorted(set(range(n)) - missing))
    return numbers, half_life, sorted(draw(st.lists(st.integers(0, len(numbers)), max_size=6)))


@given(fading_streams(), st.integers(1, 300), st.integers(0, 99))
def test_a_sample_of_the_recent_past_is_that_of_weights_that_fade(stream, size, seed):
    numbers, half_life, cuts = stream
    sample, bottom = UniformSample.empty(size, rows_of([0]), seed, half_life=half_life), Bottom(seed, size)
    bottom.half_life = half_life
    for some in np.split(numbers, cuts):
        sample.observe(rows_of(some), some, some / 2)
        bottom.offer(some)
        if len(some) % 2:
            sample.settle()  # looking changes nothing
        sample._check()
        bottom._check()
    settled = sample.settled()
    held, beyond = oracles.fading_sample(numbers.tolist(), half_life, size, seed)
    assert settled.numbers.tolist() == held
    assert sorted(bottom.numbers.tolist()) == sorted(held)
    assert ([] if settled.beyond is None else settled.beyond.numbers.tolist()) == beyond
    np.testing.assert_array_equal(settled.rows, rows_of(settled.numbers).reshape(-1, 2))
    np.testing.assert_array_equal(settled.leading(7), rows_of([*held, *beyond][:7]).reshape(-1, 2))
    assert settled.mass == pytest.approx(sum(2.0 ** (-age / half_life) for age in range(len(numbers))))
    assert settled.population > len(settled.rows) or settled.is_whole


def test_rows_of_the_recent_past_are_drawn_by_what_they_weigh():
    n, half_life, tries = 1000, 200, 2000
    drawn = np.zeros(n)
    for seed in range(tries):
        sample = UniformSample.empty(50, rows_of([0]), seed, half_life=half_life)
        sample.observe(rows_of(np.arange(n)), np.arange(n))
        drawn[sample.settled().numbers] += 1
    weights = 2.0 ** (-np.arange(n)[::-1] / half_life)
    expected = 50 * tries * weights / weights.sum()
    for some in np.array_split(np.arange(n), 10):  # five standard deviations, and more
        assert abs(drawn[some].sum() - expected[some].sum()) < 5 * np.sqrt(expected[some].sum()) + 1
