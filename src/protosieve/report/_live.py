"""The page over HTTP while a run goes on: on this machine only, unless told otherwise, and behind a random address."""

import asyncio
import hmac
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Self, TypeAlias

from protosieve.errors import OutputError, ParameterError, arg

try:
    import resource
except ImportError:  # Windows has none, and no such limit
    resource = None  # type: ignore[assignment]  # a module elsewhere

PageData: TypeAlias = Mapping[str, Any]

HERE = "127.0.0.1:0"  # this machine, any free port
_PATIENCE = 10.0  # seconds for a request to arrive, and for its answer to be taken
_AT_ONCE = 64  # connections
_SHARE = 8  # one in so many of the files that a process may open
_LONGEST = 1 << 16  # bytes of a request
_PAUSE = 0.2  # seconds, after a connection that could not be accepted
_HOLD = 20.0  # seconds a request waits for news before it is sent away empty-handed
_LINGER = 1.5  # seconds in which a page that was looking can fetch the end
_LOOKING = 2 * _HOLD  # a page that has not asked for so long is closed
_HEADERS = {
    "Server": "protosieve",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address is the secret
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Live:
    """Serves the page of one report, which changes; a context manager that stops serving when it ends.

    ``at`` is ``host:port``, with port 0 for any free port. Pages wait for news (long polling): what is published is on
    the screen at once, and a page that looks on costs nothing in between. Without the ``address`` and its 128 random
    bits, a request is told there is nothing.

    One thread serves all, and others cannot exhaust the process by it: at most 64 connections are open at once, and no
    more than an eighth of the files that the process may open; further ones are told 503. A request that has not
    arrived after 10 seconds is cut off, however steadily bytes trickle in.

    >>> from urllib.request import urlopen
    >>> with Live(lambda data: str(data["title"]).encode(), {"title": "nothing yet"}) as live:
    ...     live.publish({"title": "20 of 1,797 rows"})
    ...     urlopen(live.address).read()
    b'20 of 1,797 rows'
    """

    def __init__(self, render: Callable[[PageData], bytes], data: PageData, at: str = HERE) -> None:
        self._socket = _listening(at)
        self._loop = asyncio.new_event_loop()
        self._render = render
        self._version, self._changed = 0, asyncio.Event()
        self.publish(data)
        self._asked = -_LOOKING  # when a page asked for news last
        self._token = secrets.token_urlsafe(16)
        self._open, self._sending = set[asyncio.Task[None]](), set[asyncio.Task[None]]()  # connections
        self._thread = threading.Thread(target=self._run, name="protosieve live", daemon=True)

    @property
    def address(self) -> str:
        """The address of the page."""
        host, port = self._socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/{self._token}/"

    def publish(self, data: PageData) -> None:
        """Show this from now on; O(size of the data)."""
        body = json.dumps(data, ensure_ascii=False, allow_nan=False)
        version = self._version + 1
        self._data, self._body = data, f'{{"version": {version}, "report": {body}}}'.encode()
        self._version = version  # who looks at this first and waits then, waits for what is set next
        changed, self._changed = self._changed, asyncio.Event()
        self._loop.call_soon_threadsafe(changed.set)

    def __enter__(self) -> Self:
        self._serving = self._loop.create_task(self._serve())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving; a page that looks on has a moment to fetch what was published last."""
        if time.monotonic() - self._asked < _LOOKING:
            time.sleep(_LINGER)
        self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join()

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serving)
        self._loop.close()

    async def _serve(self) -> None:
        """Until it is cancelled; then an answer that is on its way has a moment to arrive."""
        try:
            while True:
                try:
                    connection, _ = await self._loop.sock_accept(self._socket)
                except OSError:  # such as too many open files: the caller stays queued, and asking on would spin
                    await asyncio.sleep(_PAUSE)
                    continue
                if len(self._open) < _room():
                    task = self._loop.create_task(self._answer(connection))
                    self._open.add(task)
                    task.add_done_callback(self._open.discard)
                    continue
                with connection, suppress(OSError):
                    connection.send(_message(HTTPStatus.SERVICE_UNAVAILABLE))
        finally:
            self._socket.close()
            for task in self._open - self._sending:
                task.cancel()
            _, late = await asyncio.wait(self._open, timeout=_LINGER) if self._open else (None, ())
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(Exception):  # a caller who is slow or gone, or a page that fails: no part of the run
            async with asyncio.timeout(_PATIENCE):
                request = b""
                while b"\r\n\r\n" not in request and len(request) < _LONGEST:
                    request += await self._loop.sock_recv(connection, _LONGEST) or b"\r\n\r\n"
            answer = await self._answer_to(request.split(b"\r\n", 1)[0].decode("latin-1"))
            task = asyncio.current_task(self._loop)
            assert task is not None
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
            async with asyncio.timeout(_PATIENCE):
                await self._loop.sock_sendall(connection, answer)

    async def _answer_to(self, line: str) -> bytes:
        """The answer to the first line of a request, such as ``GET /token/report.json?after=3 HTTP/1.1``."""
        found = re.match(r"GET /([^/?]+)/(|report\.json)(?:\?([^ ]*))? ", line)
        if found is None or not hmac.compare_digest(found[1].encode(), self._token.encode()):
            return _message(HTTPStatus.NOT_FOUND)
        if not found[2]:
            return _message(HTTPStatus.OK, self._render(self._data), "text/html; charset=utf-8")
        after = re.fullmatch(r"after=(\d{1,19})", found[3] or "")
        body = await self._news(int(after[1]) if after else 0)
        return _message(HTTPStatus.OK, body, "application/json") if body else _message(HTTPStatus.NO_CONTENT)

    async def _news(self, after: int) -> bytes | None:
        """The report once it is newer than version ``after``; ``None`` where that takes too long."""
        self._asked = time.monotonic()
        changed = self._changed
        if self._version <= after:
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _HOLD)
        return self._body if self._version > after else None


def _message(status: HTTPStatus, body: bytes = b"", kind: str = "text/plain") -> bytes:
    headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
    lines = [f"HTTP/1.0 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _room() -> int:
    """How many connections may be open."""
    if resource is None:
        return _AT_ONCE
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _AT_ONCE if limit == resource.RLIM_INFINITY else min(_AT_ONCE, limit // _SHARE)


def _listening(at: str) -> socket.socket:
    host, colon, port = at.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isdecimal() and int(port) < 1 << 16):
        raise ParameterError(f"{arg('watch', at)} must be host:port, such as {HERE}; port 0 means any free port")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, int(port)), family=family, backlog=_AT_ONCE)
    except OSError as error:
        raise OutputError(
            f"{arg('watch', at)}: cannot listen there: {error.strerror or error}; give another port, or 0 for any "
            "free one"
        ) from error
    found.setblocking(False)
    return found
