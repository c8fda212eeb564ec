"""Runs that are stopped at the worst moment, in one process where the moment can be chosen."""

import os
import signal

import pytest

from conftest import write_rows
from protosieve import select
from protosieve.run._signals import Stopped
from protosieve.pipeline._run import Run, Surveying


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A file, and what is chosen of it when nobody stops the run."""
    path = write_rows(tmp_path_factory.mktemp("rows") / "rows.parquet")
    return path, select(path, 8).table


def stopped_in(monkeypatch, where, method, signals, path, store):
    """A run which gets these signals while it is at its second block."""
    calls, original = [], getattr(where, method)

    def interrupted(self, *arguments):
        calls.append(None)
        original(self, *arguments)
        if len(calls) == 2:
            for number in signals:
                os.kill(os.getpid(), number)

    with monkeypatch.context() as patched:
        patched.setattr(where, method, interrupted)
        with pytest.raises(Stopped) as stopped:
            select(path, 8, checkpoint=store, every=1)
    return str(stopped.value)


@pytest.mark.parametrize(("where", "method"), [(Run, "feed"), (Surveying, "take")])
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_half_done_is_not_stored(monkeypatch, rows, tmp_path, where, method, times):
    (path, expected), store = rows, tmp_path / "rows.run"
    story = stopped_in(monkeypatch, where, method, [signal.SIGINT] * times, path, store)
    phase = 2 if where is Run else 1
    if times == 1:
        assert f"stopped at row 32,768 of pass {phase} of 2; stored in" in story
    else:
        assert (
            f"stopped at row 16,384 of pass {phase} of 2. The checkpoint of row 16,384 of pass {phase} is intact"
            in story
        )
    resumed = select(path, 8, checkpoint=store, resume=True)
    assert resumed.table.equals(expected)


@pytest.fixture
def hang_up(monkeypatch):
    """The signal, which somebody may have set aside for the tests (`nohup`)."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield signal.SIGHUP
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
def test_a_hang_up_that_is_told_again_is_no_impatience(monkeypatch, rows, tmp_path, hang_up, first):
    """Of a terminal that is closed both the system and the shell tell, and a machine that shuts down sends both."""
    (path, expected), store = rows, tmp_path / "rows.run"
    story = stopped_in(monkeypatch, Run, "feed", [first, hang_up, hang_up], path, store)
    assert "stopped at row 32,768 of pass 2 of 2; stored in" in story
    resumed = select(path, 8, checkpoint=store, resume=True)
    assert resumed.table.equals(expected)


def test_a_hang_up_that_somebody_ignores_is_ignored(rows, hang_up):
    signal.signal(hang_up, signal.SIG_IGN)
    assert len(select(rows[0], 8, progress=lambda _: os.kill(os.getpid(), hang_up))) == 8
