"""A bar on standard error, where that is a terminal."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import BarColumn, Progress

    from protosieve.run import Tick

_REDRAW = 0.1  # seconds
_WINDOW = 10.0  # seconds over which speed is measured
_NARROWEST, _WIDEST = 8, 40  # cells of the bar itself
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
    from rich.progress import BarColumn, Progress, TextColumn

    column = BarColumn()
    progress = Progress(
        TextColumn("[bold]{task.description}"),
        column,
        TextColumn("{task.fields[figures]}"),
        console=Console(stderr=True, highlight=False),
        auto_refresh=False,
        speed_estimate_period=_WINDOW,
        transient=True,
        redirect_stdout=False,
    )
    with suppress(OSError):  # of a terminal that is gone: here, while it is drawn, and in the end
        progress.start()
    try:
        yield _Screen(progress, column).watch
    finally:
        with suppress(OSError):
            progress.stop()


class _Screen:
    """The line that is shown, and when it was drawn last."""

    def __init__(self, progress: "Progress", column: "BarColumn") -> None:
        self._progress, self._column = progress, column
        self._phase, self._drawn = 0, 0.0

    def watch(self, tick: "Tick") -> None:
        """Two tasks, of bytes and, out of sight, of rows: rich measures the speed of both."""
        now, is_new = time.monotonic(), tick.phase != self._phase
        if is_new:
            self._phase = tick.phase
            for task in self._progress.task_ids:
                self._progress.remove_task(task)
            self._bytes = self._progress.add_task(
                f"{tick.label} {tick.phase}/{tick.phases}", total=tick.bytes_in_all or None, figures=""
            )
            self._rows = self._progress.add_task("", total=None, visible=False)
        self._progress.update(self._bytes, completed=tick.bytes_read)
        self._progress.update(self._rows, completed=tick.rows)
        if is_new or now - self._drawn >= _REDRAW:
            self._drawn = now
            with suppress(OSError):
                self._draw(tick)

    def _draw(self, tick: "Tick") -> None:
        """As wide as the terminal: where there is no room, the last of the figures are left out."""
        whole, rows = self._progress.tasks
        room = self._progress.console.width - _ECHO - len(whole.description) - 2
        figures = _figures(tick, whole.time_remaining, rows.speed)
        while figures and len("  ".join(figures)) > room - _NARROWEST:
            figures.pop()
        shown = "  ".join(figures)
        self._column.bar_width = max(min(room - len(shown), _WIDEST), 1)
        self._progress.update(self._bytes, figures=shown, refresh=True)


def _figures(tick: "Tick", left: float | None, speed: float | None) -> list[str]:
    """The most wanted first."""
    figures = [
        f"{tick.rows:,} rows",
        "" if left is None else f"{timedelta(seconds=round(left))} left",
        "" if tick.residual is None else f"residual {tick.residual:.3g}",
        "" if speed is None else f"{speed:,.0f} rows/s",
        "" if tick.exchanged is None else f"{tick.exchanged:,} exchanged",
    ]
    return [figure for figure in figures if figure]
