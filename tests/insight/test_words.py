"""The words that set the rows around a prototype apart: against a slow twin, as they are spelt, none by chance."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from problems import TOPICS, texts_of_topics
from protosieve import ProtoSwap, select
from protosieve.insight import ResultWithData, words_of
from protosieve.insight._words import log_odds
from protosieve.preprocess import SpeltWords
from report_runs import told
from volumes import volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

letters = st.sampled_from("aAbBßẞΛλéÉ中文カ1 -'.\n🙂❤\ufe0f\u0301ﬁ")
columns = st.integers(1, 2).flatmap(
    lambda many: st.lists(st.tuples(*[st.none() | st.text(letters, max_size=12)] * many), min_size=1, max_size=8)
)


@settings(max_examples=volume(60, 600), deadline=None)
@given(rows=columns)
def test_words_of_rows_are_those_of_the_literal_twin_in_the_spelling_most_often_seen(rows):
    kinds = [pa.string(), pa.large_string()]
    found = SpeltWords.of(
        [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=False)]
    )
    spelt = [{found.spellings[place] for place in found.places[found.rows == i].tolist()} for i in range(len(rows))]
    assert spelt == oracles.spelt_words(rows)
    assert len(found.spellings) == len(set(found.spellings))


@settings(max_examples=volume(60, 600), deadline=None)
@given(counts=st.lists(st.tuples(*[st.integers(0, 50)] * 4), min_size=1, max_size=20))
def test_scores_are_those_of_the_literal_twin(counts):
    """Rows with the word and without it inside, and with it and without it outside."""
    counts = [each for each in counts if each[0] + each[2]] or [(1, 0, 0, 1)]
    with_it, without, elsewhere, _ = np.array(counts).T
    totals = {sum(each) for each in counts}
    for total in totals:
        some = np.array([sum(each) for each in counts]) == total
        found = log_odds(with_it[some], (with_it + without)[some], (with_it + elsewhere)[some], total)
        expected = [oracles.log_odds(*map(int, each)) for each in np.array(counts)[some]]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def topics(rows=900, seed=0):
    texts, names = zip(*texts_of_topics(rows, seed), strict=True)
    return pd.DataFrame({"text": texts, "topic": names, "row": range(rows)})


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_words_are_those_of_the_topic(goal):
    frame = topics()
    result = select(frame, 12, text="text", features="text", label="topic", goal=goal)
    cards = told(result)["cards"]
    assert [card["words"] for card in cards] == words_of(ResultWithData.of(result))
    assert all(len(card["words"]) <= 5 for card in cards)
    assert sum(map(len, (card["words"] for card in cards))) >= 24
    for card in cards:
        assert set(card["words"]) <= set(TOPICS[card["label"]].split())


def test_words_are_the_same_by_data_that_is_given_and_in_several_columns():
    frame = topics(600)
    halves = frame["text"].str.split(n=2)
    table = pa.table({"head": halves.str[:2].str.join(" "), "rest": halves.str[2].str.upper(), "topic": frame["topic"]})
    result = select(table, 8, text=["head", "rest"], features=["head", "rest"])
    own = words_of(ResultWithData.of(result))
    assert any(word.isupper() for words in own for word in words)
    for data in (table, table.to_pandas(), table.to_pydict()):
        assert words_of(ResultWithData.of(result, data)) == own


def test_rows_that_are_dealt_out_by_chance_have_words_for_one_prototype_in_twenty():
    subject = ResultWithData.of(select(topics(4000), 60, text="text", features="text"))
    assert all(words_of(subject))
    with_words = []
    for seed in range(volume(4, 20)):
        subject.__dict__["nearest"] = np.random.default_rng(seed).permutation(subject.nearest)
        with_words += [bool(words) for words in words_of(subject)]
    assert np.mean(with_words) < 0.05


def test_without_texts_that_are_compared_there_are_no_words():
    frame = topics(300).assign(x=np.arange(300.0))
    shown_only = select(frame, 5, features="x", text="text")
    assert words_of(ResultWithData.of(shown_only)) == [[]] * 5
    assert (
        words_of(ResultWithData.of(ProtoSwap(n_prototypes=3).fit(np.random.default_rng(0).random((50, 2))).result_))
        == [[]] * 3
    )
    one = select(pd.DataFrame({"text": ["one text"] * 40 + [None] * 20}), 1, text="text")
    assert words_of(ResultWithData.of(one)) == [[]]
