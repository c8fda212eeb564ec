"""ProtoSwap: one set, improved by exchanges."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError, arg
from protosieve.exchange import Members
from protosieve.objectives import Block, Coverage, KernelMean, Need, Objective, Weighed
from protosieve.result import Prototypes
from protosieve.sampling import SampledRows, UniformSample
from protosieve.selectors._base import StreamSelector
from protosieve.selectors._beside import Beside
from protosieve.selectors._covering import Covering
from protosieve.selectors._matching import Matching
from protosieve.selectors._protobasic import Best
from protosieve.selectors._quotas import Quotas, chosen_within
from protosieve.selectors._rows import column_names
from protosieve.selectors._rules import Rule, share, whole_number
from protosieve.selectors._selector import Selection, parameters
from protosieve.selectors._stream import Counts, Recorder, Stream

SHORTEST = 100  # rows of a half-life
_NEAREST = 8  # rows most like the target that are candidates too, for each prototype: twice as many add nothing


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
        After the first, those that are nearest to an exchange are.
    mean : Mean, optional
        How the target's mean is obtained; see `protosieve.means`. By default exact where there is a target and that is
        cheap, up to 10,000 to 50,000 rows, else calibrated.
    objective : Objective, optional
        What to maximise instead of the kernel mean; see `protosieve.objectives`. `Coverage` takes a kernel and no mean:
        every row of the target should have a prototype near it. With `LeastSquares`, which takes neither, rows are
        features.
    half_life : int, optional
        The target is the recent past of the stream: a row weighs half as much after so many more, at least 100. Samples
        have no more rows than that. By default all rows weigh the same.
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
        "half_life": whole_number(SHORTEST).or_one_of(None),
    }

    margin: float = 0.0
    candidates: Any = "auto"
    passes: int | None = None
    objective: Objective | None = None
    half_life: int | None = None

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

        if self.half_life is not None and (self._takes_all or not self._compares_rows):
            judged = arg("candidates", "all") if self._takes_all else arg("objective", self.objective)
            raise ParameterError(
                f"ProtoSwap: {arg('half_life', self.half_life)} needs a sample of rows that are compared, and {judged} "
                "has none; leave one of the two out"
            )

    def _target(self, target: Any, rows: Array, X: Any) -> Array | None:
        if self.half_life is not None and target is not None:
            raise InputError(
                f"target was given, and with {arg('half_life', self.half_life)} the target is the stream's own past; "
                "leave one of the two out"
            )
        return super()._target(target, rows, X)

    def _check_streaming(self) -> None:
        if self._takes_all and self.passes not in (None, 1):
            raise ParameterError(
                f"ProtoSwap: {arg('passes', self.passes)} over all rows needs stored data, and partial_fit sees "
                f"its rows once; use fit, {arg('candidates', 'auto')} or {arg('passes', 1)}"
            )

    @property
    def _fades(self) -> bool:
        return self.half_life is not None

    def _objective(self, first: Array, target: Array | None, rng: np.random.Generator, own: bool = False) -> Any:
        objective: Any = super()._objective(first, target, rng, own)
        if self.half_life is not None:
            objective.fade(self.half_life)
        return objective

    def _begun(self) -> KernelMean:
        stated: Any = self.objective  # one that offers exchanges has a quadratic
        quadratic: KernelMean = stated.quadratic()
        return quadratic

    def _weigh(self, objective: KernelMean, rows: Array, start: Float64) -> Weighed:
        return super()._weigh(objective if self._compares_rows else self.objective, rows, start)

    def fit(self, X: Any, y: Any = None, *, target: Any = None, keep: Any = None, exclude: Any = None) -> Self:
        """Select from the rows of ``X``, forgetting what was seen before.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        y : ignored
        target : array of shape (n_target, d), optional
            The rows to match; by default ``X`` itself. An ``objective`` of its own has no target.
        keep : array of shape (n_keep, d), optional
            Rows that were chosen before, such as those with a label: members of the result from the start, beside
            which ``n_prototypes`` others are chosen. In the result they come last; row i of them is number -1 - i. Of
            equal ones each is there, and one has the weight.
        exclude : array of shape (n_exclude, d), optional
            Rows never to choose, such as those of a test set. They count in the target like all others, and so do rows
            equal to those to ``keep``, which are not chosen again.

        Returns
        -------
        self
        """
        return self._fit(X, y, target, keep=keep, exclude=exclude)

    def partial_fit(self, X: Any, y: Any = None, *, target: Any = None, keep: Any = None, exclude: Any = None) -> Self:
        """Continue with the next rows of the stream, in chunks of any size; a chunk without rows changes nothing.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        y : ignored
        target, keep, exclude : arrays, optional
            On the first call only: as for `fit`. By default the target is what has been seen so far.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, target=target, keep=keep, exclude=exclude)

    def _beside(self, rows: Array, X: Any, keep: Any = None, exclude: Any = None, **_: Any) -> Beside | None:
        for name, given in (("keep", keep), ("exclude", exclude)):
            if given is not None and self._takes_all:
                raise ParameterError(
                    f"ProtoSwap: {name} needs a sample to choose from, and {arg('candidates', 'all')} judges rows as "
                    f"they come; use {arg('candidates', 'auto')}"
                )
            if given is not None and not self._compares_rows:
                raise InputError(f"{name} was given, and {type(self.objective).__name__} compares no rows")
        return Beside.of(keep, exclude, rows, column_names(X))

    def _by(self, objective: KernelMean | Coverage, beside: Beside | None = None) -> Matching | Covering:
        """How it chooses by this objective, and beside which rows."""
        count = None if isinstance(self.candidates, str) else int(self.candidates)
        if isinstance(objective, Coverage):
            return Covering(objective, self.n_prototypes, self.margin, self.passes, count, beside)
        return Matching(objective, self.n_prototypes, self.margin, self.passes, count, self.block_size, beside)

    def _matching(self, objective: KernelMean | Coverage) -> Matching:
        found = self._by(objective)
        assert isinstance(found, Matching)  # all rows are judged as they come by a mean only
        return found

    def _start(self, block: Block, objective: KernelMean, rng: np.random.Generator) -> Swapping:
        if self._takes_all:
            return Swapping(Best.none(block.rows), None, self._matching(objective).empty(block.rows))
        return Swapping(Best.none(block.rows), self._by(objective).sample(block, rng), None)

    def _judge(self, progress: Swapping, objective: KernelMean, block: Block) -> None:
        indices = block.numbers
        if self._by(objective).keeps_best:
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
            self._matching(stream.running).offer(members, SampledRows(rows, np.arange(len(rows)), mu))

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
            sample = objective.mean.stream_sample() if progress.sample is None else progress.sample
            assert sample is not None
            held = sample.all_numbers
        return np.concatenate([held, progress.best.indices])

    def _choose(self, progress: Swapping, objective: KernelMean) -> Selection:
        if progress.members is not None:
            return self._matching(objective).better(progress.members, progress.best, quick=True)
        return self._by(objective).of_stream(progress.sample, progress.best)

    def _chosen(self, stream: Stream[Swapping, KernelMean]) -> Selection:
        if stream.beside is None:
            return super()._chosen(stream)
        return self._by(stream.running, stream.beside).of_stream(stream.known.sample, stream.known.best)

    def choose_from(
        self,
        candidates: SampledRows,
        best: Best,
        objective: KernelMean | Coverage,
        n_seen: int,
        keep: Array | None = None,
        exclude: Array | None = None,
        quotas: Quotas | None = None,
    ) -> Prototypes:
        """The result of a stream of so many rows, whose candidates, best rows and objective are known already.

        What ``result_`` is where the stream went by this selector itself; a run over many partitions gathers the three
        elsewhere. It stays unfitted.
        """
        self._check_parameters()
        beside = self._beside(candidates.rows, None, keep, exclude)
        with one_thread():
            by = self._by(objective, beside)
            chosen = by.chosen(candidates, best) if quotas is None else chosen_within(quotas, by, candidates)
            return self._prototypes(objective, chosen, n_seen, Recorder(), Counts(None, None))

    def of_kept(self, objective: KernelMean | Coverage, keep: Array, n_seen: int) -> Prototypes:
        """The result of such a stream where there is nothing to choose: rows that were chosen before, weighed."""
        nothing = Selection(np.zeros(0, np.int64), keep[:0], np.zeros(0))
        with one_thread():
            return self._prototypes(objective, nothing.beside(keep), n_seen, Recorder(), Counts(None, None))
