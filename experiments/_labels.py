"""How labels are distributed."""

from collections import Counter
from collections.abc import Hashable, Sequence

__all__ = ["label_shares", "labels_for", "total_variation"]


def label_shares(labels: Sequence[Hashable], names: Sequence[Hashable]) -> list[float]:
    """The share of each name among the labels."""
    counts = Counter(labels)
    return [counts[name] / max(len(labels), 1) for name in names]


def total_variation(one: Sequence[float], other: Sequence[float]) -> float:
    """The share that would have to change its label: 0 for the same distribution, 1 where nothing is shared."""
    return sum(abs(p - q) for p, q in zip(one, other, strict=True)) / 2


def labels_for(shares: Sequence[float], most: float = 0.9) -> int:
    """How many labels, the most frequent first, make up so much of the whole."""
    total, falling = 0.0, sorted(shares, reverse=True)
    for count, share in enumerate(falling, 1):
        total += share
        if total >= most - 1e-12:
            return count
    return len(falling)
