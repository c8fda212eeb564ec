"""How ProtoSwap covers a target: exchanges over a sample, by the two members nearest to each row of the target."""

from dataclasses import dataclass, replace

import numpy as np

from protosieve._threads import ahead_of
from protosieve._typing import Array, Indices
from protosieve.exchange import CoverSet
from protosieve.means import candidates_of, sample_for, with_held_out
from protosieve.objectives import Block, Coverage
from protosieve.sampling import SampledRows, UniformSample
from protosieve.selectors._beside import Beside
from protosieve.selectors._protobasic import Best
from protosieve.selectors._selector import Selection

_PASSES = 2  # over the candidates
_SHARE = (
    4  # after the first pass one in so many is offered again, those nearest to an exchange: hardly another is taken
)
_LEAST = 4096  # and no fewer
_TOGETHER = 64  # candidates compared with the whole target at once


@dataclass(frozen=True)
class Covering:
    """The candidates that exchanges make cover the target best, from any m of them, or ProtoBasic's rows."""

    objective: Coverage
    m: int
    margin: float
    passes: int | None
    count: int | None  # of candidates, if it was given
    beside: Beside | None = None

    @property
    def keeps_best(self) -> bool:
        """Whether ProtoBasic's rows are known: rows are compared with the target as they come."""
        return self.objective.begun.compared

    def sample(self, block: Block, rng: np.random.Generator) -> UniformSample:
        """An empty one, that draws the rows by which the target is known."""
        size = sample_for(self.m, block.rows.shape[1]) if self.count is None else with_held_out(self.count)
        begun = self.objective.begun.drawn
        return UniformSample.empty(size, block.rows, begun.seed, half_life=begun.half_life)

    def candidates(self, sample: UniformSample) -> SampledRows:
        """Of a sample of the stream the rows that do not judge."""
        sample = sample.settled()
        sample = replace(sample, held=self.objective.may_be_chosen(sample.held))
        drawn = candidates_of(sample) if self.count is None else sample.held.take(slice(self.count))
        return drawn if sample.beyond is None else SampledRows.joined([drawn, sample.beyond])

    def of_stream(self, sample: UniformSample | None, best: Best) -> Selection:
        """From a sample of the stream."""
        assert sample is not None
        drawn = self.candidates(sample)
        is_own = self.objective.begins(drawn)  # a sample has enough of what it is like itself
        return self.chosen(drawn, Best.none(drawn.rows) if is_own else best)

    def chosen(self, drawn: SampledRows, best: Best) -> Selection:
        """From these candidates, and the rows most like the target.

        A block is compared with the whole target, and the best exchange made with it as long as there is one. After
        all blocks, the candidates that were nearest to an exchange are looked at again. What rows chosen before cover
        counts from the start.
        """
        objective, beside = self.objective, self.beside
        if self.count is None:
            drawn = SampledRows.joined([drawn, best.others(drawn)])
        if beside is not None:
            drawn, best = beside.may_be_chosen(drawn), best.taken(beside.allowed(best.rows))
        target, rng = objective.chosen_by(), np.random.default_rng(0)
        keep = drawn.rows[:0] if beside is None else beside.keep
        covered = objective.covered_by(keep, target) if len(keep) else None
        found = CoverSet(self.m, len(target), target.left.dtype, self.margin, covered)

        def similarities(places: Indices) -> Array:
            return objective.similarities(drawn.rows[places], target, drawn.numbers[places])

        order = np.arange(len(drawn))  # which is that of hashes
        members = order[: self.m]
        found.fill(similarities(members), members)
        for _ in range(self.passes or _PASSES):
            blocks = [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)]
            compared = ahead_of(similarities, blocks, in_threads=objective.compared_by.in_threads)
            made, changes = zip(*map(found.offer, compared, blocks), strict=True)
            if not any(made):
                break
            nearest = order[np.argsort(-np.concatenate(changes), kind="stable")]
            order = rng.permutation(np.sort(nearest[: max(len(drawn) // _SHARE, _LEAST)]))
        basic = best.first(self.m).selection()
        with_keep = np.concatenate([basic.rows, keep])
        if len(basic.rows) and objective.covered_by(with_keep, target).sum(dtype=np.float64) > found.value:
            return basic.beside(keep)
        chosen = np.sort(found.covering())
        return Selection(drawn.numbers[chosen], drawn.rows[chosen], np.zeros(len(chosen))).beside(keep)
