"""Where bytes come from: a file on this machine, a file behind a URL, or a pipe, which can be read once."""

import codecs
import gzip
import io
import os
import select
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, final

from protosieve.errors import InputError, arg

_GZIP = b"\x1f\x8b"
_BUFFER, _LOOK = 1 << 18, 1 << 20
_WAIT, _MOMENT = 0.5, 0.05  # seconds: for all that may follow, and for the next of it


class Opened:
    """A stream of bytes; closes itself as a context. A view of a ``pipe`` leaves that open."""

    def __init__(self, file: Any, pipe: "Opened | None" = None, stored: Any = None) -> None:
        self.file = file  # buffered, or a `gzip.GzipFile`
        self._pipe = pipe
        self._stored: Any = (
            pipe._stored if pipe else stored or file
        )  # on disk, perhaps compressed; or what a pipe brings

    @property
    def taken(self) -> int:
        """Bytes read so far, as stored: compressed ones where the file is compressed. Of a pipe 0."""
        return int(self._stored.raw.tell()) if self._stored.seekable() else 0

    def arriving(self, size: int) -> bytes:
        """At most ``size`` bytes, none at the end; a slow pipe gives what is there and what follows in a moment."""
        found, late = bytearray(self.file.read1(size)), time.monotonic() + _WAIT
        while found and len(found) < size and time.monotonic() < late and _has_more(self._stored):
            part = self.file.read1(size - len(found))
            if not part:
                break
            found += part
        return bytes(found)

    def unpacked(self) -> "Opened":
        """The same stream, decompressed if its first bytes are those of gzip."""
        if self.file.peek(2)[:2] != _GZIP:
            return self
        return Opened(gzip.GzipFile(fileobj=self.file, mode="rb"), self._pipe, self._stored)

    def through(self, made: io.RawIOBase) -> "Opened":
        """A stream that is made of this one."""
        return Opened(io.BufferedReader(made, _BUFFER), self._pipe, self._stored)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        if self._pipe is None:
            self._stored.close()  # closing a GzipFile leaves what is below it open


class Changed(io.RawIOBase, ABC):
    """A stream of bytes made of another, some at a time."""

    def __init__(self, file: Any) -> None:
        self._file, self._made = file, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._made = self._made or self._more()
        part, self._made = self._made[: len(buffer)], self._made[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()

    @abstractmethod
    def _more(self) -> bytes:
        """The next bytes; none at the end."""


@final
class Recoded(Changed):
    """Text in another encoding, as UTF-8."""

    def __init__(self, file: Any, encoding: str) -> None:
        super().__init__(file)
        self._encoding, self._decoder = encoding, codecs.getincrementaldecoder(encoding)()

    def _more(self) -> bytes:
        made, data = "", b"more"
        while data and not made:
            data = self._file.read1(_BUFFER)
            try:
                made = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"the file is not {self._encoding} ({error.reason}, byte 0x{error.object[error.start]:02X}); name "
                    f"the right encoding with {arg('encoding')}"
                ) from error
        return made.encode()


def _has_more(file: Any) -> bool:
    """Whether a read would return at once; a pipe is given some hundredths of a second, other files always do."""
    try:
        return bool(select.select([file], [], [], _MOMENT)[0])
    except (OSError, TypeError, ValueError):  # no file of the system's, as on Windows or behind a URL
        return True


def first_lines(stream: BinaryIO, lines: int, size: int, longest: int) -> bytes:
    r"""The first ``lines`` lines, or those that begin within ``size`` bytes; longer lines are cut at ``longest``.

    A slow pipe gives the same as a file.

    >>> first_lines(io.BytesIO(b"one\ntwo\nthree\nfour"), 10, 5, 100)
    b'one\ntwo\n'
    """
    found = bytearray()
    for _ in range(lines):
        line = stream.readline(longest)
        found += line
        if not line or len(found) >= size:
            break
    return bytes(found)


def line_bytes(location: "Location") -> float | None:
    """About how many stored bytes a line takes, by the first megabyte; ``None`` where there is no line."""
    with location.peek() as stored, stored.unpacked() as opened:
        text = opened.file.read(_LOOK)
    lines = text.count(b"\n")
    return len(text if opened is stored else gzip.compress(text)) / lines if lines else None


