"""A function as an executor is given it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from protosieve.errors import ProtosieveError


@dataclass(frozen=True)
class Attempt:
    """A function that returns our own errors: an executor may try again when one is raised, which would not help.

    Errors of the system, such as a network's, are raised: the next attempt may succeed.
    """

    function: Callable[..., Any]
    stage: str

    @property
    def __name__(self) -> str:
        """What executors and their dashboards call it."""
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
    """In place of a value: why there is none."""

    error: ProtosieveError
