"""The mean over a uniform sample of fixed size."""

import numbers
from dataclasses import dataclass

import numpy as np

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, require
from protosieve._typing import Array, Float64
from protosieve.errors import ParameterError
from protosieve.kernels import Kernel, Points
from protosieve.means._base import FixedMean, Mean, MeanState, Sampled
from protosieve.means._sample import Reservoir

__all__ = ["ReservoirMean", "RunningMean", "check_seed", "check_size", "draw"]


@storable
@dataclass
class RunningMean(MeanState):
    """The mean over a reservoir that follows the stream, seen through snapshots.

    Between two refreshes the mean is the snapshot, so that members and newcomers are judged by one target. A
    refresh is due when a tenth of the sample has changed: at every block at first, later each time the stream has
    grown by about a tenth, so O(log n) times in all.
    """

    kernel: Kernel
    reservoir: Reservoir
    snapshot: FixedMean | None = None
    changed: int = 0

    def _check_form(self) -> None:
        width = self.reservoir.rows.shape[1]
        require(are_finite(self.reservoir.rows), "the rows of a sample")
        require(self.snapshot is None or self.snapshot.rows.shape[1] == width, "a snapshot has other columns")
        require(are_counts(self.changed), "how much of a sample has changed")

    def stream_sample(self) -> Reservoir:
        return self.reservoir

    def observe(self, rows: Array) -> None:
        self.changed += len(self.reservoir.observe(rows)[0])

    def stale(self) -> bool:
        return self.snapshot is None or 10 * self.changed >= self.reservoir.filled

    def refresh(self) -> bool:
        if self.snapshot is not None and not self.changed:
            return False
        sample = self.reservoir.sample
        self.snapshot = FixedMean.over(self.kernel, sample.copy(), self.reservoir.seen)
        self.changed = 0
        return True

    def _current(self) -> FixedMean:
        if self.snapshot is None:
            self.refresh()
        assert self.snapshot is not None
        return self.snapshot

    def at(self, points: Points) -> Float64:
        return self._current().at(points)

    def sample_size(self) -> int | None:
        return self.reservoir.filled if self.reservoir.seen > self.reservoir.filled else None

    def sampled(self) -> Sampled | None:
        return None if self.sample_size() is None else Sampled(self._current(), self.reservoir.seen)

    def squared_norm(self, step: int) -> float:
        return self._current().squared_norm(step)


@storable
@dataclass(frozen=True)
class ReservoirMean(Mean):
    """The mean over a uniform sample of ``size`` rows: of the target, or of the stream as it goes by.

    `CompressedMean` with nothing compressed. Each row costs ``size`` kernel values, whatever the length
    of the stream, and memory is three times ``size`` rows. The sample's own error bounds the quality: the squared
    MMD between a sample and what it was drawn from falls as 1 / size.

    With a target (``fit(X)`` or ``target=``) the sample is drawn once. Without one it follows the stream: when a
    tenth of it has changed, the members' means are computed anew and all weights solved again.

    Parameters
    ----------
    size : int, default 4096
        Rows in the sample.
    random_state : int, optional
        Seed of the sample; by default it follows from the selector's ``random_state``.

    Examples
    --------
    >>> import numpy as np
    >>> from protosieve import ProtoStream
    >>> from protosieve.means import ReservoirMean
    >>> selector = ProtoStream(n_prototypes=5, mean=ReservoirMean(size=100), random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(10):
    ...     selector = selector.partial_fit(rng.normal(size=(100, 2)))
    >>> selector.n_samples_seen_
    1000
    """

    size: int = 4096
    random_state: int | None = None

    def __post_init__(self) -> None:
        check_size("ReservoirMean", "size", self.size)
        check_seed("ReservoirMean", self.random_state)

    def check(self, target: Array | None) -> None:
        pass

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> MeanState:
        rng = rng if self.random_state is None else np.random.default_rng(self.random_state)
        if target is None:
            return RunningMean(kernel, Reservoir.empty(self.size, like, rng))
        return draw(kernel, target, self.size, rng)


def draw(kernel: Kernel, target: Array, size: int, rng: np.random.Generator) -> FixedMean:
    """The mean over ``size`` rows of a target, or over all it has."""
    if len(target) <= size:
        return FixedMean.over(kernel, target)
    return FixedMean.over(kernel, target[np.sort(rng.choice(len(target), size, replace=False))], len(target))


def check_size(owner: str, name: str, size: object) -> None:
    if not isinstance(size, numbers.Integral) or size < 1:
        raise ParameterError(f"{owner}: {name} must be a whole number of at least 1, got {size!r}")


def check_seed(owner: str, seed: object) -> None:
    if seed is not None and (not isinstance(seed, numbers.Integral) or seed < 0):
        raise ParameterError(f"{owner}: random_state must be None or a whole number of at least 0, got {seed!r}")
