"""How good the prototypes are: in sentences, in figures, beside random rows, and with fewer of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from protosieve._formatting import NOTHING, counted, cut, percent, prototypes
from protosieve.insight._cards import text_column
from protosieve.insight._feature_matches import FeatureMatches, without_prototypes
from protosieve.insight._features import encoding_of
from protosieve.insight._residual_curve import ResidualCurve, curve_sentence, residual_curve
from protosieve.insight._result_with_data import ResultWithData, allowed
from protosieve.result import Prototypes

_FEW = 6  # columns that are named
_HARMLESS = ("the same in every row", "null in every row")  # a column that tells no rows apart is not missed
_ABOUT = 1.05  # times as much: no more
_WIDTH, _METHOD = "try a kernel of another width", "try ProtoSwap"


@dataclass(frozen=True)
class Figure:
    """A number as text, and what it means."""

    name: str
    value: str
    help: str


@dataclass(frozen=True)
class Quality:
    """``lead`` is the number of the first sentence, ``own`` what is left, ``random`` what random rows leave beside.

    Where there is no curve, ``no_curve`` says why.
    """

    lead: str | None = None
    own: float | None = None
    random: float | None = None
    sentences: list[str] | tuple[()] = ()
    figures: list[Figure] | tuple[()] = ()
    curve: ResidualCurve | None = None
    no_curve: str | None = None


def quality_of(subject: ResultWithData, features: FeatureMatches | None) -> Quality:
    """With what is known of the features; see the parts for their cost."""
    result, beside, curve = subject.result, _beside(subject), curve_of(subject)
    own = result.residual if result.kernel is not None and math.isfinite(result.residual) else None
    times = None if beside is None else times_random(*beside[:2])
    return Quality(
        lead=f"{times} ×" if times is not None else None if own is None else percent(own),
        own=own,
        random=None if own is None or beside is None else beside[0],
        sentences=quality_sentences(subject, features),
        figures=_figures(subject, None if beside is None else beside[0]),
        curve=curve if isinstance(curve, ResidualCurve) else None,
        no_curve=curve if isinstance(curve, str) else None,
    )


def quality_sentences(
    subject: ResultWithData, features: FeatureMatches | None, width: str = _WIDTH, method: str = _METHOD
) -> list[str]:
    """The error beside that of random rows, which columns had no part in it, and how much of the target is carried.

    Where random rows do better, another ``method`` is what to try, or if the method is ProtoSwap another ``width``.
    """
    beside, said = _beside(subject), list[str]()
    if beside is not None:
        random, own, by = beside
        remedy = width if subject.result.selector == "ProtoSwap" else method
        kept = len(subject.result) - int(subject.result.is_new.sum())
        by = f"{by} Both are beside the {counted(kept, 'row')} chosen before." if kept else by
        said.append(beside_random(allowed(subject.result), random, own, remedy, subject.result.covers) + by)
    if features is not None and not subject.is_other_data:
        said.append(features.sentence)
    said += _covered(subject) if subject.result.covers else _carried(subject.result)
    missed = _missed(subject.result)
    if missed and text_column(subject) in missed:  # it is on every card, and had no part in what is told first
        said[0] += f" {_not_compared(missed)}"
    elif missed:
        said.insert(1, _not_compared(missed))
    return said if features is None or subject.is_other_data else [*said, *without_prototypes(features)]


def curve_of(subject: ResultWithData) -> ResidualCurve | str:
    """The curve, or why there is none. Random rows are on it where the judge of the curve judged them, too."""
    result, judge = subject.result, subject.judge
    curve = residual_curve(result, judge)
    if isinstance(curve, str):
        return curve
    if curve.by_result:
        own, random = result.residual, _told_of_random(result)
        if random is None and subject.is_given and judge is not None and len(judge) == subject.n_rows:
            random = subject.random_by_sample
    else:
        own, random = subject.residual_by_sample, subject.random_by_sample
    return replace(curve, own=own, random=random, sentence=curve_sentence(curve, result.covers))


def _beside(subject: ResultWithData) -> tuple[float, float, str] | None:
    """What random rows leave, what the prototypes leave by the same judge, and a note on who that is.

    As the run has it; else by rows of the data that was given, unless it is plain that other rows were to be matched.
    """
    told = _told_of_random(subject.result)
    if told is not None:
        return told, subject.result.residual, ""  # the same sample has judged both
    random = subject.random_by_sample if subject.is_given else None
    if random is None or subject.judge is None:
        return None
    by = f" Both are judged by {counted(len(subject.judge), 'row')} of the data."
    return random, subject.residual_by_sample, by


def _told_of_random(result: Prototypes) -> float | None:
    """What random rows leave by the result's own judge, where the run asked it."""
    told = (result.provenance or {}).get("residual_of_random_rows")
    return None if told is None else float(told)


def _missed(result: Prototypes) -> list[str]:
    """Columns that were not compared although this was not asked for."""
    encoding = encoding_of(result)
    why = {**encoding.get("dropped", {}), **encoding.get("left_out", {})}
    return [name for name, reason in why.items() if not reason.startswith(_HARMLESS)]


def _not_compared(missed: list[str]) -> str:
    named = ", ".join(cut(name, 60) for name in missed[:_FEW])
    more = f" and {len(missed) - _FEW:,} more" if len(missed) > _FEW else ""
    verb = "was" if len(missed) == 1 else "were"
    return f"{named}{more} {verb} not compared: all figures are of the other columns alone."


