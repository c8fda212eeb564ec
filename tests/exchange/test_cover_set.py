"""The cover set against its definition: every exchange is the best there is, and what it knows is what is true."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from protosieve.exchange import CoverSet


def similarities(seed, candidates, rows, signed=False):
    """Of candidates to rows; some are alike, some nothing."""
    rng = np.random.default_rng(seed)
    found = rng.random((candidates, rows)) ** 3 - (0.3 if signed else 0)
    found[rng.random(candidates) < 0.1] = 0
    found[rng.integers(candidates)] = found[rng.integers(candidates)]
    return found


PROBLEMS = (st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 40), st.integers(1, 8), st.booleans())


@given(*PROBLEMS, st.integers(1, 7))
def test_makes_the_exchanges_that_the_definition_makes(seed, candidates, rows, room, signed, block):
    K = similarities(seed, candidates, rows, signed)
    ours, twin = CoverSet(room, rows, K.dtype), oracles.CoverSet(K, room)
    for start in range(0, candidates, block):
        part = np.arange(start, min(start + block, candidates))
        ours.offer(K[part], part)
        twin.offer(part.tolist())
    assert ours.value == pytest.approx(twin.value, abs=1e-12)
    members = ours.numbers[ours.numbers >= 0]
    assert ours.value == pytest.approx(oracles.covered(K, members), abs=1e-12)
    assert len(set(members.tolist())) == len(members)


@given(*PROBLEMS)
def test_knows_what_members_cost(seed, candidates, rows, room, signed):
    K = similarities(seed, candidates, rows, signed)
    ours, part = CoverSet(room, rows, K.dtype), np.arange(candidates)
    ours.fill(K[: min(room, candidates)], part[: min(room, candidates)])
    ours.offer(K, part)
    members = ours.numbers[ours.numbers >= 0].tolist()
    whole = oracles.covered(K, members)
    for place, cost in enumerate(ours.costs()):
        others = [member for member in members if member != ours.numbers[place]]
        assert cost == pytest.approx(whole - oracles.covered(K, others), abs=1e-12)


@given(*PROBLEMS)
def test_tells_by_how_much_each_newcomer_would_raise_what_is_covered(seed, candidates, rows, room, signed):
    K = similarities(seed, candidates, rows, signed)
    ours, part = CoverSet(room, rows, K.dtype), np.arange(candidates)
    _, changes = ours.offer(K, part)
    members = ours.numbers.tolist()
    whole = oracles.covered(K, [member for member in members if member >= 0])
    for newcomer, change in enumerate(changes):
        if newcomer in members or not np.isfinite(change):  # one that has left is not offered again
            assert change == -np.inf
            continue
        sets = [[newcomer if i == place else member for i, member in enumerate(members)] for place in range(room)]
        best = max(oracles.covered(K, [member for member in one if member >= 0]) for one in sets)
        assert change == pytest.approx(best - whole, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 12), st.integers(1, 4), st.booleans())
def test_where_no_exchange_helps_it_is_worth_half_of_the_best_or_more(seed, candidates, rows, room, signed):
    """Nemhauser, Wolsey and Fisher, 1978."""
    K, part = similarities(seed, candidates, rows, signed), np.arange(candidates)
    ours = CoverSet(room, rows, K.dtype)
    while ours.offer(K, part)[0]:
        pass
    sets = itertools.combinations(range(candidates), min(room, candidates))
    best = max(oracles.covered(K, chosen) for chosen in sets)
    assert best / 2 - 1e-12 <= ours.value <= best + 1e-12


def test_the_value_never_falls_and_a_margin_makes_exchanges_fewer():
    K, part = similarities(3, 400, 200), np.arange(400)
    made = []
    for margin in (0.0, 1e-3, 1e-2):
        ours, values, exchanged = CoverSet(20, 200, K.dtype, margin), [0.0], 0
        ours.fill(K[:20], part[:20])
        for start in range(0, 400, 40):
            exchanged += ours.offer(K[start : start + 40], part[start : start + 40])[0]
            values.append(ours.value)
        assert np.all(np.diff(values) >= 0)
        made.append(exchanged)
    assert made[0] > made[1] > made[2]


def test_float32_similarities_keep_their_dtype_and_are_added_in_float64():
    K = similarities(5, 60, 3000).astype(np.float32)
    ours = CoverSet(5, 3000, K.dtype)
    ours.offer(K, np.arange(60))
    assert ours.value == pytest.approx(oracles.covered(K, ours.numbers), rel=1e-12)
