"""Slow, obvious twins of the library's fast paths: transcriptions of the paper's pseudo-code on a dense Gram matrix.

Each runs on ``K`` (all rows against all rows) and ``mu``, one row at a time, with a fresh non-negative least squares
whenever a set changes. Each also records the smallest margin, relative to the numbers compared, by which it decided
anything: a run that was decided by less than rounding cannot be compared.
"""

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.spatial.distance import cdist


def gaussian(X, Y, width):
    """The Gaussian kernel from plain distances."""
    return np.exp(-cdist(X, Y, "sqeuclidean") / (2 * width**2))


def solve(K, mu):
    """``argmax w'mu - w'K w / 2`` over ``w >= 0`` by SciPy's NNLS: with K = A'A and A'b = mu it is ``|A w - b|``."""
    if not len(mu):
        return np.zeros(0)
    try:
        A = np.linalg.cholesky(K).T
        if np.diag(A).min() > 1e-5:
            return nnls(A, solve_triangular(A, mu, trans=1), maxiter=100 * len(mu) + 100)[0]
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(K)  # near a singular matrix: by its square root
    keep = values > 1e-14 * values[-1]
    root = np.sqrt(values[keep])
    A = root[:, None] * vectors[:, keep].T
    b = (vectors[:, keep].T @ mu) / root
    return nnls(A, b, maxiter=100 * len(mu) + 100)[0]


def value(K, mu, w):
    """``l(w)``."""
    return float(mu @ w - w @ K @ w / 2)


def relative(one, other):
    """How far two numbers are apart, as a share of the larger."""
    return abs(one - other) / max(abs(one), abs(other))


def is_optimal(K, mu, w):
    """Whether w meets the conditions of optimality; near a singular matrix NNLS sometimes stops short of it."""
    gradient = mu - K @ w
    return max(gradient.max(), np.abs(gradient[w > 0]).max(initial=0)) <= 1e-10 * np.abs(mu).max()


@dataclass
class Run:
    """What a literal run returned, and the margin of its closest decision."""

    chosen: list[int] = field(default_factory=list)
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))
    objective: float = 0.0
    margin: float = math.inf
    tied: bool = False  # another set has the same rows of positive weight, and others of weight zero
    order: list[int] = field(default_factory=list)  # of batch selectors: the rows as they were chosen

    def compare(self, one, other):
        """``one - other``, noting how close the two are."""
        if one != other or one != 0:
            self.margin = min(self.margin, relative(one, other))
        return one - other

    def finish(self, K, mu, chosen):
        self.chosen = sorted(chosen)
        inside = np.ix_(self.chosen, self.chosen)
        self.weights = solve(K[inside], mu[self.chosen])
        self.objective = value(K[inside], mu[self.chosen], self.weights)
        return self


def protobasic(K, mu, m):
    """Algorithm 1. Of several members with the smallest gradient the latest is replaced."""
    run, chosen = Run(), []
    for j in range(len(mu)):
        if len(chosen) < m:
            chosen.append(j)
            continue
        smallest = min(mu[i] for i in chosen)
        worst = max(i for i in chosen if mu[i] == smallest)
        if run.compare(mu[j], smallest) > 0:
            chosen.remove(worst)
            chosen.append(j)
    return run.finish(K, mu, chosen)


def _thresholds(low, high, epsilon):
    """The powers of ``1 + epsilon`` in ``[low, high]``, by their exponents."""
    level = math.floor(math.log(low) / math.log1p(epsilon)) - 2
    while (1 + epsilon) ** level < low:
        level += 1
    while (1 + epsilon) ** level <= high:
        yield level
        level += 1


def _best(K, mu, run, sets, singles, single_margin):
    """The best of all sets ever started and of the rows that were the best single one when they came.

    The pseudo-code keeps the last of these only; where the diagonal is constant the last is the best anyway.

    Ties between equal sets do not matter; how the single row was chosen does only if it is the answer.
    """
    candidates = [*([j] for j in reversed(singles)), *sets]
    weights = [solve(K[np.ix_(c, c)], mu[c]) for c in candidates]
    values = [value(K[np.ix_(c, c)], mu[c], w) for c, w in zip(candidates, weights, strict=True)]
    best = int(np.argmax(values))
    supports = [sorted(np.array(c)[w > 1e-12].tolist()) for c, w in zip(candidates, weights, strict=True)]
    for members, support, other in zip(candidates, supports, values, strict=True):
        if support != supports[best]:
            run.compare(values[best], other)
        elif sorted(members) != sorted(candidates[best]):
            run.tied = True
    if best < len(singles):
        run.margin = min(run.margin, single_margin)
    return run.finish(K, mu, candidates[best])


