"""Standard input, output and error as the program was given them: closed, full, or of a terminal that is gone."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from protosieve.cli._terminal import note
from protosieve.errors import OutputError


def open_closed() -> None:
    """Give the program the streams it was started without (``>&-``), for which Python has `None`.

    They fail when used, except standard error. Opening them takes their numbers, so that no file of ours gets one, and
    with it what others print.
    """
    streams = cast(dict[str, TextIO | None], vars(sys))
    if streams["stdin"] is None:
        sys.stdin = _opened(os.O_WRONLY, "r")
    if streams["stdout"] is None:
        sys.stdout = _opened(os.O_RDONLY, "w")
    if streams["stderr"] is None:
        sys.stderr = _opened(os.O_WRONLY, "w")


def _opened(flags: int, mode: str) -> TextIO:
    """A stream to nowhere, with the lowest free descriptor."""
    return cast(TextIO, open(os.open(os.devnull, flags), mode, errors="replace"))  # noqa: PTH123  # a path opens no descriptor


@contextmanager
def showing(kept: str | None = None) -> Iterator[None]:
    """Print to standard output inside. What cannot be printed is an `OutputError`; where what counts is ``kept``
    elsewhere it is only a note, which says so.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        raise
    except OSError as error:
        abandon(sys.stdout)
        problem = f"standard output: cannot be written: {error.strerror or error}"
        if kept is None:
            raise OutputError(f"{problem}; check what it leads to") from error
        note(f"{problem}; nothing else is missing: {kept}")


def let_go() -> None:
    """Before exit, discard output that cannot be written; Python would print an error and exit with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            abandon(stream)


def abandon(stream: TextIO) -> None:
    """Redirect a stream to nowhere, so that pending output is discarded."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
