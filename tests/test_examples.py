"""The examples run, small, and show what they are there to show."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import interactions

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.errors.ProtosieveWarning")


@pytest.fixture(scope="module")
def features():
    X, y = load_breast_cancer(return_X_y=True)
    train = np.random.default_rng(0).permutation(len(y))[:300]
    return interactions.interactions(X, train, 35, 0), y[train]


def test_features_are_the_standardised_products(features):
    made, _ = features
    assert len(made.pairs) == 35 * 34 // 2 + 35
    assert len(np.unique(np.sort(made.pairs, axis=1), axis=0)) == len(made.pairs)
    rows = made.matrix()
    np.testing.assert_allclose(rows.mean(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(rows.std(axis=1), 1)
    for k in (0, 17, 200):
        i, j = made.pairs[k]
        product = made.base[i] * (made.base[j] if j >= 0 else 1.0)
        assert np.corrcoef(rows[k], product[made.train])[0, 1] == pytest.approx(1)


def test_the_univariate_choice_is_that_of_select_k_best(features):
    made, y = features
    theirs = SelectKBest(k=interactions.KEEP).fit(made.matrix().T, y).get_support()
    assert set(interactions.univariate(made, y)) == set(np.flatnonzero(theirs))


def test_all_ways_of_choosing_run_and_beat_chance():
    scores = interactions.compare(base=8, splits=1, choosers={**interactions.CHOOSERS, **interactions.SLOW})
    for name, each in scores.items():
        assert len(each) == 1
        for score in each:
            assert 1 <= score.kept <= interactions.KEEP, name
            assert score.accuracy > 0.8, name
    printed = interactions.table(scores, dict.fromkeys(scores, 1.0))
    assert printed.count("\n") == len(scores) + 1
    assert all(name in printed for name in scores)
