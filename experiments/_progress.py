"""How far a run has come: a bar on a terminal, else a line for every result that has to be computed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments._task import Task

__all__ = ["reporting"]


class Report(Protocol):
    """Called before each task."""

    def __call__(self, task: Task, *, known: bool) -> None: ...


@contextmanager
def reporting(total: int, *, quiet: bool = False) -> Iterator[Report]:
    """What to call before each of so many tasks; words go to standard error."""
    console = Console(stderr=True, quiet=quiet)
    if quiet or console.is_terminal:
        with _bar(total, console) as report:
            yield report
    else:
        yield _lines(total)


@contextmanager
def _bar(total: int, console: Console) -> Iterator[Report]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as bar:
        line, done = bar.add_task("", total=total), count()

        def report(task: Task, *, known: bool) -> None:
            bar.update(line, description="" if known else str(task), completed=next(done))

        yield report
        bar.update(line, description="", completed=total)


def _lines(total: int) -> Report:
    place = count(1)

    def report(task: Task, *, known: bool) -> None:
        number = next(place)
        if not known:
            print(f"[{number}/{total}] {task}", file=sys.stderr, flush=True)

    return report
