"""Runs that are stopped at the worst moment, in one process where the moment can be chosen."""

import os
import signal

import pytest

from conftest import write_rows
from protosieve import select
from protosieve.passes import ChoosePass, SumsPass, SurveyPass
from protosieve.run import Stopped, _engine

METHODS = {SurveyPass: "swap", SumsPass: "swap", ChoosePass: "stream"}
PLACES = {SurveyPass: "1 of 2", SumsPass: "2 of 2", ChoosePass: "3 of 3"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory, small_blocks):
    """A file, and what is chosen of it when nobody stops the run."""
    path = write_rows(tmp_path_factory.mktemp("rows") / "rows.parquet")
    return path, {method: select(path, 8, method=method).table for method in ("swap", "stream")}


def blocks_of(monkeypatch, where, after, path, work):
    """Blocks that a pass of a run takes, and the result; ``after`` is called with their number after each."""
    calls, original = [], where.take

    def take(self, *arguments):
        calls.append(None)
        original(self, *arguments)
        after(len(calls))

    with monkeypatch.context() as patched:
        patched.setattr(where, "take", take)
        patched.setattr(_engine, "_PAUSE", 0.0)  # what there is is stored after every block
        patched.setattr(_engine, "_REST", 0)
        result = select(path, 8, method=METHODS[where], work=work)
    return len(calls), result


def stopped_in(monkeypatch, where, signals, path, work):
    """What is said of a run which gets these signals while it is at its second block."""

    def stop(number):
        for sent in signals if number == 2 else []:
            os.kill(os.getpid(), sent)

    with pytest.raises(Stopped) as stopped:
        blocks_of(monkeypatch, where, stop, path, work)
    return str(stopped.value)


@pytest.mark.parametrize(
    ("where", "times"),
    [
        (SurveyPass, 2),
        (SumsPass, 1),
        (ChoosePass, 2),
        pytest.param(SurveyPass, 1, marks=pytest.mark.thorough),
        pytest.param(SumsPass, 2, marks=pytest.mark.thorough),
        pytest.param(ChoosePass, 1, marks=pytest.mark.thorough),
    ],
)
def test_what_is_half_done_is_not_stored(monkeypatch, rows, tmp_path, where, times):
    (path, expected), work = rows, tmp_path / "work"
    story = stopped_in(monkeypatch, where, [signal.SIGINT] * times, path, work)
    row = {1: "4,096", 2: "2,048"}[times]  # who asks twice does not wait for the second block to be whole
    assert f"stopped at row {row} of pass {PLACES[where]}; what was done is kept in {work}: the same run" in story
    blocks, resumed = blocks_of(monkeypatch, where, lambda number: None, path, work)
    assert blocks == 3 - {1: 2, 2: 1}[times]
    assert resumed.table.equals(expected[METHODS[where]])


@pytest.fixture
def hang_up(monkeypatch):
    """The signal, which somebody may have set aside for the tests (`nohup`)."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield signal.SIGHUP
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
def test_a_hang_up_that_is_told_again_is_no_impatience(monkeypatch, rows, tmp_path, hang_up, first):
    """Of a terminal that is closed both the system and the shell tell, and a machine that shuts down sends both."""
    (path, expected), work = rows, tmp_path / "work"
    story = stopped_in(monkeypatch, SumsPass, [first, hang_up, hang_up], path, work)
    assert "stopped at row 4,096 of pass 2 of 2; what was done is kept in" in story
    assert select(path, 8, work=work).table.equals(expected["swap"])


def test_a_hang_up_that_somebody_ignores_is_ignored(rows, hang_up):
    signal.signal(hang_up, signal.SIG_IGN)
    assert len(select(rows[0], 8, progress=lambda _: os.kill(os.getpid(), hang_up))) == 8