def _figures(subject: ResultWithData, random: float | None) -> list[Figure]:
    result, certificate = subject.result, subject.result.certificate
    matches = not result.covers
    found = list(_of_coverage(result) if result.covers else _of_match(result))
    if certificate.sampling is not None and certificate.standard_error is not None:
        found.append(("Standard error", certificate.standard_error, "of the residual"))
    if subject.judge is not None and subject.is_given:
        meaning = f"judged by {counted(len(subject.judge), 'row')} of the data given"
        found.append(("Residual by the data shown", subject.residual_by_sample, meaning))
    if random is not None:
        found.append(("Random rows", random, f"residual of as many random rows{' at their best weights' * matches}"))
    if result.kernel is not None and matches:
        effective = 1 / float(np.sum(subject.weight_shares**2))
        total = float(result.weights.sum())
        found.append(("Sum of weights", total, "near 1 where prototypes stand for all of the data"))
        found.append(("Effective number", effective, "of prototypes: as many of equal weight are as spread out"))
    return [Figure(name, f"{value:.4g}", meaning) for name, value, meaning in found if math.isfinite(value)]


def _of_match(result: Prototypes) -> Iterator[tuple[str, float, str]]:
    certificate = result.certificate
    yield "Residual", result.residual, "squared MMD that is left, as a share; 0 is perfect"
    yield "MMD", result.mmd, "distance, as the kernel sees it, between the prototypes and what judged them"
    yield "Objective", certificate.value, "the larger the better, of at most the bound"
    yield "Bound", certificate.upper_bound, "no weights on any number of rows give more"
    if certificate.sampling is not None:
        meaning = f"with 95 % confidence the MMD to all {certificate.sampling.population:,} rows is at most this"
        yield "MMD bound", certificate.mmd_bound(), meaning


def _of_coverage(result: Prototypes) -> Iterator[tuple[str, float, str]]:
    yield "Residual", result.residual, "what is missing to full coverage, as a share; 0 is perfect"
    yield "Objective", result.objective, "similarity of a row to its nearest prototype, on average"
    yield "Bound", result.certificate.upper_bound, "similarity of a row to itself, on average"


def _covered(subject: ResultWithData) -> list[str]:
    """How much of the data the prototypes cover, and how that differs from row to row."""
    result, similarity = subject.result, subject.similarity
    best = result.certificate.best
    estimated = best is not None and best.judges < best.population
    by = f", judged by {counted(best.judges, 'row')} that had no part in the choice" if best and estimated else ""
    cover, which = ("covers", "it") if len(result) == 1 else ("cover", "the nearest of them")
    said = f"The {prototypes(len(result))} {cover} {percent(result.residual)}{by}"
    said += f": on average the similarity of a row to {which} is {result.objective:.3g} of at most "
    lines = [f"{said}{result.certificate.upper_bound:.3g}."]
    if similarity is not None:
        half, most = np.quantile(similarity, [0.5, 0.1]).tolist()
        lines.append(f"For half of the rows it is {half:.2g} or more, for nine of ten {most:.2g} or more.")
    if best is not None:
        beside = "" if result.is_new.all() else ", those chosen before included"
        lines.append(f"They cover {best}{beside}.")
    return [*lines, *_fewer_than_allowed(result)]


def _fewer_than_allowed(result: Prototypes) -> list[str]:
    if result.is_new.sum() == allowed(result):
        return []
    return [f"{allowed(result):,} were allowed; the method found no use for more."]


def _carried(result: Prototypes) -> list[str]:
    """How much of the target the prototypes carry, and whether more of them were allowed."""
    if result.kernel is None:
        said = str(result.certificate)
        return [f"{said[:1].upper()}{said[1:]}."]
    sample = result.certificate.sample
    by = "" if sample is None else f", judged by a sample of {counted(sample, 'row')}"
    carry = "carries" if len(result) == 1 else "carry"
    said = f"The {prototypes(len(result))} {carry} {percent(result.residual)} of what the kernel sees{by}."
    return [said, *_fewer_than_allowed(result)]


def beside_random(rows: int, random: float, residual: float, remedy: str = _WIDTH, covers: bool = False) -> str:
    """A residual beside that of as many random rows; ``remedy`` is for where these do better.

    >>> beside_random(500, 0.034, 0.01)
    '500 random rows with the best weights would leave 3.4 times the error of these prototypes.'
    >>> beside_random(500, 0.005, 0.01)
    '500 random rows with the best weights would leave 0.50 times the error: try a kernel of another width.'
    >>> beside_random(500, 0.30, 0.25, covers=True)
    '500 random rows would leave 1.2 times as much uncovered as these prototypes.'
    >>> beside_random(500, 0.30, 0.29, covers=True)
    '500 random rows would leave about as much uncovered as these prototypes.'
    """
    who = f"{counted(rows, 'random row')}{'' if covers else ' with the best weights'} would leave"
    times = times_random(random, residual)
    if times is None:
        left = "nothing uncovered" if covers else "no error"
        part = f"{100 * random:.2g} % uncovered" if covers else f"an error of {100 * random:.2g} %"
        return f"{who} {f'{left} either' if random <= NOTHING else part}."
    what = "as much uncovered" if covers else "the error"
    if random < 0.995 * residual:
        return f"{who} {times} times {what}: {remedy}."
    as_much = "about" if random < _ABOUT * residual else f"{times} times"
    return f"{who} {as_much} {what} {'as' if covers else 'of'} these prototypes."


def times_random(random: float, residual: float) -> str | None:
    """How many times the residual random rows leave, in as many digits as are read; None where none is left.

    >>> times_random(0.034, 0.01), times_random(0.005, 0.01), times_random(0.5, 1e-5), times_random(0.5, 0.0)
    ('3.4', '0.50', '50,000', None)
    """
    if residual <= NOTHING:
        return None
    times = random / residual
    return f"{times:.2f}" if times < 0.995 else f"{times:,.1f}" if times < 1000 else f"{times:,.0f}"
