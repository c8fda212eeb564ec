"""ProtoSwap: one set, improved by exchanges."""

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.utils.validation import check_is_fitted

from protosieve._blas import one_thread
from protosieve._state import storable
from protosieve._typed import are_finite, require
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError
from protosieve.means import Mean, Members, Reservoir
from protosieve.means._sample import lengthened
from protosieve.objectives import Block, KernelMean, Need, Objective, Weighed
from protosieve.selectors._base import Selection, StreamSelector
from protosieve.selectors._protobasic import Best
from protosieve.selectors._rows import as_rows
from protosieve.selectors._rules import Rule, share, whole_number
from protosieve.selectors._stream import Stream
from protosieve.weights import NonNegativeQP, definite_cholesky

__all__ = ["ProtoSwap"]

_ATTEMPTS = 4  # sets a second look at a small sample starts from
_EQUAL = 1e-9  # values no further apart than this, as a share, are equal


@storable
@dataclass
class Sample:
    """A uniform sample of the stream with the rows' means, for the second look where the mean keeps none."""

    reservoir: Reservoir
    mu: Float64

    def _check_form(self) -> None:
        require(self.mu.shape == (len(self.reservoir.rows),), "the means of a sample")
        require(are_finite(self.mu, self.reservoir.rows), "the rows of a sample")

    def observe(self, block: Block) -> None:
        rows, places = self.reservoir.observe(block.rows)
        self.mu = lengthened(self.mu, len(self.reservoir.rows)) if len(self.mu) < len(self.reservoir.rows) else self.mu
        self.mu[places] = block.mu[rows]


@storable
@dataclass
class Swapping:
    """The set, ProtoBasic's beside it, and rows for the second look."""

    members: Members
    best: Best
    sample: Sample | None
    mu: list[Float64] = field(default_factory=list, init=False)  # of every row so far, if there will be more passes

    def _check(self, m: int) -> None:
        self.members._check()
        self.best._check(m)


