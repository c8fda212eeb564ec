"""How good the prototypes are: in sentences, in figures, beside random rows, and with fewer of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from protosieve._prototypes import Prototypes
from protosieve._words import allowed, beside_random, carried, counted, percent, sig, times_random
from protosieve.report._curve import Curve, curve_sentence, residual_curve
from protosieve.report._judge import Judge
from protosieve.report._material import Material
from protosieve.report._plainly import plainly

__all__ = ["Quality", "quality"]

_STRANGE = 0.05  # a residual by the data that is this much above the result's own: other data


def quality(material: Material, features: Mapping[str, Any] | None) -> dict[str, Any]:
    """Headline, sentences, figures and the curve, with what is known of the features; see the parts for their cost.

    ``lead`` is the number of the first sentence, ``own`` what is left, ``random`` what random rows leave beside.
    """
    found = Quality(material)
    curve, own = found.curve, found.left
    return {
        "lead": found.lead,
        "own": own,
        "random": None if own is None or found.random is None else sig(found.random[0], 6),
        "sentences": [
            *found.beside,
            *plainly(material, None if found.is_of_other_data else features),
            *carried(material.result),
        ],
        "figures": found.figures(),
        "curve": None if isinstance(curve, str) else found.drawn(curve),
        "no_curve": curve if isinstance(curve, str) else None,
    }


@dataclass(frozen=True, eq=False)
class Quality:
    """What is asked of a material more than once, answered once."""

    material: Material

    @property
    def result(self) -> Prototypes:
        return self.material.result

    @cached_property
    def judge(self) -> Judge | None:
        """The sample, as a judge in place of the mean that chose."""
        kernel, sample = self.result.kernel, self.material.sample
        return None if kernel is None or sample is None else Judge.of(kernel, sample.rows)

    @cached_property
    def curve(self) -> Curve | str:
        curve = residual_curve(self.result)
        if isinstance(curve, str) and self.result.kernel is not None and self.judge is not None:
            return residual_curve(self.result, self.judge)
        return curve

    @property
    def left(self) -> float | None:
        """What the result leaves of all rows, as it judged itself by the kernel; None where it did not."""
        known = self.result.kernel is not None and math.isfinite(self.result.residual)
        return self.result.residual if known else None

    @cached_property
    def own(self) -> float:
        """The result's residual, by the sample."""
        assert self.judge is not None
        return self.judge.residual(self.result.rows, self.result.weights)

    @property
    def is_of_other_data(self) -> bool:
        """Whether the data shown is plainly not what the prototypes were to match."""
        return self.judge is not None and self.own > 2 * self.result.residual + _STRANGE

    @cached_property
    def random(self) -> tuple[float, float, str] | None:
        """What random rows leave, what the prototypes leave by the same judge, and a word on who that is.

        As the run has it; else by rows of the data in memory, unless it is plain that other rows were to be matched.
        """
        if self.told is not None:
            return self.told, self.result.residual, ""  # the same sample has judged both
        if not self.material.in_memory or self.judge is None or self.by_sample is None:
            return None
        return self.by_sample, self.own, f" Both are judged by {counted(self.judge.rows, 'row')} of the data."

    @property
    def told(self) -> float | None:
        """What random rows leave by the result's own judge, where the run asked it."""
        told = (self.result.provenance or {}).get("residual_of_random_rows")
        return None if told is None else float(told)

    @cached_property
    def by_sample(self) -> float | None:
        """What as many random rows of the sample leave by it.

        None where it has fewer, where it is of a target, from which nothing is chosen, and where it is plainly of
        other data than was to be matched.
        """
        sample = self.material.sample
        if sample is None or self.judge is None or sample.is_target or allowed(self.result) > len(sample):
            return None
        if self.is_of_other_data:
            return None
        return self.judge.of_random(sample.rows, allowed(self.result))

    @property
    def lead(self) -> str | None:
        """The comparison with random rows as one number; where there is none, the share that is carried."""
        times = None if self.random is None else times_random(*self.random[:2])
        return f"{times} ×" if times is not None else None if self.left is None else percent(self.left)

    @property
    def beside(self) -> list[str]:
        if self.random is None:
            return []
        random, own, by = self.random
        return [beside_random(allowed(self.result), random, own) + by]

    def drawn(self, curve: Curve) -> dict[str, Any]:
        """The curve as plain values. Random rows are on it where the judge of the curve judged them, too."""
        own, random = (self.result.residual, self._by_result) if curve.by_result else (self.own, self.by_sample)
        return {
            "count": curve.count,
            "residual": [sig(value, 6) for value in curve.residual],
            "kept": len(self.result),
            "own": own,
            "random": None if random is None else sig(random, 6),
            "sentence": curve_sentence(curve),
        }

    @property
    def _by_result(self) -> float | None:
        """What random rows leave by the result's own judge: as the run says, or by a sample that is all of the data."""
        sample = self.material.sample
        if self.told is not None or not self.material.in_memory or sample is None or self.judge is None:
            return self.told
        return self.by_sample if self.judge.rows == sample.n_rows else None

    def figures(self) -> list[dict[str, str]]:
        """Names, numbers as text, and what they mean."""
        result, certificate = self.result, self.result.certificate
        found = [
            _figure("Residual", result.residual, "squared MMD that is left, as a share; 0 is perfect"),
            _figure("MMD", result.mmd, "distance, as the kernel sees it, between the prototypes and what judged them"),
            _figure("Objective", certificate.value, "the larger the better, of at most the bound"),
            _figure("Bound", certificate.upper_bound, "no weights on any number of rows give more"),
        ]
        if certificate.sampling is not None and certificate.standard_error is not None:
            n = f"{certificate.sampling.population:,}"
            bound, error = certificate.mmd_bound(), certificate.standard_error
            found += [
                _figure("MMD bound", bound, f"with 95 % confidence the MMD to all {n} rows is at most this"),
                _figure("Standard error", error, "of the residual"),
            ]
        if self.judge is not None and self.material.is_given:
            rows = counted(self.judge.rows, "row")
            found.append(_figure("Residual by the data shown", self.own, f"judged by {rows} of the data given"))
        if self.random is not None:
            found.append(
                _figure("Random rows", self.random[0], "residual of as many random rows at their best weights")
            )
        if result.kernel is not None:
            total, few = float(result.weights.sum()), 1 / float(np.sum(self.material.parts**2))
            found.append(_figure("Sum of weights", total, "near 1 where prototypes stand for all of the data"))
            found.append(_figure("Effective number", few, "of prototypes: as many of equal weight are as spread out"))
        return [figure for figure in found if figure["value"] != "nan"]


def _figure(name: str, value: float, meaning: str) -> dict[str, str]:
    return {"name": name, "value": f"{value:.4g}" if math.isfinite(value) else "nan", "help": meaning}