def protostream(K, mu, m, epsilon):
    """Algorithm 2, line by line; sets are never forgotten."""
    run, sets, weights = Run(), {}, {}
    best_gradient, singles, single_margin = -math.inf, [], math.inf
    for j in range(len(mu)):
        if mu[j] >= best_gradient:
            single_margin = min(single_margin, relative(mu[j], best_gradient)) if singles else math.inf
            best_gradient = mu[j]
            singles.append(j)
        rho = max(best_gradient, 0.0) ** 2
        if rho == 0:
            continue
        for level in _thresholds(rho / (2 * m), rho * m / 2, epsilon):
            members, w = sets.setdefault(level, []), weights.setdefault(level, np.zeros(0))
            if len(members) >= m:
                continue
            gradient = mu[j] - K[j, members] @ w
            if run.compare(gradient, math.sqrt(2 * (1 + epsilon) ** level / m)) >= 0:
                members.append(j)
                weights[level] = solve(K[np.ix_(members, members)], mu[members])
    return _best(K, mu, run, [s for s in sets.values() if s], singles, single_margin)


def sievestreaming(K, mu, m, epsilon):
    """Sieve-streaming on equal weights of 1/m, the value of every set computed afresh; no set takes a loss.

    Marginal values are differences of numbers as large as ``mu_j / m``: margins are shares of that.
    """
    run, sets, singles = Run(), {}, []

    def worth(members):
        return float(mu[members].sum() / m - K[np.ix_(members, members)].sum() / (2 * m**2))

    best = -math.inf
    for j in range(len(mu)):
        if mu[j] <= 0:
            continue
        if worth([j]) >= best:
            best = worth([j])
            singles.append(j)
        if best <= 0:
            continue
        for level in _thresholds(best, 2 * m * best, epsilon):
            members = sets.setdefault(level, [])
            if len(members) >= m:
                continue
            tau, gain = (1 + epsilon) ** level, worth([*members, j]) - worth(members)
            least = max(0.0, (tau / 2 - worth(members)) / (m - len(members)))
            run.margin = min(run.margin, abs(gain - least) * m / mu[j])
            if gain >= least:
                members.append(j)
    candidates = [[j] for j in reversed(singles)] + [s for s in sets.values() if s]
    winner = max(candidates, key=worth, default=[])
    for other in candidates:
        if sorted(other) != sorted(winner):
            run.compare(worth(winner), worth(other))
    run.chosen = sorted(winner)
    run.weights = np.full(len(winner), 1 / m)
    run.objective = worth(run.chosen)
    return run


def streak(K, mu, m, epsilon):
    """Streak with a fresh program for every row and threshold."""
    run, sets, values = Run(), {}, {}
    best_value, singles, single_margin = -math.inf, [], math.inf

    def worth(members):
        inside = np.ix_(members, members)
        return value(K[inside], mu[members], solve(K[inside], mu[members]))

    for j in range(len(mu)):
        alone = max(mu[j], 0.0) ** 2 / (2 * K[j, j])
        if alone >= best_value:
            single_margin = min(single_margin, relative(alone, best_value)) if singles else math.inf
            best_value = alone
            singles.append(j)
        if best_value == 0:
            continue
        for level in _thresholds((1 - epsilon) * best_value / (9 * m**2), best_value * m, epsilon):
            members = sets.setdefault(level, [])
            if len(members) >= m:
                continue
            new = worth([*members, j])
            if run.compare(new - values.get(level, 0.0), (1 + epsilon) ** level / m) >= 0:
                members.append(j)
                values[level] = new
    return _best(K, mu, run, [s for s in sets.values() if s], singles, single_margin)


