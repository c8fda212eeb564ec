"""A file that one process at a time can hold."""

import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has none; there, nobody is kept out
    fcntl = None  # type: ignore[assignment]

__all__ = ["hold", "release"]

_HELD: set[int] = set()


def hold(path: Path) -> int | None:
    """A descriptor of the file, which is made if need be: it is ours until it is released, or this process ends in any
    way. None while another has it. Where a file system knows no locks, nobody is kept out.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        pass
    _HELD.add(descriptor)
    return descriptor


def release(descriptor: int) -> None:
    """Let others have it, though processes that were forked meanwhile may share it."""
    _HELD.discard(descriptor)
    with suppress(OSError):  # of a file system that knows no locks
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _let_go() -> None:
    """A forked process has no part in it: it may outlive us."""
    while _HELD:
        os.close(_HELD.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
