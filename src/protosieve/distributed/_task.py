"""What is done elsewhere, and how it may end there."""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any, NamedTuple

from protosieve.errors import ProtosieveError, arg

__all__ = ["Attempt", "Refusal", "Task", "loss_of"]


class Task(NamedTuple):
    """Something to be done elsewhere, in a ``stage`` of the run: on a partition, or ``level`` steps above in a tree.

    What comes of a partition is kept, under its stage and ``number``.
    """

    stage: str
    number: int  # of the partition, or its place in its level
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    level: int = 0

    def __str__(self) -> str:
        if self.level:
            return f"merge {self.number} of level {self.level}"
        return f"partition {self.number} of the pass to {self.stage}"


@dataclass(frozen=True)
class Attempt:
    """A function whose errors of ours are returned: to try again, as an engine may when one is raised, would not help.

    What the system refuses, such as a file of a network, is raised: it may be another matter the next time.
    """

    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        """What engines and their dashboards call it."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.function(*arguments)
        except ProtosieveError as error:
            if isinstance(error.__cause__, OSError):
                raise
            return Refusal(error)


@dataclass(frozen=True)
class Refusal:
    """In place of a result: why there is none."""

    error: ProtosieveError


def loss_of(error: Exception) -> str | None:
    """In words, what befell a task that nothing is known to be wrong with."""
    if isinstance(error, CancelledError):
        return "was cancelled by the executor, which may not be running any more"
    if isinstance(error, BrokenExecutor):
        return (
            "was lost: a worker process died and this executor does not replace it; "
            "protosieve.distributed.LocalWorkers does"
        )
    if type(error).__name__ == "KilledWorker":  # Dask's, which may not be installed
        return (
            "was started several times, and each time the worker died; give workers more memory, or fewer "
            f"{arg('partition_rows')}"
        )
    return None
