"""Signals to stop: obeyed once, at a moment when nothing is half done, whatever Python was doing then."""

import os
import signal
import threading

import pytest

from protosieve.run._signals import Stopped, stops

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")


@pytest.fixture(autouse=True)
def usual_handlers():
    """Also where the tests themselves run under nohup, which programs respect."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_a_terminal_that_hangs_up_twice_does_not_interrupt_the_tidying_up():
    """The system tells the leader of a session and its group in the foreground, so one process may hear it twice."""
    tidied = False
    with pytest.raises(Stopped) as stopped, stops() as stop, stop.at_once():
        try:
            os.kill(os.getpid(), signal.SIGHUP)
        finally:
            os.kill(os.getpid(), signal.SIGHUP)
            tidied = True
    assert tidied
    assert stopped.value.number == signal.SIGHUP
    assert stopped.value.whole


def test_who_asks_again_while_the_first_is_obeyed_does_not_wait():
    with pytest.raises(Stopped) as stopped, stops() as stop, stop.held_back():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the second must be obeyed at once")
    assert stopped.value.number == signal.SIGINT
    assert not stopped.value.whole


def test_a_signal_between_two_steps_of_a_lock_is_a_stop_and_no_error_of_the_lock():
    """As a queue's or a future's wait is left when the signal comes between letting its lock go and waiting."""
    lock = threading.Lock()
    with pytest.raises(Stopped), stops() as stop, stop.at_once(), lock:
        lock.release()
        os.kill(os.getpid(), signal.SIGHUP)


def test_other_errors_of_locks_are_what_they_were():
    with pytest.raises(RuntimeError, match="release unlocked lock"), stops() as stop, stop.at_once():
        threading.Lock().release()
