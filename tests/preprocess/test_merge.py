"""Surveys of parts of the rows, merged: what one survey of all of them finds."""

import copy
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protosieve.errors import InputError
from protosieve.preprocess import Layout, Moments, Survey
from protosieve.preprocess._categories import MAX_DISTINCT, MISSING

rows = st.lists(
    st.tuples(
        st.none() | st.floats(-1e6, 1e6, width=32),
        st.none() | st.sampled_from(["red", "blue", "green", "grey"]),
        st.integers(1_600_000_000, 1_600_000_009),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


def table(rows):
    x, colour, moment, flag = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "x": pa.array(x, pa.float64()),
            "colour": pa.array(colour, pa.string()),
            "moment": pa.array(moment, pa.timestamp("s")),
            "flag": pa.array(flag, pa.bool_()),
            "point": pa.array([[float(m % 7), 1.0] for m in moment], pa.list_(pa.float64())),
        }
    )


def surveyed(table):
    """A survey and the raw rows, in codes of its own."""
    survey = Survey.of(Layout.of(table.schema, embedding="point", features=["x", "colour", "moment", "flag"]))
    raw, problems = survey.layout.raw(table, grow=True)
    assert not problems
    if len(table):
        survey.update(raw)
    return survey, raw


def vocabularies(survey):
    return {column.name: column.values for column in survey.layout.items if column.kind == "category"}


@given(rows, st.lists(st.integers(0, 40), max_size=5))
def test_surveys_merged_in_any_cut_are_one_survey(rows, cuts):
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    whole, raw = surveyed(table(rows))
    parts = [surveyed(table(rows[a:b])) for a, b in itertools.pairwise(ends)]
    merged, found = parts[0]
    found = [found]
    for later, codes in parts[1:]:
        found.append(merged.merge(later)(codes))
        merged._check()
    assert vocabularies(merged) == vocabularies(whole)
    assert [tally.tolist() for tally in merged.tallies] == [tally.tolist() for tally in whole.tallies]
    assert merged.rows == whole.rows
    assert np.array_equal(np.concatenate([part for part in found if len(part)]), raw, equal_nan=True)
    for name in ("count", "low", "high"):
        assert np.array_equal(getattr(merged.moments, name), getattr(whole.moments, name))
    scale = 1 + np.nan_to_num(whole.moments.high - whole.moments.low, nan=0, posinf=0, neginf=0)
    np.testing.assert_allclose(merged.moments.mean, whole.moments.mean, rtol=1e-12, atol=1e-9 * scale.max())
    np.testing.assert_allclose(merged.moments.deviation / scale, whole.moments.deviation / scale, atol=1e-9)


def test_a_spread_of_milliseconds_survives_an_offset_of_decades():
    rng = np.random.default_rng(0)
    x = 1.6e9 + rng.normal(size=4000) * 1e-3
    parts = [pa.table({"x": part}) for part in np.split(x, 4)]
    layouts = [Layout.of(part.schema) for part in parts]
    surveys = [Survey.of(layout) for layout in layouts]
    for survey, layout, part in zip(surveys, layouts, parts, strict=True):
        survey.update(layout.raw(part, grow=True)[0])
    for later in surveys[1:]:
        surveys[0].merge(later)
    exact = np.std((x - 1.6e9).astype(np.longdouble))
    assert surveys[0].moments.deviation[0] == pytest.approx(float(exact), rel=1e-9)


def test_what_is_merged_is_left_as_it_was():
    first, _ = surveyed(table([(1.0, "red", 1_600_000_000, True)]))
    later, _ = surveyed(table([(2.0, "blue", 1_600_000_001, False)]))
    before = copy.deepcopy(later)
    first.merge(later)
    assert vocabularies(later) == vocabularies(before)
    assert later.moments.mean.tolist() == before.moments.mean.tolist()


def test_lists_of_two_lengths_do_not_merge():
    first, later = (Survey.of(Layout.of(pa.schema({"v": pa.list_(pa.float32())}), embedding="v")) for _ in range(2))
    for survey, length in ((first, 3), (later, 4)):
        survey.update(survey.layout.raw(pa.table({"v": [[1.0] * length]}), grow=True)[0])
    with pytest.raises(InputError, match=r"column 'v' begins with lists of 3 values in one place and of 4 in another"):
        first.merge(later)


def test_a_vocabulary_that_merging_makes_too_large_is_dropped_whichever_part_comes_first():
    words = [[f"{part}{i}" for i in range(MAX_DISTINCT)] for part in "ab"] + [["a1", None]]
    words += [[*["early", "other", None] * 50, *(f"late {i}" for i in range(2 * MAX_DISTINCT))]]
    tables = [pa.table({"word": part, "x": np.arange(len(part)) % 7.0}) for part in words]
    for order in itertools.permutations(tables):
        surveys = [Survey.of(Layout.of(table.schema)) for table in order]
        early = [_surveyed(survey, table) for survey, table in zip(surveys, order, strict=True)]
        first, *later = surveys
        for survey, rows in zip(later, early[1:], strict=True):
            recoded = first.merge(survey)(rows)
            assert recoded[:, 1].tolist() == rows[:, 1].tolist()
            assert ((recoded[:, 0] == MISSING) == (rows[:, 0] == MISSING)).all()
            first._check()
        assert first.tallies[0][0] == 51
        assert first.settle().names == ["x"]
        assert first.settle().dropped == {"word": "more than 10,000 values: it names rows rather than describing them"}


def _surveyed(survey, table):
    """All of the table, in two blocks; returns the first, as it was read before what came later was known."""
    first, *rest = (table.slice(0, 140), table.slice(140)) if len(table) > 140 else (table,)
    early = survey.layout.raw(first, grow=True)[0]
    survey.update(early)
    for part in rest:
        survey.update(survey.layout.raw(part, grow=True)[0])
    survey._check()
    return early


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 300), st.sampled_from([np.float32, np.float64]))
def test_strips_seen_together_are_what_each_is_by_itself(seed, length, n_rows, dtype):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n_rows, 3)) + 1e3).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    for strip, start in zip(Moments.of_strips(X, length), range(0, n_rows, length), strict=True):
        alone = Moments.of(X[start : start + length])
        for name in ("count", "low", "high", "mean", "m2"):
            assert np.array_equal(getattr(strip, name), getattr(alone, name)), name
