"""The state of a stream: everything a selector remembers between two chunks, as one value to copy and save."""

from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from protosieve._state import storable
from protosieve._typed import are_counts, are_finite, are_rows, require
from protosieve._typing import Array
from protosieve.means import FixedMean
from protosieve.objectives import KernelMean, Objective
from protosieve.result import Trace
from protosieve.selectors._beside import Beside

State = TypeVar("State")  # what an algorithm remembers
ObjectiveT = TypeVar("ObjectiveT", bound=Objective)  # what it judges rows by

_POINTS = 256


class Counts(NamedTuple):
    """Rows accepted so far, and members replaced; ``None`` where a selector does not count them."""

    accepted: int | None = None
    exchanged: int | None = None


@storable
@dataclass
class Recorder:
    """The objective along the stream in fixed memory: when full, it drops every second point and records half as often.

    State files of older versions have no ``accepted``, ``exchanged`` and ``bound``; these are then ``None``. A
    ``bound`` of 0 stands for the bound of the result, where no row changes it.
    """

    rows_seen: list[int] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    every: int = 1
    calls: int = 0
    accepted: list[int | None] = field(default_factory=list)
    exchanged: list[int | None] = field(default_factory=list)
    bound: list[float | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        for later in (self.accepted, self.exchanged, self.bound):
            later += [None] * (len(self.rows_seen) - len(later))

    def _check_form(self) -> None:
        known = (self.rows_seen, self.objective, self.accepted, self.exchanged, self.bound)
        require({len(points) for points in known} <= {len(self.rows_seen)}, "the points of a trace differ in number")
        require(self.every >= 1 and are_counts(self.calls, self.every, *self.rows_seen), "the pace of a trace")
        counts = [count for count in (*self.accepted, *self.exchanged) if count is not None]
        require(are_counts(*counts), "the counts of a trace")

    @property
    def is_due(self) -> bool:
        """Whether the next point is one to keep."""
        return self.calls % self.every == 0

    def note(self, rows_seen: int, objective: float, counts: Counts, bound: float) -> None:
        if self.is_due:
            self.rows_seen.append(rows_seen)
            self.objective.append(objective)
            self.accepted.append(counts.accepted)
            self.exchanged.append(counts.exchanged)
            self.bound.append(bound)
        self.calls += 1
        if len(self.rows_seen) > _POINTS:
            self._thin_out()

    def _thin_out(self) -> None:
        self.rows_seen, self.objective, self.every = self.rows_seen[::2], self.objective[::2], 2 * self.every
        self.accepted, self.exchanged, self.bound = self.accepted[::2], self.exchanged[::2], self.bound[::2]

    def trace(self, rows_seen: int, objective: float, counts: Counts, bound: float) -> Trace:
        """All recorded points, and the last one."""
        keep = len(self.rows_seen) - (self.rows_seen[-1:] == [rows_seen])
        return Trace(
            np.array([*self.rows_seen[:keep], rows_seen], dtype=np.int64),
            np.array([*self.objective[:keep], objective]),
            _known([*self.accepted[:keep], counts.accepted]),
            _known([*self.exchanged[:keep], counts.exchanged]),
            None if None in self.bound[:keep] else np.array([*(of or bound for of in self.bound[:keep]), bound]),
        )


def _known(counts: list[int | None]) -> NDArray[np.int64] | None:
    """The counts as an array; ``None`` where one of them is unknown."""
    return None if None in counts else np.array(counts, dtype=np.int64)


@dataclass(frozen=True)
class Standing:
    """How a stream is doing so far.

    ``residual`` is that of the current set, by the mean its rows are judged by; ``exchanged`` counts the members that
    were replaced. Either is ``None`` where the selector does not know it.
    """

    n_seen: int
    residual: float | None
    exchanged: int | None


@storable
@dataclass
class Stream(Generic[State, ObjectiveT]):
    """Rows wait in ``pending`` until they fill a block; blocks are all of one size, however the user cuts the stream.

    ``objective`` and ``progress`` (what the algorithm itself has to remember) begin with the first block.
    """

    pending: Array
    rng: np.random.Generator
    parameters: dict[str, Any]  # as they were when the stream began
    target: Array | None = None
    beside: Beside | None = None
    is_target: bool = False  # the stream's own rows are the target: |mu|^2 costs nothing extra
    n_pending: int = 0
    n_judged: int = 0
    norm: float = 0.0
    objective: ObjectiveT | None = None
    progress: State | None = None
    recorder: Recorder = field(default_factory=Recorder)

    def _check_form(self) -> None:
        block, width = self.pending.shape if self.pending.ndim == 2 else (0, 0)
        require(are_rows(self.pending) and width >= 1, "the rows that wait")
        require(0 <= self.n_pending < block, "how many rows wait")
        require(are_counts(self.n_judged) and are_finite(self.norm), "how many rows were judged")
        require(self.target is None or are_rows(self.target, width), "the rows of the target")
        require(self.n_judged == 0 or self.progress is not None, "rows were judged, and nothing is known of them")
        require(self.progress is None or self.objective is not None, "rows were judged, by no objective")

    def blocks_ahead(self, block_size: int) -> int:
        """How many blocks other threads may prepare before the ones ahead of them are judged."""
        if self.progress is None or not self.running.in_threads:
            return 0
        return -(-self.running.rows_ahead() // int(block_size))

    @property
    def own_mean(self) -> FixedMean | None:
        """The mean over the stream's own rows, where that is the target."""
        mean = self.running.mean if self.is_target and isinstance(self.running, KernelMean) else None
        return mean if isinstance(mean, FixedMean) else None

    @property
    def n_seen(self) -> int:
        return self.n_judged + self.n_pending

    @property
    def running(self) -> ObjectiveT:
        assert self.objective is not None
        return self.objective

    @property
    def known(self) -> State:
        """What the algorithm remembers, once it has judged a block."""
        assert self.progress is not None
        return self.progress


@storable
@dataclass(frozen=True)
class Saved:
    """A fitted selector as plain values: what a state file holds."""

    selector: str
    parameters: dict[str, Any]
    n_features: int
    feature_names: list[str] | None
    stream: Stream[Any, Any]
