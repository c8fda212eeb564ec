"""ProtoSwap: one set, improved by exchanges."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import ParameterError, arg
from protosieve.exchange import CoverSet, Members
from protosieve.kernels import Points
from protosieve.means import candidates_in, candidates_of, sample_for, with_held_out
from protosieve.objectives import Block, Coverage, KernelMean, Need, Objective, Weighed
from protosieve.result import Prototypes
from protosieve.sampling import SampledRows, UniformSample
from protosieve.selectors._base import StreamSelector
from protosieve.selectors._protobasic import Best
from protosieve.selectors._rules import Rule, share, whole_number
from protosieve.selectors._selector import Selection, parameters
from protosieve.selectors._stream import Counts, Recorder, Stream
from protosieve.weights import NonNegativeQP, definite_cholesky

_PASSES = 2  # over the candidates: a third adds a hundredth
_SHARE = 4  # one in so many candidates is offered at first, and of all in every pass the nearest to an exchange
_LEAST = 4096  # and no fewer: to rank them costs as much as to offer them
_FEW = 16_384  # candidates looked at, at least: small samples until nothing changes, and more than once
_RANKED = 262_144  # similarities to members at once
_ATTEMPTS = 4  # times a small sample is offered to an empty set
_NEAREST = 8  # rows most like the target that are candidates too, for each prototype: twice as many add nothing
_COVERING = 64  # candidates compared with the whole target at once
_EQUAL = 1e-9  # values no further apart than this, as a share, are equal


def nearest_for(n_prototypes: int) -> int:
    """How many rows of a stream, those most like its target, are kept beside its sample."""
    return _NEAREST * int(n_prototypes)


@storable
@dataclass
class Swapping:
    """The rows most like the target, the first of them ProtoBasic's; and what the set is made of: a sample, where the
    mean keeps none, or its members so far.
    """

    best: Best
    sample: UniformSample | None
    members: Members | None
    mu: list[Float64] = field(default_factory=list, init=False)  # of every row so far, if there will be more passes

    def _check(self, m: int) -> None:
        self.best._check(nearest_for(m))
        if self.members is not None:
            self.members._check()


@parameters
class ProtoSwap(StreamSelector[Swapping, KernelMean]):
    """Keep one set of m rows and exchange a member for another whenever that raises ``l``: the method to start with.

    While there is room every row with a positive gradient joins. A full set asks of each newcomer j whether taking it
    in, for the member that is then cheapest to lose, raises ``l``; if so the two change places. It is as good as batch
    greedy selection or better, and it needs no thresholds.

    *The candidates.* Exchanges are made over one uniform sample of the stream, when a result is asked for.
    Where a target is given, the 8 m rows that are most like it are candidates too (to cover: unless the stream begins
    with it). A quarter of them, in
    random order, make a first set of an empty one. Then all are ranked by how near they are to an exchange, and the
    nearest quarter is offered, twice. Along the stream every row counts in the mean, and nothing is judged too early:
    the order of the rows, sorted or shuffled, does not matter. (A stream's median width is learnt from its first block,
    and again where the sample shows it to be off by a tenth; rows before that count in the mean by the sample alone.)
    Which rows are in the sample follows from their numbers and the seed alone. With ``candidates="all"`` every row is
    judged as it comes, in one pass and by the mean as it is then known: a few per cent better on long shuffled streams,
    slower the more prototypes there are, and worse where the head of the stream is unlike the rest.

    *The exchange.* For members L with Gram matrix K, ``A = K^-1`` and best weights ``w = A mu``, let ``k = k(x_j, L)``,
    ``b = A k``, ``s = k_jj - k'b`` and ``g = mu_j - k'w``. Along the direction in which j joins, ``l`` is the parabola
    ``g t - s t^2 / 2``: joining adds ``g^2 / (2 s)`` at ``t = g / s``, and weights become ``w - (g/s) b``. From there
    member i can be lost at ``w_i^2 / (2 A_ii)``, with w and A as they are after the join. Gain and cost are exact,
    signs of weights included, so the value never falls, and the member that goes is the one whose loss costs least. All
    of it is updates of rank one.

    *The guarantee.* ProtoBasic's m rows are kept beside the set and the better of the two is the result, so it is worth
    at least ``c_m / C_m`` of the best m rows (Theorem 5.3 of the paper). So it is for `Coverage` of another
    target than the stream, by Theorem 5.5. Of the stream itself no row is compared before a result is asked for, and
    the candidates are all there is: m of them are the first set, and exchanges only raise what it covers.

    Parameters
    ----------
    n_prototypes : int, default 10
        Rows to keep at most, m.
    kernel : Kernel or function, default MultiScale(width="median")
        The similarity; see `protosieve.kernels`.
    margin : float, default 0.0
        The share of ``l`` by which an exchange must raise it once the set is full. Above zero there are fewer
        exchanges, the set is steadier along the stream, and the result worse. Single exchanges add little: try 1e-6 to
        1e-4.
    candidates : "auto", "all" or int, default "auto"
        The rows exchanges are made with: a uniform sample of 256 rows for each prototype, at least 8,192 and at most
        32,768 of them; all rows, as they come; or a sample of so many rows.
    passes : int, optional
        Times the candidates are looked at: by default 2, once for ``"all"``, of which more passes need stored data.
    mean : Mean, optional
        How the target's mean is obtained; see `protosieve.means`. By default exact where there is a target and that is
        cheap, up to 10,000 to 50,000 rows, else calibrated.
    objective : Objective, optional
        What to maximise instead of the kernel mean; see `protosieve.objectives`. `Coverage` takes a kernel and no mean:
        every row of the target should have a prototype near it. With `LeastSquares`, which takes neither, rows are
        features.
    random_state : int, NumPy generator or None
        Seed of all samples.
    block_size : int, default 512
        Rows that come to the mean together. Results depend on it in the last bits only where there is a target;
        without one also through the rows the width is learnt from and the moments at which the sample is looked at.
    verbose : bool, default False
        Say on standard error, once a second, how far a long call has come.

    Notes
    -----
    A row costs its ``mu``. A result costs the mean at the candidates, m kernel values and O(m^2) for each of them and
    pass, and O(m) for each of the few dozen rows judged together and O(m^2) in a product for an exchange: a second for
    m = 100, several for m = 1,000; so ask for it when you need it, not after every chunk. With ``"all"`` rows
    of the stream bear that cost. Memory is O(m (m + d) + candidates d).

    References
    ----------
    The guarantee: Streaming Methods for Restricted Strongly Convex Functions with Applications to Prototype Selection,
    Theorem 5.3. Exchanges along a stream, for set functions: Buchbinder, Feldman, Schwartz. Online Submodular
    Maximization with Preemption. 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import ProtoSwap
    >>> X, digit = load_digits(return_X_y=True)
    >>> selector = ProtoSwap(n_prototypes=60, random_state=0).fit(X)
    >>> len(selector.result_), selector.result_.residual < 0.02
    (60, True)
    >>> sorted(set(digit[selector.prototype_indices_].tolist()))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    method: ClassVar[str] = "swap"
    summary: ClassVar[str] = "a member gives way whenever a newcomer is better"
    _needs: ClassVar[tuple[Need, ...]] = (Need.EXCHANGES,)
    _rules: ClassVar[dict[str, Rule]] = {
        **StreamSelector._rules,
        "margin": share(),
        "candidates": whole_number(1).or_one_of("auto", "all"),
        "passes": whole_number(1).or_one_of(None),
    }

    margin: float = 0.0
    candidates: Any = "auto"
    passes: int | None = None
    objective: Objective | None = None

    @property
    def _takes_all(self) -> bool:
        return isinstance(self.candidates, str) and self.candidates == "all"

    @property
    def _chooses_from_sample(self) -> bool:
        return not self._takes_all

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.candidates, str) and self.candidates < self.n_prototypes:
            raise ParameterError(
                f"ProtoSwap: {arg('candidates', self.candidates)} is fewer than "
                f"{arg('n_prototypes', self.n_prototypes)}; "
                'give more, or "auto"'
            )
        if self._takes_all and isinstance(self.objective, Coverage):
            raise ParameterError(
                f"ProtoSwap: {arg('candidates', 'all')} judges rows as they come, and Coverage compares rows of a "
                f"sample; give a number of candidates, or {arg('candidates', 'auto')}"
            )

    def _check_streaming(self) -> None:
        if self._takes_all and self.passes not in (None, 1):
            raise ParameterError(
                f"ProtoSwap: {arg('passes', self.passes)} over all rows needs stored data, and partial_fit sees "
                f"its rows once; use fit, {arg('candidates', 'auto')} or {arg('passes', 1)}"
            )

    def _begun(self) -> KernelMean:
        stated: Any = self.objective  # one that offers exchanges has a quadratic
        quadratic: KernelMean = stated.quadratic()
        return quadratic

    def _weigh(self, objective: KernelMean, rows: Array, start: Float64) -> Weighed:
        return super()._weigh(objective if self._compares_rows else self.objective, rows, start)

    def _start(self, block: Block, objective: KernelMean, rng: np.random.Generator) -> Swapping:
        if self._takes_all:
            return Swapping(Best.none(block.rows), None, self._empty(objective, block.rows))
        return Swapping(Best.none(block.rows), self._sample(block, objective, rng), None)

    def _empty(self, objective: KernelMean, like: Array) -> Members:
        points = objective.kernel.prepare(like[:1])
        return Members.none(self.n_prototypes, self.margin, like, points, objective.signed)

    def _sample(self, block: Block, objective: KernelMean, rng: np.random.Generator) -> UniformSample | None:
        """A sample of its own, unless the mean's has enough candidates."""
        auto = isinstance(self.candidates, str)
        size = sample_for(self.n_prototypes, block.rows.shape[1]) if auto else int(self.candidates)
        if isinstance(objective, Coverage):
            return UniformSample.empty(size if auto else with_held_out(size), block.rows, objective.seed)
        kept = objective.mean.stream_sample()
        if kept is not None and (candidates_in(size) if auto else size) <= candidates_in(kept.size):
            return None
        seed = objective.mean.seed(size)
        return UniformSample.empty(size, block.rows, int(rng.integers(2**63)) if seed is None else seed)

    def _judge(self, progress: Swapping, objective: KernelMean, block: Block) -> None:
        indices = block.numbers
        if not isinstance(objective, Coverage) or objective.begun.compared:
            progress.best.take(block.pull, indices, block.rows, nearest_for(self.n_prototypes))
        if progress.sample is not None:
            progress.sample.observe(block.rows, indices, block.mu)
        if progress.members is not None:
            progress.members.offer(objective.kernel, indices, block.rows, block.points, block.diagonal, block.mu)
            if (self.passes or 1) > 1:
                progress.mu.append(block.mu)

    def _look_again(self, stream: Stream[Swapping, KernelMean], rows: Array) -> None:
        if not self._takes_all or self.passes in (None, 1):
            return
        self._judge_pending(stream)
        members = stream.known.members
        assert members is not None
        mu, stream.known.mu = np.concatenate(stream.known.mu), []
        for _ in range(1, self.passes):
            self._offer(members, stream.running, np.arange(len(rows)), rows, mu)

    def _refresh(self, progress: Swapping, objective: KernelMean) -> None:
        progress.best.renew(objective)
        if progress.members is not None:
            progress.members.renew(objective.at_zero(progress.members.rows))

    def _value(self, progress: Swapping) -> float | None:
        return None if progress.members is None else progress.members.exchange.value

    def _accepted(self, progress: Swapping) -> int | None:
        return None if progress.members is None else progress.members.joined

    def _exchanged(self, progress: Swapping) -> int | None:
        return None if progress.members is None else progress.members.joined - progress.members.exchange.size

    def _held(self, progress: Swapping, objective: KernelMean) -> NDArray[np.int64]:
        if progress.members is not None:
            held = progress.members.indices[progress.members.exchange.slots]
        else:
            held = self._kept(progress, objective).all_numbers
        return np.concatenate([held, progress.best.indices])

    def _kept(self, progress: Swapping, objective: KernelMean) -> UniformSample:
        sample = objective.mean.stream_sample() if progress.sample is None else progress.sample
        assert sample is not None
        return sample

    def _candidates(self, progress: Swapping, objective: KernelMean) -> SampledRows:
        """The candidates as of now."""
        sample = self._kept(progress, objective).settled()
        if isinstance(objective, Coverage):
            sample = replace(sample, held=objective.may_be_chosen(sample.held))
        if not isinstance(self.candidates, str):
            return sample.held.take(slice(int(self.candidates)))
        return candidates_of(sample)

    def _choose(self, progress: Swapping, objective: KernelMean) -> Selection:
        if isinstance(objective, Coverage):
            drawn, best = self._candidates(progress, objective), progress.best
            is_own = objective.begins(drawn)  # a sample has enough of what it is like itself
            return self._covering(drawn, Best.none(drawn.rows) if is_own else best, objective)
        return self._better(progress.members or self._from_candidates(progress, objective), progress.best, objective)

    def _covering(self, drawn: SampledRows, best: Best, objective: Coverage) -> Selection:
        """The candidates that exchanges make cover the target best, from any m of them, or ProtoBasic's rows.

        A block is compared with the whole target, and the best exchange made with it as long as there is one.
        """
        if isinstance(self.candidates, str):
            drawn = SampledRows.joined([drawn, best.others(drawn)])
        target, rng = objective.chosen_by(), np.random.default_rng(0)
        found = CoverSet(self.n_prototypes, len(target), target.left.dtype, self.margin)

        def similarities(places: Indices) -> Array:
            return objective.similarities(drawn.rows[places], target, drawn.numbers[places])

        order = np.arange(len(drawn))  # which is that of hashes
        members = order[: self.n_prototypes]
        found.fill(similarities(members), members)
        for _ in range(self.passes or _PASSES):
            blocks = [order[start : start + _COVERING] for start in range(0, len(order), _COVERING)]
            compared = ahead_of(similarities, blocks, in_threads=objective.compared_by.in_threads)
            exchanged = [found.offer(*block) for block in zip(compared, blocks, strict=True)]
            if not any(exchanged):
                break
            order = rng.permutation(order)
        basic = best.first(self.n_prototypes).selection()
        kept = np.arange(len(basic.rows))
        if len(kept) and objective.cover(basic.rows, [kept])[0].value * len(target) > found.value:
            return basic
        chosen = np.sort(found.covering())
        return Selection(drawn.numbers[chosen], drawn.rows[chosen], np.zeros(len(chosen)))

    def _from_candidates(self, progress: Swapping, objective: KernelMean) -> Members:
        drawn = self._candidates(progress, objective)
        mu = drawn.mu if objective.mean.is_final else objective.means(drawn.rows)
        return self._exchange(self._offered(drawn, mu, progress.best, objective), objective)

    def _offered(self, drawn: SampledRows, mu: Float64, best: Best, objective: KernelMean) -> SampledRows:
        """Candidates with their means, the rows most like a fixed target among them: where few rows of a stream are
        like it, a uniform sample has next to none of these. (Of a target that moves, the order of rows would decide.)
        """
        if not objective.mean.is_fixed or not isinstance(self.candidates, str):
            return SampledRows(drawn.rows, drawn.numbers, mu)
        more = best.others(drawn)
        known = objective.means(more.rows) if len(more) else more.mu
        return SampledRows.joined([replace(drawn, mu=mu), replace(more, mu=known)])

    def _better(self, members: Members, best: Best, objective: KernelMean) -> Selection:
        """Of the two that are kept beside each other."""
        slots = members.exchange.slots
        found = Selection(members.indices[slots], members.rows[slots], members.exchange.w[slots])
        basic = best.first(self.n_prototypes).selection()
        at = objective.mean.at if self._takes_all else objective.mean.exactly_at  # no worse than members were judged by
        return basic if self._is_better(basic, at, objective, members.exchange.value) else found

    def choose_from(
        self, candidates: SampledRows, best: Best, objective: KernelMean | Coverage, n_seen: int
    ) -> Prototypes:
        """The result of a stream of so many rows, whose candidates, best rows and objective are known already.

        What ``result_`` is where the stream went by this selector itself; a run over many partitions gathers the three
        elsewhere. Candidates are judged by the mean as it is now, whatever it was when they came. It stays unfitted.
        """
        self._check_parameters()
        with one_thread():
            if isinstance(objective, Coverage):
                chosen = self._covering(candidates, best, objective)
                return self._prototypes(objective, chosen, n_seen, Recorder(), Counts(None, None))
            drawn = replace(candidates, mu=objective.means(candidates.rows))
            chosen = self._better(self._exchange(drawn, objective), best, objective)
            return self._prototypes(objective, chosen, n_seen, Recorder(), Counts(None, None))

    def _exchange(self, drawn: SampledRows, objective: KernelMean) -> Members:
        """The set that exchanges over the candidates lead to, each pass in an order of its own, from no members.

        Exchanges one by one can get stuck, and where there are few candidates that is cheap to mend: these are offered
        until nothing changes, and then to an empty set again, a few times.
        """
        rng, left, best = np.random.default_rng(0), _FEW, None  # the order is that of hashes, shuffled
        for _ in range(_ATTEMPTS):
            tried = self._empty(objective, drawn.rows)
            left -= self._look(tried, objective, drawn.numbers, drawn.rows, drawn.mu, rng, left)
            if best is None or tried.exchange.value > best.exchange.value:
                best = tried
            if left < len(drawn):
                break
        assert best is not None
        return best

    def _look(
        self,
        members: Members,
        objective: KernelMean,
        indices: NDArray[np.int64],
        rows: Array,
        mu: Float64,
        rng: np.random.Generator,
        most: int,
    ) -> int:
        """All passes, and where few rows, ``most``, were looked at then, until nothing changes; returns how many were.

        Some rows make a set. Then each pass ranks all rows by how near they are to an exchange, in all threads, and
        offers the nearest: hardly any other would be taken.
        """
        some = min(max(len(mu) // _SHARE, _LEAST), len(mu))
        order = rng.permutation(len(mu))[:some]
        self._offer(members, objective, indices[order], rows[order], mu[order])
        seen, changed = some, True
        while seen < (self.passes or _PASSES) * len(mu) or (changed and seen + len(mu) <= most):
            before = members.indices.copy()
            order = rng.permutation(self._nearest(members, objective, rows, mu, some))
            self._offer(members, objective, indices[order], rows[order], mu[order])
            changed = not np.array_equal(before, members.indices)
            seen += len(mu)
        return seen

    def _nearest(self, members: Members, objective: KernelMean, rows: Array, mu: Float64, most: int) -> Indices:
        """The rows nearest to an exchange; all, while there is room for any."""
        if most == len(mu) or members.exchange.size < members.exchange.room:
            return np.arange(len(mu))
        step = max(_RANKED // members.exchange.room, 1)

        def ratios(start: int) -> Array:
            part = slice(start, start + step)
            points = objective.kernel.prepare(rows[part])
            return members.ratios(objective.kernel, points, objective.kernel.diagonal(points), mu[part])

        starts = range(0, len(mu), step)
        found = [ratios(starts[0]), *ahead_of(ratios, starts[1:], in_threads=objective.kernel.in_threads)]
        return np.argsort(-np.concatenate(found), kind="stable")[:most]

    def _offer(
        self, members: Members, objective: KernelMean, indices: NDArray[np.int64], rows: Array, mu: Float64
    ) -> None:
        """Rows with their means, those that are members now left out."""
        for start in range(0, len(rows), self.block_size):
            part = np.arange(start, min(start + self.block_size, len(rows)))
            part = part[~np.isin(indices[part], members.indices)]
            points = objective.kernel.prepare(rows[part])
            diagonal = objective.kernel.diagonal(points).astype(np.float64)
            members.offer(objective.kernel, indices[part], rows[part], points, diagonal, mu[part])

    def _is_better(
        self, basic: Selection, at: Callable[[Points], Float64], objective: KernelMean, value: float
    ) -> bool:
        """Whether ProtoBasic's rows are worth more. A bound, with the signs of weights ignored, mostly tells."""
        if not len(basic.indices):
            return False
        value *= 1 + _EQUAL
        points = objective.kernel.prepare(basic.rows)
        nonzero = objective.kernel.diagonal(points) > 0  # a row of zeros, to Linear(), is similar to nothing
        points = points.take(nonzero)
        mu = at(points)
        gram = objective.kernel.block(points, points).astype(np.float64)
        np.fill_diagonal(gram, objective.kernel.diagonal(points))  # with a ridge it is not the product's own
        root, _ = definite_cholesky(np.tril(gram), float(np.finfo(basic.rows.dtype).eps))
        y = solve_triangular(root, mu, lower=True, check_finite=False)
        return 0.5 * float(y @ y) > value and (objective.signed or NonNegativeQP.from_gram(gram, mu).value > value)