class Location(ABC):
    """A place to read bytes from. ``size`` and ``local`` are ``None`` if unknown."""

    name: str
    size: int | None = None
    local: str | None = None  # a path that the system can map

    @abstractmethod
    def open(self) -> Opened:
        """A stream of all bytes; a pipe can be opened once."""

    def peek(self) -> Opened:
        """A stream to look at the first bytes; `open` still gives all of them afterwards."""
        return self.open()

    def fingerprint(self) -> dict[str, str | int] | None:
        """Values that change when the file changes; ``None`` for a pipe."""
        return None

    @property
    def identities(self) -> list[tuple[str, str]]:
        """What is equal for two names of one file, and the name; of each, if it is several."""
        return [(self.identity, self.name)]

    @property
    def identity(self) -> str:
        """Equal for two names of one file."""
        return self.name


@final
class LocalFile(Location):
    """A file on this machine."""

    def __init__(self, path: str):
        self.name = self.local = path
        self.size = Path(path).stat().st_size

    def open(self) -> Opened:
        return Opened(Path(self.name).open("rb", _BUFFER))

    def fingerprint(self) -> dict[str, str | int] | None:
        found = Path(self.name).stat()
        return {"name": self.name, "size": found.st_size, "modified": found.st_mtime_ns}

    @property
    def identity(self) -> str:
        return os.path.realpath(self.name)


@final
class RemoteFile(Location):
    """A file behind a URL, through an fsspec file system."""

    def __init__(self, system: Any, path: str, name: str):
        self._system, self._path, self.name = system, path, name
        size = system.info(path).get("size")
        self.size = None if size is None else int(size)

    def open(self) -> Opened:
        return Opened(io.BufferedReader(self._system.open(self._path, "rb"), _BUFFER))

    def fingerprint(self) -> dict[str, str | int] | None:
        info = self._system.info(self._path)
        tag = info.get("ETag") or info.get("etag") or self._system.ukey(self._path)
        return {"name": self.name, "size": int(info.get("size") or 0), "etag": str(tag).strip('"')}

    @property
    def identity(self) -> str:
        protocol = self._system.protocol
        here = "file" in (protocol if isinstance(protocol, tuple) else (protocol,))
        return os.path.realpath(self._path) if here else self.name


class _Replayed(io.RawIOBase):
    """A pipe's bytes from the first on: those already looked at, then those to come, kept where ``keep`` says so."""

    def __init__(self, pipe: "Pipe", keep: bool):
        self._pipe, self._keep, self._at = pipe, keep, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        seen = self._pipe.seen
        if self._at == len(seen):
            fresh = self._pipe.source.file.read1(len(buffer))
            if not self._keep:
                buffer[: len(fresh)] = fresh
                return len(fresh)
            seen += fresh
        part = seen[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


@final
class Pipe(Location):
    """Bytes that can be read once, such as standard input; gzip is unpacked on the way.

    ``read`` says that a pipe was opened: a thread may still be reading it when a run ends before the pipe does.
    """

    read: ClassVar[bool] = False

    def __init__(self, name: str, begin: Callable[[], BinaryIO], own: bool):
        self.name = name
        self._own = own  # whether to close it: standard input is the program's
        self.seen = bytearray()
        self._begin = begin
        self._spent = False

    @cached_property
    def source(self) -> Opened:
        """The pipe, unpacked; open as long as this object is there."""
        file: Any = self._begin()
        if self._own:
            weakref.finalize(self, file.close).atexit = False  # a thread may be reading it for ever
        # what stands in for standard input may have no buffer
        return Opened(file if hasattr(file, "peek") else io.BufferedReader(file)).unpacked()

    def open(self) -> Opened:
        if self._spent:
            raise InputError(f"{self.name} can be read only once; save its rows to a file and give that file")
        self._spent = True
        Pipe.read = True
        return self._stream(keep=False)

    def peek(self) -> Opened:
        return self._stream(keep=True)

    def _stream(self, keep: bool) -> Opened:
        return Opened(io.BufferedReader(_Replayed(self, keep), _BUFFER), self.source)
