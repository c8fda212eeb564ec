"""Slow, obvious twins of the library's fast paths: transcriptions of the paper's pseudo-code on a dense Gram matrix.

Each runs on ``K`` (all rows against all rows) and ``mu``, one row at a time, with a fresh non-negative least squares
whenever a set changes. Each also records the smallest margin, relative to the numbers compared, by which it decided
anything: a run that was decided by less than rounding cannot be compared.
"""

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import combinations, pairwise, product
from statistics import NormalDist, mean

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.linalg import solve_triangular
from scipy.optimize import minimize, nnls
from scipy.spatial.distance import cdist

from protosieve.passes import Records, TextsPass, joined_partition, learnt, read_blocks, settle
from protosieve.run import conclude


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
    """Streak with a fresh program for every row and set; thresholds often have the same set."""
    run, sets, values = Run(), {}, {}
    best_value, singles, single_margin = -math.inf, [], math.inf

    @cache
    def worth(*members):
        inside, means = np.ix_(members, members), mu[list(members)]
        return value(K[inside], means, solve(K[inside], means))

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
            new = worth(*members, j)
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


def protodash_within(K, mu, groups, least, most, m):
    """ProtoDash that takes no row of a full group, and where the places left are as many as the rows that groups lack,
    only rows of these groups; the row numbers, and their weights.
    """
    names, groups = np.unique(np.array(groups, str), return_inverse=True)
    least, most = ([of.get(name, beyond) for name in names] for of, beyond in ((least, 0), (most, m)))
    chosen, have, weights = [], np.zeros(len(names), int), np.zeros(0)
    while len(chosen) < m:
        lacking = np.maximum(np.array(least) - have, 0)
        is_tight = lacking.sum() >= m - len(chosen)
        free = ((have < most) & ((lacking > 0) | (not is_tight)))[groups]
        free[chosen] = False
        if not free.any():
            break
        chosen.append(int(np.argmax(np.where(free, mu - K[:, chosen] @ weights, -np.inf))))
        have[groups[chosen[-1]]] += 1
        weights = solve(K[np.ix_(chosen, chosen)], mu[chosen])
    return np.array(chosen), weights


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


# Of each regression, by the name of its class in lower case: ``phi`` and its slope at a predictor, and responses drawn
# at one.


def _leastsquares(y, eta):
    return -0.5 * np.mean((y - eta) ** 2), (y - eta) / len(eta)


def _logistic(y, eta):
    return np.mean(y * eta - np.logaddexp(0, eta)), (y - 1 / (1 + np.exp(-eta))) / len(eta)


def _poisson(y, eta):
    return np.mean(y * eta - np.exp(eta)), (y - np.exp(eta)) / len(eta)


REGRESSIONS = {
    "leastsquares": (_leastsquares, lambda eta, rng: eta + 0.5 * rng.normal(size=len(eta))),
    "logistic": (_logistic, lambda eta, rng: (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float)),
    "poisson": (
        _poisson,
        lambda eta, rng: rng.poisson(np.exp(np.minimum(eta, 3.0))).astype(float) + (np.arange(len(eta)) == 0),
    ),
}


