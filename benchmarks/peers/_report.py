"""The Markdown that ``docs/peers.md`` is made of."""

import datetime
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

HEADER = """# Comparison with other tools

This page runs other tools that select rows, and ours, on the same float64 rows. Each tool runs in a
separate environment and process, one after the other, with one thread. Made by `make bench-peers`,
{date}, on {machine}.

- **rows**: distinct rows selected. Some tools cannot return exactly m rows, and some return more.
  More rows give a smaller MMD, so each table has a line of ours with the same number.
- **MMD**: how far these rows are from the mean of all rows, for a Gaussian kernel of the width
  named. The rows of every tool get their best non-negative weights, solved by us in float64 against
  the exact mean. This scores only the selection of rows, whatever a tool optimises and whether or
  not it gives weights.
- **seconds**: the time of the selecting call, including the n x n matrix for tools that need one
  and the exact mean for ours. A small call before it pays for imports, and calls of a few seconds
  count the best of three.
- **CPU s**: the processor time of that call. On a busy machine it is disturbed less than seconds,
  but still disturbed: tools that fill gigabytes have taken twice as long.
- **peak MB**: the most memory the call took above what was in use before it, without the rows
  themselves.

The best MMD comes first. The last column says if a tool needed more than {minutes:g} minutes or {gigabytes:g} GB,
failed or could not be installed.
"""
REPRODUCE = """## Run it yourself

`make bench-peers` creates an environment for each peer. It keeps the environments, the data and the
selections under `.bench/`, so an interrupted run continues where it stopped, and a later run
repeats only our own selectors. `python -m benchmarks.peers --help` lists the options: `--data` and
`--tools` choose what to run, `--quick` uses the smallest data, and `--fresh` discards earlier
selections and times. [Benchmarks](benchmarks.md) says where the data come from.
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
    lines = (f"- **{'; '.join(sharing[note])}**: {note}.\n" for note in sharing)
    return "## How each tool was called\n\n" + "".join(lines)


def header(minutes: float, gigabytes: float) -> str:
    """What the tables say, and where they were made."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return HEADER.format(date=datetime.date.today(), machine=machine, minutes=minutes, gigabytes=gigabytes)
