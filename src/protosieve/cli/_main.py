"""From arguments to an exit code: parse, run, and say in one line what went wrong."""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress

import typer

from protosieve.cli._app import app
from protosieve.cli._flags import in_flags
from protosieve.cli._streams import abandon, let_go, showing
from protosieve.cli._terminal import complain
from protosieve.errors import ProtosieveError

_USAGE = typer.BadParameter.__mro__[2]  # typer's name for it is new, and click's has moved into typer
_TRACEBACK = "PROTOSIEVE_TRACEBACK"


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments say. Typer only parses: it would handle interrupts and closed pipes in its own way."""
    try:
        with showing():  # help, or the version
            task = app(list(arguments), prog_name="protosieve", standalone_mode=False)
        if callable(task):
            task()
        code = task if isinstance(task, int) else 0
    except BaseException as error:
        if os.environ.get(_TRACEBACK):
            traceback.print_exception(error)
        code = _code(error)
        if _waits_for_input():
            _leave(code)
    let_go()
    return code


def _waits_for_input() -> bool:
    """Whether a thread may have been left behind, of ours or of Arrow's, that reads what may never come."""
    places = sys.modules.get("protosieve.io._locations")  # importing it here could take a second
    flows = places is not None and places.Pipe.read
    return flows or any(thread.name == "protosieve prefetch" for thread in threading.enumerate())


def _leave(code: int) -> None:
    """At once: a usual exit would wait for that thread in Arrow, or abort where it holds standard input's lock."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _code(error: BaseException) -> int:
    """Say what went wrong; returns the exit code."""
    closed = error.__context__ if isinstance(error, SystemExit) else error  # typer ends so while it prints its help
    if isinstance(closed, BrokenPipeError):
        abandon(sys.stdout)  # that is no error, and Python is not to complain about it at exit
        return 0
    if isinstance(error, SystemExit):  # and so does completion
        return error.code if isinstance(error.code, int) else 0
    message, code = _story(error)
    if message:
        complain(message)
    return code


def _story(error: BaseException) -> tuple[str, int]:
    if isinstance(error, _USAGE):
        return _usage(error), 2
    if isinstance(error, ProtosieveError):
        return in_flags(error), 2
    if isinstance(error, KeyboardInterrupt):  # `Stopped` knows its signal; importing it here could take a second
        error = _told(error)
        return in_flags(error) or "interrupted; nothing was written", 128 + getattr(error, "number", signal.SIGINT)
    if isinstance(error, MemoryError):
        return _seen("there is not enough memory; a smaller --sample or -m needs less"), 1
    return _seen(f"something unexpected happened: {type(error).__name__}: {error}"), 1


def _told(error: KeyboardInterrupt) -> KeyboardInterrupt:
    """Of those who asked, perhaps again while workers were being ended, the one with a story, else the first."""
    asked, before = [error], error.__context__
    while isinstance(before, KeyboardInterrupt):
        asked.append(before)
        before = before.__context__
    return next((one for one in asked if getattr(one, "is_told", False)), asked[-1])


def _usage(error: BaseException) -> str:
    message = error.format_message().rstrip(".")  # type: ignore[attr-defined]  # of usage errors
    if not message:  # no arguments at all: the help has been shown
        return ""
    context = getattr(error, "ctx", None)
    path = "protosieve" if context is None else context.command_path
    return f"{message[0].lower()}{message[1:]}; {path} --help lists what there is"


def _seen(message: str) -> str:
    return f"{message}. {_TRACEBACK}=1 shows where"
