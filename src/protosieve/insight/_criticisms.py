"""Criticisms: the rows the prototypes explain worst."""

import math
import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ParameterError, arg, warn
from protosieve.kernels import Kernel, Points
from protosieve.means import Mean, MeanState
from protosieve.objectives import KernelMean
from protosieve.result import Prototypes
from protosieve.selectors import (
    NO_ROWS,
    Selector,
    as_rows,
    column_names,
    default_mean,
    generator,
    target_rows,
    whole_number,
)

_POOL = 1024


@dataclass(frozen=True, eq=False)
class Criticisms:
    """The rows prototypes explain worst, in the order they were chosen. A frozen value.

    Attributes
    ----------
    indices : array of int
        Row numbers of ``X`` as it was read, from 0.
    rows : array of shape (number found, d)
        The rows themselves.
    witness : array of float64
        ``mu(x) - sum_i w_i k(x_i, x)``: positive where there is more of the target than the prototypes say, negative
        where there is less.
    n_seen : int
        Rows of ``X`` read.
    """

    indices: NDArray[np.int64]
    rows: Array
    witness: Float64
    n_seen: int

    def __post_init__(self) -> None:
        for array in (self.indices, self.rows, self.witness):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        largest = np.abs(self.witness).max(initial=0.0)
        return f"Criticisms({len(self)} of {self.n_seen:,} rows, |witness| up to {largest:.4g})"


def criticisms(
    result: Prototypes | Selector,
    X: Any,
    n: int = 10,
    *,
    target: Any = None,
    mean: Mean | None = None,
    diversity: float = 1.0,
    pool_size: int | None = None,
    block_size: int = 512,
    random_state: Any = None,
) -> Criticisms:
    """The n rows of ``X`` that the prototypes explain worst, and that differ from each other.

    Prototypes say what is typical; criticisms what that leaves out. The witness ``mu(x) - sum_i w_i k(x_i, x)`` is the
    difference, at x, of the target and of the weighted prototypes as the kernel sees them. Criticisms C maximise

        sum_C |witness(x)| + diversity * log det K_CC

    greedily, as in the source. The determinant is zero where one criticism is like another, so they spread out; with
    kernels of diagonal 1 it is the larger term, and a smaller ``diversity`` gives the witness more say. A prototype, or
    an exact copy of one, is no criticism.

    ``X`` is read once, in memory that does not grow with it: the ``pool_size`` rows with the largest ``|witness|`` so
    far are kept, and the greedy choice is made among them at the end. With a pool of all rows it is the source's.

    The mean ``mu`` is, in this order: of ``target`` where it is given; that of ``result`` where it is a fitted
    selector; of ``X`` itself. Of an array that is not too large it is exact, as in ``fit``. Chunks cannot be read
    twice, so there it is the mean of what was seen so far, as in ``partial_fit``: the head of the stream is judged by
    the rows seen until then, and a row of it may miss the pool that would be in it by the final mean. Pass the fitted
    selector or a ``target`` and every row is judged by one mean.

    Parameters
    ----------
    result : Prototypes or fitted selector
        Whose prototypes are criticised.
    X : array, DataFrame, or iterable of them
        Rows, or chunks of rows: a generator, or a list of arrays. Usually the rows the prototypes were chosen from.
    n : int, default 10
        Criticisms wanted.
    target : array of shape (n_target, d), optional
        The rows the prototypes are to match.
    mean : Mean, optional
        How the mean of ``target`` or of ``X`` is obtained; see `protosieve.means`. By default exact for a target
        or an array of up to 10,000 to 50,000 rows, else calibrated.
    diversity : float, default 1.0
        Zero or more. With 0 the rows with the largest ``|witness|`` are returned, alike or not.
    pool_size : int, optional
        Candidates kept, at least n; by default the larger of 1,024 and 4 n.
    block_size : int, default 512
        Rows looked at together, however ``X`` is cut into chunks.
    random_state : int, NumPy generator or None
        Seed of the sample, where ``mu`` is that of a sample.

    Returns
    -------
    Criticisms
        ``indices``, ``rows`` and the signed ``witness``; fewer than n, with a warning, where no other candidate differs
        from those found.

    Notes
    -----
    A row costs its ``mu`` and m kernel values; the choice O(pool_size n (d + n)). Memory is O((pool_size + m) d +
    pool_size n + block_size m) beside the mean.

    References
    ----------
    Kim, Khanna, Koyejo. Examples are not enough, learn to criticize! Criticism for interpretability. 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import ProtoStream, criticisms
    >>> from protosieve.kernels import Gaussian
    >>> X, digit = load_digits(return_X_y=True)
    >>> selector = ProtoStream(n_prototypes=30, kernel=Gaussian(20.0), random_state=0).fit(X)
    >>> found = criticisms(selector, X, 8)
    >>> len(found), found.rows.shape
    (8, (8, 64))
    >>> set(found.indices) & set(selector.prototype_indices_)
    set()
    """
    size = _check_options(n, diversity, pool_size, block_size, mean)
    prototypes = result.result_ if isinstance(result, Selector) else result
    if not isinstance(prototypes, Prototypes):
        raise InputError(
            f"criticisms: the first argument is a {type(result).__name__}; give a fitted selector or its result_"
        )
    kernel = prototypes.kernel
    if kernel is None:
        raise InputError(
            f"criticisms: {prototypes.selector} chose these by {prototypes.parameters['objective']!r}; what a "
            "selection misses is told by a kernel, so only selections by the kernel mean have criticisms"
        )
    if prototypes.covers:
        raise InputError(
            "criticisms: these cover the data, and a criticism is what prototypes that match it leave out; the rows "
            "that they cover worst are in the report: result.report('page.html', X)"
        )
    with one_thread():
        dtype = None if kernel.nonnegative else np.float64
        whole = None if _is_chunked(X) else _rows(X, prototypes, 0, dtype)
        blocks = _blocks(X if whole is None else [whole], prototypes, dtype, int(block_size))
        first = next(blocks, None)
        if first is None:
            raise InputError(NO_ROWS.format((0, prototypes.rows.shape[1])))
        wanted = target_rows(target, mean, first, prototypes.feature_names)
        if isinstance(result, Selector) and wanted is None and mean is None:
            critic = Critic(prototypes, kernel, result.known_mean().mean, size)
        else:
            wanted = whole if wanted is None else wanted
            wish = mean or default_mean(wanted, len(prototypes))
            wish.check(wanted)
            state = wish.begin(kernel, wanted, first, generator(random_state), len(prototypes))
            critic = Critic(prototypes, kernel, state, size, follows=True)
        for rows in chain([first], blocks):
            critic.look(rows)
        found, shortage = critic.choose(int(n), float(diversity))
    if shortage is not None:
        warn(shortage)
    return found


