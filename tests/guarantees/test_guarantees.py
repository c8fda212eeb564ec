"""The paper's lemmas and theorems, and the constants in them, against brute force over all supports."""

from dataclasses import dataclass, field
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest

import oracles
from protosieve import ProtoBasic, ProtoDash, ProtoStream
from protosieve.errors import InputError, ParameterError
from protosieve.guarantees import (
    Curvature,
    Ratios,
    basic_guarantee,
    curvature,
    curvature_bounds,
    curvature_on,
    ratio_bounds,
    ratio_range,
    singleton_guarantee,
    submodularity_ratio,
)
from protosieve.kernels import Gaussian
from protosieve.objectives import LeastSquares, Logistic, SmoothObjective
from volumes import repeated, volume

pytestmark = pytest.mark.usefixtures("one_blas_thread")

SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Quadratic:
    """``w'mu - w'K w / 2``: all that the lemmas speak of, by fresh solves."""

    K: np.ndarray
    mu: np.ndarray
    signed: bool
    _known: dict = field(default_factory=dict)

    def __len__(self):
        return len(self.mu)

    def weights(self, L):
        """``zeta(L)``, on L."""
        solve = np.linalg.solve if self.signed else oracles.solve
        return solve(self.K[np.ix_(L, L)], self.mu[list(L)])

    def value(self, L):
        """``f(L)``."""
        if L not in self._known:
            self._known[L] = oracles.value(self.K[np.ix_(L, L)], self.mu[list(L)], self.weights(L)) if L else 0.0
        return self._known[L]

    def gradient(self, L):
        """How much of the gradient at ``zeta(L)`` weights can follow: its positive part, or its size."""
        gradient = self.mu - self.K[:, list(L)] @ self.weights(L) if L else self.mu
        return np.abs(gradient) if self.signed else np.maximum(gradient, 0)

    def curvature(self, size):
        """``c`` and ``C~``, where not the objective's but the library's are on trial."""
        return curvature(self.K, min(size, len(self)))

    def basic(self, m):
        """The m largest gradients."""
        return tuple(sorted(np.argsort(-self.gradient(()), kind="stable")[:m].tolist()))


@dataclass(frozen=True, eq=False)
class Features:
    """A regression over features: the library's fits, each shown to be the best by the conditions of optimality.

    ``l`` is strongly concave by its ridge, so weights whose gradient is g are within ``|g|^2 / (2 ridge)`` of the best.
    With an intercept, which takes its best value whatever the weights, ``l`` curves as the features do around their
    means: ``min_t sum_i h_i (v'x_i + t)^2 <= max h  min_t sum_i (v'x_i + t)^2``.
    """

    rows: np.ndarray
    objective: SmoothObjective
    bends: tuple[float, float]  # the second derivative of the loss of one sample lies between
    _known: dict = field(default_factory=dict)
    _curvatures: dict = field(default_factory=dict)

    def __len__(self):
        return len(self.rows)

    def fit(self, L):
        if L not in self._known:
            fit = self.objective.fitted(self.rows[list(L)], np.zeros(len(L))) if L else self.objective.empty()
            self._prove(L, fit)
            self._known[L] = fit
        return self._known[L]

    def _prove(self, L, fit):
        l, w = self.objective, fit.weights
        eta = w @ self.rows[list(L)] + fit.intercept
        if isinstance(l, LeastSquares):
            slope, value, nothing = l.y - eta, -((l.y - eta) ** 2) / 2, -((l.y - l.y.mean() * l.intercept) ** 2) / 2
        else:
            p = l.y.mean() if l.intercept else 0.5
            slope, value = l.y - 1 / (1 + np.exp(-eta)), l.y * eta - np.logaddexp(0, eta)
            nothing = l.y * np.log(p) + (1 - l.y) * np.log(1 - p)
        assert fit.value == pytest.approx(value.mean() - l.ridge * w @ w / 2 - nothing.mean(), abs=1e-12)
        g = self.rows[list(L)] @ slope / len(l.y) - l.ridge * w
        g = g if l.signed else np.where(w > 0, g, np.maximum(g, 0))
        assert l.signed or (w >= 0).all()
        assert g @ g / (2 * l.ridge) <= 1e-14
        assert abs(slope.mean()) <= 1e-9 if l.intercept else fit.intercept == 0

    def value(self, L):
        return self.fit(L).value

    def gradient(self, L):
        gradient = self.rows @ self.fit(L).slope
        gradient[list(L)] -= self.objective.ridge * self.fit(L).weights
        return np.abs(gradient) if self.objective.signed else np.maximum(gradient, 0)

    def curvature(self, size):
        size = min(size, len(self))
        if size not in self._curvatures:
            centre = self.rows.mean(axis=1, keepdims=True) if self.objective.intercept else 0.0
            K = (self.rows - centre) @ (self.rows - centre).T / self.rows.shape[1]
            self._curvatures[size] = curvature(K, size).between(*self.bends, self.objective.ridge)
        return self._curvatures[size]

    def basic(self, m):
        """What the selector keeps."""
        return tuple(sorted(ProtoBasic(m, objective=self.objective).fit(self.rows).prototype_indices_.tolist()))


