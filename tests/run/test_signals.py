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
    tidied = []

    def hung_up():
        with stops() as stop, stop.at_once():
            try:
                os.kill(os.getpid(), signal.SIGHUP)
            finally:
                os.kill(os.getpid(), signal.SIGHUP)
                tidied.append(True)

    with pytest.raises(Stopped) as stopped:
        hung_up()
    assert tidied
    assert stopped.value.number == signal.SIGHUP
    assert stopped.value.whole


def test_who_asks_again_while_the_first_is_obeyed_does_not_wait():
    reached = []

    def asked_twice():
        with stops() as stop, stop.held_back():
            os.kill(os.getpid(), signal.SIGTERM)
            reached.append("first")
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("second")

    with pytest.raises(Stopped) as stopped:
        asked_twice()
    assert reached == ["first"]
    assert stopped.value.number == signal.SIGINT
    assert not stopped.value.whole


def test_a_signal_between_two_steps_of_a_lock_is_a_stop_and_no_error_of_the_lock():
    """As a queue's or a future's wait is left when the signal comes between letting its lock go and waiting."""
    lock = threading.Lock()

    def stopped_while_it_waits():
        with stops() as stop, stop.at_once(), lock:
            lock.release()
            os.kill(os.getpid(), signal.SIGHUP)

    with pytest.raises(Stopped):
        stopped_while_it_waits()


def test_other_errors_of_locks_are_what_they_were():
    with pytest.raises(RuntimeError, match="release unlocked lock"), stops() as stop, stop.at_once():
        threading.Lock().release()
