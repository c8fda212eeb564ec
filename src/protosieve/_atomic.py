"""A file that is written whole or not at all, and a place where one can be."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from protosieve.errors import OutputError

__all__ = ["check_place", "replacing", "write_whole"]


def check_place(target: str) -> None:
    """Raise `OutputError` where no file could be written to the path ``target``."""
    folder = Path(target).resolve().parent
    if Path(target).is_dir():
        raise OutputError(f"{target}: is a folder; give the path of a file")
    if not folder.is_dir():
        raise OutputError(f"{target}: there is no folder {str(folder)!r}; make it, or give another path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{target}: the folder {str(folder)!r} is not writable; give another path")


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to the file ``path``, complete or not at all: then `OutputError`, and what was there is still."""
    try:
        with replacing(path) as stream:
            stream.write(data)
    except OSError as error:
        raise OutputError(
            f"{os.fspath(path)}: cannot be written: {error.strerror or error}; whatever stood there before is "
            "unchanged: check that the folder is writable and has room"
        ) from error


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
