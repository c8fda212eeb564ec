"""A target of its own that is held whole, beside inputs that are not."""

import numpy as np
import pytest

import oracles
from protosieve import ProtoBasic, ProtoSwap, select
from protosieve.kernels import Gaussian


@pytest.mark.parametrize("rows", [200, 1500])
def test_it_is_matched_as_well_as_in_memory(tmp_path, rows):
    """Inputs are wide, the target narrow: the rows with the largest mean lie together, and are far from the best."""
    rng, kernel = np.random.default_rng(0), Gaussian(1.0)
    X, target = 2 * rng.normal(size=(4000, 2)), rng.normal(size=(rows, 2))
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "target.npy", target)
    options = {"kernel": kernel, "scale": "none", "sample": 1500}
    found = select(tmp_path / "rows.npy", 20, target=tmp_path / "target.npy", **options)
    basic = ProtoBasic(20, kernel=kernel).fit(X, target=target).result_
    memory = ProtoSwap(20, kernel=kernel, candidates=1200, random_state=0).fit(X, target=target).result_
    assert found.residual == pytest.approx(oracles.residual(kernel, target, found.rows, found.weights), rel=1e-3)
    assert found.residual < 2 * memory.residual < basic.residual / 2
