"""One tool on one data set, in a process of its own; what a peer chose is kept and not computed twice."""

import hashlib
import json
import os
import signal
import subprocess
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.peers._data import BENCH, DataSet
from benchmarks.peers._tools import OURS, RUNNERS, Tool, last_word

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "RAYON")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in THREADS} | {"VECLIB_MAXIMUM_THREADS": "1"}


@dataclass(frozen=True)
class Limits:
    """What a run may take."""

    seconds: float = 900.0
    gigabytes: float = 12.0


@dataclass(frozen=True)
class Run:
    """The rows a tool chose and what that took, or why it chose none within its limits."""

    limits: Limits
    indices: list[int] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    failure: str = ""

    @classmethod
    def read(cls, path: Path) -> "Run":
        parts = json.loads(path.read_text())
        return cls(**(parts | {"limits": Limits(**parts["limits"])}))

    def stands(self, limits: Limits) -> bool:
        """A failure may be none where more is allowed."""
        return not self.failure or self.limits == limits


def run(tool: Tool, data: DataSet, m: int, seed: int, limits: Limits, fresh: bool) -> Run:
    """The stored run of a peer where there is one and nothing it depends on has changed; else a new one.

    Ours is always run: its code is what changes.
    """
    if tool.environment == OURS:
        return _run(tool, data, m, seed, limits)
    store = BENCH / "runs" / f"{data.name}-{m}-{tool.slug}-{_fingerprint(tool, data, m, seed)}.json"
    if store.exists() and not fresh:
        stored = Run.read(store)
        if stored.stands(limits):
            return stored
    done = _run(tool, data, m, seed, limits)
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(json.dumps(asdict(done)))
    return done


def _fingerprint(tool: Tool, data: DataSet, m: int, seed: int) -> str:
    """Of all that decides what a peer chooses and how long it takes, but for the machine."""
    sources = [path.read_text() for path in (tool.script, RUNNERS / "_frame.py")]
    parts = [tool.environment.steps, tool.options, data.digest, data.width, m, seed, sources]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def _run(tool: Tool, data: DataSet, m: int, seed: int, limits: Limits) -> Run:
    parameters = {"m": m, "width": data.width, "seed": seed, "memory_gb": limits.gigabytes, **tool.options}
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [tool.environment.interpreter(), tool.script, data.path(), json.dumps(parameters), result]
        try:
            process = subprocess.run(
                list(map(str, command)),
                env=os.environ | ONE_THREAD,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=limits.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Run(limits, failure=f"more than {limits.seconds / 60:g} min")
        if process.returncode < 0:
            return Run(limits, failure=f"ended by {signal.Signals(-process.returncode).name}")
        if process.returncode:
            return Run(limits, failure=last_word(process.stderr))
        return Run(limits, **json.loads(result.read_text()))
