"""Progress messages of a long call."""

import sys
import time

_EVERY = 1.0  # seconds between two lines


class Progress:
    """Prints a line on standard error at most once a second; a shorter call prints nothing."""

    def __init__(self, name: str, total: int, unit: str = "rows") -> None:
        self._name, self._total, self._unit = name, total, unit
        self._start = self._last = time.monotonic()

    def note(self, done: int, value: float | None) -> None:
        """Report that ``done`` of all are done; ``value`` is the objective of the current set, where it is known."""
        now = time.monotonic()
        if now - self._last < _EVERY:
            return
        self._last = now
        held = "" if value is None else f", l = {value:.6g}"
        speed = done / (now - self._start)
        sys.stderr.write(f"{self._name}: {done:,} of {self._total:,} {self._unit}, {speed:,.0f} {self._unit}/s{held}\n")