def features(seed, kind, signed):
    """Alike or not, of different lengths and means; one of them at least helps."""
    rng = np.random.default_rng([seed, 3])
    n, samples = int(rng.integers(2, 13)), int(rng.integers(8, 40))
    rows = rng.normal(size=(n, samples)) + rng.choice([0.0, 1.0]) * rng.normal(size=samples)
    rows = rows * rng.uniform(0.5, 2, size=(n, 1)) + 0.5 * rng.normal(size=(n, 1))
    eta = rng.normal(size=n) @ rows
    y = eta + rng.normal(size=samples)
    if kind is Logistic:
        y = y > np.median(y)
    objective = kind(y, signed=signed, ridge=float(rng.choice([0.01, 0.1, 1.0])), intercept=bool(seed % 2))
    if rows[0] @ objective.empty().slope < 0:
        rows[0] *= -1
    return Features(rows, objective, (1, 1) if kind is LeastSquares else (0, 1 / 4))


def quadratic(seed, signed):
    """Gaussian kernels with their own mean, or matrices of any signs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 13))
    if seed % 2:
        X = rng.normal(size=(n, 2))
        mu = oracles.gaussian(X, rng.normal(size=(20, 2)), 0.7).mean(axis=1)
        return Quadratic(oracles.gaussian(X, X, 0.7), mu, signed)
    A = rng.normal(size=(n, n + int(rng.integers(0, 20))))
    return Quadratic(A @ A.T / A.shape[1], rng.normal(size=n), signed)


def sizes(problem, seed):
    return int(np.random.default_rng([seed, 1]).integers(1, min(len(problem), 4) + 1))


def subset(rng, elements, most):
    size = int(rng.integers(1, most + 1))
    return tuple(sorted(int(j) for j in rng.choice(elements, size, replace=False)))


def union(*sets):
    return tuple(sorted(sum(sets, ())))


PROBLEMS = {
    "non-negative": partial(quadratic, signed=False),
    "signed": partial(quadratic, signed=True),
    "squares": partial(features, kind=LeastSquares, signed=False),
    "squares, signed": partial(features, kind=LeastSquares, signed=True),
    "logistic": partial(features, kind=Logistic, signed=False),
    "logistic, signed": partial(features, kind=Logistic, signed=True),
}


@pytest.fixture(params=PROBLEMS, scope="module")
def problems(request):
    """15 or 100 of them, with m."""
    made = [PROBLEMS[request.param](seed) for seed in range(volume(15, 100))]
    return [(problem, sizes(problem, seed)) for seed, problem in enumerate(made)]


def at_most(smaller, larger, scale):
    assert smaller <= larger + SLACK * abs(scale)


# -- the theorems


@repeated
def test_theorem_5_3_the_largest_gradients_are_worth_kappa(problems):
    for problem, m in problems:
        chosen = problem.basic(m)
        best = oracles.best_subset(problem.value, len(problem), m)[1]
        at_most(basic_guarantee(problem.curvature(m)).kappa * best, problem.value(chosen), best)


@repeated
def test_theorem_5_5_the_best_single_elements_are_worth_kappa(problems):
    for problem, m in problems:
        chosen = sorted(range(len(problem)), key=lambda j, f=problem.value: -f((j,)))[:m]
        ratios = ratio_range(problem.value, len(problem), m)
        best = oracles.best_subset(problem.value, len(problem), m)[1]
        exact, bound = singleton_guarantee(ratios), singleton_guarantee(ratio_bounds(problem.curvature, 0, m))
        at_most(exact.kappa * best, problem.value(tuple(sorted(chosen))), best)
        at_most(bound.kappa, exact.kappa, 1)
        at_most(ratio_bounds(problem.curvature, 0, m).lower, ratios.lower, 1)
        at_most(ratios.upper, ratio_bounds(problem.curvature, 0, m).upper, ratios.upper)


# -- the lemmas


@repeated
def test_lemmas_5_1_and_5_2_gains_lie_between_gradients_by_curvature(problems):
    for seed, (problem, m) in enumerate(problems):
        for L, S in pairs(problem, m, seed):
            gain = problem.value(union(L, S)) - problem.value(L)
            squares = (problem.gradient(L)[list(S)] ** 2).sum() / 2
            scale = problem.value(union(L, S))
            at_most(squares, problem.curvature(len(S)).C * gain, problem.curvature(len(S)).C * scale)
            at_most(problem.curvature(len(L) + len(S)).c * gain, squares, scale)


@repeated
def test_lemma_5_4_the_ratio_is_within_its_bounds(problems):
    for seed, (problem, m) in enumerate(problems):
        for L, S in pairs(problem, m, seed):
            if problem.value(union(L, S)) - problem.value(L) <= 1e-6 * problem.value(union(L, S)):
                continue  # a difference of rounding
            gamma, bounds = submodularity_ratio(problem.value, L, S), ratio_bounds(problem.curvature, len(L), len(S))
            at_most(bounds.lower, gamma, 1e3)
            at_most(gamma, bounds.upper, 1e3 * gamma)


@repeated
def test_lemma_5_6_a_full_set_is_worth_its_threshold(problems):
    full = 0
    for problem, m in problems:
        smooth, rho = problem.curvature(1).C, problem.gradient(()).max() ** 2
        for tau in np.geomspace(rho / (2 * m), rho * m / 2, 8) if rho else []:
            L = ()
            for j in range(len(problem)):
                if len(L) < m and problem.gradient(L)[j] >= np.sqrt(2 * tau / m):
                    at_most(tau / (smooth * m), problem.value(union(L, (j,))) - problem.value(L), tau / smooth)
                    L = union(L, (j,))
            if len(L) == m:
                full += 1
                at_most(tau / smooth, problem.value(L), tau / smooth)
    assert full > len(problems)


def pairs(problem, m, seed):
    """Disjoint sets; the first of each problem grows from nothing."""
    rng = np.random.default_rng([seed, 2])
    yield (), subset(rng, len(problem), m)
    for _ in range(3 if len(problem) > m else 0):
        L = subset(rng, len(problem), m)
        rest = np.setdiff1d(np.arange(len(problem)), L)
        if len(rest):
            yield L, subset(rng, rest, min(m, len(rest)))


def test_the_certificate_bounds_every_support_and_protobasic_keeps_its_guarantee():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, target = rng.normal(size=(int(rng.integers(4, 13)), 2)), rng.normal(size=(30, 2))
        m = int(rng.integers(1, 5))
        K, mu = oracles.gaussian(X, X, 1.0), oracles.gaussian(X, target, 1.0).mean(axis=1)
        result = ProtoBasic(m, kernel=Gaussian(1.0)).fit(X, target=target).result_
        best = oracles.best_subset(Quadratic(K, mu, False).value, len(X), m)[1]
        at_most(best, result.certificate.upper_bound, best)
        at_most(basic_guarantee(curvature(K, m)).kappa * best, result.objective, best)
        at_most(result.certificate.ratio * best, result.objective, best)


@repeated
@pytest.mark.parametrize("problems", list(PROBLEMS)[2:], indirect=True, scope="module")
def test_certificates_of_regressions_bound_every_support(problems):
    for problem, m in problems:
        best = oracles.best_subset(problem.value, len(problem), m)[1]
        for selector in (ProtoBasic, ProtoStream, ProtoDash):
            result = selector(m, objective=problem.objective).fit(problem.rows).result_
            assert result.objective == pytest.approx(problem.value(tuple(sorted(result.indices.tolist()))), abs=1e-12)
            at_most(result.objective, best, best)
            at_most(best, result.certificate.upper_bound, best)
            at_most(result.certificate.ratio * best, result.objective, best)


# -- the constants


@repeated
def test_curvature_is_that_of_the_worst_support():
    for seed in range(volume(10, 40)):
        K = quadratic(seed, signed=True).K
        for size in range(1, min(len(K), 4) + 1):
            one_by_one = [curvature_on(K, L) for L in combinations(range(len(K)), size)]
            exact, bound = curvature(K, size), curvature_bounds(K, size)
            assert exact.c == pytest.approx(min(part.c for part in one_by_one), rel=1e-9, abs=1e-12)
            assert max(part.C for part in one_by_one) == pytest.approx(exact.C)
            at_most(bound.c, exact.c, exact.C)
            at_most(exact.C, bound.C, exact.C)
            if bound.exact:
                assert pytest.approx(exact.C) == bound.C
                assert bound.c == pytest.approx(exact.c, abs=1e-9 * exact.C)


def test_curvature_on_a_support_is_met_by_its_eigenvectors_and_by_no_step():
    rng = np.random.default_rng(0)
    K = quadratic(4, signed=True).K
    found = curvature_on(K, (0, 1))
    steps = rng.normal(size=(1000, 2))
    curves = ((steps @ K[:2, :2]) * steps).sum(axis=1) / (steps**2).sum(axis=1)
    assert found.c <= curves.min() < found.c * 1.01
    assert found.C * 0.99 < curves.max() <= found.C
    assert found.condition == found.C / found.c


def test_points_without_a_common_support_curve_less_than_c():
    """The paper's definition, read to the letter, has the constant of twice the size for its bound."""
    K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    step = np.array([1.0, -1.0, 0.0])  # between two points of one element each
    literal = step @ K @ step / (step @ step)
    assert curvature(K, 1).c == 1.0
    assert curvature(K, 2).c == pytest.approx(literal)
    assert literal == pytest.approx(0.1)


