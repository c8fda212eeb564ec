"""How many prototypes were needed: what is left with one of them, with two, with all."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protosieve._blas import one_thread
from protosieve._prototypes import Prototypes
from protosieve._typing import Array, Float64
from protosieve._words import percent
from protosieve.kernels import Kernel
from protosieve.report._judge import Judge
from protosieve.selectors import SELECTORS
from protosieve.weights import NonNegativeQP

__all__ = ["Curve", "curve_sentence", "has_best_weights", "residual_curve"]

_STEPS = 500  # members added one by one: O(steps^3 + steps m d)
_MOST = 10_000  # prototypes: mu = K w is O(m^2 d)
_POINTS = 200  # shown where there are more than _STEPS
_EQUAL = {cls.__name__ for cls in SELECTORS if cls.weighs_equally}
_NEARLY = 1.25  # times as much left is nearly as good
_NOTHING = 1e-9  # a residual that no reader minds
_AGREES = 1e-7  # of the bound: how far ``w'K w / 2`` may be from the value where weights are the best
_NEARLY_AGREES = 0.1


@dataclass(frozen=True)
class Curve:
    """``residual[i]`` is what ``count[i]`` of the prototypes leave, chosen one after the other.

    ``by_result`` says that it is judged as the result was, so that the last point is the result's own residual. The
    last ``idle`` of them weigh nothing.
    """

    count: list[int]
    residual: list[float]
    by_result: bool = True
    idle: int = 0


def residual_curve(result: Prototypes, judge: Judge | None = None) -> Curve | str:
    """What k of the prototypes leave at their best weights, for k = 1, 2, ..., chosen one after the other by gradient.

    At the best weights the gradient ``mu - K w`` is zero at every member that weighs something, so ``mu = K w`` there
    and no data is needed: rows, weights, kernel and the bound say all. Members of weight zero come last. Where
    weights are not the best by the result's own mean, ``judge`` is asked for ``mu``; without one the answer is why
    there is no curve.

    Beyond 500 prototypes the first 500 are added, and the last point is that of all of them. O(min(m, 500)^3 + m^2 d).
    """
    kernel, used = result.kernel, result.weights > 0
    if kernel is None:
        return "The rows were chosen by another objective than the kernel mean."
    if not used.any() or not result.certificate.upper_bound > 0:
        return "No prototype weighs anything."
    if used.sum() > _MOST:
        return f"There are more than {_MOST:,} prototypes."
    curve = _curve(result, kernel, result.rows[used].astype(np.float64), result.weights[used], judge)
    return curve if isinstance(curve, str) else _with_idle(curve, len(result))


def _curve(result: Prototypes, kernel: Kernel, rows: Array, weights: Float64, judge: Judge | None) -> Curve | str:
    with one_thread():
        mu = _explained(kernel, rows, weights)
        norm = float(weights @ mu) / 2
        if has_best_weights(result, norm):
            off = 0.0 if result.certificate.sampling is None else norm - result.objective  # all rows say a little less
            values = [value - off for value in _greedy(kernel, rows, mu)]
            return _shown(values, result.certificate.upper_bound, len(rows), result.residual)
        if judge is None:
            return f"{_why(result)}, so it takes rows of the data to judge fewer of them: give data."
        values = _greedy(kernel, rows, judge.means(rows))
    last = judge.best_residual(rows) if len(values) < len(rows) else 0.0
    return replace(_shown(values, judge.bound, len(rows), last), by_result=False)


def _with_idle(curve: Curve, kept: int) -> Curve:
    """Members of weight zero change nothing."""
    idle = kept - curve.count[-1]
    if not idle:
        return curve
    return replace(curve, count=[*curve.count, kept], residual=[*curve.residual, curve.residual[-1]], idle=idle)


def has_best_weights(result: Prototypes, norm: float) -> bool:
    """Whether they are the best by the mean they were solved by: then ``l = w'K w / 2``, which is ``norm``.

    Where that mean rests on a sample, rows held out of it have judged the result, and ``l`` is near to that.
    """
    run: dict[str, Any] = dict((result.provenance or {}).get("parameters", {}))
    if result.selector in _EQUAL or run.get("exact_weights"):  # those of earlier versions, by another mean
        return False
    agrees = _AGREES if result.certificate.sampling is None else _NEARLY_AGREES
    return abs(result.objective - norm) <= agrees * result.certificate.upper_bound


def _why(result: Prototypes) -> str:
    return "All weigh the same" if result.selector in _EQUAL else "The weights are those of another mean"


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
    open_ = np.ones(len(rows), np.bool_)
    for step in range(len(near)):
        gradient = mu - qp.weights @ near[:step]
        j = int(np.where(open_, gradient, -math.inf).argmax())
        near[step] = kernel.block(points.take(slice(j, j + 1)), points)[0]
        qp.append(near[step, chosen], diagonal[j], mu[j])
        open_[j] = False
        chosen.append(j)
        values.append(qp.value)
    return values


def _shown(values: list[float], bound: float, members: int, last: float) -> Curve:
    """As residuals; ``last`` is that of all members, where these were not all added."""
    residuals = [1 - min(value / bound, 1.0) for value in values]
    counts = list(range(1, len(values) + 1))
    if members > len(values):
        kept = np.unique(np.geomspace(1, len(values), _POINTS).round().astype(int)).tolist()
        counts, residuals = kept, [residuals[count - 1] for count in kept]
        counts, residuals = [*counts, members], [*residuals, min(last, residuals[-1])]
    return Curve(counts, residuals)


def curve_sentence(curve: Curve) -> str:
    """Whether fewer would have done: how many carry nearly as much, and what half of them carry."""
    last, kept = curve.residual[-1], curve.count[-1]
    if kept == 1:
        return f"One prototype carries {percent(last)}."
    found = list(zip(curve.count, curve.residual, strict=True))
    half, at_half = [point for point in found if point[0] <= max(1, kept // 2)][-1]
    said = f"With {half:,} of them {percent(at_half)} is carried; with all {kept:,} it is {percent(last)}."
    enough, left = next(point for point in found if point[1] <= _NEARLY * last + _NOTHING)
    used = kept - curve.idle
    if enough > 0.8 * used:
        return f"{said} {'Each of them' if used == kept else f'Each of the {used:,} that weigh something'} counts."
    return f"{said} {enough:,} would carry {percent(left)}, nearly as much: fewer would have done."
