"""A bar on standard error, where that is a terminal."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live

    from protosieve.run import Tick

__all__ = ["bar"]

_REDRAW = 0.1  # seconds
_WINDOW = 10.0  # seconds over which speed is measured
_NARROWEST, _WIDEST = 8, 40  # cells of the bar itself
_BETWEEN = 2
_ECHO = 4  # cells kept free for the ^C^C a terminal shows: on the next line they would keep this one from going


@contextmanager
def bar() -> Iterator[Callable[["Tick"], None]]:
    """A watcher that draws the progress of a run, if standard error is a terminal.

    The line is gone when the run is over, however it ended. It is drawn when there is news, ten times a second at most,
    without a thread of its own.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
    with suppress(OSError):  # of a terminal that is gone: here, while it is drawn, and in the end
        live.start()
    try:
        yield _Screen(live).watch
    finally:
        with suppress(OSError):
            live.stop()


class _Screen:
    """The line that is shown, and when it was drawn last."""

    def __init__(self, live: "Live") -> None:
        self._live = live
        self._drawn = 0.0
        self._speed = _Speed()

    def watch(self, tick: "Tick") -> None:
        now = time.monotonic()
        is_new = self._speed.add(tick, now)
        if is_new or now - self._drawn >= _REDRAW:
            self._drawn = now
            with suppress(OSError):
                self._live.update(_Line(tick, self._speed.rows, self._speed.left(tick)), refresh=True)


class _Speed:
    """Rows and bytes a second, over the last seconds of a pass."""

    def __init__(self) -> None:
        self._phase = 0
        self._ticks: deque[tuple[float, int, int]] = deque()

    def add(self, tick: "Tick", now: float) -> bool:
        """Whether a pass begins."""
        is_new = tick.phase != self._phase
        if is_new:
            self._phase = tick.phase
            self._ticks.clear()
        self._ticks.append((now, tick.rows, tick.bytes_read))
        while now - self._ticks[0][0] > _WINDOW and len(self._ticks) > 2:
            self._ticks.popleft()
        return is_new

    @property
    def rows(self) -> float | None:
        """A second; not known after one block."""
        return self._rate(1)

    def left(self, tick: "Tick") -> float | None:
        """Seconds to the end of the pass."""
        rate = self._rate(2)
        if not rate or tick.bytes_in_all is None:
            return None
        return max(tick.bytes_in_all - tick.bytes_read, 0) / rate

    def _rate(self, what: int) -> float | None:
        first, last = self._ticks[0], self._ticks[-1]
        seconds = last[0] - first[0]
        return (last[what] - first[what]) / seconds if seconds > 0 else None


class _Line:
    """One line, as wide as the terminal: where there is no room, the last of the figures are left out."""

    def __init__(self, tick: "Tick", speed: float | None, left: float | None) -> None:
        self._tick, self._speed, self._left = tick, speed, left

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.progress_bar import ProgressBar
        from rich.segment import Segment

        name = f"{self._tick.label} {self._tick.phase}/{self._tick.phases}"
        room = options.max_width - _ECHO - len(name) - _BETWEEN
        figures = _fitting(self._figures(), room - _NARROWEST)
        width = max(min(room - _taken(figures), _WIDEST), 1)
        # a pulse for standard input, whose length is not known
        total, done = self._tick.bytes_in_all, self._tick.bytes_read
        gap = " " * _BETWEEN
        yield Segment(name + gap, console.get_style("bold"))
        yield ProgressBar(total or None, done, width=width, pulse=total is None)
        yield Segment("".join(gap + figure for figure in figures))

    def _figures(self) -> list[str]:
        """The most wanted first."""
        tick = self._tick
        figures = [
            f"{tick.rows:,} rows",
            "" if self._left is None else f"{_clock(self._left)} left",
            "" if tick.residual is None else f"residual {tick.residual:.3g}",
            "" if self._speed is None else f"{self._speed:,.0f} rows/s",
            "" if tick.exchanged is None else f"{tick.exchanged:,} exchanged",
        ]
        return [figure for figure in figures if figure]


def _fitting(figures: list[str], room: int) -> list[str]:
    while figures and _taken(figures) > room:
        figures = figures[:-1]
    return figures


def _taken(figures: list[str]) -> int:
    return sum(len(figure) + _BETWEEN for figure in figures)


def _clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any.

    >>> _clock(75.2), _clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
