"""An HTTP server that strangers cannot use to exhaust the process it runs in."""

import socket
import threading
import time
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import Any

try:
    import resource
except ImportError:  # Windows has none, and no such limit
    resource = None  # type: ignore[assignment]  # a module elsewhere

__all__ = ["PATIENCE", "LimitedServer"]

PATIENCE = 10.0  # seconds for a request and its answer together
_AT_ONCE = 64  # connections
_SHARE = 8  # one in so many of the descriptors that a process may open
_PAUSE = 0.2  # seconds, after a connection that could not be accepted
_FULL = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


class LimitedServer(ThreadingHTTPServer):
    """Connections are counted when they are accepted, before they get a thread, and each has one deadline.

    At most 64 are open at once, and at most an eighth of the files that the process may open; others are told 503.
    A client that is not served within 10 seconds of being accepted is cut off, however steadily bytes trickle in. A
    handler that makes its client wait says so with `extend`. A failure to accept or serve concerns only the client.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = _AT_ONCE

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self._deadlines = dict[Any, float]()  # of the connections that are open
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def extend(self, connection: socket.socket, seconds: float) -> None:
        """Allow so much time from now on, besides the usual."""
        with self._lock:
            if connection in self._deadlines:
                self._deadlines[connection] = time.monotonic() + seconds + PATIENCE

    def get_request(self) -> tuple[Any, Any]:
        try:
            return super().get_request()
        except Exception as error:  # such as too many open files: the caller stays queued, and asking on would spin
            time.sleep(_PAUSE)
            raise OSError(str(error)) from error  # which the loop expects here, and survives

    def verify_request(self, request: Any, client_address: Any) -> bool:
        with self._lock:
            if len(self._deadlines) < _room():
                self._deadlines[request] = time.monotonic() + PATIENCE
                return True
        with suppress(OSError):
            request.setblocking(False)
            request.send(_FULL)
        return False

    def service_actions(self) -> None:
        """Called between two connections, and twice a second: cut off clients that are late."""
        self._cut(time.monotonic(), socket.SHUT_RDWR)

    def close_request(self, request: Any) -> None:
        with self._lock:  # a descriptor that is closed may be another's at once: it is not cut off then
            self._deadlines.pop(request, None)
            super().close_request(request)

    def server_close(self) -> None:
        """Listen no more, to open connections either; an answer that is on its way arrives."""
        super().server_close()
        self._cut(float("inf"), socket.SHUT_RD)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: standard error belongs to the run, and a request is no part of it."""

    def _cut(self, now: float, how: int) -> None:
        with self._lock:
            for connection, deadline in self._deadlines.items():
                if deadline <= now:
                    with suppress(OSError):  # the client has left already
                        connection.shutdown(how)


def _room() -> int:
    if resource is None:
        return _AT_ONCE
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _AT_ONCE if limit == resource.RLIM_INFINITY else min(_AT_ONCE, limit // _SHARE)
