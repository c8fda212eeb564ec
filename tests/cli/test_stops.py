"""Runs that are stopped at the worst moment, in one process where the moment can be chosen."""

import os
import signal

import pytest

from protosieve import select
from protosieve.pipeline import Stopped
from protosieve.pipeline._run import Run, Surveying


def stopped_in(monkeypatch, where, method, signals, rows_file):
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
            select(rows_file, 8, checkpoint=rows_file.with_suffix(".run"), every=1)
    return str(stopped.value)


@pytest.mark.parametrize(("where", "method"), [(Run, "feed"), (Surveying, "take")])
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_half_done_is_not_stored(monkeypatch, rows_file, where, method, times):
    story = stopped_in(monkeypatch, where, method, [signal.SIGINT] * times, rows_file)
    phase = 2 if where is Run else 1
    if times == 1:
        assert f"stopped at row 32,768 of pass {phase} of 2; stored in" in story
    else:
        assert (
            f"stopped at row 16,384 of pass {phase} of 2. The checkpoint of row 16,384 of pass {phase} is intact"
            in story
        )
    resumed = select(rows_file, 8, checkpoint=rows_file.with_suffix(".run"), resume=True)
    assert resumed.table.equals(select(rows_file, 8).table)


@pytest.fixture
def hang_up(monkeypatch):
    """The signal, which somebody may have set aside for the tests (`nohup`)."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield signal.SIGHUP
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
def test_a_hang_up_that_is_told_again_is_no_impatience(monkeypatch, rows_file, hang_up, first):
    """Of a terminal that is closed both the system and the shell tell, and a machine that shuts down sends both."""
    story = stopped_in(monkeypatch, Run, "feed", [first, hang_up, hang_up], rows_file)
    assert "stopped at row 32,768 of pass 2 of 2; stored in" in story
    resumed = select(rows_file, 8, checkpoint=rows_file.with_suffix(".run"), resume=True)
    assert resumed.table.equals(select(rows_file, 8).table)


def test_a_hang_up_that_somebody_ignores_is_ignored(rows_file, hang_up):
    signal.signal(hang_up, signal.SIG_IGN)
    assert len(select(rows_file, 8, progress=lambda _: os.kill(os.getpid(), hang_up))) == 8
