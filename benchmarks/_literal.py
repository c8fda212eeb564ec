"""A selector against the transcription of its pseudo-code."""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import clocked_mean, paper_data
from protosieve._blas import one_thread


def literal(selector: Any, n: int, repeats: int = 3) -> dict[str, Any]:
    """A selector with a Gaussian of width 5 and its twin in ``tests/oracles.py``, on n rows of Letters in float64.

    The twin, which solves a program afresh for every set that changes (Streak: for every row), is given the dense Gram
    matrix for nothing; the selector's seconds, the best of several, are without the mean.
    """
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import oracles

    X = paper_data("letters", np.float64)[:n]
    K = oracles.gaussian(X, X, selector.kernel.width)
    options = (selector.epsilon,) if hasattr(selector, "epsilon") else ()
    with one_thread():
        start = time.perf_counter()
        run = getattr(oracles, type(selector).__name__.lower())(K, K.mean(axis=1), selector.n_prototypes, *options)
        slow = time.perf_counter() - start
    quick = min(_seconds(selector, X) for _ in range(repeats))
    same = sorted(selector.prototype_indices_.tolist()) == run.chosen
    return {"literal s": slow, "selector s": quick, "speed-up": slow / quick, "same rows": same}


def _seconds(selector: Any, X: np.ndarray) -> float:
    with clocked_mean() as spent:
        start = time.perf_counter()
        selector.fit(X)
        return time.perf_counter() - start - sum(spent)
