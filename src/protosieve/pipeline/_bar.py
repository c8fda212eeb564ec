"""A bar on standard error, where that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from protosieve.pipeline._progress import Tick, Watcher

__all__ = ["bar"]


@contextmanager
def bar(quiet: bool) -> Iterator[Watcher]:
    """Somebody to tell of a run's progress; nobody is told if it is quiet, or if nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield _nobody
        return
    yield _nobody


def _nobody(tick: Tick) -> None:
    pass
