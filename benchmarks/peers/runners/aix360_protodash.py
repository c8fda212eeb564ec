"""AIX360: ProtoDash, with the faster of its two solvers."""

import numpy as np
from _frame import run
from aix360.algorithms.protodash import ProtodashExplainer


def select(X: np.ndarray, m: int, width: float, seed: int) -> np.ndarray:
    """It has no random part."""
    _, chosen, _ = ProtodashExplainer().explain(X, X, m=m, kernelType="Gaussian", sigma=width, optimizer="osqp")
    return chosen


if __name__ == "__main__":
    run(select)
