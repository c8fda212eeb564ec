"""The mean over a uniform sample of fixed size."""

import numbers
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, require
from protosieve._typing import Array, Float64
from protosieve.errors import ParameterError, arg
from protosieve.kernels import Kernel, Points
from protosieve.means._base import FixedMean, Mean, MeanState, Sampled
from protosieve.sampling import UniformSample


class StreamMean(MeanState):
    """A mean by a sample that follows the stream.

    Between two refreshes it stays as it was ``adopted``, after so many rows, so that members and newcomers are judged
    by one target. A refresh is due when the stream has grown by a tenth: after every block at first, O(log n) times in
    all.
    """

    kernel: Kernel
    sample: UniformSample
    adopted: int

    @final
    def stream_sample(self) -> UniformSample:
        return self.sample

    @final
    def seed(self, size: int) -> int | None:
        return self.sample.seed if size == self.sample.size else None

    def fade(self, half_life: int) -> None:
        self.sample = replace(self.sample, half_life=half_life)

    @final
    def rows_ahead(self) -> int:
        return self.sample.rows_ahead(self.adopted)

    @final
    def change_kernel(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._forget()

    @abstractmethod
    def _forget(self) -> None:
        """What was computed by another kernel, before the next refresh."""

    @final
    def refresh(self) -> bool:
        if self.adopted == self.sample.seen:
            return False
        self._adopt()
        self.adopted = self.sample.seen
        return True

    @abstractmethod
    def _adopt(self) -> None:
        """Make the mean that of all rows observed."""


@storable
@dataclass
class RunningMean(StreamMean):
    """The mean over the rows of the sample, seen through snapshots."""

    kernel: Kernel
    sample: UniformSample
    snapshot: FixedMean
    adopted: int = 0  # rows seen when it was made

    def _check_form(self) -> None:
        width = self.sample.rows.shape[1]
        require(are_finite(self.sample.rows), "the rows of a sample")
        require(self.snapshot.rows.shape[1] == width, "a snapshot has other columns")
        require(are_counts(self.adopted) and self.adopted <= self.sample.seen, "how much of a sample has changed")

    def observe(self, rows: Array, numbers: NDArray[np.int64], sums: Float64 | None) -> None:
        self.sample.observe(rows, numbers)

    def _forget(self) -> None:
        """Nothing: every snapshot is computed anew."""

    def _adopt(self) -> None:
        self.sample.settle()
        self.snapshot = FixedMean.over(self.kernel, self.sample.rows, self.sample.population)

    def at(self, points: Points) -> Float64:
        return self.snapshot.at(points)

    def sampled(self) -> Sampled | None:
        return self.snapshot.sampled()

    def squared_norm(self, step: int) -> float:
        return self.snapshot.squared_norm(step)


@storable
@dataclass(frozen=True)
class ReservoirMean(Mean):
    """The mean over a uniform sample of ``size`` rows: of the target, or of the stream as it goes by.

    `CalibratedMean` without its points. Each row costs ``size`` kernel values, whatever the length
    of the stream, and memory is three times ``size`` rows. The sample's own error bounds the quality: the squared
    MMD between a sample and what it was drawn from falls as 1 / size.

    With a target (``fit(X)`` or ``target=``) the sample is drawn once. Without one it follows the stream: when that has
    grown by a tenth, the members' means are computed anew and all weights solved again.

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

    def begin(
        self, kernel: Kernel, target: Array | None, like: Array, rng: np.random.Generator, n_prototypes: int
    ) -> MeanState:
        seed = sample_seed(rng, self.random_state)
        sample = UniformSample.empty(self.size, like if target is None else target, seed)
        if target is None:
            return RunningMean(kernel, sample, FixedMean.over(kernel, like[: self.size].copy()))
        sample.observe(target, np.arange(len(target)))
        sample.settle()
        return FixedMean.over(kernel, target if sample.is_whole else sample.rows, len(target))


def sample_seed(rng: np.random.Generator, random_state: int | None) -> int:
    """That of a mean's sample: its own, or one that follows from the selector's."""
    return int((rng if random_state is None else np.random.default_rng(random_state)).integers(2**63))


def check_size(owner: str, name: str, size: object, least: int = 1) -> None:
    if not isinstance(size, numbers.Integral) or size < least:
        raise ParameterError(f"{owner}: {arg(name)} must be a whole number of at least {least}, got {size!r}")


def check_seed(owner: str, seed: object) -> None:
    if seed is not None and (not isinstance(seed, numbers.Integral) or seed < 0):
        raise ParameterError(
            f"{owner}: {arg('random_state')} must be None or a whole number of at least 0, got {seed!r}"
        )
