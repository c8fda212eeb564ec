"""The width by cross-validation, against scikit-learn's classifier and folds run by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from protosieve import InputError, ParameterError, ProtoStream, ProtoSwap, choose_width
from protosieve.kernels import Gaussian, Laplacian, Linear, MultiScale

X, y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no two distances are equal
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]


def by_hand(selector, widths, folds, seed, X=X, y=y):
    """Accuracy by width and fold, the classifier scikit-learn's."""
    rng = np.random.default_rng(seed)
    split = StratifiedKFold(folds, shuffle=True, random_state=int(rng.integers(2**31)))
    selector = clone(selector).set_params(random_state=int(rng.integers(2**31)))
    table = []
    for width in widths:
        line = []
        for train, held in split.split(X, y):
            chosen = train[selector.set_params(kernel__width=width).fit(X[train]).prototype_indices_]
            line.append(KNeighborsClassifier(1).fit(X[chosen], y[chosen]).score(X[held], y[held]))
        table.append(line)
    return np.array(table)


@pytest.mark.parametrize(
    ("selector", "folds", "seed"),
    [
        (ProtoSwap(7), 2, 0),
        (ProtoStream(7, epsilon=0.3, kernel=Gaussian()), 5, 3),
        (ProtoSwap(7, kernel=MultiScale(scales=2)), 2, 3),
    ],
)
def test_it_is_the_width_one_would_choose_by_hand(selector, folds, seed):
    widths = (0.1, 0.5, 2.0, 10.0)
    found = choose_width(X, NAMES, selector=selector, widths=widths[::-1], folds=folds, random_state=seed)
    scores = by_hand(selector, widths, folds, seed, y=NAMES)
    assert found.widths == widths
    assert found.accuracy == pytest.approx(scores.mean(axis=1))
    assert found.spread == pytest.approx(scores.std(axis=1))
    assert found.accuracy[widths.index(found.width)] == max(found.accuracy)
    assert found.kernel == clone(selector).set_params(kernel__width=found.width).kernel
    assert f"({type(selector).__name__}, {type(found.kernel).__name__})" in found.title


def test_without_a_kernel_it_is_the_width_of_the_default_one():
    assert choose_width(X, y, 5, widths=[2.0], folds=2).kernel == MultiScale(2.0)


def test_the_median_is_that_of_the_kernels_own_distance():
    found = choose_width(X, y, folds=2, widths=["median"], selector=ProtoSwap(5, kernel=Laplacian(9.0)))
    apart = np.abs(X[:, None] - X[None]).sum(axis=2)[np.triu_indices(len(X), 1)]
    assert found.width == found.median == pytest.approx(np.median(apart[apart > 0]))


def test_of_equal_accuracy_the_widest_is_chosen():
    rows = np.repeat([[0.0, 0.0], [9.0, 9.0]], 20, axis=0) + np.random.default_rng(0).normal(scale=0.1, size=(40, 2))
    found = choose_width(rows, np.repeat([0, 1], 20), 4, widths=[1.0, 3.0, 2.0])
    assert found.accuracy == (1.0, 1.0, 1.0)
    assert found.width == 3.0


def test_the_default_grid_is_around_the_median_distance():
    found = choose_width(X, y, 3, folds=2)
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(len(X), 1)]
    assert found.median == pytest.approx(np.median(apart[apart > 0]))
    assert np.divide(found.widths, found.median) == pytest.approx(2 ** (np.arange(-6, 3) / 2))


def test_the_median_rule_can_be_tried_beside_numbers():
    found = choose_width(X, y, 3, folds=2, widths=["median", 1, 1.0])
    assert found.widths == tuple(sorted((1.0, found.median)))


def test_narrow_widths_are_judged_by_distance_not_by_similarities_that_are_zero():
    """At a hundredth of a typical distance every similarity of float32 rows rounds to zero."""
    rows = X.astype(np.float32)
    found = choose_width(rows, y, 60, folds=3, widths=[0.01])
    assert found.accuracy == pytest.approx(by_hand(ProtoSwap(60), (0.01,), 3, 0, X=rows).mean(axis=1))
    assert found.accuracy[0] > 0.8


