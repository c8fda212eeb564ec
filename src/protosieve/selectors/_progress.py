"""A word now and then while a long call is at work."""

import sys
import time

__all__ = ["Progress"]

_EVERY = 1.0  # seconds between two lines


class Progress:
    """Lines on standard error, at most one a second; a call that takes less than that says nothing."""

    def __init__(self, name: str, rows: int) -> None:
        self._name, self._rows = name, rows
        self._start = self._last = time.monotonic()

    def note(self, done: int, value: float | None) -> None:
        """``done`` rows of this call are judged; ``value`` is the objective of what is held, where it is known."""
        now = time.monotonic()
        if now - self._last < _EVERY:
            return
        self._last = now
        held = "" if value is None else f", l = {value:.6g}"
        speed = done / (now - self._start)
        sys.stderr.write(f"{self._name}: {done:,} of {self._rows:,} rows, {speed:,.0f} rows/s{held}\n")
