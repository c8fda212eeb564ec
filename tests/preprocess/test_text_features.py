"""How text becomes numbers: against a slow twin, in any pieces, stored and damaged."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from problems import texts_of_topics
from protosieve import InputError
from protosieve.preprocess import COLUMNS, Encoding, Layout, Survey, TextFeatures
from protosieve.preprocess import _text_features as text_features
from volumes import volume

LEARNT = TextFeatures.learnt(pa.array([text for text, _ in texts_of_topics(300, seed=0)]))
letters = st.sampled_from("abcdeé ßΛжÄ中文日本語カな१2 -_'.!\n🙂❤\ufe0f\u0301ﬁ")
texts = st.text(letters, max_size=40) | st.sampled_from([text for text, _ in texts_of_topics(50, seed=1)])
lists_of_texts = st.lists(st.none() | texts, min_size=1, max_size=12)


@settings(max_examples=volume(40, 400), deadline=None)
@given(given_texts=lists_of_texts)
def test_rows_are_those_of_the_literal_twin(given_texts):
    features = TextFeatures.learnt(pa.array(["é 中文 ab", "中文 ab abc", "ab é 日本", *given_texts], pa.string()))
    for one in (features, LEARNT):
        found = one.rows(pa.array(given_texts, pa.string()))
        expected = [oracles.text_row(text or "", one) for text in given_texts]
        np.testing.assert_allclose(found, expected, atol=2e-5)


@settings(max_examples=volume(30, 300), deadline=None)
@given(given_texts=lists_of_texts, cut=st.integers(0, 12))
def test_a_row_depends_on_its_text_alone(given_texts, cut):
    cells = pa.array(given_texts, pa.string())
    whole = LEARNT.rows(cells)
    np.testing.assert_array_equal(whole, np.concatenate([LEARNT.rows(cells[:cut]), LEARNT.rows(cells[cut:])]))
    np.testing.assert_array_equal(whole, LEARNT.rows(cells.cast(pa.large_string())))
    np.testing.assert_array_equal(whole[::-1], LEARNT.rows(pa.array(given_texts[::-1], pa.string())))


@pytest.mark.parametrize("seed", range(3))
def test_texts_are_as_alike_as_on_all_main_axes(seed):
    """But for the rounding of coordinates to 127 steps; of as few texts as there are axes."""
    sample = [text for text, _ in texts_of_topics(60, seed)]
    rows = TextFeatures.learnt(pa.array(sample)).rows(pa.array(sample))
    expected = oracles.text_similarities(sample, text_features._WORDS)
    np.testing.assert_allclose(rows @ rows.T, expected, atol=0.05)


def test_texts_of_a_topic_are_alike_also_where_their_words_are_new_or_misspelt():
    labelled = texts_of_topics(600, seed=3)
    cells, topics = pa.array([text for text, _ in labelled]), np.array([topic for _, topic in labelled])
    rows = TextFeatures.learnt(cells[:300]).rows(cells)
    nearest = (rows[300:] @ rows[:300].T).argmax(axis=1)
    assert (topics[:300][nearest] == topics[300:]).mean() > 0.9
    a, b, c = LEARNT.rows(pa.array(["the goalkeeper saved it", "goalkepers savd", "interest rates rise"]))
    assert a @ b > a @ c


def test_texts_without_spaces_and_emoji_are_alike_where_they_share_signs():
    sample = ["忘记密码了怎么办", "怎么修改密码", "欧元兑美元汇率", "欧元的汇率是多少", "❤️ good", "bad 👎", "❤ fine"]
    card, lost, euro, rate, heart, down, other = TextFeatures.learnt(pa.array(sample)).rows(pa.array(sample))
    assert card @ lost > 0.2 > card @ euro
    assert euro @ rate > 0.2 > rate @ lost
    assert heart @ other > 0.2 > heart @ down


def test_rows_have_length_one_and_texts_without_a_word_are_like_each_other_alone():
    rows = LEARNT.rows(pa.array(["goalkeeper", "", None, "!?", "zzzzqqq"]))
    expected = np.eye(5)
    expected[1:, 1:] = 1
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-6)
    assert rows.dtype == np.float32
    assert LEARNT.rows(pa.array([], pa.string())).shape == (0, LEARNT.width)


@pytest.mark.parametrize("sample", [[], [None], ["", "  ", "..."], ["one"], ["same text"] * 5])
def test_samples_that_tell_next_to_nothing(sample):
    features = TextFeatures.learnt(pa.array(sample, pa.string()))
    rows = features.rows(pa.array(["one same text", None], pa.string()))
    assert rows.shape == (2, features.width)
    assert features.width <= len(sample) + 1
    assert np.isfinite(rows).all()


def test_bytes_that_are_no_text_are_taken_for_other_characters():
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array(["goal\ufb01x", "goal"]).buffers())
    raw = pa.array([b"goal \xff\xfe keeper", b"goal"]).view(pa.string())
    assert np.isfinite(LEARNT.rows(raw)).all()
    np.testing.assert_array_equal(LEARNT.rows(raw)[1], LEARNT.rows(broken)[1])


def test_what_is_learnt_is_the_same_every_time_and_small():
    sample = pa.array([text for text, _ in texts_of_topics(300, seed=0)])
    again = TextFeatures.learnt(sample)
    for name in ("hashes", "steps", "scale"):
        np.testing.assert_array_equal(getattr(again, name), getattr(LEARNT, name))
    assert again.width <= COLUMNS
    assert len(again.hashes) <= 2 * text_features._MOST


def encoding_of(table, **options):
    layout = Layout.of(table.schema, text="text")
    survey = Survey.of(layout)
    survey.update(layout.raw(table, grow=True)[0])
    return survey.settle(**options)


def test_an_encoding_with_texts_can_be_stored_and_read_back():
    table = pa.table({"text": [text for text, _ in texts_of_topics(80, seed=4)], "size": np.arange(80.0)})
    encoding = encoding_of(table)
    stored = json.loads(json.dumps(encoding.as_dict()))
    np.testing.assert_array_equal(Encoding.from_dict(stored).encode(table), encoding.encode(table))


@pytest.mark.parametrize(
    "damage",
    [{"hashes": "!"}, {"hashes": "AAAA"}, {"steps": "AAAA"}, {"scale": ""}, {"scale": "AADAfwAAwH8="}, {"hashes": 3}],
)
def test_a_damaged_table_of_features_is_refused(damage):
    stored = encoding_of(pa.table({"text": ["one two", "two three", "three one"]})).as_dict()
    stored["texts"]["text"] |= damage
    with pytest.raises(InputError, match="not how columns were encoded"):
        Encoding.from_dict(stored)
