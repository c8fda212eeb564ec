"""A file that is written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file ``path`` when the block ends well.

    They go to a temporary file beside ``path``, reach the disk, and are renamed over it, so an error, a crash or a full
    disk leaves what was there before, and nothing else. A link stays a link; permissions are the file's, or those a
    plain ``open`` would give. Raises `OSError` where the system refuses.
    """
    target = Path(path).resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:200]}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            temporary.chmod(_mode(target))  # mkstemp lets nobody else read
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions the file has, or would get if it were opened anew."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