class ProtoSwap(StreamSelector):
    """Keep one set of m rows and exchange a member for a newcomer whenever that raises ``l``: the method to start with.

    While there is room every row with a positive gradient joins. A full set asks of each newcomer j whether taking it
    in, for the member that is then cheapest to lose, raises ``l``; if so the two change places. In one pass it is as
    good as batch greedy selection or better, and it needs no thresholds.

    *The exchange.* For members L with Gram matrix K, ``A = K^-1`` and best weights ``w = A mu``, let ``k = k(x_j, L)``,
    ``b = A k``, ``s = k_jj - k'b`` and ``g = mu_j - k'w``. Along the direction in which j joins, ``l`` is the parabola
    ``g t - s t^2 / 2``: joining adds ``g^2 / (2 s)`` at ``t = g / s``, and weights become ``w - (g/s) b``. From there
    member i can be lost at ``w_i^2 / (2 A_ii)``, with w and A as they are after the join. Gain and cost are exact,
    signs of weights included, so the value never falls, and the member that goes is the one whose loss costs least. All
    of it is updates of rank one.

    *The guarantee.* ProtoBasic's m rows are kept beside the set and the better of the two is the result, so it is worth
    at least ``c_m / C_m`` of the best m rows (Theorem 5.3 of the paper).

    *The second look.* An unlucky order can strand one pass: when the head of the stream is unlike the rest (sorted
    rows, sessions, seasons), rows that would serve later have gone by before anyone could know. So a uniform
    sample of the stream is kept and offered once more, on a copy, whenever a result is asked for. In sorted orders this
    brings the residual from several times that of batch selection to about the same (docs/selectors.md has the
    figures). On stored data more ``passes`` do better still. An adversary who shows every useful row but once,
    early, hurts any method with memory for m rows; the sample is what stands against it.

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
    second_look : int, default 4096
        Rows of a sample that are offered again for a result; 0 for none. Where the mean keeps a sample of the stream
        itself, that one serves.
    passes : int, default 1
        Times ``fit`` goes over the rows. For stored data only.
    mean : Mean, optional
        How the target's mean is obtained; see `protosieve.means`. By default exact where there is a target of at
        most 20,000 rows, else a compressed sample.
    objective : Objective, optional
        `LeastSquares`, where that is wanted and not the kernel mean; see `protosieve.objectives`. Rows are then
        features; kernel and mean have no part in it.
    random_state : int, NumPy generator or None
        Seed of all samples.
    block_size : int, default 512
        Rows that come to the mean together. Results depend on it in the last bits only where there is a target;
        without one also through the rows the width is learnt from and the moments at which the sample is looked at.
    verbose : bool, default False
        Say on standard error, once a second, how far a long call has come.

    Notes
    -----
    A row costs its ``mu``, m kernel values, and O(m^2) if its gradient is positive; an exchange O(m) for each of the
    few dozen rows judged together and O(m^2) in a product. Memory is O(m (m + d) + second_look d). A result costs
    ``second_look`` more rows and O(m^3): a second or so, so ask for it when you need it, not after every chunk.

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

    _needs: ClassVar[Need] = Need.EXCHANGES
    _rules: ClassVar[dict[str, Rule]] = {
        **StreamSelector._rules,
        "margin": share(),
        "second_look": whole_number(0),
        "passes": whole_number(1),
    }

    def __init__(
        self,
        n_prototypes: int = 10,
        *,
        kernel: Any = None,
        margin: float = 0.0,
        second_look: int = 4096,
        passes: int = 1,
        mean: Mean | None = None,
        objective: Objective | None = None,
        random_state: Any = None,
        block_size: int = 512,
        verbose: bool = False,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.kernel = kernel
        self.margin = margin
        self.second_look = second_look
        self.passes = passes
        self.mean = mean
        self.objective = objective
        self.random_state = random_state
        self.block_size = block_size
        self.verbose = verbose

    def _check_streaming(self) -> None:
        if self.passes != 1:
            raise ParameterError(
                f"ProtoSwap: passes={self.passes} needs stored data, and partial_fit sees its rows once; "
                "use fit, or passes=1"
            )

    def _begun(self) -> KernelMean:
        quadratic: KernelMean = self.objective.quadratic()
        return quadratic

    def _weigh(self, objective: KernelMean, rows: Array, start: Float64, mu: Float64 | None = None) -> Weighed:
        return super()._weigh(objective if self.objective is None else self.objective, rows, start, mu)

    def _start(self, block: Block, objective: KernelMean, rng: np.random.Generator) -> Swapping:
        sample = None
        if self.second_look and objective.mean.stream_sample() is None:
            seed = np.random.default_rng(rng.integers(2**63))
            sample = Sample(Reservoir.empty(self.second_look, block.rows, seed), np.zeros(0))
        members = Members.none(self.n_prototypes, self.margin, block.rows, block.points, objective.signed)
        return Swapping(members, Best.none(block), sample)

    def _judge(self, progress: Swapping, objective: KernelMean, block: Block) -> None:
        indices = np.arange(block.first, block.first + len(block))
        progress.members.offer(objective.kernel, indices, block.rows, block.points, block.diagonal, block.mu)
        progress.best.take(block, self.n_prototypes)
        if progress.sample is not None:
            progress.sample.observe(block)
        if self.passes > 1:
            progress.mu.append(block.mu)

    def _look_again(self, stream: Stream, rows: Array) -> None:
        if self.passes == 1:
            return
        self._judge_pending(stream)
        mu, stream.progress.mu = np.concatenate(stream.progress.mu), []
        for _ in range(1, self.passes):
            self._offer(stream.progress.members, cast(KernelMean, stream.running), np.arange(len(rows)), rows, mu)

    def review(self, X: Any, first: int = 0) -> Self:
        """Offer rows of the stream once more: the next pass over stored data, in chunks of any size.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
            Rows that were seen before; rows that are members now are left out.
        first : int, default 0
            The number, in the stream, of the first of them.

        Returns
        -------
        self

        Notes
        -----
        ``fit`` with ``passes`` does this for data in memory. O(n (size_of_mean d + m (d + m))). All of the stream must
        have been seen: rows that wait for a full block are judged first. Chunks whose length is a multiple of
        ``block_size`` give the same result, bit for bit, however many there are.
        """
        check_is_fitted(self)
        with self._lock, self._unchanged_on_error(), one_thread():
            self._check_unchanged()
            rows = as_rows(X, "X", first, self._stream.pending.dtype)
            self._remember_columns(X, reset=False)
            if not 0 <= first <= first + len(rows) <= self._stream.n_seen:
                raise InputError(
                    f"review: rows {first} to {first + len(rows) - 1} are not all among the "
                    f"{self._stream.n_seen} seen; give new rows to partial_fit"
                )
            stream = copy.deepcopy(self._stream)
            self._judge_pending(stream)
            indices = np.arange(first, first + len(rows))
            self._offer(stream.progress.members, cast(KernelMean, stream.running), indices, rows, None)
            self._stream, self._result = stream, None
        return self

    def _refresh(self, progress: Swapping, objective: KernelMean) -> None:
        members = progress.members
        members.renew(objective.at_zero(members.rows))
        progress.best.renew(objective)

    def _value(self, progress: Swapping) -> float:
        return progress.members.exchange.value

    def _accepted(self, progress: Swapping) -> int:
        return progress.members.joined

    def _exchanged(self, progress: Swapping) -> int:
        return progress.members.joined - progress.members.exchange.size

    def _held(self, progress: Swapping, objective: KernelMean) -> NDArray[np.int64]:
        members = progress.members
        sample = objective.mean.stream_sample() if progress.sample is None else progress.sample.reservoir
        looked_at = np.zeros(0, np.int64) if sample is None or not self.second_look else sample.indices[: sample.filled]
        return np.concatenate([members.indices[members.exchange.slots], progress.best.indices, looked_at])

    def _choose(self, progress: Swapping, objective: KernelMean) -> Selection:
        self._second_look(progress, objective)
        members, slots = progress.members, progress.members.exchange.slots
        found = Selection(members.indices[slots], members.rows[slots], members.exchange.w[slots])
        basic = progress.best.selection()
        return basic if self._is_better(basic, progress.best.pull, objective, members.exchange.value) else found

    def _second_look(self, progress: Swapping, objective: KernelMean) -> None:
        """Offer the sample in random order.

        As long as no more than ``second_look`` rows are offered in all, a small sample is offered until nothing
        changes, and then to an empty set, a few times: exchanges one by one can get stuck, and where there are few rows
        that is cheap to mend.
        """
        if not self.second_look:
            return
        own = progress.sample
        reservoir, mu = (objective.mean.stream_sample(), None) if own is None else (own.reservoir, own.mu)
        assert reservoir is not None
        left, tried = self.second_look, progress.members
        for _ in range(_ATTEMPTS):
            left -= self._offer_sample(tried, objective, reservoir, mu, left)
            if tried.exchange.value > progress.members.exchange.value:
                progress.members = tried
            if left < reservoir.filled:
                return
            tried = tried.emptied()

    def _offer_sample(
        self, members: Members, objective: KernelMean, sample: Reservoir, mu: Float64 | None, most: int
    ) -> int:
        """Until nothing changes, or ``most`` rows have been offered; returns how many were."""
        offered, changed = 0, True
        while changed and (not offered or offered + sample.filled <= most):
            before = members.indices.copy()
            order = sample.rng.permutation(sample.filled)[: self.second_look]
            self._offer(
                members, objective, sample.indices[order], sample.rows[order], None if mu is None else mu[order]
            )
            changed = not np.array_equal(before, members.indices)
            offered += len(order)
        return offered

    def _offer(
        self,
        members: Members,
        objective: KernelMean,
        indices: NDArray[np.int64],
        rows: Array,
        mu: Float64 | None,
    ) -> None:
        """Rows seen before, those that are members now left out."""
        for start in range(0, len(rows), self.block_size):
            part = np.arange(start, min(start + self.block_size, len(rows)))
            part = part[~np.isin(indices[part], members.indices)]
            points = objective.kernel.prepare(rows[part])
            means = objective.mean.at(points) if mu is None else mu[part]
            diagonal = objective.kernel.diagonal(points).astype(np.float64)
            members.offer(objective.kernel, indices[part], rows[part], points, diagonal, means)

    def _is_better(self, basic: Selection, pull: Float64, objective: KernelMean, value: float) -> bool:
        """Whether ProtoBasic's rows are worth more. A bound, with the signs of weights ignored, mostly tells."""
        if not len(basic.indices):
            return False
        value *= 1 + _EQUAL
        points = objective.kernel.prepare(basic.rows)
        nonzero = objective.kernel.diagonal(points) > 0  # a row of zeros, to Linear(), is similar to nothing
        points, mu = points.take(nonzero), (objective.at_zero(basic.rows) if objective.signed else pull)[nonzero]
        gram = objective.kernel.block(points, points).astype(np.float64)
        np.fill_diagonal(gram, objective.kernel.diagonal(points))  # with a ridge it is not the product's own
        root, _ = definite_cholesky(np.tril(gram), float(np.finfo(basic.rows.dtype).eps))
        y = solve_triangular(root, mu, lower=True, check_finite=False)
        return 0.5 * float(y @ y) > value and (objective.signed or NonNegativeQP.from_gram(gram, mu).value > value)
