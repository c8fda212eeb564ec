"""Tasks that end the process they run in, once: importable, so that workers can be sent them."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
class Deadly:
    """``function`` of a partition, but for one of them, which kills whoever reads it."""

    function: Callable[..., Any]
    number: int

    def __call__(self, partition: Any, *arguments: Any) -> Any:
        if partition.number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.function(partition, *arguments)


PLACES = {
    "summarise": "_driver",
    "select_partition": "_gather",
    "merge_candidates": "_gather",
    "weigh_partition": "_driver",
}


def main(name: str, life: str, calls: str, rows: str, folder: str, output: str) -> None:
    """A driver in a process of its own, that is killed in one of its tasks."""
    from importlib import import_module

    import protosieve
    from protosieve.distributed import _merge

    module = import_module(f"protosieve.distributed.{PLACES[name]}")
    setattr(module, name, Mortal(getattr(module, name), Path(calls), int(life)))
    _merge._ROWS = 1  # as few sets in a merge as there may be
    protosieve.select(
        rows, 20, id="name", exact_weights=True, sample=1000, partition_rows=250, work=folder, output=output
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
