"""Random problems for the property tests."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Problem:
    """Rows, a target, a kernel width, a size, an epsilon, and how the stream is cut."""

    X: np.ndarray
    target: np.ndarray
    width: float
    m: int
    epsilon: float
    cuts: tuple[int, ...]
    block_size: int

    def chunks(self):
        return np.split(self.X, self.cuts)


def make_problem(seed, n=None, m=None):
    """Clustered or spread rows, with or without copies, in several orders, cut anywhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 61)) if n is None else n
    d = int(rng.choice([1, 2, 2, 3, 4]))
    centres = rng.normal(scale=3, size=(rng.integers(1, 6), d))
    X = centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d))
    if rng.random() < 0.15:
        spots = rng.integers(n, size=max(1, n // 10))
        X[spots] = X[rng.integers(n, size=len(spots))]
    order = rng.choice(["as is", "sorted", "reversed"])
    if order != "as is":
        X = X[np.argsort(X[:, 0], kind="stable")][:: 1 if order == "sorted" else -1].copy()
    own = rng.random() < 0.5
    target = X if own else X[rng.integers(n, size=rng.integers(2, 40))] + rng.normal(scale=0.5, size=d)
    return Problem(
        X=X,
        target=target,
        width=float(rng.choice([0.5, 1.0, 1.5, 2.5])),
        m=int(rng.integers(1, 13)) if m is None else m,
        epsilon=float(rng.choice([0.1, 0.25, 0.4, 0.7, 0.9])),
        cuts=tuple(np.sort(rng.integers(0, n + 1, size=rng.integers(0, 6))).tolist()),
        block_size=int(rng.choice([1, 3, 8, 16, 64])),
    )


# Sizes from the seed: hypothesis would dwell on two rows, which by symmetry have equal means, and compare nothing.
generic_problems = st.integers(0, 2**32 - 1).map(make_problem)

# Sizes by hypothesis: it does dwell on one row, one prototype, as many prototypes as rows.
problems = st.builds(make_problem, st.integers(0, 2**32 - 1), st.integers(1, 50), st.integers(1, 30))


TOPICS = {
    "sport": "goal goalkeeper match team player score league coach season kick",
    "money": "stock rate interest bank share price market trade fund profit",
    "food": "soup bread cheese onion recipe oven butter garlic dinner taste",
    "space": "orbit rocket planet launch moon crater probe star mission comet",
}


def texts_of_topics(n, seed):
    """Texts of a few words, with the topic that most of these belong to."""
    rng = np.random.default_rng(seed)
    common, made = ["the", "a", "of", "it", "is", "was", "today", "very"], []
    for topic in rng.choice(list(TOPICS), n):
        own = rng.choice(TOPICS[topic].split(), rng.integers(3, 7))
        made.append((" ".join(rng.permutation([*own, *rng.choice(common, rng.integers(1, 5))])), str(topic)))
    return made