def test_the_selector_given_is_left_as_it_is_and_its_size_counts():
    selector = ProtoStream(5, kernel=Gaussian(3.0), random_state=4)
    before = selector.get_params()
    assert "of 5 prototypes (ProtoStream, Gaussian)" in choose_width(X, y, widths=[1.0], selector=selector).title
    assert "of 8 prototypes (ProtoStream, Gaussian)" in choose_width(X, y, 8, widths=[1.0], selector=selector).title
    assert selector.get_params() == before
    assert not hasattr(selector, "n_features_in_")


def test_it_prints_a_table():
    found = choose_width(X, y, 5, widths=[0.5, 2.0], folds=2)
    head, columns, *lines, last, end = str(found).splitlines()
    assert head == found.title
    assert columns.split() == ["width", "accuracy", "spread"]
    assert [float(line.split()[0]) for line in lines] == [0.5, 2.0]
    assert [line.endswith("<- chosen") for line in lines] == [width == found.width for width in found.widths]
    assert last == f"the median rule: {found.median:.4g}"
    assert end.startswith("the chosen width is at the end of the grid")


def test_the_same_seed_gives_the_same_choice():
    found, again, other = (choose_width(X, y, 5, widths=[0.5, 1, 2], folds=3, random_state=seed) for seed in (0, 0, 1))
    assert found == again
    assert found.accuracy != other.accuracy


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "y is None; it judges by labels"),
        (y[:-1], "X has 150 rows and y has 149 labels; give one for each row"),
        (y[:10], "X has 150 rows and y has 10 labels; give one for each row"),
        (np.linspace(0, 1, 150), "150 different numbers .* classes are needed"),
        (np.zeros((150, 2)), r"y has the shape \(150, 2\); give one label for each row"),
        (np.where(np.arange(150) == 7, np.nan, y), r"y: row 7 has no label \(nan\); leave such rows out"),
        ([None, *NAMES[1:]], r"y: row 0 has no label \(None\)"),
        ([3, *NAMES[1:].tolist()], "y: class 3 has 1 rows|y mixes labels that cannot be sorted"),
        (np.array([3, *NAMES[1:]], dtype=object), "y mixes labels that cannot be sorted"),
        (np.where(np.arange(150) < 2, 9, y), "y: class 9 has 2 rows, fewer than folds=5; use fewer folds"),
        (np.zeros(150), "y has 1 classes; accuracy tells widths apart where there are two or more"),
    ],
)
def test_labels_that_cannot_be_used(labels, message):
    with pytest.raises(InputError, match=message):
        choose_width(X, labels, 5, widths=[1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widths": [1.0, 0.0]}, r"width must be a positive number or \"median\", got 0.0"),
        ({"widths": []}, "widths is empty"),
        ({"widths": 5.0}, "widths must be a list of positive numbers, got 5.0"),
        ({"widths": "median"}, "widths must be a list of positive numbers, got 'median'"),
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
        ({"n_prototypes": 0}, "n_prototypes must be a whole number of at least 1, got 0"),
        ({"selector": "swap"}, "selector must be a selector, such as ProtoStream"),
        (
            {"selector": ProtoSwap(kernel=Linear())},
            r"selector has the kernel Linear\(\), which has no width",
        ),
    ],
)
def test_parameters_that_break_their_rule(options, message):
    with pytest.raises(ParameterError, match=message):
        choose_width(X, y, **options)


def test_rows_are_checked_as_everywhere():
    with pytest.raises(InputError, match="X: row 3, column 1 is NaN"):
        choose_width(np.where(np.arange(600).reshape(150, 4) == 13, np.nan, X), y)
    with pytest.raises(InputError, match="y has 0 classes"):
        choose_width(np.zeros((0, 4)), [])
