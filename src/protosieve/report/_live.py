"""The page over HTTP while a run goes on: on this machine only, unless told otherwise, and behind a random address."""

import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

from protosieve.errors import OutputError, ParameterError, arg
from protosieve.report._limited_server import PATIENCE, LimitedServer

__all__ = ["HERE", "Live"]

PageData: TypeAlias = Mapping[str, Any]

HERE = "127.0.0.1:0"  # this machine, any free port
_HOLD = 20.0  # seconds a request waits for news before it is sent away empty-handed
_LINGER = 1.5  # seconds in which a page that was looking can fetch the end
_POLL = 0.05  # seconds within which the server sees that it is to end
_LOOKING = 2 * _HOLD  # a page that has not asked for so long is closed
_DIGITS = 20  # of a version
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address is the secret
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Live:
    """Serves the page of one report, which changes; a context manager that stops serving when it ends.

    ``at`` is ``host:port``, port 0 for any that is free. Pages wait for news (long polling): what is published is on
    the screen at once, and a page that looks on costs nothing in between. Without the ``address`` and its 128 random
    bits, a request is told there is nothing.

    >>> from urllib.request import urlopen
    >>> with Live(lambda data: str(data["title"]).encode(), {"title": "nothing yet"}) as live:
    ...     live.publish({"title": "20 of 1,797 rows"})
    ...     urlopen(live.address).read()
    b'20 of 1,797 rows'
    """

    def __init__(self, render: Callable[[PageData], bytes], data: PageData, at: str = HERE) -> None:
        self._render = render
        self._news = threading.Condition()
        self._version = 0
        self.publish(data)
        self._asked = -_LOOKING  # when a page asked for news last
        self._token = secrets.token_urlsafe(16)
        self._server = _listen(at, self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=[_POLL], name="protosieve live", daemon=True
        )

    @property
    def address(self) -> str:
        """Where to look."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/{self._token}/"

    def publish(self, data: PageData) -> None:
        """Show this from now on; O(size of the data)."""
        body = json.dumps(data, ensure_ascii=False, allow_nan=False)
        with self._news:
            self._version += 1
            self._data, self._body = data, f'{{"version": {self._version}, "report": {body}}}'.encode()
            self._news.notify_all()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Stop serving; a page that looks on has a moment to fetch what was published last."""
        if time.monotonic() - self._asked < _LOOKING:
            time.sleep(_LINGER)
        self._server.shutdown()
        self._server.server_close()

    # -- asked from the threads that answer requests

    def page(self) -> bytes:
        """The whole page as it would be now."""
        return self._render(self._data)

    def news(self, after: int) -> bytes | None:
        """The report once it is newer than version ``after``; ``None`` where that takes too long."""
        with self._news:
            self._asked = time.monotonic()
            known = self._news.wait_for(lambda: self._version > after, _HOLD)
            return self._body if known else None

    def path_in(self, path: str) -> str | None:
        """What is asked for, where the token is right; else ``None``."""
        token, slash, rest = path.removeprefix("/").partition("/")
        known = hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())
        return rest if known and slash else None


class _Server(LimitedServer):
    def __init__(self, host: str, port: int, live: Live) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.live = live
        super().__init__((host, port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE

    def do_GET(self) -> None:
        try:
            asked = urlsplit(self.path)
        except ValueError:  # no address at all
            self._answer(HTTPStatus.NOT_FOUND)
            return
        what = self.server.live.path_in(asked.path)
        if what is not None:
            self.server.extend(self.connection, _HOLD)
        if what == "":
            self._answer(HTTPStatus.OK, self.server.live.page(), "text/html; charset=utf-8")
        elif what == "report.json":
            self._tell(asked.query)
        else:
            self._answer(HTTPStatus.NOT_FOUND)

    def _tell(self, query: str) -> None:
        after = parse_qs(query).get("after", ["0"])[-1]
        body = self.server.live.news(int(after) if after.isdecimal() and len(after) < _DIGITS else 0)
        if body is None:
            self._answer(HTTPStatus.NO_CONTENT)
        else:
            self._answer(HTTPStatus.OK, body, "application/json")

    def _answer(self, status: HTTPStatus, body: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "protosieve"

    def log_message(self, format: str, *values: Any) -> None:  # noqa: A002  (as it is declared)
        """Nothing: standard error belongs to the run."""


def _host_and_port(at: str) -> tuple[str, int]:
    host, colon, port = at.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isdecimal() and int(port) < 1 << 16):
        raise ParameterError(f"{arg('watch', at)} is no host and port, such as {HERE} (port 0: any that is free)")
    return host, int(port)


def _listen(at: str, live: Live) -> _Server:
    host, port = _host_and_port(at)
    try:
        return _Server(host, port, live)
    except OSError as error:
        raise OutputError(
            f"{arg('watch', at)}: cannot listen there: {error.strerror or error}; give another port, or 0 for any "
            "that is free"
        ) from error
