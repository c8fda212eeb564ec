"""One measurement, known by what goes into it, and the folder where results wait for the next run."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import protosieve
from protosieve._atomic import replacing

__all__ = ["Result", "Results", "Store", "Task"]

Result = Mapping[str, Any]  # numbers, texts and lists of them: what JSON can hold


@dataclass(frozen=True)
class Task:
    """A function of `measures/` and its arguments, all of them hashable and with a `repr` that tells them apart."""

    function: Callable[..., Result]
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.function.__name__} {', '.join(map(str, self.arguments))}"

    def key(self) -> str:
        """A file name that changes when the function, its arguments or any code it may run changes."""
        spelt = f"{_code()} {self.function.__module__}.{self.function.__qualname__}{self.arguments!r}"
        return hashlib.blake2b(spelt.encode(), digest_size=16).hexdigest()


Results = Mapping[Task, Result]


class Store:
    """Results by task, one JSON file each, written whole or not at all. ``fresh`` ignores those of other runs."""

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder, self._fresh = folder, fresh
        folder.mkdir(parents=True, exist_ok=True)

    def knows(self, task: Task) -> bool:
        """Whether `result` need not compute."""
        return self._read(task) is not None

    def result(self, task: Task) -> Result:
        """Read where it is known, else computed and kept."""
        known = self._read(task)
        if known is None:
            text = json.dumps({"task": str(task), "result": task.function(*task.arguments)})
            with replacing(self._path(task)) as file:
                file.write(text.encode())
            known = json.loads(text)["result"]  # as the next run will read it: lists, no tuples
        return known

    def _read(self, task: Task) -> Result | None:
        """None where there is nothing, or a file that does not hold a result: it is written again."""
        if self._fresh:
            return None
        try:
            return json.loads(self._path(task).read_text())["result"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _path(self, task: Task) -> Path:
        return self._folder / f"{task.key()}.json"


@cache
def _code() -> str:
    """A digest of the code that measures run, and of the libraries under it: results are only as old as these."""
    package, here = Path(protosieve.__file__).parent, Path(__file__).parent
    rooms = ("datasets", "kernels", "means", "objectives", "selectors", "weights")
    files = [path for room in rooms for path in (package / room).rglob("*.py")]
    files += [*package.glob("*.py"), *(here / "measures").glob("*.py")]
    files += [here.parent / name for name in ("benchmarks/_literal.py", "benchmarks/_measure.py", "tests/oracles.py")]
    texts = [path.read_bytes() for path in sorted(files)]
    versions = [f"{module.__name__} {module.__version__}".encode() for module in (np, scipy, sklearn)]
    return hashlib.blake2b(b"\0".join(texts + versions), digest_size=16).hexdigest()
