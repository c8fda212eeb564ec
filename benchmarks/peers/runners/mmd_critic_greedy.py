"""mmd-critic: greedy prototypes."""

import numpy as np
from _frame import run
from mmd_critic import MMDCritic
from mmd_critic.kernels import RBFKernel


def select(X: np.ndarray, m: int, width: float, seed: int) -> np.ndarray:
    """It returns rows and their labels: row numbers as labels tell which."""
    _, chosen = MMDCritic(X, RBFKernel(sigma=width), labels=np.arange(len(X))).select_prototypes(m)
    return chosen


if __name__ == "__main__":
    run(select)
