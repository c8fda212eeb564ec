"""The reservoir against uniformity."""

import numpy as np

from protosieve.sampling import Reservoir, lengthened


def test_the_reservoir_is_a_uniform_sample():
    """Every row of 200 is kept with probability 20/200; 4,000 runs give each count a standard error of 19."""
    counts = np.zeros(200)
    stream = np.arange(200.0)[:, None]
    generator = np.random.default_rng(0)
    for _ in range(4000):
        reservoir = Reservoir.empty(20, stream, generator)
        for block in np.split(stream, [15, 33, 150]):
            reservoir.observe(block)
        counts[reservoir.sample[:, 0].astype(int)] += 1
    assert counts.sum() == 4000 * 20
    assert np.abs(counts - 400).max() < 5 * 19


def test_the_reservoir_knows_its_rows_numbers():
    stream = np.arange(500.0)[:, None]
    reservoir = Reservoir.empty(20, stream, np.random.default_rng(3))
    for block in np.split(stream, [7, 90, 400]):
        before = lengthened(reservoir.rows, 20)
        taken, places = reservoir.observe(block)
        before[places] = block[taken]
        np.testing.assert_array_equal(before[: reservoir.filled], reservoir.sample)
    np.testing.assert_array_equal(reservoir.sample[:, 0], reservoir.indices)


def test_the_reservoir_keeps_everything_while_there_is_room():
    rows = np.random.default_rng(0).normal(size=(30, 3))
    reservoir = Reservoir.empty(50, rows, np.random.default_rng(1))
    taken, places = reservoir.observe(rows)
    np.testing.assert_array_equal(taken, np.arange(30))
    np.testing.assert_array_equal(places, np.arange(30))
    np.testing.assert_array_equal(reservoir.sample, rows)
    assert reservoir.filled == 30