def protoswap(K, mu, m):
    """One set; a newcomer with a positive gradient is tried in the place of every member, each by a fresh program.

    Members whose weight falls to zero leave. The better of the set and ProtoBasic's is the answer.
    """
    run, members, held = Run(), [], 0.0
    w = np.zeros(0)

    def trial(chosen):
        weights = solve(K[np.ix_(chosen, chosen)], mu[chosen])
        kept = [c for c, weight in zip(chosen, weights, strict=True) if weight > 0]
        return value(K[np.ix_(chosen, chosen)], mu[chosen], weights), kept, weights[weights > 0]

    for j in range(len(mu)):
        if any(K[i, j] == K[i, i] == K[j, j] for i in members):
            continue  # a copy of a member: its gradient is zero
        gradient = mu[j] - K[j, members] @ w
        run.margin = min(run.margin, abs(gradient) / mu.max())
        if gradient <= 0:
            continue
        if len(members) < m:
            held, members, w = trial([*members, j])
            continue
        trials = [trial([*members[:i], *members[i + 1 :], j]) for i in range(m)]
        best = max(trials, key=lambda t: t[0])
        for other in trials:
            if other[1] != best[1]:
                run.compare(best[0] - held, other[0] - held)
        if run.compare(best[0] / held, 1.0) > 0:
            held, members, w = best
    basic = protobasic(K, mu, m)
    if basic.objective <= held * (1 + 1e-9):
        return run.finish(K, mu, members)
    basic.margin = min(basic.margin, run.margin)
    return basic


def criticisms(K, strength, candidates, n, diversity):
    """Greedy ``sum strength + diversity log det K``, every determinant anew; and the smallest lead of a choice."""
    chosen, margin = [], math.inf

    def worth(members):
        volume = np.linalg.slogdet(K[np.ix_(members, members)])[1] if diversity else 0.0
        return strength[members].sum() + diversity * volume

    for _ in range(n):
        ranked = sorted((j for j in candidates if j not in chosen), key=lambda j: -worth([*chosen, j]))
        if len(ranked) > 1:
            margin = min(margin, worth([*chosen, ranked[0]]) - worth([*chosen, ranked[1]]))
        chosen.append(ranked[0])
    return chosen, margin


def _largest(run, K, scores, scale):
    """The row with the largest score, of exact copies the first; notes how far behind the best of the others is."""
    best = int(np.argmax(scores))
    close = np.flatnonzero(scores >= scores[best] - 1e-9 * scale)  # further behind, it is no near thing
    copies = close[np.abs(K[close] - K[best]).max(axis=1) <= 1e-14 * np.abs(K[best]).max()]
    behind = scores[best] - np.delete(scores, copies).max(initial=-math.inf)
    run.margin = min(run.margin, behind / scale)
    return int(copies[0])


def protodash(K, mu, m):
    """The largest gradient, m times, a fresh program after each, while there is a positive one."""
    run, weights = Run(), np.zeros(0)
    for _ in range(min(m, len(mu))):
        gradient = mu - K[:, run.order] @ weights
        gradient[run.order] = -math.inf
        if 1e-11 < gradient.max() / mu.max() < 1e-9:
            run.margin = 0.0  # where 1e-10 is the least gradient that counts, rounding decides about these
        if gradient.max() <= 1e-10 * mu.max():
            break
        run.order.append(_largest(run, K, gradient, mu.max()))
        weights = solve(K[np.ix_(run.order, run.order)], mu[run.order])
    return run.finish(K, mu, run.order)


def mmdcritic(K, mu, m):
    """``J_b`` of every set with one row more, from its definition, m times."""
    run = Run()
    for _ in range(min(m, len(mu))):
        worth = np.full(len(mu), -math.inf)
        for j in set(range(len(mu))) - set(run.order):
            members = [*run.order, j]
            worth[j] = 2 * mu[members].mean() - K[np.ix_(members, members)].mean()
        run.order.append(_largest(run, K, worth, mu.max()))
    run.chosen = sorted(run.order)
    run.weights = np.full(len(run.chosen), 1 / len(run.chosen))
    run.objective = value(K[np.ix_(run.chosen, run.chosen)], mu[run.chosen], run.weights)
    return run


def best_subset(f, n, m):
    """The best set of m of n elements and its value, by looking at all of them."""
    best = max(combinations(range(n), m), key=f)
    return best, f(best)
