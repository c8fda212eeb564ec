"""submodlib: facility location on the whole kernel matrix."""

import numpy as np
from _frame import gaussian, run
from submodlib.functions.facilityLocation import FacilityLocationFunction


def select(X: np.ndarray, m: int, width: float, seed: int) -> list[int]:
    """It works in float32 inside, so that is what it is given."""
    K = gaussian(X, width, np.float32)
    function = FacilityLocationFunction(n=len(X), mode="dense", separate_rep=False, sijs=K)
    return [row for row, _ in function.maximize(budget=m, optimizer="LazyGreedy", show_progress=False)]


if __name__ == "__main__":
    run(select)
