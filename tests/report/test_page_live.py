"""The report's page while a run goes on: it follows its server, and its reader does not feel it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

import report_page_examples as examples
from browsers import grave_findings, shown_cards
from protosieve.insight import Insight
from protosieve.report import page_data, render

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("browser")]


class Server(ThreadingHTTPServer):
    """Serves a page and, once there is a newer one, the next report; ``tell`` makes it newer."""

    daemon_threads = True

    def __init__(self, data):
        super().__init__(("127.0.0.1", 0), Handler)
        self.news = threading.Condition()
        self.version, self.data, self.page, self.over = 1, data, render(data, live=True), False
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/token/"

    def tell(self, **changes):
        with self.news:
            self.data = {**self.data, **changes}
            self.version += 1
            self.news.notify_all()

    def close(self):
        with self.news:
            self.over = True
            self.news.notify_all()
        self.shutdown()
        self.server_close()

    def next_after(self, version):
        """The report after a version, or none for a long while."""
        with self.news:
            self.news.wait_for(lambda: self.over or self.version > version, timeout=0.5)
            newer = self.version > version and not self.over
            return {"version": self.version, "report": self.data} if newer else None


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urlsplit(self.path)
        if parts.path == "/token/":
            return self.answer(200, self.server.page, "text/html")
        assert parts.path == "/token/report.json"
        found = self.server.next_after(int(parse_qs(parts.query)["after"][0]))
        return self.answer(200, json.dumps(found).encode(), "application/json") if found else self.answer(204)

    def answer(self, status, body=b"", kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


NOWHERE = dict.fromkeys(("pass", "phase", "phases", "rows", "share", "stopped", "note")) | {"done": False}


def state(rows, **more):
    said = {"done": False, "pass": "select", "phase": 2, "phases": 2, "rows": rows, "share": rows / 1797}
    return {**said, "stopped": None, "note": None, **more}


@pytest.fixture
def server():
    """A run that has seen a hundred rows."""
    found = Server({**examples.digits(8, 300), "state": state(100)})
    yield found
    if not found.over:
        found.close()


def wait_for(page, selector, text):
    page.locator(selector, has_text=text).wait_for()


def test_it_shows_each_newer_report_and_says_where_the_run_is(server, visit):
    window = visit()
    page = window.page
    page.goto(server.address)
    wait_for(page, "#status", "Running: select (2 of 2), 100 rows, 5.6")
    server.tell(**{**examples.digits(), "state": state(1000, note="waiting for more")})
    wait_for(page, "#status", "1,000 rows, 56\u202f%, waiting for more")
    assert page.locator("h1").inner_text() == "20 of 1,797 rows"
    assert shown_cards(page) == list(range(20))
    assert page.eval_on_selector("#progress", "bar => bar.value") == pytest.approx(1000 / 1797)
    assert {urlsplit(address).netloc for address in window.asked} == {f"127.0.0.1:{server.server_port}"}
    assert window.said == []


def test_sections_come_when_there_is_something_to_say(visit):
    server = Server(page_data(Insight("20 of these rows"), {**NOWHERE, "note": "Waiting for the first rows."}))
    page = visit().page
    page.goto(server.address)
    wait_for(page, "#status", "Waiting for the first rows.")
    assert page.locator("#status").inner_text() == "Waiting for the first rows."
    assert page.locator(".waiting").is_visible()
    assert page.locator("main section:visible").count() == 1
    assert page.locator("#nav").is_hidden()
    assert page.locator("#progress").is_hidden()
    server.tell(**{**examples.digits(), "state": state(500)})
    page.locator("#map-chart .marker").first.wait_for(state="attached")
    assert page.locator(".waiting").count() == 0
    assert page.locator("#nav a").count() == 8
    server.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_that_waits_has_no_serious_finding_either(visit, scheme):
    server = Server(page_data(Insight("20 of these rows"), {**NOWHERE, "note": "Waiting for the first rows."}))
    page = visit((390, 844), color_scheme=scheme).page
    page.goto(server.address)
    wait_for(page, "#status", "Waiting")
    assert grave_findings(page) == []
    server.close()


def test_what_the_reader_chose_is_kept(server, visit):
    page = visit().page
    page.goto(server.address)
    page.select_option("#sort", "row")
    page.locator("#curve-table summary").click()
    page.fill("#search", "part-1")
    page.locator("#search").evaluate("box => box.setSelectionRange(2, 4)")
    data = examples.digits()
    server.tell(**{**data, "state": state(1000)})
    wait_for(page, "#shown", "among 20")
    passing = [i for i, card in enumerate(data["cards"]) if card["file"] == "part-1.parquet"]
    assert shown_cards(page) == sorted(passing, key=lambda i: data["cards"][i]["row"])
    assert page.evaluate("[document.activeElement.id, document.activeElement.selectionStart]") == ["search", 2]
    assert page.locator("#curve-table tbody tr").count() == 20


def test_what_the_reader_looks_at_stays_where_it_is_and_keeps_the_focus(server, visit):
    page = visit().page
    page.goto(server.address)
    page.focus("#map-keys")
    page.keyboard.press("ArrowRight")
    top = "map => map.getBoundingClientRect().top"
    before = page.eval_on_selector("#map-chart", top)
    server.tell(**{**examples.digits(), "state": state(1000)})
    wait_for(page, "#shown", "all 20")
    assert page.eval_on_selector("#map-chart", top) == pytest.approx(before, abs=2)
    assert page.evaluate("document.activeElement.id") == "map-keys"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (None, "The run is over"),
        (state(1797, done=True), "The run is over. This is its result."),
        (
            {**state(1797), **dict.fromkeys(("pass", "share")), "done": True, "note": "It is in a.html."},
            "The run is over. It is in a.html.",
        ),
        (state(9, stopped="Ctrl-C", done=True), "Stopped: Ctrl-C"),
    ],
)
def test_it_says_that_the_run_is_over_and_asks_no_more(server, visit, last, words):
    window = visit()
    window.page.goto(server.address)
    server.tell(state=last)
    wait_for(window.page, "#status", words)
    assert window.page.locator("#progress").is_hidden()
    asked = len(window.asked)
    server.tell(title="never shown")
    window.page.wait_for_timeout(1200)
    assert len(window.asked) == asked


def test_it_says_that_its_server_is_gone_and_keeps_what_it_has(server, visit):
    page = visit().page
    page.goto(server.address)
    wait_for(page, "#status", "Running")
    server.close()
    wait_for(page, "#status", "The connection is lost")
    page.select_option("#sort", "row")
    assert len(shown_cards(page)) == 8