def test_hessians_between_two_multiples_have_their_curvature_between():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 40))
    found = curvature(X @ X.T / 40, 3).between(0.05, 0.25, ridge=0.01)
    for _ in range(200):
        hessian = (X * rng.uniform(0.05, 0.25, size=40)) @ X.T / 40 + 0.01 * np.eye(6)
        there = curvature(hessian, 3)
        assert found.c <= there.c <= there.C <= found.C
    assert not found.exact
    assert curvature(X @ X.T, 3).between(2, 2).exact


# -- the submodularity ratio


def impossible(k):
    """Section 5.3: ``min(2 u + 1, 2 v)``; elements below k are U's, the others V's."""
    return lambda S: min(2 * sum(j < k for j in S) + 1, 2 * sum(j >= k for j in S))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 100])
def test_no_bound_holds_for_the_impossible_function(k):
    assert submodularity_ratio(impossible(k), (), range(k, 2 * k)) == k


@pytest.mark.parametrize("k", [2, 4, 6])
def test_the_best_single_elements_of_the_impossible_function_are_worth_one_of_k(k):
    f, ratios = impossible(k), ratio_range(impossible(k), 2 * k, k)
    best = oracles.best_subset(f, 2 * k, k)[1]
    assert (ratios.lower, ratios.upper) == (0.5, k)
    assert f(tuple(range(k, 2 * k))) / best == 1 / k >= singleton_guarantee(ratios).kappa == 1 / (2 * k)


