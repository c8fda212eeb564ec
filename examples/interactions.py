"""``python examples/interactions.py``: choose 20 of 5,050 features for a classifier, made on the fly and never stored.

The data are scikit-learn's breast cancer: 569 tumours, 30 measurements. 100 base features are made of them (the
measurements, their logarithms, their squares, and the cubes of the ten means), and all of their products of two: 5,050
features with the base, each standardised on the training part. The selectors see them once, 256 at a time, in an order
drawn at random; what they are compared with needs the whole matrix.

`Streak` fits a set anew for every feature that could join it, some ten seconds or more a split: it runs with
``--streak``.

Whoever chooses, scikit-learn's `LogisticRegression()` is then fitted on the 20 features, and judged by the fifth of the
tumours that neither has seen.
"""

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from protosieve import ProtoBasic, ProtoDash, ProtoStream, ProtoSwap, Streak
from protosieve.errors import ProtosieveWarning
from protosieve.objectives import LeastSquares, Logistic

KEEP, CHUNK, TEST = 20, 256, 0.2


@dataclass(frozen=True)
class Interactions:
    """Products of base features, which are rows; product k is that of rows ``pairs[k]``, or one of them alone."""

    base: np.ndarray
    pairs: np.ndarray  # (number, 2); -1 for alone
    train: np.ndarray  # samples by which features are standardised, and chosen

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Features by number, for all samples."""
        first, second = self.pairs[numbers].T
        made = self.base[first] * np.where(second[:, None] < 0, 1.0, self.base[second])
        known = made[:, self.train]
        made -= known.mean(axis=1, keepdims=True)
        made /= np.maximum(known.std(axis=1, keepdims=True), 1e-12)
        return made

    def chunks(self) -> Iterator[np.ndarray]:
        """All of them, one chunk after the other, for the training samples."""
        for start in range(0, len(self.pairs), CHUNK):
            yield self.rows(np.arange(start, min(start + CHUNK, len(self.pairs))))[:, self.train]

    def matrix(self) -> np.ndarray:
        """All of them at once."""
        return np.concatenate(list(self.chunks()))


def interactions(X: np.ndarray, train: np.ndarray, base: int, seed: int) -> Interactions:
    """The first ``base`` base features of measurements and all their products, in random order."""
    z = StandardScaler().fit(X[train]).transform(X)
    logs = np.log(X + 1e-3)
    logs = StandardScaler().fit(logs[train]).transform(logs)
    made = np.hstack([z, logs, z**2, z[:, :10] ** 3]).T[:base]
    first, second = np.triu_indices(len(made), 1)
    pairs = np.vstack([np.stack([first, second], axis=1), np.stack([np.arange(len(made)), np.full(len(made), -1)], 1)])
    return Interactions(made, np.random.default_rng(seed).permutation(pairs), train)


# -- who chooses: from features and labels of the training part to numbers of features

Chooser = Callable[[Interactions, np.ndarray], np.ndarray]


def streamed(kind: type, features: Interactions, y: np.ndarray) -> np.ndarray:
    """One pass of a selector with the objective of ``LogisticRegression()``, whose penalty is a ridge of 1 / n."""
    selector = kind(KEEP, objective=Logistic(y, signed=True, ridge=1 / len(y)), block_size=CHUNK)
    for chunk in features.chunks():
        selector.partial_fit(chunk)
    return selector.prototype_indices_


def exchanged(features: Interactions, y: np.ndarray) -> np.ndarray:
    """One pass of ProtoSwap, which needs a quadratic objective: least squares on the labels.

    Every feature is judged as it comes: a sample to choose from would store thousands of them.
    """
    objective = LeastSquares(y, signed=True, ridge=1 / len(y))
    selector = ProtoSwap(KEEP, objective=objective, candidates="all", block_size=CHUNK)
    for chunk in features.chunks():
        selector.partial_fit(chunk)
    return selector.prototype_indices_


def univariate(features: Interactions, y: np.ndarray) -> np.ndarray:
    """The choice of ``SelectKBest(f_classif, k=20)``, which is all it computes."""
    return np.argsort(-f_classif(features.matrix().T, y)[0])[:KEEP]


def pursuit(features: Interactions, y: np.ndarray) -> np.ndarray:
    """Orthogonal matching pursuit: greedy, with least squares on the labels."""
    return ProtoDash(KEEP, objective=LeastSquares(y, signed=True)).fit(features.matrix()).prototype_indices_


def greedy(features: Interactions, y: np.ndarray) -> np.ndarray:
    """The same with the logistic objective."""
    objective = Logistic(y, signed=True, ridge=1 / len(y))
    return ProtoDash(KEEP, objective=objective).fit(features.matrix()).prototype_indices_


def lasso(features: Interactions, y: np.ndarray) -> np.ndarray:
    """L1 logistic regression; its penalty by bisection, so that at most 20 weights are not zero."""
    X, low, high = features.matrix().T, 1e-3, 10.0
    best = np.zeros(0, np.intp)
    for _ in range(8):
        C = np.sqrt(low * high)
        model = LogisticRegression(C=C, l1_ratio=1, solver="liblinear", tol=1e-3, max_iter=300, random_state=0)
        chosen = np.flatnonzero(model.fit(X, y).coef_[0])
        low, high = (C, high) if len(chosen) <= KEEP else (low, C)
        if len(best) <= len(chosen) <= KEEP:
            best = chosen
    return best


def random(features: Interactions, y: np.ndarray) -> np.ndarray:  # noqa: ARG001  (called as all are)
    """Any 20: the order is random."""
    return np.arange(min(KEEP, len(features.pairs)))


CHOOSERS: dict[str, Chooser] = {
    "`ProtoBasic`, one pass": partial(streamed, ProtoBasic),
    "`ProtoStream`, one pass": partial(streamed, ProtoStream),
    "`ProtoSwap` (least squares), one pass": exchanged,
    "`ProtoDash`": greedy,
    "`ProtoDash` (least squares), OMP": pursuit,
    "`SelectKBest`": univariate,
    "L1 logistic regression": lasso,
    "20 at random": random,
}
SLOW: dict[str, Chooser] = {"`Streak`, one pass": partial(streamed, Streak)}


# -- how good it is


@dataclass(frozen=True)
class Score:
    """Of one choice: features kept, held-out accuracy and log loss, seconds of choosing."""

    kept: int
    accuracy: float
    log_loss: float
    seconds: float


def judged(choose: Chooser, features: Interactions, y: np.ndarray, test: np.ndarray) -> Score:
    """Choose, fit, predict."""
    start = time.perf_counter()
    chosen = choose(features, y[features.train])
    seconds = time.perf_counter() - start
    rows = features.rows(chosen)
    model = LogisticRegression(max_iter=5000).fit(rows[:, features.train].T, y[features.train])
    p = model.predict_proba(rows[:, test].T)[:, 1]
    return Score(len(chosen), accuracy_score(y[test], p > 0.5), log_loss(y[test], p), seconds)


def peak(choose: Chooser, features: Interactions, y: np.ndarray) -> float:
    """The most memory a choice takes at any time, in MB."""
    tracemalloc.start()
    choose(features, y[features.train])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def compare(base: int = 100, splits: int = 20, choosers: dict[str, Chooser] = CHOOSERS) -> dict[str, list[Score]]:
    """Every way of choosing on the same splits; at most 100 base features."""
    X, y = load_breast_cancer(return_X_y=True)
    scores: dict[str, list[Score]] = {name: [] for name in choosers}
    for seed, (train, test) in enumerate(StratifiedShuffleSplit(splits, test_size=TEST, random_state=0).split(X, y)):
        features = interactions(X, train, base, seed)
        for name, choose in choosers.items():
            scores[name].append(judged(choose, features, y, test))
    return scores


def table(scores: dict[str, list[Score]], peaks: dict[str, float]) -> str:
    """Means over the splits, the best log loss first."""
    lines = ["| | kept | accuracy | log loss | seconds | peak MB |", "|---|---|---|---|---|---|"]
    for name, each in sorted(scores.items(), key=lambda item: np.mean([s.log_loss for s in item[1]])):
        kept, right, loss, seconds = np.mean([(s.kept, s.accuracy, s.log_loss, s.seconds) for s in each], axis=0)
        spread = np.std([s.log_loss for s in each])
        lines.append(
            f"| {name} | {kept:.1f} | {100 * right:.1f} % | {loss:.3f} ± {spread:.3f} | {seconds:.2f} "
            f"| {peaks[name]:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python examples/interactions.py", description=__doc__)
    parser.add_argument("--base", type=int, default=100, help="base features, at most 100 (default)")
    parser.add_argument("--splits", type=int, default=20, help="training and test parts to average over (20)")
    parser.add_argument("--streak", action="store_true", help="Streak too, which takes some minutes more")
    options = parser.parse_args()
    if not 10 <= options.base <= 100 or options.splits < 2:
        parser.error("--base is 10 to 100, --splits 2 or more")
    choosers = {**CHOOSERS, **(SLOW if options.streak else {})}
    warnings.simplefilter("ignore", ProtosieveWarning)
    X, y = load_breast_cancer(return_X_y=True)
    train = next(StratifiedShuffleSplit(1, test_size=TEST, random_state=0).split(X, y))[0]
    scores = compare(options.base, options.splits, choosers)
    peaks = {name: peak(choose, interactions(X, train, options.base, 0), y) for name, choose in choosers.items()}
    print(table(scores, peaks))


if __name__ == "__main__":
    main()
