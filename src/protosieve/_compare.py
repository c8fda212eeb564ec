"""Several methods on one data set: what each of them costs, and what it is worth by one measure."""

import gc
import hashlib
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from protosieve import _html
from protosieve._blas import one_thread
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError, ParameterError, arg
from protosieve.kernels import Kernel, MultiScale, Points, as_kernel
from protosieve.means import Judge, Mean, MeanState, Sampled, SettledMean
from protosieve.objectives import Coverage, KernelMean
from protosieve.result import Certificate
from protosieve.selectors import (
    SELECTORS,
    ProtoSwap,
    Selector,
    column_names,
    default_mean,
    generator,
    some_rows,
    target_rows,
    whole_number,
)
from protosieve.weights import NonNegativeQP

_SELECTORS = {cls.method: cls for cls in SELECTORS}
_RANDOM, _KMEANS, _COVER = "random", "kmeans", "cover"
KNOWN = tuple(sorted([*_SELECTORS, _RANDOM, _KMEANS, _COVER]))  # methods by name

_Run: TypeAlias = "Callable[[], list[tuple[Indices, Float64]]]"  # choices of rows, with the weights they were given

_LOOKED_AT = 8192  # rows at most, to say what is covered and how well labels are told
_BLOCK = 512  # the selectors' own default: blocks of the same rows have their mu computed once


