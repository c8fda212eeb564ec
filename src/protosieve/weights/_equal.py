"""Equal weights: every member the same share, whatever the others."""

from dataclasses import dataclass, replace

import numpy as np

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, require
from protosieve._typing import Float64


@storable
@dataclass
class EqualWeights:
    """Members that all weigh ``share``: ``l`` needs no more of them than two sums.

        l = share sum_j mu_j - share^2 / 2 sum_ij K_ij

    It stands where a `NonNegativeQP` stands in a set that solves its weights. O(1) memory, and O(1) for a member whose
    similarities to the others are summed already.

    >>> import numpy as np
    >>> from protosieve.weights import EqualWeights
    >>> equal = EqualWeights(share=0.5)
    >>> equal.append(np.array([]), 1.0, 0.5)
    >>> equal.append(np.array([0.5]), 1.0, 0.7)
    >>> equal.weights, round(equal.value, 6)
    (array([0.5, 0.5]), 0.225)
    """

    share: float
    size: int = 0
    mu: float = 0.0  # sum over members
    similarity: float = 0.0  # sum over pairs of members, each with itself included

    @property
    def weights(self) -> Float64:
        """The weights of all members."""
        return np.full(self.size, self.share)

    @property
    def value(self) -> float:
        """``l`` at the weights."""
        return self.share * self.mu - self.share**2 * self.similarity / 2

    def append(self, similarities: Float64, diagonal: float, mu: float) -> None:
        """Add a member with ``k(x, members)``, ``k(x, x)`` and ``mu(x)``."""
        self.join(float(similarities.sum()), diagonal, mu)

    def join(self, similarity: float, diagonal: float, mu: float) -> None:
        """Add a member, its similarities to the others given as their sum."""
        self.size += 1
        self.mu += float(mu)
        self.similarity += 2 * similarity + float(diagonal)

    def renew(self, mu: Float64) -> None:
        """The members' means have changed."""
        self.mu = float(mu.sum())

    def twin(self) -> "EqualWeights":
        """A copy."""
        return replace(self)

    def sealed(self) -> "EqualWeights":
        """A copy: it needs no room for changes."""
        return replace(self)

    def _check_form(self) -> None:
        require(are_counts(self.size) and are_finite(self.share, self.mu, self.similarity), "equal weights")

    def _check(self) -> None:
        self._check_form()