class Regression:
    """Features, a function of their predictor, and SciPy to fit it: every set afresh, from zero.

    ``kind`` is one of `REGRESSIONS`. Values are those above the fit without features.
    """

    def __init__(self, rows, y, kind, *, signed, ridge, intercept):
        self.rows, self.y, self.kind = rows, np.asarray(y, float), kind
        self.signed, self.ridge, self.intercept = signed, ridge, intercept
        self._known = {}
        self.origin = 0.0
        self.origin = self.best(())[2]
        self._known.clear()

    def phi(self, eta):
        return REGRESSIONS[self.kind][0](self.y, eta)

    def _loss(self, p, X):
        eta = p[1:] @ X + p[0]
        value, slope = self.phi(eta)
        gradient = np.concatenate([[slope.sum() if self.intercept else 0.0], X @ slope - self.ridge * p[1:]])
        return -(value - self.ridge * p[1:] @ p[1:] / 2), -gradient

    def best(self, members):
        """Weights, intercept and value of a set, and the slope there: the gradient of a row is <slope, row>."""
        key = tuple(members)
        if key not in self._known:
            X = self.rows[list(key)]
            bounds = [(None, None) if self.intercept else (0, 0), *[(None if self.signed else 0, None)] * len(key)]
            p, free = np.zeros(1 + len(key)), np.array([True, *[self.signed] * len(key)])
            for _ in range(3):  # a fresh start takes L-BFGS further where it has stalled
                p = minimize(
                    self._loss, p, args=(X,), jac=True, method="L-BFGS-B", bounds=bounds,
                    options={"maxiter": 5000, "maxfun": 20000, "ftol": 0, "gtol": 1e-12, "maxcor": 30},
                ).x  # fmt: skip
                slope = self._loss(p, X)[1]
                if np.abs(np.where(free | (p > 0), slope, np.minimum(slope, 0))).max() <= 1e-10:
                    break
            self._known[key] = p[1:], p[0], -self._loss(p, X)[0] - self.origin, self.phi(p[1:] @ X + p[0])[1]
        return self._known[key]

    def value(self, members):
        return self.best(members)[2]

    def pull(self, j, members):
        gradient = self.rows[j] @ self.best(members)[3]
        return abs(gradient) if self.signed else gradient


class ByValues:
    """A set function of rows, by its values."""

    def __init__(self, rows, function):
        self.rows, self._function = rows, function

    def value(self, members):
        return float(self._function(self.rows[list(members)])) if len(members) else 0.0


class Covering:
    """The mean over a target of the similarity to the nearest member; ``K`` has a line for each row that may be one."""

    def __init__(self, K):
        self.K, self.rows = K, range(len(K))

    def value(self, members):
        return covered(self.K, members) / self.K.shape[1]


def _winner(problem, run, sets, singles):
    """The best of all sets; equal ones do not matter."""
    candidates = [*([j] for j in reversed(singles)), *sets]
    best = max(candidates, key=problem.value, default=[])
    for other in candidates:
        if sorted(other) != sorted(best):
            run.compare(problem.value(best), problem.value(other))
    run.chosen, run.objective = sorted(best), problem.value(best)
    return run


def protobasic_of(problem, m):
    """Algorithm 1 for any problem with gradients, or by values alone (Theorem 5.5)."""
    run = Run()
    by_gradient = isinstance(problem, Regression)
    scores = [problem.pull(j, ()) if by_gradient else problem.value([j]) for j in range(len(problem.rows))]
    order = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
    if len(order) > m:
        run.compare(scores[order[m - 1]], scores[order[m]])
    run.chosen = sorted(order[:m])
    run.objective = problem.value(run.chosen)
    return run


def protostream_of(problem, m, epsilon):
    """Algorithm 2 for any problem with gradients."""
    run, sets, singles, top = Run(), {}, [], -math.inf
    for j in range(len(problem.rows)):
        alone = problem.pull(j, ())
        if alone >= top:
            top = alone
            singles.append(j)
        rho = max(top, 0.0) ** 2
        if rho == 0:
            continue
        for level in _thresholds(rho / (2 * m), rho * m / 2, epsilon):
            members = sets.setdefault(level, [])
            if len(members) < m:
                pull = problem.pull(j, members)
                if run.compare(pull, math.sqrt(2 * (1 + epsilon) ** level / m)) >= 0:
                    members.append(j)
    return _winner(problem, run, [s for s in sets.values() if s], singles)


def streak_of(problem, m, epsilon):
    """Streak for any problem: the value of every set with every row."""
    run, sets, singles, top = Run(), {}, [], 0.0
    for j in range(len(problem.rows)):
        alone = problem.value([j])
        if alone >= top and alone > 0:
            top = alone
            singles.append(j)
        if top == 0:
            continue
        for level in _thresholds((1 - epsilon) * top / (9 * m**2), top * m, epsilon):
            members = sets.setdefault(level, [])
            if len(members) < m:
                gain = problem.value([*members, j]) - problem.value(members)
                if run.compare(gain, (1 + epsilon) ** level / m) >= 0:
                    members.append(j)
    return _winner(problem, run, [s for s in sets.values() if s], singles)


