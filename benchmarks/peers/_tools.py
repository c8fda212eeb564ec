"""Who is compared: how each tool is installed and which runner calls it."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers._data import BENCH

RUNNERS = Path(__file__).parent / "runners"
VERSIONS = """
import platform, sys
from importlib.metadata import version
print(", ".join(["Python " + platform.python_version(), *(name + " " + version(name) for name in sys.argv[1:])]))
"""


class NotInstalledError(Exception):
    """A peer could not be installed; the message is the last that pip had to say."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment for one peer, made on demand.

    Peers are pinned to the version that was measured, what they need to one that they work with.

    Parameters
    ----------
    package : str
        The distribution whose version is reported.
    steps : tuple of tuple of str
        What to hand to ``pip install``, one call after the other.
    python : str, optional
        An interpreter to prefer where it is found, for peers that the newest have left behind.
    """

    package: str
    steps: tuple[tuple[str, ...], ...]
    python: str = ""

    def interpreter(self) -> Path:
        """The environment's Python; installs what is missing."""
        home = BENCH / "envs" / self.package
        python, ready = home / "bin" / "python", home / "ready.json"
        recipe = json.dumps(self.steps)
        if not (ready.exists() and ready.read_text() == recipe):
            base = shutil.which(self.python) if self.python else None
            _call([base or sys.executable, "-m", "venv", "--clear", str(home)])
            for step in self.steps:
                _call([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *step])
            ready.write_text(recipe)
        return python

    def versions(self) -> str:
        return _versions(self.interpreter(), self.package, "numpy")


@dataclass(frozen=True)
class Ours:
    """The environment that this runs in."""

    package: str = "protosieve"

    def interpreter(self) -> Path:
        return Path(sys.executable)

    def versions(self) -> str:
        return _versions(self.interpreter(), self.package, "numpy", "scipy")


@dataclass(frozen=True)
class Tool:
    """One line of the tables: a runner, what to call it with, and how that is to be described."""

    name: str
    environment: Environment | Ours
    runner: str
    note: str
    options: dict[str, object] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)

    @property
    def script(self) -> Path:
        return RUNNERS / f"{self.runner}.py"

    @property
    def slug(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.name.lower())


def _call(command: list[str]) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise NotInstalledError(last_word(run.stderr or run.stdout))


def _versions(python: Path, *names: str) -> str:
    run = subprocess.run([str(python), "-c", VERSIONS, *names], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def last_word(output: str) -> str:
    """The last line that says something: an error where one is named, and no warning or notice."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if not line.lower().startswith(("warning", "[notice]", "note:"))] or ["no message"]
    return next((line for line in reversed(lines) if line.lower().startswith("error")), lines[-1])


# AIX360 0.3 asks for versions that no longer install together, so it gets those it works with and itself without any.
AIX360 = Environment(
    "aix360",
    (
        (
            "numpy<2",
            "scipy<=1.10.1",
            "scikit-learn",
            "cvxpy",
            "osqp",
            "pandas",
            "requests",
            "matplotlib",
            "xport==2.0.2",
        ),
        ("--no-deps", "aix360==0.3.0"),
    ),
    python="python3.11",
)
APRICOT = Environment("apricot-select", (("apricot-select==0.6.1", "scikit-learn"),))
GOODPOINTS = Environment("goodpoints", (("goodpoints==0.6.3",),))
KMEDOIDS = Environment("kmedoids", (("kmedoids==0.5.5", "numpy"),))
MMD_CRITIC = Environment("mmd-critic", (("mmd-critic==0.1.2",),))
SKLEARN = Environment("scikit-learn", (("scikit-learn",),))
SUBMODLIB = Environment("submodlib-py", (("submodlib-py==0.0.3",),))
OURS = Ours()

OUR_NOTE = "with their defaults; `fit` includes the exact mean, and so does the time"
TOOLS = [
    Tool("ProtoSwap (ours)", OURS, "ours", OUR_NOTE, {"selector": "ProtoSwap"}),
    Tool("ProtoDash (ours)", OURS, "ours", OUR_NOTE, {"selector": "ProtoDash"}),
    Tool("ProtoStream (ours)", OURS, "ours", OUR_NOTE, {"selector": "ProtoStream"}),
    Tool("ProtoBasic (ours)", OURS, "ours", OUR_NOTE, {"selector": "ProtoBasic"}),
    Tool("random rows", OURS, "random_rows", "averages of five draws", seeds=(0, 1, 2, 3, 4)),
    Tool("AIX360 ProtoDash", AIX360, "aix360_protodash", "`optimizer='osqp'`, the same kernel"),
    Tool(
        "kernel thinning",
        GOODPOINTS,
        "goodpoints_thinning",
        "goodpoints' `kt.thin_K`, the same kernel; it halves, so it keeps the smallest n / 2^h rows that are m or more",
        {"method": "kernel thinning"},
    ),
    Tool(
        "Compress++",
        GOODPOINTS,
        "goodpoints_thinning",
        "goodpoints' `compress_kt` with g = 4, then `kt.thin_K` until m rows or just more are left (`compresspp_kt` is "
        "the same but always ends at the square root of n); it starts from 1,024 or 4,096 evenly spaced rows",
        {"method": "Compress++"},
    ),
    Tool("MMD-critic", MMD_CRITIC, "mmd_critic_greedy", "mmd-critic's `select_prototypes`, the same kernel"),
    Tool("k-medoids", KMEDOIDS, "kmedoids_fasterpam", "kmedoids' `fasterpam` on Euclidean distances in float32"),
    Tool(
        "apricot, fit",
        APRICOT,
        "apricot_facility",
        "facility location of the same kernel, lazy greedy; a second or two is its compiler, which runs in every call",
        {"streaming": False},
    ),
    Tool(
        "apricot, partial_fit",
        APRICOT,
        "apricot_facility",
        "facility location in chunks of 1,000 rows, with Euclidean similarity, for its stream takes no kernel",
        {"streaming": True},
    ),
    Tool("submodlib", SUBMODLIB, "submodlib_facility", "facility location of the same kernel in float32, lazy greedy"),
    Tool(
        "MiniBatchKMeans",
        SKLEARN,
        "sklearn_minibatch",
        "scikit-learn's, m clusters, then the row nearest to each centre; a row may be nearest to several",
    ),
]
