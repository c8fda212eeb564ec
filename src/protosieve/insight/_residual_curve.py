"""How many prototypes were needed: what is left with one of them, with two, with all."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protosieve._blas import one_thread
from protosieve._formatting import percent
from protosieve._typing import Array, Float64
from protosieve.insight._sample_judge import SampleJudge
from protosieve.kernels import Kernel
from protosieve.objectives import KernelMean
from protosieve.result import Prototypes
from protosieve.selectors import SELECTORS
from protosieve.weights import NonNegativeQP

_BLOCK = 512  # rows compared at a time
_STEPS = 500  # members added one by one: O(steps^3 + steps m d)
_MOST = 10_000  # prototypes: mu = K w is O(m^2 d)
_POINTS = 200  # shown where there are more than _STEPS
_EQUAL = {cls.__name__ for cls in SELECTORS if cls.weighs_equally}
_NEARLY, _MOST_OF_IT = 1.25, 0.95  # nearly as good: so many times as much left, and of what is carried so much
_NOTHING = 1e-9  # a residual too small to matter
_NO_DATA = "It takes rows of the data to say what fewer of them cover: give data."
_AGREES = 1e-7  # of the bound: how far ``w'K w / 2`` may be from the value where weights are the best
_NEARLY_AGREES = 0.1


@dataclass(frozen=True)
class ResidualCurve:
    """``residual[i]`` is what ``count[i]`` of the prototypes leave, chosen one after the other.

    ``by_result`` says that it is judged as the result was, so that the last point is the result's own residual. The
    last ``idle`` of them weigh nothing. ``own`` is what all of them leave with the weights they have, and ``random``
    what as many random rows leave, by the same judge, where that is known.
    """

    count: list[int]
    residual: list[float]
    by_result: bool = True
    idle: int = 0
    own: float = math.nan
    random: float | None = None
    sentence: str = ""


def residual_curve(result: Prototypes, judge: SampleJudge | None = None) -> ResidualCurve | str:
    """What k of the prototypes leave at their best weights, for k = 1, 2, ..., chosen one after the other by gradient.

    At the best weights the gradient ``mu - K w`` is zero at every member that weighs something, so ``mu = K w`` there
    and no data is needed: rows, weights, kernel and the bound say all. Members of weight zero come last. Where
    weights are not the best by the result's own mean, ``judge`` is asked for ``mu``; without one the answer is why
    there is no curve.

    Of prototypes that cover the data, the first k, the largest shares first, are judged by ``judge``; O(judges m d).

    Beyond 500 prototypes the first 500 are added, and the last point is that of all of them. O(min(m, 500)^3 + m^2 d).
    """
    kernel, used = result.kernel, result.weights > 0
    if kernel is None:
        return "The rows were chosen by another objective than the kernel mean."
    if result.covers:
        return _NO_DATA if judge is None else _covered(result, kernel, judge)
    if not used.any() or not result.certificate.upper_bound > 0:
        return "No prototype weighs anything."
    if used.sum() > _MOST:
        return f"There are more than {_MOST:,} prototypes."
    rows, weights = result.rows[used].astype(np.float64), result.weights[used]
    with one_thread():
        mu = _explained(kernel, rows, weights)
        norm = float(weights @ mu) / 2
        if _has_best_weights(result, norm):
            off = 0.0 if result.certificate.sampling is None else norm - result.objective  # all rows say a little less
            values = [value - off for value in _greedy(kernel, rows, mu)]
            curve = _as_residuals(values, result.certificate.upper_bound, len(rows), result.residual)
        elif judge is None:
            why = "All weigh the same" if result.selector in _EQUAL else "The weights are those of another mean"
            return f"{why}, so it takes rows of the data to judge fewer of them: give data."
        else:
            assert isinstance(judge.objective, KernelMean)
            values = _greedy(kernel, rows, judge.objective.exact(rows)[1])
            last = judge.residual(rows) if len(values) < len(rows) else 0.0
            curve = replace(_as_residuals(values, judge.bound, len(rows), last), by_result=False)
    idle = len(result) - len(rows)  # members of weight zero change nothing
    if not idle:
        return curve
    return replace(curve, count=[*curve.count, len(result)], residual=[*curve.residual, curve.residual[-1]], idle=idle)


def _covered(result: Prototypes, kernel: Kernel, judge: SampleJudge) -> ResidualCurve:
    """What the first k leave uncovered of the rows that judge, the largest shares first."""
    rows, covered = judge.rows, np.zeros(len(result))
    with one_thread():
        prototypes = kernel.prepare(result.rows.astype(rows.dtype, copy=False))
        for start in range(0, len(rows), _BLOCK):
            near = np.maximum(kernel.block(kernel.prepare(rows[start : start + _BLOCK]), prototypes), 0)
            covered += np.maximum.accumulate(near, axis=1).sum(axis=0, dtype=np.float64)
    counts = np.arange(1, len(result) + 1)
    if len(result) > _STEPS:
        counts = np.unique(np.geomspace(1, len(result), _POINTS).round().astype(int))
    residuals = 1 - np.minimum(covered[counts - 1] / len(rows) / judge.bound, 1.0)
    return ResidualCurve(counts.tolist(), residuals.tolist(), by_result=False)


def _has_best_weights(result: Prototypes, norm: float) -> bool:
    """Whether they are the best by the mean they were solved by: then ``l = w'K w / 2``, which is ``norm``.

    Where that mean rests on a sample, rows held out of it have judged the result, and ``l`` is near to that.
    """
    run: dict[str, Any] = dict((result.provenance or {}).get("parameters", {}))
    if result.selector in _EQUAL or run.get("exact_weights") or run.get("per"):  # by other means: of earlier versions
        return False  # the sample's, and of groups their own
    agrees = _AGREES if result.certificate.sampling is None else _NEARLY_AGREES
    return abs(result.objective - norm) <= agrees * result.certificate.upper_bound


def _explained(kernel: Kernel, rows: Array, weights: Float64) -> Float64:
    """``K w``, a block of rows at a time."""
    points, parts = kernel.prepare(rows), range(0, len(rows), 512)
    return np.concatenate([kernel.block(points.take(slice(at, at + 512)), points) @ weights for at in parts])


def _greedy(kernel: Kernel, rows: Array, mu: Float64) -> list[float]:
    """The values of growing sets, each with the member of the largest gradient added, at their best weights."""
    points = kernel.prepare(rows)
    diagonal = kernel.diagonal(points).astype(np.float64)
    qp, chosen, values = NonNegativeQP(), list[int](), list[float]()
    near = np.zeros((min(len(rows), _STEPS), len(rows)))
    for step in range(len(near)):
        gradient = mu - qp.weights @ near[:step]
        gradient[chosen] = -math.inf
        j = int(gradient.argmax())
        near[step] = kernel.block(points.take(slice(j, j + 1)), points)[0]
        qp.append(near[step, chosen], diagonal[j], mu[j])
        chosen.append(j)
        values.append(qp.value)
    return values


def _as_residuals(values: list[float], bound: float, members: int, last: float) -> ResidualCurve:
    """``last`` is the residual of all members, where these were not all added."""
    residuals = [1 - min(value / bound, 1.0) for value in values]
    counts = list(range(1, len(values) + 1))
    if members > len(values):
        kept = np.unique(np.geomspace(1, len(values), _POINTS).round().astype(int)).tolist()
        counts, residuals = [*kept, members], [*(residuals[count - 1] for count in kept), min(last, residuals[-1])]
    return ResidualCurve(counts, residuals)


def curve_sentence(curve: ResidualCurve, covers: bool = False) -> str:
    """Whether fewer would have done: how many carry, or cover, nearly as much, and what half of them do."""
    last, kept = curve.residual[-1], curve.count[-1]
    do, does, done = ("cover", "covers", "covered") if covers else ("carry", "carries", "carried")
    if kept == 1:
        return f"One prototype {does} {percent(last)}."
    found = list(zip(curve.count, curve.residual, strict=True))
    half, at_half = [point for point in found if point[0] <= max(1, kept // 2)][-1]
    said = f"With {half:,} of them {percent(at_half)} is {done}; with all {kept:,} it is {percent(last)}."
    most_left = min(_NEARLY * last + _NOTHING, 1 - _MOST_OF_IT * (1 - last))
    enough, left = next(point for point in found if point[1] <= most_left)
    used = kept - curve.idle
    if enough > 0.8 * used:
        return f"{said} {'Each of them' if used == kept else f'Each of the {used:,} that weigh something'} counts."
    return f"{said} {enough:,} would {do} {percent(left)}, nearly as much: fewer would have done."