def sievestreaming_of(problem, m, epsilon):
    """Badanidiyuru et al.: a row joins where it adds an equal share of what is lacking to half of the threshold."""
    run, sets, singles, top = Run(), {}, [], 0.0
    for j in range(len(problem.rows)):
        alone = problem.value([j])
        if alone >= top and alone > 0:
            top = alone
            singles.append(j)
        if top == 0:
            continue
        for level in _thresholds(top, 2 * m * top, epsilon):
            members = sets.setdefault(level, [])
            if len(members) < m:
                value = problem.value(members)
                gain = problem.value([*members, j]) - value
                least = max(0.0, ((1 + epsilon) ** level / 2 - value) / (m - len(members)))
                run.margin = min(run.margin, abs(gain - least) / top if gain or least else math.inf)
                if gain > 0 and gain >= least:
                    members.append(j)
    return _winner(problem, run, [s for s in sets.values() if s], singles)


def greedy_of(problem, m):
    """The largest gain, m times, of equal ones the first; every gain anew."""
    run, chosen = Run(), []
    whole = problem.value(problem.rows)
    while len(chosen) < m:
        gains = {j: problem.value([*chosen, j]) - problem.value(chosen) for j in problem.rows if j not in chosen}
        best = max(gains, key=gains.get, default=None)
        if best is None or gains[best] <= 1e-10 * whole:
            break
        copies = [j for j in gains if np.abs(problem.K[j] - problem.K[best]).max() <= 1e-14]
        run.margin = min(
            [run.margin, gains[best] / whole, *(abs(gains[best] - gains[j]) / whole for j in gains if j not in copies)]
        )
        chosen.append(copies[0])
    run.order, run.chosen, run.objective = list(chosen), sorted(chosen), problem.value(chosen)
    return run


def protodash_of(problem, m):
    """The largest gradient, m times."""
    run, chosen = Run(), []
    while len(chosen) < m:
        pulls = {j: problem.pull(j, chosen) for j in range(len(problem.rows)) if j not in chosen}
        if not pulls:
            break
        best = max(pulls, key=pulls.get)
        if run.compare(pulls[best], 1e-10) <= 0:
            break
        for j, pull in pulls.items():
            if j != best:
                run.compare(pulls[best], pull)
        chosen.append(best)
    run.order, run.chosen, run.objective = list(chosen), sorted(chosen), problem.value(chosen)
    return run


def swaps_of(problem, m):
    """One set; every row with a gradient is tried in the place of every member, each by a fresh fit; signs free."""
    run, chosen = Run(), []
    for j in range(len(problem.rows)):
        if run.compare(problem.pull(j, chosen), 1e-10) <= 0:
            continue
        if len(chosen) < m:
            chosen.append(j)
            continue
        others = [[i for i in chosen if i != gone] + [j] for gone in chosen]
        best = max(others, key=problem.value)
        if run.compare(problem.value(best), problem.value(chosen)) > 0:
            chosen = best
    run.chosen, run.objective = sorted(chosen), problem.value(chosen)
    return run


def best_subset(f, n, m):
    """The best set of m of n elements and its value, by looking at all of them."""
    best = max(combinations(range(n), m), key=f)
    return best, f(best)