def _blocks(chunks: Iterable[Any], prototypes: Prototypes, dtype: Any, size: int) -> Iterator[Array]:
    """Rows in blocks of one size, however they are cut; errors name the row of the whole."""
    seen, waiting = 0, None
    for chunk in chunks:
        rows = _rows(chunk, prototypes, seen, dtype)
        if not len(rows):
            continue
        seen, dtype = seen + len(rows), rows.dtype
        rows = rows if waiting is None else np.concatenate([waiting, rows])
        full = len(rows) - len(rows) % size
        yield from (rows[start : start + size] for start in range(0, full, size))
        waiting = rows[full:].copy() if full < len(rows) else None
    if waiting is not None:
        yield waiting


def _rows(chunk: Any, prototypes: Prototypes, first: int, dtype: Any) -> Array:
    rows = as_rows(chunk, "X", first, dtype)
    if not len(rows):
        return rows
    d, names = prototypes.rows.shape[1], column_names(chunk)
    if rows.shape[1] != d:
        raise InputError(f"X has {rows.shape[1]} columns and the prototypes have {d}; give the same columns")
    if names is not None and prototypes.feature_names not in (None, tuple(names)):
        raise InputError(
            f"X has the columns {names} and the prototypes {list(prototypes.feature_names or ())}; "
            "give the same columns in the same order"
        )
    return rows


