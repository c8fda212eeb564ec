"""Ctrl-C and other signals to stop, obeyed at a moment when nothing is half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from protosieve.errors import Message

_HANG_UP = getattr(signal, "SIGHUP", None)  # Windows has none
_STOPS = tuple(number for number in (signal.SIGINT, signal.SIGTERM, _HANG_UP) if number is not None)


class Stopped(Message, KeyboardInterrupt):
    """The run was asked to stop by a signal, whose ``number`` this carries.

    It is ``whole`` if nothing was half done. A user who asks twice does not wait for that; what is half done must not
    be stored.
    """

    def __init__(self, number: int, whole: bool = True) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number
        self.whole = whole
        self.is_told = False

    def tell(self, story: str) -> None:
        """Set the message: how far the run had come, and what is kept of it."""
        super().__init__(story)
        self.is_told = True


class Stop:
    """Whether the run has been asked to stop, and whether that may be done at once."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._at_once = False

    def check(self) -> None:
        """Raise `Stopped` if the user has asked to stop."""
        if self._asked is not None:
            raise Stopped(self._asked)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Stop without delay inside: nothing is half done while rows are waited for, or between two passes."""
        self.check()
        with self._may_be_at_once(True), _stopped_in_a_lock():
            yield

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Hold signals back inside, because something is half done."""
        with self._may_be_at_once(False):
            yield
        self.check()

    @contextmanager
    def _may_be_at_once(self, may: bool) -> Iterator[None]:
        before, self._at_once = self._at_once, may
        try:
            yield
        finally:
            self._at_once = before

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked is not None and number == _HANG_UP:
            return  # not impatience: a closed terminal sends it once, and its shell once more
        is_impatient, self._asked = self._asked is not None, number
        if self._at_once or is_impatient:
            raise Stopped(number, whole=self._at_once)


@contextmanager
def _stopped_in_a_lock() -> Iterator[None]:
    """A signal that is raised while a queue or a future takes its lock makes Python release one it does not hold."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error.__context__, Stopped):
            raise error.__context__ from None
        raise


@contextmanager
def stops() -> Iterator[Stop]:
    """Hold interrupts back until `Stop.check`. Only the main thread can; in others they arrive as usual."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    theirs = {number: signal.getsignal(number) for number in _STOPS}
    ours = [n for n, handler in theirs.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
    for number in ours:
        signal.signal(number, stop._handle)
    try:
        yield stop
    finally:
        for number in ours:
            signal.signal(number, theirs[number])