def splitmix64(seed, number):
    """The hash of a row number, with Python's own whole numbers."""
    golden, mask = 0x9E3779B97F4A7C15, 2**64 - 1

    def mixed(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
        return x ^ x >> 31

    return mixed(mixed(seed + golden & mask) + number * golden & mask)


def greedy_curve(K, mu, bound):
    """What growing sets leave: the member of the largest gradient added, NNLS from nothing each time."""
    chosen, residuals, w = [], [], np.zeros(0)
    while len(chosen) < len(mu):
        gradient = mu - K[:, chosen] @ w
        gradient[chosen] = -math.inf
        chosen.append(int(gradient.argmax()))
        inside = np.ix_(chosen, chosen)
        w = solve(K[inside], mu[chosen])
        residuals.append(1 - value(K[inside], mu[chosen], w) / bound)
    return residuals


def ks_distance(data, values, weights):
    """The largest difference of two distribution functions, looked for at every point of both, and just before it."""
    points = np.concatenate([data, values])
    at = [abs(np.mean(data <= x) - weights[values <= x].sum()) for x in points]
    before = [abs(np.mean(data < x) - weights[values < x].sum()) for x in points]
    return max(at + before)


def weighted_quantile(values, weights, share):
    """The smallest value at or below which there is such a share of the weight."""
    return next(x for x in sorted(values) if weights[values <= x].sum() >= share * weights.sum() * (1 - 1e-9))


def fading_sample(numbers, half_life, size, seed):
    """Of rows that came, those a sample of the recent past holds, and those beyond it, by hash over weight."""
    found = []
    for number in numbers:
        u, weight = (splitmix64(seed, number) + 0.5) / 2**64, 2.0 ** (-(max(numbers) - number) / half_life)
        found.append((u / weight, number))
    kept = sorted(found)[:size]
    if len(numbers) < 32:
        return [number for _, number in kept], []
    return [number for ratio, number in kept if ratio <= 1], [number for ratio, number in kept if 1 < ratio <= 8]


def select_in_turn(job):
    """A run over partitions, one after the other in this thread: what `protosieve.run.choose` must give anywhere."""
    if job.layout.unlearnt:
        job = learnt(job, merged_in_turn(TextsPass.of(job), job.inputs))
    inputs = merged_in_turn(job.survey(), job.inputs)
    target = merged_in_turn(job.survey(of_target=True), job.targets) if job.targets else None
    plan = settle(job, inputs, target)
    if job.options.per is not None:
        return conclude(InTurn(), plan, inputs, target)
    if plan.fits_in_memory:
        fitted = plan.fitted({})
        numbers = np.sort(plan.candidates.numbers)[fitted.result_.indices]
        return plan.result(fitted.result_, numbers, _columns_of(plan, numbers), fitted.known_comparison())
    mean, sums = (plan.coverage, None) if job.options.goal == "cover" else _mean_in_turn(plan)
    if job.options.method != "swap":
        choice = over(plan.choosing(mean), joined_partition(job.inputs))
        records = choice.records()
        return plan.result(choice.selector.result_, records.numbers, records, choice.selector.known_comparison())
    if job.targets and not plan.candidates.is_whole:
        sums = merged_in_turn(plan.sums("sums", mean, of_target=False, of_input=True), job.inputs)
    chosen = plan.chosen(mean, plan.best(mean, sums), {})
    return plan.result(chosen, chosen.indices, _columns_of(plan, chosen.indices), mean)


def select_per_group(selector, X, groups, m):
    """Of each group of rows the same as of these rows alone: row numbers and weights within the group, by its name."""
    found = {}
    for name in dict.fromkeys(groups):
        rows = np.array([i for i, group in enumerate(groups) if group == name])
        result = selector(min(m, len(rows))).fit(X[rows]).result_
        found[name] = dict(zip(rows[result.indices].tolist(), result.weights.tolist(), strict=True))
    return found


class InTurn:
    """The passes that a run over groups asks for, one partition after the other."""

    def gather(self, work, partitions):
        return merged_in_turn(work, partitions)


def _mean_in_turn(plan):
    """The mean of the target, and the sums of inputs that are their own."""
    job = plan.job
    if not job.targets:
        sums = merged_in_turn(plan.sums("sums", plan.estimate, of_target=True, of_input=True), job.inputs)
        return plan.mean(sums.sums), sums
    if plan.target.is_whole:
        return plan.mean(None), None
    sums = merged_in_turn(plan.sums("target-sums", plan.estimate, of_target=True, of_input=False), job.targets)
    return plan.mean(sums.sums), None


def _columns_of(plan, numbers):
    """All columns of these rows, which are read once more if only one of them was not kept."""
    if np.isin(numbers, plan.records.numbers).all():
        return plan.records.of(numbers)
    work, partitions = plan.fetching(numbers)
    fetched = [one.under(plan.numbering.numbers) for one in merged_in_turn(work, partitions).records]
    return Records.joined([plan.records, *fetched]).of(numbers)


def merged_in_turn(work, partitions):
    """The value of a pass: that of the first partition, which takes in one after the other."""
    whole = over(work, partitions[0])
    for partition in partitions[1:]:
        whole.merge(over(work, partition))
    return whole


def over(work, partition):
    """A pass over one partition, block after block, nothing read ahead."""
    value = work.begin(partition)
    how = (work.columns, partition.start, work.skip, lambda: work.grows)
    for block in read_blocks(partition.row_ranges, work.layout(value), *how):
        value.rows += len(block)
        if len(block):
            work.take(value, block, work.look(block, partition), partition)
        work.left_out(value, block)
        value.until = block.until
    work.end(value, partition)
    value.until = None
    return value


class Calibrated:
    """The calibrated mean by its formulas: ``rest`` are rows of a uniform sample that are no points."""

    def __init__(self, kernel, points, rows, rest):
        self._kernel, self._points, self._rest = kernel, points, rest
        K, at_points = kernel(points, points), kernel(points, rows).mean(axis=1)
        self._share = 1 - len(points) / len(rows)
        self._v = np.linalg.solve(K, at_points)
        self._a = np.linalg.solve(K, at_points - self._share * kernel(points, rest).mean(axis=1))

    def quick(self, X):
        return self._kernel(X, self._points) @ self._v

    def full(self, X):
        return self._share * self._kernel(X, self._rest).mean(axis=1) + self._kernel(X, self._points) @ self._a


def residual(kernel, X, rows, weights):
    """What weighted rows leave of the mean of X, in float64, every pair of rows compared."""
    X, rows = X.astype(np.float64), rows.astype(np.float64)
    norm = sum(kernel(X[start : start + 1000], X).sum() for start in range(0, len(X), 1000)) / len(X) ** 2
    mu = sum(kernel(rows, X[start : start + 1000]).sum(axis=1) for start in range(0, len(X), 1000)) / len(X)
    return 1 - (2 * weights @ mu - weights @ kernel(rows) @ weights) / norm


def nearest_prototype(selectors, labels, X, y, rows):
    """A selector for each label, fed the rows of its own: prototypes as (label, row number), labels of ``rows`` and
    votes for them, by a Gaussian of a quarter of the median width of classes with more than one row.
    """
    chosen = []  # label, row number, votes
    widths = []
    for label, selector in zip(labels, selectors, strict=True):
        numbers = [i for i in range(len(X)) if y[i] == label]
        if not numbers:
            continue
        selector.partial_fit(X[numbers])
        if len(numbers) > 1:
            widths.append(selector.kernel_.width)
        share = len(numbers) / len(X)
        for own, weight in zip(selector.prototype_indices_, selector.weights_, strict=True):
            chosen.append((label, numbers[own], share * weight / selector.weights_.sum()))
    width = float(np.median(widths)) / 4
    predicted, votes = [], []
    for row in rows:
        distances = [math.dist(row, X[number]) for _, number, _ in chosen]
        predicted.append(chosen[int(np.argmin(distances))][0])
        of = dict.fromkeys(labels, 0.0)
        for (label, _, weight), distance in zip(chosen, distances, strict=True):
            of[label] += weight * math.exp(-((distance / width) ** 2) / 2)
        of[predicted[-1]] = max(of.values()) or 1.0
        votes.append([of[label] / sum(of.values()) for label in labels])
    return [(label, number) for label, number, _ in chosen], predicted, votes


def task_of(row):
    """A row as the data of one of Label Studio's tasks: no text is null, no number is NaN or infinite."""
    data = {}
    for name, cell in row.items():
        if cell is None and name == "text":
            data[name] = ""
        elif isinstance(cell, float) and not math.isfinite(cell):
            data[name] = None
        else:
            data[name] = cell
    return data


def covered(K, members):
    """What members cover of the rows of a target: ``sum_x max(0, max_s k(x, s))``."""
    chosen = np.asarray(K, np.float64)[list(members)]
    return float(np.maximum(chosen.max(axis=0, initial=0), 0).sum())


class CoverSet:
    """The best exchange of a block, as long as one raises the value; every pair is tried. What is left is, for each row
    of the block, by how much its best exchange would raise it.
    """

    def __init__(self, K, room):
        self.K, self.room, self.members = K, room, []

    @property
    def value(self):
        return covered(self.K, self.members)

    def offer(self, rows):
        while True:
            tried = []
            for row in (row for row in rows if row not in self.members):
                for gone in range(self.room):
                    others = [member for place, member in enumerate(self.members) if place != gone]
                    tried.append((covered(self.K, [*others, row]), [*others, row]))
            best, members = max(tried, key=lambda one: one[0], default=(0.0, []))
            if best <= self.value * (1 + 1e-12) + 1e-300:
                return {row: self.change(row) for row in rows}
            self.members = members

    def change(self, row):
        if row in self.members:
            return -math.inf
        sets = ([*self.members[:gone], *self.members[gone + 1 :], row] for gone in range(self.room))
        return max(covered(self.K, one) for one in sets) - self.value


def ranked(values):
    """Heavy-tailed values made normal: between the quantiles at -3, -2.95 ... 3 of a normal, one value at a time."""
    normal, ranks = NormalDist(), {}
    for score in np.linspace(-3, 3, 121).tolist():
        knot = {-3.0: values.min(), 3.0: values.max()}.get(score, np.quantile(values, normal.cdf(score)))
        ranks.setdefault(float(knot), []).append(normal.cdf(score))
    knots = [(knot, normal.inv_cdf(mean(ranks[knot]))) for knot in sorted(ranks)]

    def score_of(x):
        (a, low), (b, high) = next(pair for pair in pairwise(knots) if x <= pair[1][0])
        return low + (high - low) * (x - a) / (b - a)

    return np.array([score_of(x) for x in values.tolist()])


def usual_date(text, day_first):
    """Seconds since 1970 of a date as people write it, by the first of Python's formats that fits; None for no date."""
    numbers = "%d/%m/%Y" if day_first else "%m/%d/%Y"
    dates = ["%Y/%m/%d", numbers, "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y"]
    times = ["", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p"]
    plain = text.replace(".", "/", 2) if text[:1].isdigit() and "." in text[:5] else text.replace(",", "")
    for date, time in ((date, time) for date in dates for time in times):
        try:
            return (datetime.strptime(plain, date + time) - datetime(1970, 1, 1)) / timedelta(seconds=1)
        except ValueError:
            continue
    return None


def text_row(text, features):
    """The row of one text, by its words, one after the other, and Python's whole numbers."""
    words = "".join(map(text_spaced, text_folded(text))).split()
    table = {
        int(own): steps * features.scale.astype(float)
        for own, steps in zip(features.hashes, features.steps, strict=True)
    }
    row = np.zeros(len(features.scale))
    for word, times in Counter(words).items():
        for feature in [text_hash(word), *text_pieces(word)]:
            row += (1 + math.log(times)) * table.get(feature, 0.0)
    for (left, right), times in Counter(pairwise(words)).items():
        row += (1 + math.log(times)) * table.get(mixed((text_hash(left) * RADIX + text_hash(right)) % 2**64), 0.0)
    return (
        np.append(row / np.linalg.norm(row), 0)
        if row.any()
        else np.append(row, float(features.width > 0))[: features.width]
    )


RADIX = 0x9E3779B97F4A7C15


def text_spaced(letter):
    """Letters, digits and marks as they are, ideographs and emoji as words of their own, all else as a space."""
    kind = unicodedata.category(letter)
    if letter == "\ufe0f" or not (kind[0] in "LNM" or kind == "So"):
        return "" if letter == "\ufe0f" else " "
    alone = kind == "So" or unicodedata.name(letter, "").startswith(("CJK", "HIRAGANA", "KATAKANA"))
    return f" {letter} " if alone else letter


def text_folded(text):
    return pc.utf8_lower(pc.utf8_normalize(pa.array([text]), "NFKC"))[0].as_py()


def mixed(value):
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def text_hash(word):
    """Of a whole word, with a space before it and one behind."""
    letters = [mixed(ord(letter) + 1) for letter in f" {word} "]
    return mixed(sum(letter * RADIX ** (place + 1) for place, letter in enumerate(letters)) % 2**64)


def text_pieces(word):
    """Hashes of its pieces of 3, 4 and 5 characters."""
    found, padded = [], f" {word} "
    for size in (3, 4, 5):
        for start in range(len(padded) - size + 1):
            rolled = 0
            for letter in padded[start : start + size]:
                rolled = (rolled * RADIX + mixed(ord(letter) + 1)) % 2**64
            found.append(mixed((rolled + size) % 2**64))
    return found


def text_similarities(texts, words_weigh):
    """Cosines between texts on all of their main axes, from dense matrices; for few texts, none of which is empty."""
    counts = []
    for text in texts:
        words, found = text.split(), Counter()
        for word, times in Counter(words).items():
            for piece in text_pieces(word):
                found["piece", piece] += 1 + math.log(times)
            found["word", word] += 1 + math.log(times)
        found.update({("word", pair): 1 + math.log(times) for pair, times in Counter(pairwise(words)).items()})
        counts.append(found)
    in_texts = Counter(feature for found in counts for feature in found)
    features = [feature for feature, times in in_texts.items() if times > 1]
    rare = np.array([math.log((1 + len(texts)) / (1 + in_texts[feature])) + 1 for feature in features])
    X = np.array([[found[feature] for feature in features] for found in counts]) * rare
    is_piece = np.array([kind == "piece" for kind, _ in features])
    X[:, ~is_piece] *= words_weigh * math.sqrt((X[:, is_piece] ** 2).sum() / (X[:, ~is_piece] ** 2).sum())
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    rows = (left * np.sqrt(values))[:, values > 1e-3 * values[0]]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def spelt_words(rows):
    """The set of the words of each row of texts, each in the spelling most often seen, of equal ones the first."""
    texts = [text or "" for column in zip(*rows, strict=True) for text in column]  # column by column
    words = ["".join(map(text_spaced, unicodedata.normalize("NFKC", text))).split() for text in texts]
    seen = Counter(word for found in words for word in found)
    best = {}
    for word in seen:  # in the order they were met
        folded = text_folded(word)
        if folded not in best or seen[word] > seen[best[folded]]:
            best[folded] = word
    return [{best[text_folded(word)] for found in words[i :: len(rows)] for word in found} for i in range(len(rows))]


def log_odds(inside, without, elsewhere, rest):
    """By how many standard errors the log-odds of a word are larger inside; the prior is a row like all rows."""
    total = inside + without + elsewhere + rest
    share = (inside + elsewhere) / total
    a, b, c, d = inside + share, without + 1 - share, elsewhere + share, rest + 1 - share
    if not (a and b and c and d):
        return 0.0
    return (math.log(a / b) - math.log(c / d)) / math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)


def image_row(pixels):
    """`preprocess.rows_of_images` of one image, pixel by pixel."""
    edges, colours = np.zeros((4, 4, 16)), np.zeros((4, 4, 4))
    last = len(pixels) - 1
    for y, x in product(range(32), repeat=2):
        tones = pixels[y, x] / 255 * 3
        for colour in product(range(4), repeat=3):
            colours[colour] += np.prod([max(0.0, 1 - abs(tone - c)) for tone, c in zip(tones, colour, strict=True)])
        slopes = []
        for channel in range(3):
            bright = np.sqrt(pixels[:, :, channel] / 255)
            right = bright[y, min(x + 1, last)] - bright[y, max(x - 1, 0)]
            down = bright[min(y + 1, last), x] - bright[max(y - 1, 0), x]
            slopes.append((right, down))
        right, down = max(slopes, key=lambda one: one[0] ** 2 + one[1] ** 2)
        turn = np.arctan2(down, right) / (2 * np.pi) * 16 % 16
        for v, u in product(range(4), repeat=2):
            near = max(0.0, 1 - abs(y + 0.5 - 8 * (v + 0.5)) / 8) * max(0.0, 1 - abs(x + 0.5 - 8 * (u + 0.5)) / 8)
            part = turn - np.floor(turn)
            edges[v, u, int(turn) % 16] += near * np.hypot(right, down) * (1 - part)
            edges[v, u, (int(turn) + 1) % 16] += near * np.hypot(right, down) * part
    edges /= np.sqrt((edges**2).sum() + 1)
    colours = np.sqrt(colours / colours.sum())
    return np.concatenate([edges.ravel(), colours.ravel() / 2]) / np.sqrt(1.25)
