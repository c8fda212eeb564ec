"""apricot: facility location, on the whole kernel matrix or in chunks."""

import numpy as np
from _frame import gaussian, run
from apricot import FacilityLocationSelection

CHUNK = 1_000  # the size of the reservoir that its streaming mode compares with


def select(X: np.ndarray, m: int, width: float, seed: int, streaming: bool) -> np.ndarray:
    """``partial_fit`` returns nothing, takes no matrix and numbers rows from the start of the stream."""
    if not streaming:
        return FacilityLocationSelection(m, metric="precomputed", random_state=seed).fit(gaussian(X, width)).ranking
    selector = FacilityLocationSelection(m, metric="euclidean", max_reservoir_size=CHUNK, random_state=seed)
    for i in range(0, len(X), CHUNK):
        selector.partial_fit(X[i : i + CHUNK])
    return selector.ranking


if __name__ == "__main__":
    run(select)