@dataclass(frozen=True, eq=False)
class Comparison:
    """A table with a line per method; print it, or take ``rows``, ``columns`` or ``table["residual"]``.

    Attributes
    ----------
    columns : dict of arrays
        ``method``; ``kept``, the rows chosen; their ``residual``, ``mmd`` and ``objective`` at the best non-negative
        weights; ``covered``, the mean similarity of a row of the target to the nearest of them, as a share of a row's
        to itself; ``accuracy`` where labels were given; ``own_residual`` and ``own_objective`` at the weights the
        method gave them; ``seconds`` and ``seconds_with_mean``; ``peak_mb``, where memory was measured.
    title : str
        The data, the kernel and the mean, in a line.
    mean_seconds : float
        The one pass that computed ``mu`` of every row.
    kernel : Kernel
        With its width as a number.
    """

    columns: dict[str, Any] = field(repr=False)
    title: str
    mean_seconds: float
    kernel: Kernel

    def __post_init__(self) -> None:
        for column in self.columns.values():
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.columns["method"])

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table as a list of dicts of plain values, one per method."""
        lines = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        return [dict(zip(self.columns, line, strict=True)) for line in lines]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ]
        return "\n".join([self.title, *lines])

    def to_markdown(self) -> str:
        """The table in Markdown."""
        head, *lines = ([cell.replace("|", r"\|") for cell in line] for line in self._cells())
        rule = ["---", *("---:" for _ in head[1:])]
        return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``; needs pandas, which protosieve itself does not."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas, which is not installed: pip install pandas, or use .rows or .columns"
            ) from error
        return pandas.DataFrame({name: column.copy() for name, column in self.columns.items()})

    def _repr_html_(self) -> str:
        """The table, for a notebook."""
        head, *lines = self._cells()
        return _html.table(self.title, [(name, [line[i] for line in lines]) for i, name in enumerate(head)])

    def _cells(self) -> list[list[str]]:
        body = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()] for row in self.rows]
        return [list(self.columns), *body]


def compare(
    X: Any,
    n_prototypes: int = 10,
    methods: Sequence[str | Selector] | None = None,
    *,
    target: Any = None,
    kernel: Any = None,
    mean: Mean | None = None,
    labels: Any = None,
    random_state: Any = 0,
    draws: int = 10,
    memory: bool = False,
) -> Comparison:
    """Run several methods on one data set and score them by one measure for each of two goals: to match and to cover.

    *To match*: the rows of every method get the best non-negative weights under one kernel and one mean, so that
    residuals can be compared. The residual at the method's own weights is beside it; for equal weights
    (`SieveStreaming`) it is larger. The line to beat is ``"random"``: random rows with the best weights, every figure
    the mean of ``draws`` draws. It is surprisingly good.

    *To cover*: ``covered`` says how similar a row is to the nearest of those chosen, on average. ``"cover"`` is made
    for it (`ProtoSwap` by `Coverage`); the line to beat is ``"kmeans"``, k-means with the row nearest to each centre.
    With ``labels``, ``accuracy`` is the share of the other rows whose label is that of the nearest row chosen: as if
    only those had been labelled. Methods do not see labels. Both are found by at most 8,192 rows, drawn at random.

    *Seconds* are those of ``fit``, in one run, one BLAS thread. The pass that computes ``mu`` of every row is the same
    for all, so it is run once and shared: ``seconds`` are without the mean, ``seconds_with_mean`` with the time of
    that pass (for random rows, which need none, with their own ``mu``). A selector that brings a kernel or mean of its
    own computes what it needs; both columns are then its whole time. One run on a busy machine is a rough figure.

    *Memory*, with ``memory=True``, is the peak of what ``fit`` allocates beyond ``X`` and the shared mean, traced in a
    second run, since tracing slows Python down. It counts what Python and NumPy allocate,
    which is all but the BLAS library's own few MB; it does not count what the operating system adds, nor the copy of
    its target that ``fit`` keeps where the mean is exact: here the mean is shared.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
    n_prototypes : int, default 10
        Rows each method may keep.
    methods : list of names and selectors, optional
        Names: the ``method`` of a selector class, such as ``"swap"`` (`ProtoSwap`), ``"stream"`` or ``"dash"``;
        ``"cover"``, ``"kmeans"`` and ``"random"``; by default all but the slow ones (``"streak"``). A selector is run
        as it is, on a clone; where its kernel, mean or random_state is None it gets the comparison's.
    target : array of shape (n_target, d), optional
        The rows to match; by default ``X`` itself.
    kernel : Kernel or function, default MultiScale(width="median")
        By which all are scored, and named methods choose.
    mean : Mean, optional
        By which all are scored, and named methods choose; by default exact for a target of up to 10,000 to 50,000 rows,
        else calibrated.
    labels : sequence of length n, optional
        A label for each row of ``X``; None or NaN where it is not known. Such a row has no part in the accuracy.
    random_state : int, NumPy generator or None, default 0
        Seed of the methods, of the sample and of the random rows.
    draws : int, default 10
        Random selections.
    memory : bool, default False
        Measure peak memory too, in a second run of each method.

    Returns
    -------
    Comparison

    Notes
    -----
    Beside the methods themselves the mean costs O(n n_target d), with a sample O(n d); memory is n numbers, and nothing
    is n x n.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import compare
    >>> from protosieve.kernels import Gaussian
    >>> X = load_digits().data
    >>> table = compare(X, 30, ["basic", "stream", "random"], kernel=Gaussian(20.0))
    >>> table["method"][table["residual"].argmin()]
    'stream'
    >>> table.rows[0]["method"], table.rows[0]["kept"]
    ('basic', 30)
    """
    whole_number(1).check("compare", "n_prototypes", n_prototypes)
    whole_number(1).check("compare", "draws", draws)
    if not (mean is None or isinstance(mean, Mean)):
        raise ParameterError(f"compare: {arg('mean')} must be a mean of protosieve.means or None, got {mean!r}")
    entrants = _entrants(methods, int(n_prototypes))
    with one_thread():
        arena = _Arena.of(X, int(n_prototypes), target, kernel, mean, labels, random_state)
        lines = []
        for name, selector in entrants:
            if isinstance(selector, Selector):
                run = _fitting(arena, selector)
            elif name == _KMEANS:
                run = _clustering(arena, int(n_prototypes))
            else:
                run = _drawing(arena, int(n_prototypes), int(draws))
            lines.append({"method": name, **arena.time(run), **(_traced(run) if memory else {})})
    columns = {name: np.array([line[name] for line in lines]) for name in lines[0]}
    columns["method"] = columns["method"].astype(object)  # plain text, not NumPy's
    return Comparison(columns, arena.title(int(n_prototypes)), arena.mean_seconds, arena.objective.kernel)


def _entrants(methods: Sequence[str | Selector] | None, m: int) -> list[tuple[str, Selector | None]]:
    """Names and selectors; ``None`` stands for random rows and for k-means."""
    quick = [name for name in KNOWN if name not in _SELECTORS or not _SELECTORS[name].is_slow]
    wanted = quick if methods is None else [methods] if isinstance(methods, str | Selector) else list(methods)
    if not wanted:
        raise ParameterError(f"compare: {arg('methods')} is empty; name some of {', '.join(KNOWN)}, or leave it out")
    entrants: list[tuple[str, Selector | None]] = []
    for method in wanted:
        if isinstance(method, Selector) and not (method.objective is None or method.objective.compares_rows):
            raise ParameterError(
                f"compare: {arg(f'methods[{len(entrants)}]')} chooses by {method.objective!r}, and methods are "
                "compared by a kernel mean; compare the residuals of their results instead"
            )
        if isinstance(method, Selector):
            entrants.append((" ".join(repr(method).split()), clone(method)))
        elif isinstance(method, str) and method in KNOWN:
            made = ProtoSwap(m, objective=Coverage()) if method == _COVER else None
            entrants.append((method, _SELECTORS[method](m) if method in _SELECTORS else made))
        else:
            raise ParameterError(
                f"compare: {arg(f'methods[{len(entrants)}]')} is {method!r}, which is no method; "
                f"the known ones are {', '.join(KNOWN)}, or give a selector"
            )
    return entrants


class _SharedMean(Mean):
    """One mean for all methods, of the same target rows."""

    def __init__(self, wish: Mean, match: Array, kernel: Kernel, state: MeanState) -> None:
        self._wish, self._match, self._kernel, self.state = wish, match, kernel, _SharedState(state)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a clone of a selector shares it too

    def check(self, target: Array | None) -> None:
        pass

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> MeanState:
        # equal kernels may prepare rows each in its own way, and rows of two ways must not be multiplied
        one, other = (k.prepare(like[:1]).left for k in (kernel, self._kernel))
        if kernel == self._kernel and np.array_equal(one, other):
            return self.state
        return self._wish.begin(kernel, self._match, like, rng, n_prototypes)


class _SharedState(SettledMean):
    """Each block's ``mu`` is computed once, and the time spent in the mean is counted.

    Blocks are known by what they hold, prepared for the kernel: a method may cut and order rows as it likes.
    """

    in_threads = False  # seconds are those of one thread

    def __init__(self, state: MeanState) -> None:
        self._state = state
        self._mu: dict[bytes, Float64] = {}
        self.reset()

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def reset(self) -> None:
        """Count from zero: seconds spent on rows whose ``mu`` was known, and on others."""
        self.known = self.other = 0.0

    def learn(self, objective: KernelMean, rows: Array) -> None:
        """``mu`` of every row, and ``|mu|^2`` where the rows are the target."""
        norm, fixed = 0.0, objective.fixed_over(rows)
        for start in range(0, len(rows), _BLOCK):
            block = objective.block(start, rows[start : start + _BLOCK])
            self._mu[_digest(block.points)] = block.mu
            if fixed is not None:
                norm += fixed.share_of_norm(slice(start, start + _BLOCK), block.mu)
        if fixed is not None:
            fixed.norm = norm

    def at(self, points: Points) -> Float64:
        start = time.perf_counter()
        known = self._mu.get(_digest(points))
        if known is None:
            with self._timed():
                return self._state.at(points)
        self.known += time.perf_counter() - start
        return known.copy()

    def exactly_at(self, points: Points) -> Float64:
        with self._timed():
            return self._state.exactly_at(points)

    def at_candidates(self, rows: Array) -> Float64 | None:
        with self._timed():
            return self._state.at_candidates(rows)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.other += time.perf_counter() - start

    def seed(self, size: int) -> int | None:
        return self._state.seed(size)

    def sampled(self) -> Sampled | None:
        return self._state.sampled()

    def squared_norm(self, step: int) -> float:
        return self._state.squared_norm(step)


def _digest(points: Points) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(points.left).data, digest_size=16).digest()


@dataclass(frozen=True)
class _Arena:
    """What is the same for all methods: rows, target, kernel, mean, and how a choice of rows is scored."""

    rows: Array
    target: Array | None
    shared: _SharedMean
    objective: KernelMean
    bound: float
    judge: Judge | None  # where the mean rests on a sample
    coverage: Coverage  # by some rows of the target
    full: float  # what no rows cover more than
    labels: "_Labels | None"
    mean_seconds: float
    random_state: Any

    @classmethod
    def of(
        cls, X: Any, m: int, target: Any, kernel: Any, mean: Mean | None, labels: Any, random_state: Any
    ) -> "_Arena":
        """Check, learn the kernel's width as a selector would, and compute ``mu`` of every row once."""
        wish = MultiScale() if kernel is None else as_kernel(kernel)
        dtype = None if wish.nonnegative else np.float64
        rows = some_rows(X, dtype)
        given = target_rows(target, mean, rows, column_names(X))
        match = rows if given is None else given
        if random_state is None:  # one seed for all, whichever
            random_state = int(np.random.default_rng().integers(2**31))
        rng = generator(random_state)
        learnt = wish.resolve(match, rng)
        if mean is None:
            mean = default_mean(match, m)
        start = time.perf_counter()
        state = mean.begin(learnt, match, rows, np.random.default_rng(rng.integers(2**63)), m)
        shared = _SharedMean(mean, match, learnt, state)
        shared.state.learn(KernelMean(learnt, state), rows)
        objective = KernelMean(learnt, shared.state)
        sampled = objective.sampled()
        judge = None if sampled is None else Judge(sampled)
        bound = objective.upper_bound(_BLOCK) if judge is None else judge.norm / 2
        seconds = time.perf_counter() - start
        looked_at = _some(len(match), generator(random_state))
        coverage = Coverage(len(looked_at)).by(learnt, match[looked_at], len(looked_at))
        full = coverage.bound_with(rows, _BLOCK)
        told = None if labels is None else _Labels.of(labels, len(rows), generator(random_state))
        return cls(rows, given, shared, objective, bound, judge, coverage, full, told, seconds, random_state)

    def score(self, chosen: Indices, weights: Float64) -> dict[str, Any]:
        """What these rows are worth at the best weights, and at the ones given; what they cover; how they classify."""
        rows = self.rows[chosen]
        accuracy = (
            {} if self.labels is None else {"accuracy": self.labels.accuracy(self.rows, chosen, self.objective.kernel)}
        )
        gram, mu = self.objective.exact(rows)
        best = NonNegativeQP.from_gram(gram, mu)
        found = self._certificate(rows, best.weights, best.value)
        own = self._certificate(rows, weights, float(weights @ mu - weights @ gram @ weights / 2))
        return {
            "kept": len(rows),
            "residual": found.residual,
            "covered": self.coverage.weigh(rows, weights).value / self.full,
            **accuracy,
            "mmd": found.mmd,
            "objective": found.value,
            "own_residual": own.residual,
            "own_objective": own.value,
        }

    def _certificate(self, rows: Array, weights: Float64, value: float) -> Certificate:
        return Certificate(value, self.bound) if self.judge is None else Certificate.by(self.judge, rows, weights)

    def time(self, run: _Run) -> dict[str, Any]:
        """A line of the table: the scores, and the seconds; of several choices the mean."""
        clock = self.shared.state
        clock.reset()
        start = time.perf_counter()
        choices = run()
        total = time.perf_counter() - start
        seconds = (total - clock.known - clock.other) / len(choices)
        once = clock.other / len(choices) + (self.mean_seconds if clock.known else 0.0)
        scores = [self.score(*choice) for choice in choices]
        means = {name: float(np.mean([score[name] for score in scores])) for name in scores[0]}
        return {**means, "kept": scores[0]["kept"], "seconds": seconds, "seconds_with_mean": seconds + once}

    def title(self, m: int) -> str:
        sample = self.objective.mean.sample_size()
        how = "exact" if sample is None else f"by a sample, judged by {sample:,} rows"
        target = "" if self.target is None else f", target of {len(self.target):,} rows"
        return (
            f"up to {m:,} of {len(self.rows):,} rows, {self.rows.shape[1]:,} columns{target}; "
            f"{self.objective.kernel!r}; mean {how}, {self.mean_seconds:.3g} s"
        )


