"""Random rows: the bar that a selector has to clear."""

import numpy as np
from _frame import run


def select(X: np.ndarray, m: int, width: float, seed: int) -> np.ndarray:
    """A uniform draw without replacement."""
    return np.random.default_rng(seed).choice(len(X), m, replace=False)


if __name__ == "__main__":
    run(select)
