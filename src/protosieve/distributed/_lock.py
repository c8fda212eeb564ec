"""A file that one process at a time can hold."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has none; there, nobody is kept out
    fcntl = None  # type: ignore[assignment]

__all__ = ["hold"]


def hold(path: Path) -> int | None:
    """A descriptor of the file, which is made if need be: it is ours until that is closed, or this process ends in any
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
    return descriptor
