"""How many points a mean needs: as few as leave no more in doubt than prototypes leave of the mean."""

import numpy as np
import pytest

from protosieve._blas import one_thread
from protosieve.kernels import Gaussian, Laplacian, MultiScale
from protosieve.means import CalibratedMean, points_for
from protosieve.means._points import enough_points
from protosieve.means._span import Span


def rows(n, columns=6, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(scale=2, size=(5, columns))[rng.integers(5, size=n)] + rng.normal(size=(n, columns))).astype(
        "f4"
    )


def outside(kernel, points, held_out):
    """The slow twin: similarities of pairs of different rows outside the span of points, by a solve for each P."""
    K = kernel(held_out)
    if len(points):
        both = kernel(np.concatenate([points, held_out]))
        K_Z, k = both[: len(points), : len(points)], both[: len(points), len(points) :]
        K = K - k.T @ np.linalg.solve(K_Z + 1e-7 * np.eye(len(points)), k)
    pairs = ~np.eye(len(K), dtype=bool)
    left = K[pairs].mean()
    centred = K - np.where(pairs, K, 0).sum(axis=0) / (len(K) - 1)
    centred -= (np.where(pairs, centred, 0).sum(axis=1) / (len(K) - 1))[:, None]
    return left, np.sqrt(2 * (centred[pairs] ** 2).mean())


@pytest.mark.parametrize("kernel", [MultiScale(2.0), Gaussian(4.0), Gaussian(1.5), Laplacian(3.0)], ids=repr)
@pytest.mark.parametrize("m", [20, 150])
def test_it_is_the_first_power_of_two_that_leaves_little_in_doubt(kernel, m):
    points, held_out = rows(1024, seed=1), rows(4096, seed=2)
    with one_thread():
        found = enough_points(Span(kernel, points), held_out, m)
    looked_at = held_out[:512].astype(float)
    exact = points.astype(float)
    left, doubt = outside(kernel, exact[:m], looked_at)
    allowed = 1e-3 * (left - 2 * doubt / 512)
    sizes = [128, 256, 512]
    enough = [size for size in sizes if outside(kernel, exact[:size], looked_at)[1] / 4096 <= allowed]
    assert found == (enough[0] if enough else 1024)


def test_wide_kernels_that_leave_next_to_nothing_get_all_points():
    points, held_out = rows(1024, 2), rows(2048, 2, seed=3)
    with one_thread():
        assert enough_points(Span(Gaussian(20.0), points), held_out, 500) == 1024


def test_the_corner_of_a_span_is_the_span_of_its_first_points():
    points, others = rows(200), rows(50, seed=4)
    with one_thread():
        whole = Span(MultiScale(2.0), points)
        expected = Span(MultiScale(2.0), points[:80]).coordinates(others)
        before = whole.corner(80).coordinates(others)
        assert whole.root.shape == (200, 200)
        after = whole.corner(80).coordinates(others)
    np.testing.assert_array_equal(before, expected)
    np.testing.assert_allclose(after, expected, atol=1e-6)


def test_few_rows_that_are_held_out_say_too_little():
    with one_thread():
        assert enough_points(Span(MultiScale(2.0), rows(300)), rows(100, seed=1), 10) == 300
        assert enough_points(Span(MultiScale(2.0), rows(100)), rows(2000, seed=1), 10) == 100


def test_a_target_is_summed_up_at_no_more_points_than_it_takes():
    X = rows(30_000)
    kernel = MultiScale(2.0).resolve(X, np.random.default_rng(0))
    with one_thread():
        mean = CalibratedMean().begin(kernel, X, X[:1], np.random.default_rng(0), 50)
        asked = CalibratedMean(points=700).begin(kernel, X, X[:1], np.random.default_rng(0), 50)
    assert 128 <= len(mean.points) < points_for(50)
    assert len(asked.points) == 700
