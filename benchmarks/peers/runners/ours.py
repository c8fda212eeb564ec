"""protosieve: any selector that is fitted to the rows it represents."""

import numpy as np
from _frame import run

import protosieve
from protosieve.kernels import Gaussian


def select(X: np.ndarray, m: int, width: float, seed: int, selector: str) -> np.ndarray:
    """The exact mean of X is part of ``fit``, and so of the time."""
    return getattr(protosieve, selector)(m, kernel=Gaussian(width), random_state=seed).fit(X).prototype_indices_


if __name__ == "__main__":
    run(select)
