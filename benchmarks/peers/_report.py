"""The Markdown that ``docs/peers.md`` is made of."""

import datetime
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

HEADER = """# Beside the peers

Other tools that choose rows, and ours, on the same float64 rows: each in an environment and a process of its own, one
after the other, with one thread. Made by `make bench-peers`, {date}, on {machine}.

- **rows**: distinct rows chosen. Some tools cannot hit m, and some give more; more rows make a smaller MMD, so there is
  a line of ours with as many.
- **MMD**: how far these rows are from the mean of all rows, in the geometry of a Gaussian kernel of the width named.
  Every tool's rows get the best non-negative weights there are for them, solved by us in float64 against the exact
  mean: only the choice of rows is judged, whatever a tool optimises and whether or not it gives weights.
- **seconds**: of the selecting call, with the n x n matrix for tools that need one, with the exact mean for ours. A
  small call before it pays for imports, and of calls of a few seconds the best of three counts.
- **CPU s**: the processor's share of these. Where the machine was busy with other things it is less disturbed than
  seconds are, but not undisturbed: tools that fill gigabytes have taken twice as long on a busy machine.
- **peak MB**: the most memory that call took above what was there before it; the rows themselves are not counted.

The best MMD comes first. A tool that needed more than {minutes:g} minutes or {gigabytes:g} GB, that failed or that did
not install says so in the last column.
"""
REPRODUCE = """## Do it again

`make bench-peers` makes an environment for each peer and keeps it, the data and what each peer chose under `.bench/`:
an interrupted run goes on where it stopped, and a later one runs ours only. `python -m benchmarks.peers --help` lists
the options: `--data` and `--tools` choose, `--quick` takes the smallest data, `--fresh` forgets earlier choices and
times. [Benchmarks](benchmarks.md) says where the data are from.
"""


@dataclass(frozen=True)
class Line:
    """A tool's line of a table."""

    tool: str
    rows: float = 0.0
    mmd: float = 0.0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    failure: str = ""

    @classmethod
    def average(cls, lines: Iterable["Line"]) -> "Line":
        """Of several draws of one tool; the first failure, where one failed."""
        lines = list(lines)
        failed = next((line for line in lines if line.failure), None)
        if failed:
            return failed
        columns = zip(*(line.numbers() for line in lines), strict=True)
        return cls(lines[0].tool, *map(mean, columns))

    def numbers(self) -> tuple[float, ...]:
        return self.rows, self.mmd, self.seconds, self.cpu_seconds, self.peak_mb

    def cells(self) -> list[str]:
        if self.failure:
            return [self.tool, "-", "-", "-", "-", self.failure.replace("|", "/")]
        times = [brief(self.seconds), brief(self.cpu_seconds)]
        return [self.tool, f"{self.rows:.0f}", f"{self.mmd:.5f}", *times, f"{self.peak_mb:,.0f}"]


def brief(seconds: float) -> str:
    """Two digits that count."""
    if seconds < 0.001:
        return "< 0.001"
    return f"{seconds:,.0f}" if seconds >= 9.95 else f"{seconds:#.2g}"


def table(heads: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def section(title: str, lines: list[Line]) -> str:
    """A data set's table, the best first and those that failed last."""
    lines = sorted(lines, key=lambda line: (bool(line.failure), line.mmd))
    heads = ["tool", "rows", "MMD", "seconds", "CPU s", "peak MB"]
    return f"## {title}\n\n{table(heads, (line.cells() for line in lines))}"


def versions(found: dict[str, str]) -> str:
    """Who was compared, in which version."""
    return f"## Versions\n\n{table(['environment', 'versions'], map(list, found.items()))}"


def calls(notes: dict[str, str]) -> str:
    """How each tool was called; those with one note share a line."""
    sharing: dict[str, list[str]] = {}
    for name, note in notes.items():
        sharing.setdefault(note, []).append(name)
    return "## How each was called\n\n" + "".join(f"- **{'; '.join(sharing[note])}**: {note}.\n" for note in sharing)


def header(minutes: float, gigabytes: float) -> str:
    """What the tables say, and where they were made."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return HEADER.format(date=datetime.date.today(), machine=machine, minutes=minutes, gigabytes=gigabytes)
