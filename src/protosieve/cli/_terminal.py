"""Lines for people: to standard error in colour where it is a terminal, and consoles for all that is longer."""

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from protosieve._formatting import one_line, rounded
from protosieve.cli._flags import in_flags
from protosieve.errors import ProtosieveWarning

if TYPE_CHECKING:
    from rich.console import Console

_RED, _DIM, _PLAIN = "\x1b[31m", "\x1b[2m", "\x1b[0m"
_PIPED_WIDTH = 100


def complain(message: str) -> None:
    """Print an error of one line."""
    _write(f"protosieve: {one_line(message)}", _RED)


def note(message: str) -> None:
    """Print a note of one line."""
    _write(f"note: {one_line(message)}", _DIM)


@contextmanager
def notes(quiet: bool) -> Iterator[None]:
    """Print the library's warnings as notes, and hide those of other libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", "no result kept", ProtosieveWarning)  # also if it is quiet
        if not quiet:
            warnings.simplefilter("always", ProtosieveWarning)
        warnings.showwarning = lambda message, *_, **__: note(rounded(in_flags(message)))
        yield


def console(file: TextIO) -> "Console":
    """For text, tables and colours; without box drawing, colours or wrapped lines where it is no terminal."""
    from rich.console import Console

    if isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="replace")
    wished = os.environ.get("COLUMNS", "")
    width = None if file.isatty() else int(wished) if wished.isdecimal() and int(wished) else _PIPED_WIDTH
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False, soft_wrap=not file.isatty())


def _write(line: str, colour: str) -> None:
    with suppress(OSError):  # standard error is gone
        coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        sys.stderr.write(f"{colour}{line}{_PLAIN}\n" if coloured else f"{line}\n")
        sys.stderr.flush()
