"""A run that can be watched: on a page that is served meanwhile, and in a file when it is over."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from protosieve.errors import OutputError, warn
from protosieve.insight import Insight, describe
from protosieve.passes import Options
from protosieve.report import HERE, Live, check_report, page_data, render, save_page
from protosieve.result import Prototypes
from protosieve.result.files import write_result
from protosieve.run._progress import Tick, tell

_PAUSE = 1.0  # seconds between two looks, at least
_NOWHERE: Mapping[str, Any] = {  # the state of a run, as the page is told it
    "done": False, "pass": None, "phase": None, "phases": None, "rows": None, "share": None,
    "stopped": None, "note": None,
}  # fmt: skip
_REST = 9  # times what a look took, before the next: looks take no more than a tenth of the run


def report_place(
    report: str | os.PathLike[str] | None, watch: bool | str, output: str | os.PathLike[str] | None
) -> str | None:
    """Where the report goes, checked; a run that is watched leaves one beside its output even if none was asked for."""
    if report is None and not watch:
        return None
    beside = Path("prototypes" if output is None or os.fspath(output) == "-" else output).with_suffix(".html")
    place = os.fspath(beside if report is None else report)
    check_report(place)
    return place


class Onlookers:
    """Shows a run: on a live page, in a report at the end, on both or on neither.

    Called with every `Tick`; a look costs as much as a result, so it waits long enough after the last one.
    """

    def __init__(
        self,
        options: Options,
        place: str | None,
        live: Live | None = None,
        output: str | os.PathLike[str] | None = None,
    ) -> None:
        self._options, self._place, self._live = options, place, live
        self.look: Callable[[], Prototypes | None] = lambda: None  # what the result would be if no more rows came
        self._output = None if output is None or os.fspath(output) == "-" else output
        self._next = 0.0
        self._tick: Tick | None = None
        self._last: dict[str, Any] | None = None  # what was shown last of the prototypes,
        self._result: Prototypes | None = None  # and these

    def __call__(self, tick: Tick) -> None:
        now = time.monotonic()
        self._tick = tick
        if self._live is None or now < self._next:
            return
        with _harmless():
            self._live.publish(self._now(tick))
        spent = time.monotonic() - now
        self._next = now + spent + max(_PAUSE, _REST * spent)

    def finish(self, result: Prototypes) -> None:
        """Show the final result and write the report."""
        if self._place is None:
            return
        told = _told(result)
        save_page(self._place, render(told))
        if self._live is not None:
            over = {**_NOWHERE, "done": True, "rows": result.n_seen, "note": f"The report is in {self._place}."}
            with _harmless():
                self._live.publish({**told, "state": over})

    def leave(self, place: str) -> str | None:
        """The run is stopped at ``place``, with nothing half done: write what there is, and return what to say.

        Only for a run that is watched, such as of a stream that never ends: others do not expect a result of some of
        their rows.
        """
        if self._live is None or self._place is None or self._tick is None:
            return None
        page: bytes | None = None
        with _harmless():
            told = self._now(self._tick)
            told["state"] |= {"done": True, "stopped": place}
            page = render(told)
            self._live.publish(told)
        return None if self._result is None else self._write(self._result, page)

    def _write(self, result: Prototypes, page: bytes | None) -> str | None:
        """Write the table and the page of what there is, to the files that were asked for; returns what to say."""
        there = list[str]()
        try:
            if self._output is not None:
                write_result(result, self._output)
                there.append(f"in {os.fspath(self._output)}")
            if self._place is not None and page is not None:
                save_page(self._place, page)
                there.append(f"shown in {self._place}")
        except OutputError as error:
            return error.marked
        return f"the prototypes of the rows so far are {' and '.join(there)}" if there else None

    def _now(self, tick: Tick) -> dict[str, Any]:
        result = self.look()
        if result is not None:
            self._result = result
            self._last = _told(result)
        if self._last is not None:  # while rows are summed up nothing else changes
            return {**self._last, "state": _state(tick, None)}
        return page_data(Insight(_title(self._options)), _state(tick, _waiting(self._options)))


@contextmanager
def _harmless() -> Iterator[None]:
    """An error while the page is updated becomes a warning, and the run goes on."""
    try:
        yield
    except Exception as error:
        warn(f"a look at the run failed, and it goes on: {type(error).__name__}: {error}", stacklevel=4)


@contextmanager
def served(watch: bool | str, options: Options) -> Iterator[Live | None]:
    """The live page of a run; its address is printed to standard error, and works until the run is over."""
    if not watch:
        yield None
        return
    first = page_data(Insight(_title(options)), {**_NOWHERE, "note": "Waiting for the first rows."})
    with Live(partial(render, live=True), first, HERE if watch is True else str(watch)) as live:
        tell(f"Watch it at {live.address}")
        yield live


def _title(options: Options) -> str:
    return f"{options.n_prototypes} of these rows"


def _told(result: Prototypes) -> dict[str, Any]:
    return page_data(describe(result))


def _state(tick: Tick, note: str | None) -> dict[str, Any]:
    share = tick.bytes_read / tick.bytes_in_all if tick.bytes_in_all else None
    place = {"pass": tick.label, "phase": tick.phase, "phases": tick.phases, "rows": tick.rows, "share": share}
    return {**_NOWHERE, **place, "note": note}


def _waiting(options: Options) -> str:
    if options.is_stream:
        return "The first 10,000 rows settle what the columns are like; prototypes come after them."
    if options.target is not None:
        return "Prototypes come when inputs and target have been read."
    if options.per is not None:
        return "The prototypes of all groups come when all rows have been read."
    return "No row has been read yet."
