"""How many points a mean needs: as few as leave no more in doubt than prototypes leave of the mean."""

import numpy as np
import pytest

from protosieve import ProtoSwap, load
from protosieve._blas import one_thread
from protosieve.kernels import Gaussian, Laplacian, MultiScale
from protosieve.means import CalibratedMean, points_for
from protosieve.means._sizes import enough_points


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


@pytest.mark.parametrize(
    ("kernel", "m"),
    [
        (MultiScale(2.0), 20),
        (MultiScale(2.0), 150),
        (Gaussian(4.0), 150),
        (Gaussian(1.5), 20),
        (Laplacian(3.0), 150),
        pytest.param(Gaussian(4.0), 20, marks=pytest.mark.thorough),
        pytest.param(Gaussian(1.5), 150, marks=pytest.mark.thorough),
        pytest.param(Laplacian(3.0), 20, marks=pytest.mark.thorough),
    ],
)
def test_it_is_the_first_power_of_two_that_leaves_little_in_doubt(kernel, m):
    points, held_out = rows(1024, seed=1), rows(4096, seed=2)
    with one_thread():
        found = len(enough_points(kernel, points, held_out, m).rows)
        again = [len(enough_points(kernel, points, held_out, m, before).rows) for before in (found, 2 * found)]
    looked_at = held_out[:512].astype(float)
    exact = points.astype(float)
    left, doubt = outside(kernel, exact[:m], looked_at)
    allowed = 1e-3 * (left - 2 * doubt / 512)
    sizes = [128, 256, 512]
    enough = [size for size in sizes if outside(kernel, exact[:size], looked_at)[1] / 4096 <= allowed]
    assert found == (enough[0] if enough else 1024)
    assert again == [found, found]


def test_wide_kernels_that_leave_next_to_nothing_get_all_points():
    points, held_out = rows(1024, 2), rows(2048, 2, seed=3)
    with one_thread():
        assert len(enough_points(Gaussian(20.0), points, held_out, 500).rows) == 1024


def test_a_stream_whose_points_were_chosen_goes_on_bit_for_bit_from_a_file(tmp_path):
    X, straight = rows(30_000), ProtoSwap(20, random_state=0)
    straight.partial_fit(X[:24_000]).save(tmp_path / "run.npz")
    resumed = load(tmp_path / "run.npz")
    known = resumed.saved().stream.running.mean
    assert len(known.points) < known.drawn.size, "fewer points than there might be"
    for selector in (straight, resumed):
        selector.partial_fit(X[24_000:])
    assert np.array_equal(straight.prototype_indices_, resumed.prototype_indices_)
    assert np.array_equal(straight.weights_, resumed.weights_)
    assert straight.result_.residual == resumed.result_.residual


def test_few_rows_that_are_held_out_say_too_little():
    with one_thread():
        assert len(enough_points(MultiScale(2.0), rows(300), rows(100, seed=1), 10).rows) == 300
        assert len(enough_points(MultiScale(2.0), rows(100), rows(2000, seed=1), 10).rows) == 100


def test_a_target_is_summed_up_at_no_more_points_than_it_takes():
    X = rows(30_000)
    kernel = MultiScale(2.0).resolve(X, np.random.default_rng(0))
    with one_thread():
        mean = CalibratedMean().begin(kernel, X, X[:1], np.random.default_rng(0), 50)
        asked = CalibratedMean(points=700).begin(kernel, X, X[:1], np.random.default_rng(0), 50)
    assert 128 <= len(mean.points) < points_for(50)
    assert len(asked.points) == 700
