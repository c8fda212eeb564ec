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
    """Results by task, one JSON file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def result(self, task: Task) -> Result:
        """Read where it is known, else computed and kept."""
        path = self._folder / f"{task.key()}.json"
        if not path.exists():
            part = path.with_suffix(".part")
            part.write_text(json.dumps({"task": str(task), "result": task.function(*task.arguments)}))
            part.replace(path)
        return json.loads(path.read_text())["result"]


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
