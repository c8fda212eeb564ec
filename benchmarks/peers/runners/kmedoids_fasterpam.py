"""kmedoids: FasterPAM."""

import kmedoids
import numpy as np
from _frame import euclidean, run


def select(X: np.ndarray, m: int, width: float, seed: int) -> np.ndarray:
    """Medoids of Euclidean distances: it has no use for a width."""
    return kmedoids.fasterpam(euclidean(X, np.float32), m, random_state=seed, n_cpu=1).medoids


if __name__ == "__main__":
    run(select)
