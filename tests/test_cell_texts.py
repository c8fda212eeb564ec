"""Dates as people write them, against Python's own reader, and words for nulls."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protosieve._cell_texts import are_missing, order_of, usual_dates
from tests import oracles

DATES = ["%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%b %d %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y"]
TIMES = ["", " %H:%M", " %H:%M:%S", " %I:%M %p"]


@given(
    st.lists(
        st.tuples(st.datetimes(), st.sampled_from(DATES), st.sampled_from(TIMES)).map(
            lambda made: made[0].replace(year=max(made[0].year, 1000)).strftime(made[1] + made[2])
        )
        | st.sampled_from(["30/02/2001", "Feb 30 2001", "soon", "", "2001", "13/13/2013", "Foo 1 2000"]),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
)
def test_dates_are_those_of_the_twin(texts, day_first):
    found, good = usual_dates(pa.array(texts), day_first)
    expected = [oracles.usual_date(text, day_first) for text in texts]
    assert good.tolist() == [second is not None for second in expected]
    assert found[good].tolist() == [second for second in expected if second is not None]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("  2012/1/2 ", "2012-01-02"),
        ("2012.01.02", "2012-01-02"),
        ("1st January 2000", "2000-01-01"),
        ("1. January 2000", "2000-01-01"),
        ("1-Jan-2000", "2000-01-01"),
        ("Sept 3, 2001, 1:02:03.5 p.m.", "2001-09-03T13:02:03.5"),
        ("12/31/1969 12:30 AM", "1969-12-31T00:30"),
        ("2001/01/13T14:56", "2001-01-13T14:56"),
    ],
)
def test_a_date_is_read_in_any_usual_form(text, iso):
    found, good = usual_dates(pa.array([text]), day_first=False)
    assert good.all()
    assert pa.array(found * 1000).cast(pa.int64()).cast(pa.timestamp("ms"))[0] == pa.scalar(iso).cast(
        pa.timestamp("ms")
    )


@pytest.mark.parametrize(
    "text", ["25:00 1/1/2000", "1/1/2000 25:00", "1/1/2000 13:00 pm", "1/1/00", "Marsh 1 2000", "1/1/2000x"]
)
def test_what_is_no_date_is_none(text):
    assert not usual_dates(pa.array([text]), day_first=False)[1].any()


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["01/02/2012", "13/02/2012"], "day-first"),
        (["01/02/2012", "01/13/2012"], "month-first"),
        (["01/02/2012", "03-04-2012"], "either-first"),
        (["01.02.2012", "03.04.2012"], "day-first"),
        (["01.02.2012", "03.14.2012"], "month-first"),
        (["2012/01/02", "Jan 1 2000"], None),
    ],
)
def test_a_number_above_twelve_tells_the_order(texts, order):
    assert order_of(pa.array(texts)) == order


def test_words_for_missing_are_told_from_others():
    words = ["-", " N/A ", "?", "Unknown", "x", "0", "none of these"]
    assert are_missing(pa.array(words)).to_pylist() == [True, True, True, True, False, False, False]