def _some(n: int, rng: np.random.Generator) -> Indices:
    """Rows to look at: all, or that many at random."""
    return np.arange(n) if n <= _LOOKED_AT else np.sort(rng.choice(n, _LOOKED_AT, replace=False))


@dataclass(frozen=True)
class _Labels:
    """Of each row the number of its label, -1 where it is not known; and the rows that are classified."""

    codes: NDArray[np.int64]
    judged: Indices

    @classmethod
    def of(cls, labels: Any, n: int, rng: np.random.Generator) -> "_Labels":
        given = list(labels)
        if len(given) != n:
            raise InputError(f"{arg('labels')} has {len(given):,} values and X {n:,} rows; give one for each row")
        known: dict[Any, int] = {}
        codes = np.array([-1 if _is_missing(one) else known.setdefault(one, len(known)) for one in given])
        if not known:
            raise InputError(f"{arg('labels')} names no label; give those of some rows, or leave it out")
        labelled = np.flatnonzero(codes >= 0)
        return cls(codes, labelled[_some(len(labelled), rng)])

    def accuracy(self, rows: Array, chosen: Indices, kernel: Kernel) -> float:
        """Of the labelled rows that were not chosen, the share with the label of the nearest that was."""
        chosen = chosen[self.codes[chosen] >= 0]
        others = self.judged[~np.isin(self.judged, chosen)]
        if not len(chosen) or not len(others):
            return np.nan
        nearest = chosen[kernel.nearest(rows[others], rows[chosen])]
        return float((self.codes[nearest] == self.codes[others]).mean())


