"""Models for tests, as modules of a folder: each notes in a file beside it what it was called for."""

import json
import sys
from itertools import count
from pathlib import Path

WIDTH = 6
_NUMBERS = count()
_SOURCE = '''
import hashlib, json, os, time
from pathlib import Path
import numpy as np

CALLS = Path(__file__).with_suffix(".calls")

def note(texts):
    with CALLS.open("a") as file:
        file.write(json.dumps(texts) + "\\n")

def vector(text):
    seed = int.from_bytes(hashlib.sha256(text.split(" ")[0].encode()).digest()[:8], "little")
    noise = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=6) + 0.3 * np.random.default_rng(noise).normal(size=6)

def embed(texts):
    """A vector depends on its text alone."""
    note(texts)
    return np.array([vector(text) for text in texts])

def slow(texts):
    time.sleep(0.1)
    return embed(texts)

def uneven(texts):
    """And here on the others of its batch, in its last digits."""
    return embed(texts) * (1 + 1e-6 * np.arange(6) * len("".join(texts)))

def faulty(texts):
    """It has no vector for some, fails for others, and for three of one kind."""
    if any("fails" in text for text in texts):
        raise RuntimeError("no such word\\nas fails")
    if sum("crowd" in text for text in texts) > 2:
        raise MemoryError
    found = embed(texts)
    found[["nothing" in text for text in texts]] = np.nan
    return found

def wider(texts):
    return np.ones((len(texts), 4 if "row 700" in texts else 3))

class Holder:
    @staticmethod
    def embed(texts):
        return embed(texts)

NUMBER = 7
'''


def lengths(texts):
    """One that processes find without a folder of their own."""
    return [[len(text), 1, text.count("1")] for text in texts]


def fails(texts):
    raise OSError("no weights")


class Module:
    """A module of these functions, under a name of its own, in a folder that is looked at."""

    def __init__(self, folder: Path, source: str = _SOURCE) -> None:
        self.name = f"model_{next(_NUMBERS)}"
        self.path = folder / f"{self.name}.py"
        self.path.write_text(source)

    def __call__(self, function: str) -> str:
        return f"{self.name}:{function}"

    @property
    def calls(self) -> list[list[str]]:
        """The texts of each call."""
        file = self.path.with_suffix(".calls")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def texts(self) -> list[str]:
        return [text for call in self.calls for text in call]

    @property
    def is_imported(self) -> bool:
        return self.name in sys.modules
