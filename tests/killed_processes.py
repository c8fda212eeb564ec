"""Processes that start at once, and passes that end the one they run in: importable, so that these can be sent them."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from protosieve import cli, select
from protosieve.passes import ChoosePass, FetchPass, SumsPass, SurveyPass, _blocks, _row_sample
from protosieve.run import _engine, _progress
from protosieve.run._attempt import Attempt

# Their processes are forks of one that has imported the package, which takes a second, and has no threads.
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["protosieve.cli", "protosieve.run", "protosieve.selectors", "protosieve.result.files"])


def begun(function: Callable[..., None], *arguments: Any) -> Any:
    """A process that makes this call."""
    process = FORKS.Process(target=function, args=arguments)
    process.start()
    return process


def ended(function: Callable[..., None], *arguments: Any) -> int:
    """How it ends: its exit code, or minus the signal that killed it."""
    process = begun(function, *arguments)
    process.join()
    return process.exitcode


PASSES: dict[str, Any] = {"survey": SurveyPass, "sums": SumsPass, "choose": ChoosePass, "fetch": FetchPass}


@dataclass(frozen=True)
class Mortal:
    """``function``, but for the ``life``-th call of all processes, which kills the one it is made in with SIGKILL."""

    function: Callable[..., Any]
    calls: Path  # a folder, with a file per call
    life: int

    def __call__(self, *arguments: Any) -> Any:
        number = 1
        while not self._is_call(number):
            number += 1
        if number == self.life:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.function(*arguments)

    def _is_call(self, number: int) -> bool:
        """Whether no other call has this number; it is then ours."""
        try:
            with (self.calls / str(number)).open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return False
        return True


@dataclass(frozen=True)
class MortalAttempts:
    """In place of `Attempt`: of one stage they are mortal, or deadly where ``number`` is a partition that kills."""

    stage: str
    calls: Path
    life: int | None = None
    number: int | None = None

    def __call__(self, function: Callable[..., Any], stage: str) -> Attempt:
        if stage == self.stage:
            function = Deadly(function, self.number) if self.life is None else Mortal(function, self.calls, self.life)
        return Attempt(function, stage)


@dataclass(frozen=True)
class Deadly:
    """``function`` of a partition, but for one of them, which kills whoever reads it."""

    function: Callable[..., Any]
    number: int | None

    def __call__(self, partition: Any, *arguments: Any) -> Any:
        if partition.number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.function(partition, *arguments)


@contextmanager
def small_blocks() -> Iterator[pytest.MonkeyPatch]:
    """Blocks of 512 rows, what is done stored after each of them, and columns kept of two rows: all else is fetched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_MOST", 512)
        patch.setattr(_engine, "_PAUSE", 0)
        patch.setattr(_engine, "_REST", 0)
        patch.setattr(_row_sample, "_HELD", 1)
        patch.setattr(_row_sample, "_FEWEST", 2)
        yield patch


def run_until_a_block(stage: str, life: int, workers: int, calls: Path, method: str, rows: Path, places: Any) -> None:
    """A run that is killed by the ``life``-th block of one of its passes."""
    mortal = Mortal(PASSES[stage].take, calls, life)

    def take(*arguments: Any) -> None:
        mortal(*arguments)

    asked: dict[str, Any] = {"id": "name", "sample": 1000, "partition_rows": 1500, "method": method, **places}
    with small_blocks() as patch, ThreadPoolExecutor(workers) if workers else nullcontext() as pool:
        patch.setattr(PASSES[stage], "take", take)
        select(rows, 20, **asked, executor=pool)


def command_until_a_tick(life: int, block: int, words: list[str]) -> None:
    """The command line, storing what is done after every block, killed at its ``life``-th tick; 0: never."""
    told, ticks = _progress.RunProgress._tell, count(1)

    def tell(*arguments: Any) -> None:
        told(*arguments)
        if next(ticks) == life:
            os.kill(os.getpid(), signal.SIGKILL)

    _blocks._MOST, _engine._PAUSE, _engine._REST = block, 0, 0
    _progress.RunProgress._tell = tell
    raise SystemExit(cli.main(words))
