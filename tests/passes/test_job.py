"""A run before its first row, and what its later passes say of rows they cannot use."""

import numpy as np
import pytest

from protosieve import InputError, select
from protosieve.kernels import Polynomial
from protosieve.means import sample_for
from protosieve.passes import Options, sample_size


@pytest.mark.parametrize("sample", [None, 1000])
@pytest.mark.parametrize("m", ["1%", "100%", 20, 50_000])
def test_a_sample_of_rows_that_only_reading_counts_is_bounded(sample, m):
    size = sample_size(Options(["x.csv"], m, sample=sample), 5, None)
    wanted = sample_for(2**31, 5) if sample is None else sample
    assert size <= max(wanted, 2 * m if isinstance(m, int) else 0)
    assert size >= (2 * m if isinstance(m, int) else 1)


def test_a_row_that_the_second_pass_cannot_use_is_named_with_its_file(tmp_path):
    rng = np.random.default_rng(0)
    files = []
    for i in range(3):
        X = rng.normal(size=(4000, 2))
        if i == 1:
            X[2345] = 1e14  # to the fourth power it is beyond float64 where rows of the sample are not
        files.append(tmp_path / f"{i}.npy")
        np.save(files[-1], X)
    with pytest.raises(InputError, match=r"1\.npy, row 2345: its similarity"):
        select(files, 5, kernel=Polynomial(degree=12), scale="none", sample=500)
