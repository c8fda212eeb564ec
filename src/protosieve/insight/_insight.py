"""All that can be told of a result, as one value."""

from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from protosieve._formatting import counted, cut
from protosieve.insight._cards import Card, cards_of
from protosieve.insight._coverage import DataCoverage, coverage_of
from protosieve.insight._map import Map, map_of
from protosieve.insight._quality import Quality, quality_of
from protosieve.insight._result_with_data import ResultWithData
from protosieve.insight._stream import ResidualTrace, stream_of
from protosieve.insight._summary import Fact, Rerun, rerun_of, summary_of
from protosieve.insight._view import View
from protosieve.insight._worst_rows import worst_rows, worst_rows_sentence
from protosieve.result import Prototypes


@dataclass(frozen=True)
class WorstExplained:
    """The rows that the prototypes explain worst."""

    sentence: str
    cards: list[Card]


@dataclass(frozen=True)
class Insight:
    """Facts about a result, as a report shows them; by default those of a run that has selected nothing yet."""

    title: str
    version: str = field(default_factory=lambda: version("protosieve"))
    summary: list[Fact] | tuple[()] = ()
    quality: Quality = field(default_factory=Quality)
    cards: list[Card] | tuple[()] = ()
    criticisms: WorstExplained | None = None
    map: Map | None = None
    coverage: DataCoverage = field(default_factory=DataCoverage)
    stream: ResidualTrace | None = None
    rerun: Rerun = field(default_factory=Rerun)


def describe(result: Prototypes, data: Any = None, view: View | None = None) -> Insight:
    """Everything there is to tell. ``data`` is what `ResultWithData.of` takes.

    Some tenths of a second: O(sample (m + 4,096) d) for what the prototypes stand for and miss, O(m^3) up to 500
    prototypes for the curve, and what images cost.
    """
    subject = ResultWithData.of(result, data, view)
    worst, coverage = worst_rows(subject), coverage_of(subject)
    cards, worst_cards = cards_of(subject, worst)
    return Insight(
        title=cut(subject.view.title or f"{len(result):,} of {counted(result.n_seen, 'row')}", 200),
        version=result.version,
        summary=summary_of(subject),
        quality=quality_of(subject, coverage.features),
        cards=cards,
        criticisms=None if worst is None else WorstExplained(worst_rows_sentence(worst), worst_cards),
        map=map_of(subject),
        coverage=coverage,
        stream=stream_of(result),
        rerun=rerun_of(result),
    )
