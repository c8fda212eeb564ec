"""Classification by the nearest prototype."""

from collections.abc import Sequence

import numpy as np

__all__ = ["prefix_accuracies", "prefixes"]

_PART = 2048  # rows classified at once


def prefixes(m: int, points: int = 15) -> list[int]:
    """Some sizes up to m, in even steps, m among them."""
    return sorted({-(-m * i // points) for i in range(1, points + 1)})


def prefix_accuracies(
    prototypes: np.ndarray, labels: np.ndarray, X: np.ndarray, y: np.ndarray, sizes: Sequence[int]
) -> list[float]:
    """The share of X that gets its label from the nearest of the first ``size`` prototypes, for each of rising sizes.

    Of prototypes as near as each other the first counts. Distances are in the precision of the rows, in which those of
    Letters, small whole numbers, are exact; O(n m d) for all sizes together.
    """
    offsets = (prototypes**2).sum(axis=1)
    right = np.zeros(len(sizes), np.int64)
    for start in range(0, len(X), _PART):
        part = slice(start, start + _PART)
        # |x - p|^2 without |x|^2, which does not tell prototypes apart
        distances = offsets - 2 * X[part] @ prototypes.T
        right += [(labels[near] == y[part]).sum() for near in _nearest(distances, sizes)]
    return (right / len(X)).tolist()


def _nearest(distances: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Per size and row, where the least of the first ``size`` columns is."""
    rows = np.arange(len(distances))
    best, found, seen = np.zeros(len(distances), np.intp), [], 0
    for size in sizes:
        if size > seen:
            new = seen + distances[:, seen:size].argmin(axis=1)
            best = new if not seen else np.where(distances[rows, new] < distances[rows, best], new, best)
            seen = size
        found.append(best)
    return found