def _is_missing(label: Any) -> bool:
    """Whether it is None, NaN, NaT or pandas' NA, which does not even tell whether it equals itself."""
    is_itself = label == label
    return label is None or not (isinstance(is_itself, bool | np.bool_) and is_itself)


def _fitting(arena: _Arena, selector: Selector) -> _Run:
    """A selector on the arena's rows; it borrows what it has not brought."""
    lent = {"kernel": arena.objective.kernel, "mean": arena.shared, "random_state": arena.random_state}
    if selector.kernel is not None or selector.objective is not None:
        del lent["mean"]  # it is that of another kernel, or nothing is matched
    selector.set_params(**{name: value for name, value in lent.items() if getattr(selector, name) is None})

    def run() -> list[tuple[Indices, Float64]]:
        result = clone(selector).fit(arena.rows, target=arena.target).result_
        return [(result.indices, result.weights)]

    return run


def _drawing(arena: _Arena, m: int, draws: int) -> _Run:
    """Random rows with the best weights, several times."""

    def run() -> list[tuple[Indices, Float64]]:
        rng = np.random.default_rng(generator(arena.random_state).integers(2**63))
        n = len(arena.rows)
        chosen = [np.sort(rng.choice(n, min(m, n), replace=False)) for _ in range(draws)]
        return [(rows, NonNegativeQP.from_gram(*arena.objective.exact(arena.rows[rows])).weights) for rows in chosen]

    return run


def _clustering(arena: _Arena, m: int) -> _Run:
    """The row nearest to each centre of k-means of the target, with the share of its cluster."""

    def run() -> list[tuple[Indices, Float64]]:
        rows, match = arena.rows, arena.rows if arena.target is None else arena.target
        seed = int(generator(arena.random_state).integers(2**31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer different rows than clusters
            found = KMeans(min(m, len(match)), n_init=1, random_state=seed).fit(match)
        nearest = pairwise_distances_argmin(found.cluster_centers_, rows)
        sizes = np.bincount(found.labels_, minlength=len(nearest)) / len(match)
        chosen, place = np.unique(nearest, return_inverse=True)
        return [(chosen, np.bincount(place, sizes).astype(np.float64, copy=False))]

    return run


def _traced(run: _Run) -> dict[str, float]:
    """The peak of what a run allocates, in MB; its warnings were shown in the first run."""
    with _tracing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        run()
        return {"peak_mb": (tracemalloc.get_traced_memory()[1] - before) / 1e6}


@contextmanager
def _tracing() -> Iterator[None]:
    """Trace allocations; tracing that is on already stays on."""
    if tracemalloc.is_tracing():
        yield
        return
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