class Critic:
    """The candidates so far: the ``size`` rows with the largest ``|witness|``, of equal ones the earliest.

    If it ``follows``, the mean learns of the rows; a mean that is settled stays as it is.
    """

    def __init__(
        self, prototypes: Prototypes, kernel: Kernel, mean: MeanState, size: int, follows: bool = False
    ) -> None:
        self._prototypes, self._kernel, self._size, self._follows = prototypes, kernel, size, follows
        self._objective = KernelMean(kernel, mean)
        self._n_seen = 0
        self._pool: tuple[NDArray[np.int64], Array, Float64] | None = None
        self._excluded: set[bytes] = set()

    def look(self, rows: Array) -> None:
        """Take in a block."""
        objective = self._objective
        if self._follows and objective.rows_ahead() <= 0 and objective.refresh() and self._pool is not None:
            indices, kept, _ = self._pool
            self._pool = indices, kept, np.abs(self._witness(kept))
        block = objective.block(self._n_seen, rows)
        if self._follows:
            objective.observe(block)
        witness = block.mu - self._explained(block.points, rows.dtype)
        self._offer(np.arange(self._n_seen, self._n_seen + len(rows)), rows, np.abs(witness))
        self._n_seen += len(rows)

    def _offer(self, indices: NDArray[np.int64], rows: Array, strength: Float64) -> None:
        if self._pool is None:
            self._pool = indices[:0], rows[:0].copy(), strength[:0]
            self._excluded = {_key(row) for row in self._prototypes.rows.astype(rows.dtype)}
        known, kept, known_strength = self._pool
        floor = known_strength.min() if len(known) == self._size else -math.inf
        new = [j for j in np.flatnonzero(strength > floor).tolist() if _key(rows[j]) not in self._excluded]
        if not new:
            return
        indices, rows = np.concatenate([known, indices[new]]), np.concatenate([kept, rows[new]])
        strength = np.concatenate([known_strength, strength[new]])
        best = np.sort(np.argsort(-strength, kind="stable")[: self._size])
        self._pool = indices[best], rows[best], strength[best]

    def _explained(self, points: Points, dtype: Any) -> Float64:
        """``sum_i w_i k(x_i, x)``."""
        kernel, weights = self._kernel, self._prototypes.weights
        prototypes = kernel.prepare(self._prototypes.rows.astype(dtype, copy=False))
        return np.asarray(weights.astype(dtype) @ kernel.block(prototypes, points), np.float64)

    def _witness(self, rows: Array) -> Float64:
        points = self._kernel.prepare(rows)
        return self._objective.mean.exactly_at(points) - self._explained(points, rows.dtype)

    def choose(self, n: int, diversity: float = 1.0) -> tuple[Criticisms, str | None]:
        """Judge all candidates by the newest mean, in float64, and choose among them; why there are few, if so.

        Nothing is warned of, because warnings cannot be caught in one thread alone.
        """
        if self._follows:
            self._objective.refresh()
        assert self._pool is not None
        indices, rows, _ = self._pool
        if not len(indices):
            raise InputError(
                f"X: each of its {self._n_seen} rows is a prototype or a copy of one; give rows that are not"
            )
        exact = rows.astype(np.float64)
        witness = self._witness(exact)
        chosen = spread(self._kernel, exact, np.abs(witness), n, diversity)
        found = Criticisms(indices[chosen], rows[chosen], witness[chosen], self._n_seen)
        return found, None if len(chosen) == n else self._shortage(len(chosen), n, len(indices))

    def _shortage(self, found: int, n: int, candidates: int) -> str:
        return (
            f"criticisms found {found} of n={n}: {self._n_seen} rows were read, and to {self._kernel!r} the other "
            f"{candidates - found} candidates are combinations of these. A narrower kernel tells more rows apart, a "
            "larger pool_size keeps more of them"
        )


def spread(kernel: Kernel, rows: Array, strength: Float64, n: int, diversity: float) -> list[int]:
    """Greedily maximise ``sum strength + diversity log det K``, of equal gains the earliest; O(len(rows) n (d + n)).

    With the Cholesky factor of the chosen, ``K_CC = R R'``, a row's coordinates are ``c = R^-1 k``, one more for each
    row chosen; its determinant grows by the factor ``k_jj - c'c``, what is left of it.
    """
    points = kernel.prepare(rows)
    diagonal = kernel.diagonal(points).astype(np.float64)
    left, least = diagonal.copy(), n * np.finfo(np.float64).eps * diagonal
    C, open_, chosen = np.zeros((n, len(rows))), np.ones(len(rows), np.bool_), list[int]()
    while len(chosen) < n and open_.any():
        usable = open_ & (left > least) if diversity > 0 else open_
        gain = np.where(usable, strength, -math.inf)
        if diversity > 0:
            gain += diversity * np.log(np.where(usable, left, 1.0))
        j = int(gain.argmax())
        if not usable[j]:
            break
        if diversity > 0:
            line = kernel.block(points.take(slice(j, j + 1)), points)[0] - C[: len(chosen), j] @ C[: len(chosen)]
            C[len(chosen)] = line / math.sqrt(left[j])
            left -= C[len(chosen)] ** 2
        open_[j] = False
        chosen.append(j)
    return chosen


def _check_options(n: int, diversity: float, pool_size: int | None, block_size: int, mean: object) -> int:
    """Every option keeps its rule; returns the size of the pool."""
    for name, value in (("n", n), ("block_size", block_size)):
        whole_number(1).check("criticisms", name, value)
    size = max(_POOL, 4 * int(n)) if pool_size is None else pool_size
    whole_number(int(n)).check("criticisms", "pool_size", size)
    if not (isinstance(diversity, numbers.Real) and math.isfinite(diversity) and float(diversity) >= 0):
        raise ParameterError(f"criticisms: {arg('diversity')} must be a number of at least 0, got {diversity!r}")
    if not (mean is None or isinstance(mean, Mean)):
        raise ParameterError(
            f"criticisms: {arg('mean')} must be a mean of protosieve.means, such as ReservoirMean(), or None; got "
            f"{mean!r}"
        )
    return int(size)


def _is_chunked(X: Any) -> bool:
    """Whether X is many chunks of rows: an iterator, a list of matrices, or an iterable that is no table."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and getattr(X[0], "ndim", 1) == 2
    return isinstance(X, Iterable) and not isinstance(X, Sequence) and not hasattr(X, "shape")


def _key(row: Array) -> bytes:
    return (row + 0.0).tobytes()  # -0.0 becomes 0.0, which it equals
