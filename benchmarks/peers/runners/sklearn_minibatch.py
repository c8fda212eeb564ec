"""scikit-learn: MiniBatchKMeans, then the row nearest to each centre."""

import numpy as np
from _frame import run
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin


def select(X: np.ndarray, m: int, width: float, seed: int) -> np.ndarray:
    """Means of Euclidean clusters: it has no use for a width."""
    centres = MiniBatchKMeans(m, random_state=seed).fit(X).cluster_centers_
    return pairwise_distances_argmin(centres, X)


if __name__ == "__main__":
    run(select)
