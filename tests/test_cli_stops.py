"""Runs that are stopped at the worst moment, in one process where the moment can be chosen."""

import os
import signal

import pytest

from protosieve import select
from protosieve.pipeline import Stopped
from protosieve.pipeline._run import Run, Surveying


def stopped_in(monkeypatch, where, method, times, rows_file):
    """A run which is interrupted so often while it is at its second block."""
    calls, original = [], getattr(where, method)

    def interrupted(self, *arguments):
        calls.append(None)
        original(self, *arguments)
        if len(calls) == 2:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(where, method, interrupted)
        with pytest.raises(Stopped) as stopped:
            select(rows_file, 8, checkpoint=rows_file.with_suffix(".run"), every=1)
    return str(stopped.value)


@pytest.mark.parametrize(("where", "method"), [(Run, "feed"), (Surveying, "take")])
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_half_done_is_not_stored(monkeypatch, rows_file, where, method, times):
    story = stopped_in(monkeypatch, where, method, times, rows_file)
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
