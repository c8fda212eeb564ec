"""The page over HTTP: what is served to whom, and when it changes."""

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from protosieve.errors import OutputError, ParameterError
from protosieve.report import _limited_server, _live
from protosieve.report._live import Live


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch):
    monkeypatch.setattr(_live, "_LINGER", 0.05)


def _render(data):
    return f"<title>{data['title']}</title>".encode()


@pytest.fixture
def live():
    with Live(_render, {"title": "first"}) as serving:
        yield serving


def _news(live, after):
    with urlopen(f"{live.address}report.json?after={after}", timeout=5) as answer:
        return answer.status, answer.read()


def _status(address):
    with pytest.raises(HTTPError) as refused:
        urlopen(address, timeout=5)
    refused.value.close()
    return refused.value.code


def test_the_address_is_of_this_machine_and_cannot_be_guessed(live):
    assert live.address.startswith("http://127.0.0.1:")
    token = live.address.rstrip("/").rsplit("/", 1)[1]
    assert len(token) >= 22  # 128 bits in base 64
    with Live(_render, {"title": "other"}) as other:
        assert other.address.rsplit("/", 2)[1] != token


def test_only_whoever_knows_the_address_sees_the_page(live):
    root = live.address.rsplit("/", 2)[0]
    with urlopen(live.address, timeout=5) as answer:
        assert answer.read() == b"<title>first</title>"
    for path in ("/", "/report.json", "/x/", "/x/report.json?after=0", live.address[len(root) : -2] + "/"):
        assert _status(root + path) == 404
    assert _status(live.address + "other.txt") == 404
    assert _status(live.address + "../etc/passwd") == 404


def test_nothing_of_an_answer_is_kept_by_the_browser_or_told_to_others(live):
    with urlopen(live.address, timeout=5) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Python" not in answer.headers["Server"]