def test_submodular_functions_have_ratios_of_at_least_one():
    rng = np.random.default_rng(0)
    covers = [set(rng.integers(30, size=6).tolist()) for _ in range(9)]
    coverage = cache(lambda S: len(set().union(*(covers[j] for j in S))))
    assert ratio_range(coverage, 9, 4).lower >= 1
    for _ in range(50):
        L, S = np.split(rng.permutation(9)[:6], [2])
        assert submodularity_ratio(coverage, L.tolist(), S.tolist()) >= 1


def test_modular_functions_lose_nothing():
    weights = np.random.default_rng(0).random(8)
    ratios = ratio_range(lambda S: float(weights[list(S)].sum()), 8, 3)
    assert singleton_guarantee(ratios).kappa == pytest.approx(1)


def test_where_nothing_is_gained_the_ratio_is_one():
    assert submodularity_ratio(lambda S: float(0 in S), (0,), (1, 2)) == 1
    assert ratio_range(lambda S: 0.0, 4, 2) == Ratios(2, 1.0, 1.0)
    assert ratio_range(lambda S: float({0, 1} <= set(S)), 4, 2).lower == 0
    assert singleton_guarantee(ratio_range(lambda S: float({0, 1} <= set(S)), 4, 2)).kappa == 0


# -- words


