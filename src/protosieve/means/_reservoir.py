"""The mean over a uniform sample of fixed size."""

import numbers
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import ParameterError
from protosieve.kernels import Kernel, Points
from protosieve.means._base import FixedMean, Mean, MeanState

__all__ = ["Reservoir", "ReservoirMean", "RunningMean"]


@storable
@dataclass
class Reservoir:
    """A uniform sample of everything seen, in fixed memory (Vitter's algorithm R, a block at a time).

    Row number t (from 0) replaces a uniformly drawn one with probability ``size / (t + 1)``. The generator is asked
    for one number per row past the first ``size``, so the sample depends on the rows and the seed only.
    O(block) time per block, O(size d) memory.
    """

    rows: Array
    indices: NDArray[np.int64]  # row numbers in the stream
    rng: np.random.Generator
    seen: int = 0

    @classmethod
    def empty(cls, size: int, like: Array, rng: np.random.Generator) -> "Reservoir":
        return cls(np.zeros((size, like.shape[1]), like.dtype), np.zeros(size, np.int64), rng)

    @property
    def filled(self) -> int:
        return min(self.seen, len(self.rows))

    @property
    def sample(self) -> Array:
        return self.rows[: self.filled]

    def observe(self, rows: Array) -> tuple[Indices, Indices]:
        """Take in a block; returns which of its rows went to which places, in this order."""
        filled, size = self.filled, len(self.rows)
        first = min(size - filled, len(rows))
        positions = np.arange(self.seen, self.seen + len(rows))
        places = np.append(np.arange(filled, filled + first), self.rng.integers(0, positions[first:] + 1))
        taken = np.flatnonzero(places < size)
        places = places[taken]
        self.rows[places] = rows[taken]  # of equal places the last is kept, as row by row
        self.indices[places] = positions[taken]
        self.seen += len(rows)
        return taken, places


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

    def observe(self, rows: Array) -> None:
        self.changed += len(self.reservoir.observe(rows)[0])

    def stale(self) -> bool:
        return self.snapshot is None or 10 * self.changed >= self.reservoir.filled

    def refresh(self) -> bool:
        if self.snapshot is not None and not self.changed:
            return False
        sample = self.reservoir.sample
        sampled = self.reservoir.seen > len(sample)
        self.snapshot = FixedMean(self.kernel, sample.copy(), np.full(len(sample), 1 / len(sample)), sampled)
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
        return self._current().sample_size()

    def squared_norm(self, step: int) -> float:
        return self._current().squared_norm(step)


@storable
@dataclass(frozen=True)
class ReservoirMean(Mean):
    """The mean over a uniform sample of ``size`` rows: of the target, or of the stream as it goes by.

    The default of ``partial_fit`` without a target. Each row then costs ``size`` kernel values, whatever the length
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
        if not isinstance(self.size, numbers.Integral) or self.size < 1:
            raise ParameterError(f"ReservoirMean: size must be a whole number of at least 1, got {self.size!r}")
        if self.random_state is not None and (
            not isinstance(self.random_state, numbers.Integral) or self.random_state < 0
        ):
            raise ParameterError(
                f"ReservoirMean: random_state must be None or a whole number of at least 0, got {self.random_state!r}"
            )

    def check(self, target: Array | None) -> None:
        pass

    def begin(self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator) -> MeanState:
        rng = rng if self.random_state is None else np.random.default_rng(self.random_state)
        if target is None:
            return RunningMean(kernel, Reservoir.empty(self.size, like, rng))
        if len(target) <= self.size:
            sample = target
        else:
            sample = target[np.sort(rng.choice(len(target), self.size, replace=False))]
        return FixedMean(kernel, sample, np.full(len(sample), 1 / len(sample)), sampled=len(sample) < len(target))
