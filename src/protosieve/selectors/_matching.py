"""How ProtoSwap matches a mean: exchanges over a sample, from no members."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from protosieve._threads import ahead_of
from protosieve._typing import Array, Float64, Indices
from protosieve.exchange import Members
from protosieve.means import Span, candidates_in, candidates_of, sample_for
from protosieve.objectives import Block, KernelMean
from protosieve.sampling import SampledRows, UniformSample
from protosieve.selectors._beside import Beside, Outside
from protosieve.selectors._protobasic import Best
from protosieve.selectors._selector import Selection
from protosieve.weights import NonNegativeQP, definite_cholesky

_PASSES = 2  # over the candidates: a third adds a hundredth
_SHARE = 4  # one in so many candidates is offered at first, and of all in every pass the nearest to an exchange
_LEAST = 4096  # and no fewer: to rank them costs as much as to offer them
_FEW = 16_384  # candidates looked at, at least: small samples until nothing changes, and more than once
_RANKED = 262_144  # similarities to members at once
_ATTEMPTS = 4  # times a small sample is offered to an empty set
_TRIES = 3  # beside rows that were chosen before
_EQUAL = 1e-9  # values no further apart than this, as a share, are equal


@dataclass(frozen=True)
class Matching:
    """The set that exchanges over candidates lead to, or ProtoBasic's rows."""

    objective: KernelMean
    m: int
    margin: float
    passes: int | None
    count: int | None  # of candidates, if it was given
    step: int  # rows offered together
    beside: Beside | None = None

    keeps_best = True

    def sample(self, block: Block, rng: np.random.Generator) -> UniformSample | None:
        """An empty one, unless the mean's has enough candidates."""
        mean = self.objective.mean
        size = sample_for(self.m, block.rows.shape[1]) if self.count is None else self.count
        kept = mean.stream_sample()
        if kept is not None and (candidates_in(size) if self.count is None else size) <= candidates_in(kept.size):
            return None
        seed = mean.seed(size)
        seed = int(rng.integers(2**63)) if seed is None else seed
        return UniformSample.empty(size, block.rows, seed, half_life=None if kept is None else kept.half_life)

    def empty(self, like: Array) -> Members:
        """No members, but room for m rows like these."""
        points = self.objective.kernel.prepare(like[:1])
        return Members.none(self.m, self.margin, like, points, self.objective.signed)

    def of_stream(self, sample: UniformSample | None, best: Best) -> Selection:
        """From a sample of the stream, its own or that of the mean."""
        mean = self.objective.mean
        sample = mean.stream_sample() if sample is None else sample
        assert sample is not None
        sample = sample.settled()
        drawn = candidates_of(sample) if self.count is None else sample.held.take(slice(self.count))
        if sample.beyond is not None:
            drawn = SampledRows.joined([drawn, sample.beyond])
        if self.beside is not None:
            more = mean.is_fixed and self.count is None
            return self.chosen(SampledRows.joined([drawn, best.others(drawn)]) if more else drawn, best)
        mu = drawn.mu if mean.is_final else self.objective.means(drawn.rows)
        return self.better(self._exchanged(self._offered(drawn, mu, best)), best)

    def chosen(self, drawn: SampledRows, best: Best) -> Selection:
        """From these candidates, judged by the mean as it is now, whatever it was when they came; or the best."""
        if self.beside is not None:
            drawn, best = self.beside.may_be_chosen(drawn), best.taken(self.beside.allowed(best.rows))
        drawn = replace(drawn, mu=self.objective.means(drawn.rows))
        if self.beside is not None and len(self.beside.keep):
            return self._chosen_beside(self.beside.keep, drawn, best)
        return self.better(self._exchanged(drawn), best)

    def _chosen_beside(self, keep: Array, drawn: SampledRows, best: Best) -> Selection:
        """The best of a few tries, rows chosen before included at their best weights.

        Those of them that have a weight are taken out of the kernel, then the rest of the mean is matched by it. If
        others of them have a weight beside the new rows, it is tried again with these. ProtoBasic's rows are a try too.
        """
        objective = self.objective
        gram, mu = objective.exact(keep)
        inside, tried = NonNegativeQP.from_gram(gram, mu).weights > 0, [best.first(self.m).selection().beside(keep)]
        for _ in range(_TRIES):
            chosen = self._outside(Span(objective.kernel, keep[inside]), mu[inside], drawn).beside(keep)
            tried.append(replace(chosen, weights=objective.weigh(chosen.rows, np.zeros(len(chosen.rows))).weights))
            before, inside = inside, tried[-1].weights[-len(keep) :] > 0
            if np.array_equal(before, inside):
                break
        return max(tried, key=lambda selection: objective.weigh(selection.rows, selection.weights).value)

    def _outside(self, span: Span, mu: Float64, drawn: SampledRows) -> Selection:
        """The choice where a span, with these means at its rows, is there already. O(candidates span (span + d))."""
        if not len(span.rows):
            found = self._exchanged(drawn)
        else:
            outside = drawn.mu - span.coordinates(drawn.rows).T @ span.half_solve(mu)
            rest = replace(self, objective=replace(self.objective, kernel=Outside(self.objective.kernel, span)))
            found = rest._exchanged(SampledRows(drawn.rows.astype(np.float64), drawn.numbers, outside))
        slots = found.exchange.slots
        numbers = found.indices[slots]
        return Selection(numbers, found.rows[slots].astype(drawn.rows.dtype), found.exchange.w[slots])

    def _offered(self, drawn: SampledRows, mu: Float64, best: Best) -> SampledRows:
        """Candidates with their means, the rows most like a fixed target among them: where few rows of a stream are
        like it, a uniform sample has next to none of these. (Of a target that moves, the order of rows would decide.)
        """
        if not self.objective.mean.is_fixed or self.count is not None:
            return SampledRows(drawn.rows, drawn.numbers, mu)
        more = best.others(drawn)
        known = self.objective.means(more.rows) if len(more) else more.mu
        return SampledRows.joined([replace(drawn, mu=mu), replace(more, mu=known)])

    def better(self, members: Members, best: Best, *, quick: bool = False) -> Selection:
        """Of the two that are kept beside each other; a ``quick`` look is by the mean that judged rows as they came."""
        slots, basic = members.exchange.slots, best.first(self.m).selection()
        if self._is_better(basic, members.exchange.value, quick):
            return basic
        return Selection(members.indices[slots], members.rows[slots], members.exchange.w[slots])

    def _exchanged(self, drawn: SampledRows) -> Members:
        """The set that exchanges over the candidates lead to, each pass in an order of its own, from no members.

        Exchanges one by one can get stuck, and where there are few candidates that is cheap to mend: these are offered
        until nothing changes, and then to an empty set again, a few times.
        """
        rng, left, best = np.random.default_rng(0), _FEW, None  # the order is that of hashes, shuffled
        for _ in range(_ATTEMPTS):
            tried = self.empty(drawn.rows)
            left -= self._look(tried, drawn, rng, left)
            if best is None or tried.exchange.value > best.exchange.value:
                best = tried
            if left < len(drawn):
                break
        assert best is not None
        return best

    def _look(self, members: Members, drawn: SampledRows, rng: np.random.Generator, most: int) -> int:
        """All passes, and where few rows, ``most``, were looked at then, until nothing changes; returns how many were.

        Some rows make a set. Then each pass ranks all rows by how near they are to an exchange, in all threads, and
        offers the nearest: hardly any other would be taken.
        """
        n = len(drawn)
        some = min(max(n // _SHARE, _LEAST), n)
        self.offer(members, drawn.take(rng.permutation(n)[:some]))
        seen, changed = some, True
        while seen < (self.passes or _PASSES) * n or (changed and seen + n <= most):
            before = members.indices.copy()
            self.offer(members, drawn.take(rng.permutation(self._nearest(members, drawn, some))))
            changed = not np.array_equal(before, members.indices)
            seen += n
        return seen

    def _nearest(self, members: Members, drawn: SampledRows, most: int) -> Indices:
        """The rows nearest to an exchange; all, while there is room for any."""
        kernel, n = self.objective.kernel, len(drawn)
        if most == n or members.exchange.size < members.exchange.room:
            return np.arange(n)
        step = max(_RANKED // members.exchange.room, 1)

        def ratios(start: int) -> Array:
            part = slice(start, start + step)
            points = kernel.prepare(drawn.rows[part])
            return members.ratios(kernel, points, kernel.diagonal(points), drawn.mu[part])

        starts = range(0, n, step)
        found = [ratios(starts[0]), *ahead_of(ratios, starts[1:], in_threads=kernel.in_threads)]
        return np.argsort(-np.concatenate(found), kind="stable")[:most]

    def offer(self, members: Members, drawn: SampledRows) -> None:
        """Rows with their means, those that are members now left out."""
        kernel = self.objective.kernel
        for start in range(0, len(drawn), self.step):
            part = np.arange(start, min(start + self.step, len(drawn)))
            part = part[~np.isin(drawn.numbers[part], members.indices)]
            some = drawn.take(part)
            points = kernel.prepare(some.rows)
            diagonal = kernel.diagonal(points).astype(np.float64)
            members.offer(kernel, some.numbers, some.rows, points, diagonal, some.mu)

    def _is_better(self, basic: Selection, value: float, quick: bool) -> bool:
        """Whether ProtoBasic's rows are worth more. A bound, with the signs of weights ignored, mostly tells."""
        if not len(basic.indices):
            return False
        objective = self.objective
        value *= 1 + _EQUAL
        points = objective.kernel.prepare(basic.rows)
        nonzero = objective.kernel.diagonal(points) > 0  # a row of zeros, to Linear(), is similar to nothing
        points = points.take(nonzero)
        mu = objective.mean.at(points) if quick else objective.mean.exactly_at(points)
        gram = objective.kernel.block(points, points).astype(np.float64)
        np.fill_diagonal(gram, objective.kernel.diagonal(points))  # with a ridge it is not the product's own
        root, _ = definite_cholesky(np.tril(gram), float(np.finfo(basic.rows.dtype).eps))
        y = solve_triangular(root, mu, lower=True, check_finite=False)
        return 0.5 * float(y @ y) > value and (objective.signed or NonNegativeQP.from_gram(gram, mu).value > value)
