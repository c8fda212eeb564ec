"""The rows of the data that are closest to each prototype: by brute force, as they are shown, within their budget."""

import numpy as np
import pandas as pd
import pytest

from problems import texts_of_topics
from protosieve import ProtoSwap, select
from protosieve.insight import ResultWithData
from protosieve.insight._neighbours import neighbours_of
from report_runs import told


def frame(rows=500, seed=0):
    texts, topics = zip(*texts_of_topics(rows, seed), strict=True)
    return pd.DataFrame({"text": texts, "topic": topics, "x": np.random.default_rng(seed).normal(size=rows)})


def closest(result, rows, i):
    """The rows that prototype i is nearest to, the closest first, without itself; of equal ones the earliest."""
    far = np.square(rows[:, None].astype(float) - result.rows[None].astype(float)).sum(axis=2)
    theirs = [row for row in range(len(rows)) if far[row].argmin() == i and row != result.indices[i]]
    return sorted(theirs, key=lambda row: (round(far[row, i], 4), row))[:3]


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_neighbours_are_the_closest_of_the_rows_nearest_to_a_prototype(goal):
    data = frame()
    result = select(data, 12, text="text", label="topic", goal=goal)
    cards, rows = told(result)["cards"], result.encoding.encode(data)
    for i, card in enumerate(cards):
        found = card["neighbours"]
        assert [near["row"] for near in found] == closest(result, rows, i)
        assert [near["text"] for near in found] == data["text"][[near["row"] for near in found]].tolist()
        assert [near["label"] for near in found] == data["topic"][[near["row"] for near in found]].tolist()


def test_rows_of_numbers_alone_have_neighbours_by_their_numbers():
    X = np.random.default_rng(0).normal(size=(300, 3))
    result = ProtoSwap(n_prototypes=6).fit(X).result_
    for i, card in enumerate(told(result, X)["cards"]):
        assert [near["row"] for near in card["neighbours"]] == closest(result, X, i)
        assert all(near["label"] is near["text"] is None for near in card["neighbours"])
    assert all(card["neighbours"] == [] for card in told(result)["cards"])


def test_where_every_row_is_a_prototype_none_has_a_neighbour_but_copies_have():
    X = np.repeat(np.eye(4), [1, 2, 5, 1], axis=0)
    result = ProtoSwap(n_prototypes=4).fit(X).result_
    found = {card["row"]: [near["row"] for near in card["neighbours"]] for card in told(result, X)["cards"]}
    assert sorted(map(len, found.values())) == [0, 0, 1, 3]
    assert not any(row in near for row, near in found.items())


def test_all_neighbours_together_have_a_budget_of_characters():
    data = frame(9000).assign(text=lambda table: table["text"] * 60, note=lambda table: table["text"])
    result = select(data, 2000, text="text", label="note", method="basic")
    found = [near for some in neighbours_of(ResultWithData.of(result), "text") for near in some]
    for texts in ([near.text for near in found], [near.label for near in found]):
        assert max(map(len, texts)) == 50
        assert sum(map(len, texts)) <= 300_000