def test_guarantees_say_what_they_mean():
    assert str(basic_guarantee(Curvature(4, 0.12, 1.0))) == (
        "ProtoBasic is guaranteed at least 12 % of the value of the best 4"
    )
    assert "guaranteed nothing here: along some 4 elements the objective is flat" in str(
        basic_guarantee(Curvature(4, 0.0, 1.0))
    )
    assert "keeping the best single elements is guaranteed at least 25 %" in str(singleton_guarantee(Ratios(3, 0.5, 2)))
    assert "between 0.5 and 2 times what they gain together" in str(Ratios(3, 0.5, 2.0))
    assert "curves at least 0.1 (strong concavity) and at most 2" in str(Curvature(3, 0.1, 2.0, exact=False))
    assert Curvature(3, 0.0, 2.0).condition == np.inf


def test_too_many_supports_are_refused_with_their_number():
    with pytest.raises(InputError, match=r"100 elements have 3,921,225 sets of 4, .*curvature_bounds"):
        curvature(np.eye(100), 4)
    with pytest.raises(InputError, match=r"100 elements have 3,921,225 sets of 4, .*ratio_bounds"):
        ratio_range(len, 100, 4)
    assert curvature_bounds(np.eye(100), 4) == Curvature(4, 1.0, 1.0, exact=False)


def test_what_is_no_problem_is_refused():
    with pytest.raises(ParameterError, match="size must be a whole number from 1 to that of the elements, 3; got 4"):
        curvature(np.eye(3), 4)
    with pytest.raises(InputError, match=r"K must be a square matrix, got shape \(2, 3\)"):
        curvature(np.ones((2, 3)), 1)
    with pytest.raises(InputError, match="finite and symmetric"):
        curvature_bounds(np.array([[1.0, 0.5], [0.0, 1.0]]), 1)
    with pytest.raises(InputError, match=r"eigenvalue -1, so .* is not concave"):
        curvature_on(np.array([[1.0, 2.0], [2.0, 1.0]]), (0, 1))
    with pytest.raises(ParameterError, match="between: lower=2 and upper=1 must have 0 <= lower <= upper"):
        Curvature(1, 1.0, 1.0).between(2, 1)
    with pytest.raises(ParameterError, match="ridge must be at least 0"):
        Curvature(1, 1.0, 1.0).between(1, 1, ridge=-1)
    with pytest.raises(ParameterError, match="S must be some elements that are not in L"):
        submodularity_ratio(len, (0, 1), (1, 2))
    with pytest.raises(InputError, match="f is not monotone: all of"):
        submodularity_ratio(lambda S: -float(len(S) == 2), (), (0, 1))
    with pytest.raises(InputError, match=r"f\(\(\)\) must be 0, got 1"):
        ratio_range(lambda S: len(S) + 1, 4, 2)