def test_a_page_that_waits_hears_of_news_at_once(live):
    heard = []
    waiting = threading.Thread(target=lambda: heard.append(_news(live, 1)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    live.publish({"title": "second"})
    waiting.join(5)
    status, body = heard[0]
    assert (status, json.loads(body)) == (200, {"version": 2, "report": {"title": "second"}})


def test_a_page_that_is_behind_hears_the_newest_at_once(live):
    for title in ("second", "third"):
        live.publish({"title": title})
    assert json.loads(_news(live, 1)[1]) == {"version": 3, "report": {"title": "third"}}
    assert json.loads(_news(live, "nonsense")[1])["version"] == 3


def test_without_news_a_request_is_sent_away_after_a_while(live, monkeypatch):
    monkeypatch.setattr(_live, "_HOLD", 0.05)
    assert _news(live, 1) == (204, b"")


def test_a_page_that_looks_on_can_fetch_the_end(monkeypatch):
    monkeypatch.setattr(_live, "_LINGER", 1.0)
    told = []
    with Live(_render, {"title": "first"}) as live:
        told.append(_news(live, 0))
        late = threading.Timer(0.3, lambda: told.append(_news(live, 1)))  # it was busy drawing
        late.start()
        live.publish({"title": "the end"})
    late.join(5)
    assert json.loads(told[1][1])["report"] == {"title": "the end"}


def test_after_the_end_nobody_listens():
    with Live(_render, {"title": "first"}) as live:
        port = int(live.address.split(":")[2].split("/")[0])
    with socket.socket() as caller:
        assert caller.connect_ex(("127.0.0.1", port)) != 0


def test_nobody_who_looks_on_means_no_waiting_at_the_end(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with Live(_render, {"title": "first"}):
        pass
    assert not slept


def _connected(live):
    return socket.create_connection(live._server.server_address[:2], timeout=30)


def _answer(caller):
    """All that comes until the other side ends it; a connection that is refused may end roughly."""
    heard = b""
    with suppress(ConnectionError):
        while piece := caller.recv(4096):
            heard += piece
    return heard


def test_connections_are_counted_before_a_word_is_said_and_more_are_refused(live):
    with ExitStack() as stack:
        silent = [stack.enter_context(_connected(live)) for _ in range(_limited_server._AT_ONCE)]
        with _connected(live) as late:
            assert _answer(late).startswith(b"HTTP/1.0 503 ")
        assert len(live._server._deadlines) == len(silent)
    while live._server._deadlines:  # until all have been seen to leave
        time.sleep(0.01)
    assert urlopen(live.address, timeout=30).read() == b"<title>first</title>"


def test_a_request_has_one_deadline_however_steadily_it_trickles_in(live, monkeypatch):
    monkeypatch.setattr(_limited_server, "PATIENCE", 0.3)
    with _connected(live) as caller, suppress(ConnectionError):
        caller.sendall(b"GET / HTTP/1.1\r\nX: ")
        caller.settimeout(0.05)
        late = time.monotonic() + 60
        while time.monotonic() < late:
            with suppress(TimeoutError):
                assert caller.recv(1) == b""
                return
            caller.sendall(b"x")
        pytest.fail("it may trickle for ever")


def test_whoever_trickles_when_the_run_is_over_is_let_go():
    with Live(_render, {"title": "first"}) as live:
        caller = _connected(live)
        caller.sendall(b"GET / HTTP/1.1\r\nX: ")
        while not live._server._deadlines:  # until it is accepted
            time.sleep(0.01)
    with caller:
        assert not _answer(caller).startswith(b"HTTP/1.0 200")


def test_where_no_connection_can_be_accepted_the_page_is_back_later(tmp_path):
    """In a process of its own, as it runs out of files to open."""
    script = """
import os, resource, socket, sys, time
from urllib.request import urlopen
from protosieve.report._live import Live

resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
with Live(lambda data: b"page", {}) as live:
    caller, taken = socket.socket(), []
    while True:
        try:
            taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            break
    tried, get_request = [], live._server.get_request
    live._server.get_request = lambda: (tried.append(None), get_request())[1]
    caller.connect(live._server.server_address[:2])
    time.sleep(1.0)
    assert 0 < len(tried) < 1000, "it spins"
    for descriptor in taken:
        os.close(descriptor)
    assert urlopen(live.address, timeout=30).read() == b"page"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_caller_who_hangs_up_does_no_harm(live, capfd):
    for _ in range(5):
        with socket.create_connection(live._server.server_address[:2]) as caller:
            path = live.address.split("/", 3)[3]
            caller.sendall(f"GET /{path}report.json?after=1 HTTP/1.1\r\n\r\n".encode())
    live.publish({"title": "second"})
    assert json.loads(_news(live, 0)[1])["version"] == 2
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("asked", ["*", "foo", "http://[", "/\xff/", "//", "/?" + "9" * 5000])
def test_a_request_that_makes_no_sense_finds_nothing_and_says_nothing(live, capfd, asked):
    token = live.address.split("/", 3)[3]
    for line in (asked, f"/{token}report.json?after={'9' * 5000}"):
        with socket.create_connection(live._server.server_address[:2]) as caller:
            caller.sendall(f"GET {line} HTTP/1.1\r\n\r\n".encode("latin-1"))
            answer = caller.recv(100)
        assert answer.startswith(b"HTTP/1.0 404" if line == asked else b"HTTP/1.0 200")
    assert capfd.readouterr().err == ""


def test_data_that_json_cannot_hold_is_not_published(live):
    with pytest.raises(ValueError, match="JSON"):
        live.publish({"title": float("nan")})
    assert json.loads(_news(live, 0)[1])["report"] == {"title": "first"}


@pytest.mark.parametrize("at", ["", "here", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:99999", "127.0.0.1:-1"])
def test_a_place_to_listen_is_a_host_and_a_port(at):
    with pytest.raises(ParameterError, match=r"watch='.*' is no host and port, such as 127\.0\.0\.1:0"):
        Live(_render, {}, at)


def test_a_port_that_is_taken_is_told_of(live):
    taken = live.address.split("/")[2]
    with pytest.raises(OutputError, match=f"watch='{taken}': cannot listen there: .*; give another port"):
        Live(_render, {}, taken)


def test_it_can_listen_elsewhere_if_told_so():
    with Live(_render, {"title": "first"}, "[::1]:0") as live:
        assert live.address.startswith("http://[::1]:")
        assert urlopen(live.address, timeout=5).read() == b"<title>first</title>"
