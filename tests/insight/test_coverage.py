"""Coverage: labels and features of the data against those of the weighted prototypes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import oracles
from protosieve import ProtoSwap
from protosieve.insight import ResultWithData, View, coverage_of, feature_matches, labels_of, map_of
from protosieve.insight._feature_matches import ks_distance, weighted_quantiles
from protosieve.insight._map import Plane
from protosieve.insight._worst_rows import worst_rows

numbers = st.lists(st.integers(-5, 5), min_size=1, max_size=20)


@given(numbers, numbers, st.integers(0, 1000))
def test_the_distance_of_distributions_is_the_largest_anywhere(data, values, seed):
    data, values = np.sort(np.array(data, float)), np.sort(np.array(values, float))
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(values)))
    assert ks_distance(data, values, weights) == pytest.approx(oracles.ks_distance(data, values, weights), abs=1e-12)


@given(numbers, st.integers(0, 1000))
def test_weighted_quantiles_are_the_first_to_reach_their_share(values, seed):
    values = np.sort(np.array(values, float))
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(values)))
    wanted = [oracles.weighted_quantile(values, weights, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
    assert weighted_quantiles(values, weights).tolist() == wanted


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y, ProtoSwap(n_prototypes=20, random_state=0).fit(X)


def test_shares_and_labels_are_counted_over_all_rows(digits):
    X, y, selector = digits
    found = coverage_of(ResultWithData.of(selector.result_, X, View(label=y)))
    nearest = selector.predict(X)
    assert found.shares == pytest.approx(np.bincount(nearest, minlength=20) / len(X), rel=1e-3)
    mine, parts = y[selector.prototype_indices_], selector.weights_ / selector.weights_.sum()
    for line in found.labels.values:
        digit = int(line.value)
        assert line.count == (mine == digit).sum()
        assert line.data == pytest.approx((y == digit).mean(), rel=1e-3)
        assert line.prototypes == pytest.approx(parts[mine == digit].sum(), rel=1e-3)
        assert line.nearest == pytest.approx(np.isin(nearest, np.flatnonzero(mine == digit)).mean(), rel=1e-3)


def test_features_are_compared_in_order_of_distance(digits):
    X, _, selector = digits
    found = feature_matches(ResultWithData.of(selector.result_, X))
    distances = [item.distance for item in found.items]
    assert distances == sorted(distances, reverse=True)
    assert found.total == 64
    worst = found.items[0]
    column = int(worst.name[1:])
    weights = selector.weights_ / selector.weights_.sum()
    assert worst.distance == pytest.approx(
        oracles.ks_distance(X[:, column], selector.prototypes_[:, column], weights), rel=1e-3
    )


def test_more_than_twenty_labels_are_counted_but_not_told(digits):
    X, _, selector = digits
    found = labels_of(ResultWithData.of(selector.result_, X, View(label=np.arange(len(X)) % 33)))
    assert len(found.values) == 20
    assert found.more == 13


def test_labels_that_measure_are_not_compared(digits):
    X, _, selector = digits
    measured = np.random.default_rng(0).normal(size=len(X))
    found = coverage_of(ResultWithData.of(selector.result_, X, View(label=measured)))
    assert found.labels is None
    assert found.sentence.endswith("Labels are nearly all different, so that there is nothing to compare.")


def test_data_that_is_all_prototypes_is_matched_exactly():
    X = np.arange(6.0)[:, None] * 10
    result = ProtoSwap(n_prototypes=6).fit(X).result_
    item = feature_matches(ResultWithData.of(result, X)).items[0]
    assert item.distance < 0.01
    assert item.data == item.prototypes


@pytest.mark.parametrize(("n", "d"), [(40, 5), (5, 40), (30, 1), (30, 2)])
def test_the_map_is_that_of_a_singular_value_decomposition(n, d):
    X = np.random.default_rng(n).normal(size=(n, d)) * np.linspace(3, 1, d)
    plane = Plane.through(X)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    shares = (values / values.sum())[:2]
    assert plane.shares[: len(shares)] == pytest.approx(shares)
    left = X - X.mean(axis=0) - plane.at(X) @ plane.axes.T
    assert (left**2).sum() == pytest.approx(values[2:].sum(), abs=1e-9)
    assert (plane.axes[np.abs(plane.axes).argmax(axis=0), [0, 1]] >= 0).all()


def test_rows_that_are_all_the_same_have_no_map():
    assert Plane.through(np.full((10, 3), 0.1)) is None


def test_the_points_of_the_map_know_label_and_nearest_card(digits):
    X, y, selector = digits
    chart = map_of(ResultWithData.of(selector.result_, X, View(label=y)))
    nearest = selector.predict(X)
    assert chart.labels == [str(digit) for digit in range(10)]
    assert [point[2] for point in chart.points] == y.tolist()
    assert [point[3] for point in chart.points] == nearest.tolist()


def test_users_coordinates_take_the_place_of_components(digits):
    X, _, selector = digits
    places = np.random.default_rng(0).normal(size=(len(X), 2))
    places[3] = np.nan
    chart = map_of(ResultWithData.of(selector.result_, X, View(coordinates=places)))
    assert len(chart.points) == len(X) - 1
    assert np.array(chart.prototypes) == pytest.approx(places[selector.prototype_indices_], rel=1e-3)


def test_the_map_counts_the_dots_it_has(digits):
    X, _, selector = digits
    places = np.full((len(X), 2), np.nan)
    assert map_of(ResultWithData.of(selector.result_, X, View(coordinates=places))) is None
    places[:40] = 1.0
    chart = map_of(ResultWithData.of(selector.result_, X, View(coordinates=places)))
    assert len(chart.points) == 40
    assert f"Dots are 40 of {len(X):,} rows" in chart.sentence


def test_criticisms_have_the_largest_witness_and_are_no_prototypes(digits):
    X, _, selector = digits
    result = selector.result_
    missed = worst_rows(ResultWithData.of(result, X))
    kernel = result.kernel
    witness = kernel(X).mean(axis=1) - kernel(X, result.rows) @ result.weights
    assert missed.witness == pytest.approx(witness[missed.places], abs=1e-9)
    assert not set(missed.places.tolist()) & set(result.indices.tolist())
    others = np.setdiff1d(np.arange(len(X)), result.indices)
    assert np.abs(missed.witness).min() >= np.sort(np.abs(witness[others]))[-96] - 1e-9


def test_no_criticism_where_every_row_is_a_prototype():
    X = np.arange(5.0)[:, None]
    assert worst_rows(ResultWithData.of(ProtoSwap(n_prototypes=5).fit(X).result_, X)) is None
