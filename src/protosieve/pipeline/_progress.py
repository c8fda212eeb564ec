"""What a long run tells on its way."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Tick", "Watcher", "tell"]


@dataclass(frozen=True)
class Tick:
    """How far a run over files has come.

    ``label`` is the pass: "survey", "select" or "weigh"; it is number ``phase`` of ``phases``, has used
    ``rows`` rows and read ``bytes_read`` of ``bytes_in_all`` (``None`` for standard input). ``residual`` and
    ``exchanged`` are those of the set held, where they are known.
    """

    label: str
    phase: int
    phases: int
    rows: int
    bytes_read: int
    bytes_in_all: int | None
    residual: float | None
    exchanged: int | None


Watcher: TypeAlias = Callable[[Tick], None]


def tell(line: str) -> None:
    """A line on standard error; the run goes on where that is closed, or a terminal that is gone."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
