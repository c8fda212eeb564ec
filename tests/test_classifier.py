"""The classifier by the nearest prototype: scikit-learn's checks, a literal twin, chunks, and what it refuses."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles
from conftest import SELECTORS
from protosieve import InputError, MMDCritic, ParameterError, ProtoSwap, PrototypeClassifier
from protosieve.kernels import Cosine, Gaussian, Laplacian, Linear
from protosieve.objectives import Coverage, LeastSquares


@pytest.fixture
def y(X):
    """Three classes, of 150, 100 and 50 rows or so."""
    return np.array(["ash", "elm", "oak"])[np.digitize(X[:, 0], np.quantile(X[:, 0], [0.5, 0.83]))]


def state(fitted, rows):
    """All that can be seen of it."""
    return [
        fitted.classes_, fitted.prototypes_, fitted.prototype_labels_, fitted.prototype_indices_, fitted.weights_,
        fitted.predict(rows), fitted.predict_proba(rows), np.array(fitted.n_samples_seen_),
    ]  # fmt: skip


def assert_same(one, other, rows):
    for mine, theirs in zip(state(one, rows), state(other, rows), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")
@parametrize_with_checks([PrototypeClassifier(), PrototypeClassifier(1, ProtoSwap(random_state=0))])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@given(data=st.data())
def test_it_is_a_selector_per_class_and_the_nearest_prototype(data):
    seed, n, d = (data.draw(st.integers(1, most)) for most in (10**6, 90, 4))
    m, n_classes = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n + 2, d)), rng.integers(n_classes, size=n + 2)
    y[:2] = 0  # one class has a width
    rows = np.vstack([rng.normal(size=(5, d)), X[:3], np.full((1, d), 1e4)])
    labels = list(range(n_classes))
    selectors = [ProtoSwap(m, objective=Coverage(), kernel=Gaussian(), random_state=0) for _ in labels]
    chosen, predicted, votes = oracles.nearest_prototype(selectors, labels, X, y, rows)
    fitted = PrototypeClassifier(m).partial_fit(X, y, classes=labels)
    assert list(zip(fitted.prototype_labels_, fitted.prototype_indices_, strict=True)) == chosen
    assert fitted.predict(rows).tolist() == predicted
    np.testing.assert_allclose(fitted.predict_proba(rows), votes, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(fitted.prototypes_, X[fitted.prototype_indices_])
    np.testing.assert_array_equal(y[fitted.prototype_indices_], fitted.prototype_labels_)


@given(
    cuts=st.lists(st.integers(0, 300), max_size=6),
    settled=st.booleans(),
    selector=st.sampled_from([None, *(cls(block_size=32, random_state=3) for cls in SELECTORS)]),
)
def test_chunks_do_not_matter(cuts, settled, selector):
    rng = np.random.default_rng(len(cuts))
    X, y = rng.normal(size=(300, 3)).astype(np.float32), rng.integers(3, size=300)
    whole = PrototypeClassifier(4, selector).fit(X, y)
    parts = PrototypeClassifier(4, selector)
    bounds = [0, *sorted(cut for cut in cuts if cut), 300]
    for start, end in itertools.pairwise(bounds):
        given = np.arange(3) if settled and start == 0 else None
        parts.partial_fit(X[start:end].astype(np.float64 if start else np.float32), y[start:end], classes=given)
    assert_same(parts, whole, X)


def test_long_streams_keep_row_numbers_and_forget_others():
    rng = np.random.default_rng(0)
    selector = ProtoSwap(objective=Coverage(50), candidates=100, block_size=64, random_state=0)
    X, y = rng.normal(size=(6000, 2)), rng.integers(2, size=6000)
    sizes, fed = [], PrototypeClassifier(3, selector)
    for start in range(0, 6000, 1000):
        fed.partial_fit(X[start : start + 1000], y[start : start + 1000])
        sizes.append(len(pickle.dumps(fed)))
        np.testing.assert_array_equal(fed.prototypes_, X[fed.prototype_indices_])
        np.testing.assert_array_equal(fed.prototype_labels_, y[fed.prototype_indices_])
    assert sizes[-1] < 1.2 * sizes[1]


def test_five_of_each_digit_tell_nine_in_ten():
    X, digit = load_digits(return_X_y=True)
    one = PrototypeClassifier(1).fit(X[:900], digit[:900]).score(X[900:], digit[900:])
    five = PrototypeClassifier(5).fit(X[:900], digit[:900]).score(X[900:], digit[900:])
    every = KNeighborsClassifier(1).fit(X[:900], digit[:900]).score(X[900:], digit[900:])
    assert one < five < every
    assert five > 0.85


def test_weights_of_a_class_are_its_share(X, y):
    fitted = PrototypeClassifier(4).fit(X, y)
    for label in fitted.classes_:
        assert fitted.weights_[fitted.prototype_labels_ == label].sum() == pytest.approx(np.mean(y == label))


def test_small_classes_keep_what_they_have(X, y):
    y = y.copy()
    y[7] = y[11] = "yew"
    fitted = PrototypeClassifier(5).fit(X, y)
    assert sorted(fitted.prototype_indices_[fitted.prototype_labels_ == "yew"].tolist()) == [7, 11]
    assert (fitted.prototype_labels_ == "ash").sum() == 5


def test_new_classes_are_taken_in_as_they_come(X, y):
    order = np.argsort(y, kind="stable")[::-1]
    fed = PrototypeClassifier(3)
    seen = []
    for start in range(0, 300, 50):
        fed.partial_fit(X[order[start : start + 50]], y[order[start : start + 50]])
        seen.append(fed.classes_.tolist())
    assert seen[0] == ["oak"]
    assert seen[-1] == ["ash", "elm", "oak"]
    assert_same(fed, PrototypeClassifier(3).fit(X[order], y[order]), X)


def test_a_class_that_is_named_and_has_no_rows_gets_no_votes(X, y):
    fed = PrototypeClassifier().partial_fit(X, y, classes=["ash", "elm", "oak", "yew"])
    assert fed.predict_proba(X).shape == (300, 4)
    assert (fed.predict_proba(X)[:, 3] == 0).all()
    assert "yew" not in fed.predict(X)
    fed.partial_fit(X[:2], ["yew", "yew"], classes=["yew", "oak", "elm", "ash"])
    assert (fed.prototype_labels_ == "yew").sum() == 2


def test_far_from_all_the_nearest_class_has_all_votes(X, y):
    fitted = PrototypeClassifier().fit(X, y)
    far = np.vstack([1e3 * np.eye(4), -1e3 * np.eye(4), [[1e30] * 4]])
    votes = fitted.predict_proba(far)
    assert set(votes.ravel().tolist()) == {0.0, 1.0}
    np.testing.assert_array_equal(fitted.classes_[votes.argmax(axis=1)], fitted.predict(far))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Gaussian(1e-3), Gaussian(0.5), Gaussian(50.0), Laplacian("median"), Cosine(), None])
def test_the_prediction_is_the_most_probable(kernel, dtype, X, y):
    fitted = PrototypeClassifier(4, ProtoSwap(kernel=kernel, objective=Coverage(), random_state=0))
    rows = X.astype(dtype)
    votes = fitted.fit(rows, y).predict_proba(rows)
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    assert (votes >= 0).all()
    np.testing.assert_array_equal(fitted.classes_[votes.argmax(axis=1)], fitted.predict(rows))


def test_a_width_that_is_given_is_that_of_the_votes(X, y):
    fitted = PrototypeClassifier(4, ProtoSwap(kernel=Gaussian(3.0), objective=Coverage(), random_state=0)).fit(X, y)
    of = (fitted.prototype_labels_[:, None] == fitted.classes_) * fitted.weights_[:, None]
    votes = oracles.gaussian(X, fitted.prototypes_, 3.0) @ of
    agree = fitted.classes_[votes.argmax(axis=1)] == fitted.predict(X)
    assert agree.mean() > 0.5
    np.testing.assert_allclose(fitted.predict_proba(X)[agree], (votes / votes.sum(axis=1, keepdims=True))[agree])


def test_classes_of_one_row_each_have_no_width_to_learn():
    fitted = PrototypeClassifier().fit([[0.0], [10.0]], ["a", "b"])
    np.testing.assert_allclose(fitted.predict_proba([[5.0], [0.0]])[0], [0.5, 0.5], rtol=1e-6)
    assert fitted.predict([[1.0], [9.0]]).tolist() == ["a", "b"]


def test_any_selector_that_compares_rows_will_do(selector, X, y):
    fitted = PrototypeClassifier(6, selector(random_state=0)).fit(X, y)
    nearest = KNeighborsClassifier(1).fit(fitted.prototypes_, fitted.prototype_labels_)
    np.testing.assert_array_equal(fitted.predict(X), nearest.predict(X))
    assert max((fitted.prototype_labels_ == label).sum() for label in fitted.classes_) <= 6


def test_the_selector_that_is_given_is_not_changed(X, y):
    given = ProtoSwap(2, random_state=0)
    PrototypeClassifier(7, given).fit(X, y)
    assert given.n_prototypes == 2
    assert not given.__sklearn_is_fitted__()


def test_in_pipelines_grids_copies_and_frames(X, y):
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), PrototypeClassifier(selector=ProtoSwap(random_state=0)))
    grid = {"prototypeclassifier__n_per_class": [1, 8], "prototypeclassifier__selector__kernel": [Gaussian(), None]}
    search = GridSearchCV(pipeline, grid, cv=2, scoring="neg_log_loss").fit(frame, y)
    assert search.best_score_ > -1
    fitted = PrototypeClassifier().fit(frame, pd.Series(y, dtype="category"))
    assert fitted.feature_names_in_.tolist() == list("abcd")
    for twin in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert_same(twin.partial_fit(frame, y), clone(fitted).fit(pd.concat([frame, frame]), np.r_[y, y]), frame)


DAYS = np.array(["2024-01-01", "2024-01-01", "2024-02-29", "1969-12-31"], "M8[ns]")


@pytest.mark.parametrize("labels", [[3, 1, 3, 2], [True, False, True, True], [1.0, 2.0, 2.0, 5.0], list("abca"), DAYS])
def test_labels_come_back_as_they_were(labels):
    fitted = PrototypeClassifier().fit(np.arange(4.0)[:, None], labels)
    assert fitted.predict(np.arange(4.0)[:, None]).tolist() == np.asarray(labels).tolist()
    assert fitted.classes_.dtype == np.asarray(labels).dtype


REFUSED = [
    ({"X": [[0.0, np.nan]], "y": ["a"]}, "X: row 2, column 1 is NaN; drop the row"),
    ({"X": [[0.0]], "y": ["a"]}, "X has 1 features, but PrototypeClassifier is expecting 2 features"),
    ({"X": [[0.0, 1.0]], "y": ["c"]}, r"y: row 2 has the label 'c', which is not among classes, \['a', 'b'\]; name"),
    ({"X": [[0.0, 1.0]], "y": [1]}, r"y holds labels such as 1, and the classes are \['a', 'b'\]; give labels of one"),
    ({"X": [[0.0, 1.0]], "y": ["a", "b"]}, "y has 2 labels and X has 1 rows; give one label for each row"),
    ({"X": [[0.0, 1.0]], "y": None}, "requires y to be passed, but the target y is None; give a label per row"),
    ({"X": [[0.0, 1.0]], "y": [0.25]}, "y: row 2 is 0.25, and labels are text or whole numbers; .* continuous"),
    ({"X": [[0.0, 1.0]], "y": [np.nan]}, "y: row 2 is nan, and labels are text or whole numbers; drop rows that have"),
    ({"X": [[0.0, 1.0]] * 2, "y": ["a", None]}, "^y: row 3 has no label, but None; drop rows that have none$"),
    ({"X": [[0.0, 1.0]], "y": [["a", "b"]]}, "y: .* 1d array.*; give one label for each row"),
    (
        {"X": [[0.0, 1.0]], "y": ["a"], "classes": ["a", "c"]},
        r"classes was \['a', 'b'\] in the first call, and is \['a', 'c'\] after 2 rows; give it in the first call",
    ),
]


@pytest.mark.parametrize(("given", "words"), REFUSED)
def test_what_is_refused_changes_nothing(given, words):
    rows, labels = [[0.0, 0.0], [5.0, 5.0]], ["a", "b"]
    fed = PrototypeClassifier().partial_fit(rows, labels, classes=["a", "b"])
    given = {**given, "y": np.array(given["y"], object) if given["y"] == ["a", None] else given["y"]}
    with pytest.raises(InputError, match=words):
        fed.partial_fit(**given)
    assert_same(fed, PrototypeClassifier().partial_fit(rows, labels, classes=["a", "b"]), rows)


def test_when_one_class_fails_none_has_learnt(monkeypatch, X, y):
    fed = PrototypeClassifier(3).partial_fit(X[:200], y[:200])
    twin, learn, calls = copy.deepcopy(fed), ProtoSwap.partial_fit, []

    def fails_the_second_time(self, rows):
        calls.append(rows)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return learn(self, rows)

    monkeypatch.setattr(ProtoSwap, "partial_fit", fails_the_second_time)
    with pytest.raises(KeyboardInterrupt):
        fed.partial_fit(X[200:], y[200:])
    monkeypatch.undo()
    assert_same(fed, twin, X)
    assert_same(fed.partial_fit(X[200:], y[200:]), PrototypeClassifier(3).fit(X, y), X)


def test_classes_belong_to_the_first_call(X, y):
    fed = PrototypeClassifier().partial_fit(X[:0], y[:0]).partial_fit(X[:0], y[:0], classes=["ash"])
    with pytest.raises(NotFittedError):
        fed.predict(X)
    with pytest.raises(InputError, match=r"y: row \d+ has the label '\w+', which is not among classes"):
        fed.partial_fit(X, y)
    with pytest.raises(InputError, match=r"classes was not given in the first call, and is \['ash'\] after 300 rows"):
        PrototypeClassifier().fit(X, y).partial_fit(X, y, classes=["ash"])
    many = np.arange(12)
    with pytest.raises(InputError, match=r"which is not among classes, \[0, 1, .* 9\] and 2 more; name all"):
        PrototypeClassifier().partial_fit(many[:, None], np.full(12, 99), classes=many)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_per_class": 0}, "PrototypeClassifier: n_per_class must be a whole number of at least 1, got 0"),
        ({"selector": MMDCritic()}, r"selector must be a selector that streams and compares rows .* got MMDCritic\("),
        (
            {"selector": ProtoSwap(objective=LeastSquares([1.0, 2.0]))},
            r"by a kernel, such as ProtoSwap\(\), got ProtoSwap",
        ),
        ({"selector": "swap"}, "got 'swap'"),
    ],
)
def test_parameters_are_checked(parameters, words, X, y):
    with pytest.raises(ParameterError, match=words):
        PrototypeClassifier(**parameters).fit(X, y)


def test_no_rows_are_refused_where_some_are_needed(X, y):
    with pytest.raises(InputError, match="X: 0 row"):
        PrototypeClassifier().fit(X[:0], y[:0])
    with pytest.raises(InputError, match="X: 0 row"):
        PrototypeClassifier().fit(X, y).predict(X[:0])


def test_a_fit_that_fails_leaves_what_was_learnt(X, y):
    fitted = PrototypeClassifier(3, ProtoSwap(kernel=Linear())).fit(X + 1, y)
    before = fitted.predict(X)
    with pytest.raises(InputError):
        fitted.fit(np.zeros((4, X.shape[1] - 1)), [0, 0, 1, 1])
    np.testing.assert_array_equal(fitted.predict(X), before)


def test_large_labels_of_two_kinds_of_integers_stay_apart(X):
    labels = [2**60, 2**60 + 1, 2**60 + 2]
    fed = PrototypeClassifier(1).partial_fit(X[:2], np.array(labels[:2]))
    fed.partial_fit(X[2:4], np.array(labels[1:], np.uint64))
    assert fed.classes_.tolist() == labels


@pytest.mark.parametrize("none", [None, np.nan])
def test_a_row_without_a_label_is_named(X, none):
    with pytest.raises(InputError, match=r"y: row 2 has no label, but (None|nan); drop rows that have none"):
        PrototypeClassifier().fit(X[:4], np.array(["a", "b", none, "a"], object))
