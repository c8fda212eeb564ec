"""Runs that are looked at while they go on, and the reports they leave behind."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pyarrow.parquet as pq
import pytest

import protosieve
from conftest import write_rows
from protosieve.errors import OutputError, ParameterError, ProtosieveWarning
from protosieve.passes import Plan, SumsPass
from protosieve.report._live import Live
from protosieve.run import Onlookers, Tick, _watch, report_place
from protosieve.run._signals import Stopped

pytestmark = pytest.mark.usefixtures("small_blocks")


def _story(page):
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', page.read_text(), re.S)
    return json.loads(found[1])


def _lines():
    yield "x,y\n"
    rng = np.random.default_rng(0)
    while True:
        yield "{:.5f},{:.5f}\n".format(*rng.normal(size=2))


class Watched:
    """``protosieve select - --watch`` as a process of its own: rows go in, its page is looked at."""

    def __init__(self, folder, *options, files=None):
        command = [sys.executable, "-m", "protosieve", "select", "-", "-m", "6", "--format", "csv", "--watch", *options]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        limit = [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
        self.process = subprocess.Popen([*limit, *command], cwd=folder, text=True, **pipes)
        line = self.process.stderr.readline()
        self.address = re.fullmatch(r"Watch it at (http://127\.0\.0\.1:\d+/[\w-]{22}/)\n", line)[1]
        self.version, self.rows = 0, -1  # the first line is none
        self._lines = _lines()
        self._enough = threading.Event()
        self._feeding = threading.Thread(target=self._feed)

    def begin(self):
        """Rows, a few at a time, until `end`."""
        self._feeding.start()

    def say(self, text):
        """All at once, and then silence."""
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def end(self):
        self._enough.set()
        self._feeding.join()
        self.process.stdin.close()

    def close(self):
        """Whatever became of it."""
        self._enough.set()
        if self._feeding.is_alive():
            self._feeding.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()
        self.process.wait()

    def _feed(self):
        with suppress(BrokenPipeError):
            while not self._enough.wait(0.01):
                self.process.stdin.write("".join(islice(self._lines, 250)))
                self.process.stdin.flush()
                self.rows += 250

    def until(self, wanted):
        """Stories as they come, until one is as wanted."""
        late = time.monotonic() + 120
        while time.monotonic() < late:
            with urlopen(f"{self.address}report.json?after={self.version}", timeout=60) as answer:
                if answer.status == 204:
                    continue
                told = json.load(answer)
            self.version = told["version"]
            if wanted(told["report"]):
                return told["report"]
        raise TimeoutError("no story was as wanted")


@pytest.fixture
def watched(tmp_path):
    begun = []

    def begin(*options, **limits):
        begun.append(Watched(tmp_path, *options, **limits))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.close()


@pytest.mark.thorough
def test_a_stream_is_seen_as_it_goes_by_and_leaves_a_report(watched, tmp_path):
    run = watched("-o", "chosen.csv")
    with urlopen(run.address, timeout=30) as answer:
        assert b'id="report"' in answer.read()
    early = run.until(lambda story: True)
    assert early["state"]["note"] == "Waiting for the first rows."
    run.begin()
    begun = run.until(lambda story: story["state"]["pass"] == "select")
    assert "10,000 rows settle" in begun["state"]["note"]
    first = run.until(lambda story: story["cards"])
    assert first["state"]["rows"] % 512 == 0
    assert not first["state"]["done"]
    assert len(first["cards"]) == 6
    later = run.until(lambda story: story["state"]["rows"] > first["state"]["rows"])
    assert later["map"]["points"] != first["map"]["points"]
    run.end()
    last = run.until(lambda story: story["state"]["done"])
    assert last["state"]["rows"] == run.rows
    assert "chosen.html" in last["state"]["note"]
    run.process.wait(60)
    with pytest.raises(URLError):
        urlopen(run.address, timeout=5)
    kept = _story(tmp_path / "chosen.html")
    assert kept["state"] is None
    assert kept["cards"] == last["cards"]
    assert "The report is in chosen.html." in run.process.stdout.read()
    (tmp_path / "same.csv").write_text("".join(islice(_lines(), run.rows + 1)))
    command = [sys.executable, "-m", "protosieve", "select", "-", "-m", "6", "--format", "csv", "-o", "at-once.csv"]
    with (tmp_path / "same.csv").open() as rows:
        subprocess.run(command, cwd=tmp_path, stdin=rows, stdout=subprocess.DEVNULL, check=True)
    assert (tmp_path / "at-once.csv").read_bytes() == (tmp_path / "chosen.csv").read_bytes()


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("sh"), reason="needs a shell with ulimit")
def test_slow_callers_without_the_address_cannot_end_a_run(watched, tmp_path):
    run = watched("-o", "chosen.csv", files=100)
    place = ("127.0.0.1", int(run.address.split(":")[2].split("/")[0]))
    over = threading.Event()

    def trickle():
        while not over.is_set():
            with suppress(OSError), socket.create_connection(place, timeout=5) as caller:
                caller.sendall(b"GET / HTTP/1.1\r\n")
                while not over.wait(0.5):
                    caller.sendall(b"X")

    slow = [threading.Thread(target=trickle) for _ in range(190)]
    for one in slow:
        one.start()
    try:
        run.say("".join(islice(_lines(), 20_001)))
        run.process.stdin.close()
        ended = run.process.wait(120)
    finally:
        over.set()
        for one in slow:
            one.join()
    assert (ended, run.process.stderr.read()) == (0, "")
    assert len((tmp_path / "chosen.csv").read_text().splitlines()) == 7
    assert (tmp_path / "chosen.html").exists()


@pytest.mark.thorough
def test_a_stream_that_is_stopped_leaves_what_there_is(watched, tmp_path):
    run = watched("--report", "so-far.html", "-o", "so-far.csv")
    run.begin()
    run.until(lambda story: story["cards"])
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(60) == 130
    told = run.process.stderr.read()
    assert "the prototypes of the rows so far are in so-far.csv and shown in so-far.html" in told
    assert len((tmp_path / "so-far.csv").read_text().splitlines()) == 7
    kept = _story(tmp_path / "so-far.html")
    assert kept["state"]["stopped"].startswith("stopped at row ")
    assert len(kept["cards"]) == 6


def test_a_stream_that_is_stopped_before_there_is_anything_to_show_leaves_nothing(watched, tmp_path):
    run = watched()
    run.until(lambda story: True)
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(60) == 130
    assert "nothing was written" in run.process.stderr.read()
    assert not (tmp_path / "prototypes.html").exists()


@pytest.fixture(params=["here", "workers"])
def place(request, rows_file):
    """Where four partitions of the file are worked on."""
    pq.write_table(pq.read_table(rows_file), rows_file, row_group_size=1_250)
    if request.param == "here":
        yield {"partition_rows": 1_250}
        return
    with ThreadPoolExecutor(1) as threads:
        yield {"partition_rows": 1_250, "executor": threads, "window": 1}


def test_a_run_that_is_watched_comes_to_the_same(rows_file, tmp_path, monkeypatch, capfd, place):
    monkeypatch.setattr(_watch, "_PAUSE", 0.0)
    monkeypatch.setattr(_watch, "_REST", 0)  # a look after every block
    plain = protosieve.select(rows_file, 8, output=tmp_path / "plain.parquet", partition_rows=1_250)
    given = {**place, "output": tmp_path / "seen.parquet", "report": tmp_path / "page.html"}
    seen = protosieve.select(rows_file, 8, watch=True, **given)
    assert seen.table.equals(plain.table)
    assert (tmp_path / "plain.parquet").read_bytes() == (tmp_path / "seen.parquet").read_bytes()
    assert capfd.readouterr().err.startswith("Watch it at http://127.0.0.1:")
    assert [card["row"] for card in _story(tmp_path / "page.html")["cards"]] == plain.indices.tolist()


def _published(monkeypatch):
    """Every story that a run in this process shows."""
    shown, publish = [], Live.publish
    monkeypatch.setattr(_watch, "_PAUSE", 0.0)
    monkeypatch.setattr(_watch, "_REST", 0)
    monkeypatch.setattr(Live, "publish", lambda live, story: (shown.append(story), publish(live, story)))
    return shown


def test_files_are_seen_as_they_are_read(rows_file, tmp_path, monkeypatch, place):
    """From the first partition on, by a sample of the rows so far, which stays on the page while rows are summed up."""
    shown = _published(monkeypatch)
    result = protosieve.select(rows_file, 8, watch=True, report=tmp_path / "page.html", **place)
    assert [story["state"]["note"] for story in shown[:2]] == [
        "Waiting for the first rows.",
        "No row has been read yet.",
    ]
    surveyed = [story for story in shown if story["state"]["pass"] == "survey" and story["cards"]]
    assert len({story["state"]["rows"] for story in surveyed}) >= 3
    assert all(len(story["cards"]) == 8 for story in surveyed)
    summed = [story for story in shown if story["state"]["pass"] == "sum"]
    assert summed
    assert all(len(story["cards"]) == 8 for story in summed)
    assert [story["state"]["done"] for story in shown] == [False] * (len(shown) - 1) + [True]
    assert [card["row"] for card in shown[-1]["cards"]] == result.indices.tolist()


def test_files_with_a_target_are_seen_when_all_is_known(rows_file, tmp_path, monkeypatch):
    shown = _published(monkeypatch)
    protosieve.select(rows_file, 8, target=write_rows(tmp_path / "y.parquet"), watch=True, report=tmp_path / "p.html")
    _, *before, last = shown
    assert {story["state"]["note"] for story in before} == {"Prototypes come when inputs and target have been read."}
    assert len(last["cards"]) == 8


@pytest.mark.parametrize("work", [False, True])
def test_a_run_over_files_that_is_stopped_leaves_what_there_is(rows_file, tmp_path, monkeypatch, work):
    shown, places = _published(monkeypatch), {"output": tmp_path / "out.csv", "report": tmp_path / "page.html"}
    given = {**places, **({"work": tmp_path / "work"} if work else {})}

    def stop(tick):
        if tick.label == "sum" and tick.rows:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Stopped) as stopped:
        protosieve.select(rows_file, 8, watch=True, progress=stop, **given)
    assert ("what was done is kept in" in str(stopped.value)) == work
    assert f"the prototypes of the rows so far are in {places['output']} and shown in" in str(stopped.value)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 9
    assert shown[-1]["state"]["stopped"].startswith("stopped at row ")
    assert len(_story(tmp_path / "page.html")["cards"]) == 8


def test_what_is_left_has_the_form_that_was_asked_for(rows_file, tmp_path, monkeypatch):
    _published(monkeypatch)

    def stop(tick):
        if tick.label == "sum" and tick.rows:
            os.kill(os.getpid(), signal.SIGINT)

    form = {"output": tmp_path / "tasks.json", "output_format": "label-studio"}
    with pytest.raises(Stopped):
        protosieve.select(rows_file, 8, watch=True, progress=stop, **form)
    assert len([task["data"]["protosieve_row"] for task in json.loads((tmp_path / "tasks.json").read_text())]) == 8
    assert (tmp_path / "tasks.html").exists()


def test_a_look_that_fails_does_not_cost_the_run(rows_file, tmp_path, monkeypatch):
    plain = protosieve.select(rows_file, 8)
    _published(monkeypatch)
    told, calls = _watch._told, []

    def failing(result):
        calls.append(None)
        if len(calls) == 1:
            raise ZeroDivisionError("no such luck")
        return told(result)

    monkeypatch.setattr(_watch, "_told", failing)
    with pytest.warns(ProtosieveWarning, match="a look at the run failed, and it goes on: ZeroDivisionError: no such"):
        seen = protosieve.select(rows_file, 8, watch=True, report=tmp_path / "page.html")
    assert seen.table.equals(plain.table)


def test_a_last_look_that_fails_does_not_cost_the_run(rows_file, tmp_path, monkeypatch):
    publish = Live.publish

    def failing(live, story):
        if story["state"]["done"]:
            raise OSError("no such luck")
        publish(live, story)

    monkeypatch.setattr(Live, "publish", failing)
    with pytest.warns(ProtosieveWarning, match="a look at the run failed, and it goes on: OSError: no such luck"):
        seen = protosieve.select(rows_file, 8, watch=True, report=tmp_path / "page.html")
    assert seen.table.equals(protosieve.select(rows_file, 8).table)
    assert (tmp_path / "page.html").exists()


def test_a_run_that_is_stopped_while_its_page_fails_keeps_its_prototypes(rows_file, tmp_path, monkeypatch):
    result = protosieve.select(rows_file, 8)

    def failing(result):
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(_watch, "_told", failing)
    monkeypatch.setattr(_watch, "_PAUSE", 1e9)
    with Live(lambda story: b"", {}) as live:
        shown = Onlookers(None, str(tmp_path / "page.html"), live, tmp_path / "chosen.parquet")
        shown.look = lambda: result
        with pytest.warns(ProtosieveWarning, match="a look at the run failed"):
            shown(Tick("select", 1, 1, 512, 0, None, None, None))
        with pytest.warns(ProtosieveWarning, match="a look at the run failed"):
            said = shown.leave("stopped at row 512")
    assert said == f"the prototypes of the rows so far are in {tmp_path / 'chosen.parquet'}"
    assert protosieve.Prototypes.read(tmp_path / "chosen.parquet").table.equals(result.table)


def test_looks_take_a_tenth_of_the_time_at_most(monkeypatch):
    clock, looked = [0.0], []

    class Page:
        def publish(self, story):
            looked.append(clock[0])
            clock[0] += 3.0  # a look is dear

    monkeypatch.setattr(_watch.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(Onlookers, "_now", lambda self, tick: {})
    shown = Onlookers(None, None, Page())
    for _ in range(1000):
        clock[0] += 0.1
        shown(None)
    assert len(looked) * 3.0 <= 0.1 * clock[0] + 3.0
    assert len(looked) >= 3


def test_a_report_is_of_the_run(rows_file, tmp_path):
    page = tmp_path / "page.html"
    result = protosieve.select(rows_file, 8, label="kind", report=page)
    story = _story(page)
    assert [card["row"] for card in story["cards"]] == result.indices.tolist()
    assert {card["label"] for card in story["cards"]} <= set("abcd")
    assert story["rerun"]["command"] == result.provenance["command"]
    again = tmp_path / "again.html"
    result.report(again)
    assert _story(again) == story


def test_without_report_and_watch_no_page_is_made(rows_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    protosieve.select(rows_file, 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.parquet"]


def test_where_the_page_of_a_run_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert report_place(None, False, "x.parquet") is None
    assert report_place("page.html", False, None) == "page.html"
    assert report_place(None, True, None) == "prototypes.html"
    assert report_place(None, True, "-") == "prototypes.html"
    assert report_place(None, True, "x.parquet") == "x.html"
    assert report_place("page.htm", "127.0.0.1:0", "x.parquet") == "page.htm"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"report": "page.pdf"}, OutputError, r"page\.pdf: a report is a page; end its name in \.html or \.htm"),
        ({"report": "nowhere/page.html"}, OutputError, "there is no folder"),
        ({"watch": "8000"}, ParameterError, "watch='8000' must be host:port"),
        ({"report": "rows.html", "format": "parquet"}, OutputError, "is one of the files to be read, which would be"),
        ({"coordinates": ["x", "kind"]}, ParameterError, "coordinates: column 'kind' holds string; a place on the map"),
    ],
)
def test_what_cannot_be_shown_is_refused_before_rows_are_read(rows_file, tmp_path, monkeypatch, options, error, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("protosieve.run._select.choose", lambda *_: pytest.fail("rows were read"))
    with pytest.raises(error, match=words):
        protosieve.select(rows_file.rename("rows.html"), 3, **{"format": "parquet", **options})


def test_an_image_shape_that_does_not_fit_is_told_before_rows_are_chosen(rows_file, monkeypatch):
    monkeypatch.setattr(SumsPass, "over", lambda *_: pytest.fail("rows were judged"))
    monkeypatch.setattr(Plan, "fitted", lambda *_: pytest.fail("rows were judged"))
    with pytest.raises(ParameterError, match="image_shape='28x28' has 784 pixels, and a row has 2 numbers"):
        protosieve.select(rows_file, 3, image_shape=(28, 28))


def test_rows_before_a_silence_are_seen(watched):
    run = watched("--format", "jsonl")
    values = np.random.default_rng(0).normal(size=(23_000, 2)).round(4).tolist()
    run.say("".join(f'{{"x": {x}, "y": {y}}}\n' for x, y in values[:20_000]))
    seen = run.until(lambda story: story["state"]["rows"] == 20_000 // 512 * 512)
    assert len(seen["cards"]) == 6
    run.say("".join(f'{{"x": {x}, "y": {y}}}\n' for x, y in values[20_000:]))
    run.until(lambda story: story["state"]["rows"] == 23_000 // 512 * 512)


def test_a_report_that_cannot_be_written_keeps_what_was_done(rows_file, tmp_path, monkeypatch):
    def full(place, page):
        raise OutputError("disk full")

    monkeypatch.setattr(_watch, "save_page", full)
    places = {"work": tmp_path / "work", "output": tmp_path / "out.csv", "report": tmp_path / "page.html"}
    with pytest.raises(OutputError, match="disk full"):
        protosieve.select(rows_file, 3, **places)
    assert (tmp_path / "out.csv").exists()
    monkeypatch.undo()
    with monkeypatch.context() as closed:
        closed.setattr("protosieve.passes._pass.read_as_they_come", lambda *_: pytest.fail("rows were read again"))
        protosieve.select(rows_file, 3, **places)
    assert (tmp_path / "page.html").exists()
    assert not (tmp_path / "work").exists()
