"""Files that are written completely or not at all, and checks of where they go."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from protosieve.errors import OutputError

_KINDS = (  # what a file must not take the place of
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def check_place(target: str) -> None:
    """Raise `OutputError` where no file could be written to the path ``target``."""
    folder = Path(target).resolve().parent
    if Path(target).is_dir():
        raise OutputError(f"{target}: is a folder; give the path of a file")
    check_replaceable(target)
    if not folder.is_dir():
        raise OutputError(f"{target}: there is no folder {str(folder)!r}; make it, or give another path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{target}: the folder {str(folder)!r} is not writable; give another path")


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` where a device, a pipe or a socket is at ``path``, or where a link there leads."""
    kind = _special(path)
    if kind is not None:
        raise OutputError(f"{os.fspath(path)}: is {kind}, and a file must not take its place; give another path")


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether a named pipe is there, or where a link there leads."""
    return _special(path) == "a named pipe"


def _special(path: str | os.PathLike[str]) -> str | None:
    """What is there, if it is neither a regular file nor a folder nor nothing."""
    try:
        mode = Path(path).stat().st_mode  # by the system: no resolved path leads to what /dev/stdout is
    except (OSError, ValueError):  # writing there will say why
        return None
    return next((kind for test, kind in _KINDS if test(mode)), None)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to the file ``path``, or raise `OutputError` and leave what was there before."""
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
    disk leaves what was there before, and nothing else. A link stays a link, and the file it leads to is replaced;
    permissions are the file's, or those a plain ``open`` would give. Devices, pipes and sockets are never replaced.
    Raises `OSError` for these, and where the system refuses.
    """
    kind = _special(path)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, and a file must not take its place; give another path")
    target = Path(path).resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:200]}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            temporary.chmod(_mode(target))  # mkstemp lets no other user read
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions the file has, or would get if it were created."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
