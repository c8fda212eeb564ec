"""What is done elsewhere, and how it may end there."""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any, NamedTuple

from protosieve.errors import ProtosieveError, arg
from protosieve.passes import Partition, Pass

__all__ = ["Attempt", "Refusal", "Task", "loss_of"]


class Task(NamedTuple):
    """A pass over one partition, to be made elsewhere."""

    work: Pass[Any]
    partition: Partition

    def __str__(self) -> str:
        return f"partition {self.partition.number} of the pass to {self.work.label}"


@dataclass(frozen=True)
class Attempt:
    """A function whose errors of ours are returned: to try again, as an engine may when one is raised, would not help.

    What the system refuses, such as a file of a network, is raised: it may be another matter the next time.
    """

    function: Callable[..., Any]
    stage: str

    @property
    def __name__(self) -> str:
        """What engines and their dashboards call it."""
        return self.stage

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
        return "was lost: a worker process died and this executor does not replace it; protosieve.run.LocalWorkers does"
    if type(error).__name__ == "KilledWorker":  # Dask's, which may not be installed
        return (
            "was started several times, and each time the worker died; give workers more memory, or fewer "
            f"{arg('partition_rows')}"
        )
    return None
