"""What the pages of appendix B and of the mean are made of, against brute force."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from experiments._scale import Data
from experiments.measures import adapt, follow, groups
from experiments.measures._data import dataset
from protosieve import ProtoBasic
from protosieve.kernels import Gaussian
from protosieve.means import ReservoirMean

LETTERS = Data("letters", (5, 20), rows=600, test_rows=300)


def test_a_row_belongs_to_its_nearest_centre():
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    assert np.array_equal(groups.nearest(rows, centres), pairwise_distances(rows, centres).argmin(axis=1))


def test_ranks_order_groups_by_size_the_largest_first():
    numbers = np.array([2, 0, 2, 1, 2, 1])
    assert groups.ranks(numbers, 4).tolist() == [0, 2, 0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_sizes_fall_with_the_rank(seed):
    numbers = np.random.default_rng(seed).integers(9, size=40)
    ranked = groups.ranks(numbers, 9)
    assert np.all(np.diff(np.bincount(ranked, minlength=9)) <= 0)
    assert len(set(zip(numbers, ranked, strict=True))) == len(set(numbers))  # the same groups under other names


def test_the_error_of_a_sample_is_that_of_all_samples_on_average():
    X = np.random.default_rng(0).normal(size=(8, 2))
    K = Gaussian(width=1.0)(X)
    norm = K.mean()
    found = []
    for sample in map(list, combinations(range(8), 3)):
        difference = np.full(8, -1 / 8)
        difference[sample] += 1 / 3
        found.append(difference @ K @ difference)
    assert follow.sample_error(norm, 8, 3) == pytest.approx(np.mean(found) / norm, rel=1e-6)


def test_letters_are_grouped_apart_from_each_other(paper_data):
    found = groups.cluster(LETTERS, 5)
    labels = dataset(LETTERS).base_labels
    assert len(set(zip(found["letters"], labels, strict=True))) == len(set(labels))
    assert set(found["numbers"]) == set(range(5))
    for letter in range(26):
        own = [rank for rank, of in zip(found["ranks"], found["letters"], strict=True) if of == letter]
        assert np.all(np.diff(np.bincount(own)) <= 0)


def test_closest_rows_are_those_of_protobasic(paper_data):
    known = dataset(LETTERS)
    (share,) = adapt.closest_of(LETTERS, "J", 5.0, (20,), False)["shares"]
    target = known.test[known.test_labels == "J"]
    kept = ProtoBasic(20, kernel=Gaussian(width=5.0)).fit(known.base, target=target).result_.indices
    assert share == np.mean(known.base_labels[kept] == "J")


def test_swapped_sets_are_searched_the_other_way_round(paper_data):
    known = dataset(LETTERS)
    found = adapt.closest_of(LETTERS, "J", 5.0, (20,), True)
    target = known.base[known.base_labels == "J"].astype(float)
    mu = np.exp(-(pairwise_distances(known.test.astype(float), target) ** 2) / 50).mean(axis=1)
    best = np.argsort(-mu)[:20]
    assert found["shares"] == [np.mean(known.test_labels[best] == "J")]
    assert found["rows"] == np.sum(known.test_labels == "J")


def test_shares_of_picked_labels_are_shares(paper_data):
    found = adapt.adapt(LETTERS, "J", "ProtoStream", 10)
    for shares in (found["shares"], found["weight_shares"]):
        assert sum(shares) == pytest.approx(1)
    counts = np.asarray(found["shares"]) * found["kept"]
    assert np.allclose(counts, counts.round())


def test_a_stream_knows_its_sample_only(paper_data):
    small, large = (follow.follow(LETTERS, "ProtoSwap", 20, ReservoirMean(size), 0) for size in (50, 600))
    assert small["residual"] < small["told"] < 2 * small["residual"]  # a sample of 50 rows does not flatter itself
    assert large["told"] == pytest.approx(large["residual"], rel=1e-3)  # the sample is the stream
