"""SieveStreaming's guarantee against brute force, and the sums it stands on."""

from itertools import combinations

import numpy as np
import pytest

import oracles
from protosieve import SieveStreaming
from protosieve.kernels import Gaussian
from protosieve.weights import EqualWeights

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


def _worth(K, mu, m, members):
    w = np.zeros(len(mu))
    w[list(members)] = 1 / m
    return oracles.value(K, mu, w)


def _subsets(n, size):
    return (set(s) for q in range(size + 1) for s in combinations(range(n), q))


def _monotone(K, mu, m):
    """No row lowers the value of any set of fewer than m others."""
    n = len(mu)
    return all(
        mu[j] * m >= K[j, j] / 2 + K[j, list(s)].sum() for s in _subsets(n, m - 1) for j in range(n) if j not in s
    )


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_half_of_the_best_where_the_value_is_monotone(epsilon):
    held = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(9, 2)) * rng.choice([0.5, 1.0, 3.0])
        m = int(rng.integers(2, 4))
        K = oracles.gaussian(X, X, 1.5)
        mu = K.mean(axis=1)
        if not _monotone(K, mu, m):
            continue
        held += 1
        best = max(_worth(K, mu, m, s) for s in _subsets(9, m))
        found = SieveStreaming(m, kernel=Gaussian(1.5), epsilon=epsilon).fit(X).objective_
        assert found >= (0.5 - epsilon) * best
    assert held >= 20


def test_two_sums_are_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3))
    K, mu = oracles.gaussian(X, X, 1.0), rng.normal(size=7)
    equal = EqualWeights(share=0.2)
    for q in range(7):
        equal.append(K[q, :q], K[q, q], mu[q])
        assert equal.value == pytest.approx(_worth(K, mu, 5, range(q + 1)))
    twin = equal.twin()
    twin.renew(2 * mu)
    assert twin.value == pytest.approx(_worth(K, 2 * mu, 5, range(7)))
    assert equal.value == pytest.approx(_worth(K, mu, 5, range(7)))
    equal._check()
