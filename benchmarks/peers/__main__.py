"""``make bench-peers``: the real peers beside us, in one run, judged by one yardstick (see docs/peers.md)."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.peers import _report
from benchmarks.peers._data import DATA, DataSet
from benchmarks.peers._report import Line
from benchmarks.peers._runs import Limits, Run, run
from benchmarks.peers._score import Yardstick
from benchmarks.peers._tools import OURS, TOOLS, NotInstalledError, Tool

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"


def note(message: str) -> None:
    """Progress, out of the way of the result."""
    print(message, file=sys.stderr, flush=True)


def prepare(tools: list[Tool]) -> tuple[dict[str, str], dict[str, str]]:
    """Install what is missing: the versions of every environment, and why those that failed did."""
    versions, failures = {}, {}
    for environment in dict.fromkeys(tool.environment for tool in tools):
        note(f"environment of {environment.package}")
        try:
            versions[environment.package] = environment.versions()
        except NotInstalledError as error:
            reason = versions[environment.package] = f"not installed: {error}"
            failures |= {tool.name: reason for tool in tools if tool.environment == environment}
    return versions, failures


def measure(tool: Tool, data: DataSet, m: int, yardstick: Yardstick, limits: Limits, fresh: bool) -> Line:
    """A tool's line: the average over its seeds."""
    runs = (run(tool, data, m, seed, limits, fresh) for seed in tool.seeds)
    return Line.average(judge(tool.name, done, yardstick) for done in runs)


def judge(name: str, done: Run, yardstick: Yardstick) -> Line:
    """What a tool's choice is worth."""
    if done.failure:
        return Line(name, failure=done.failure)
    return Line(name, len(done.indices), yardstick.mmd(done.indices), done.seconds, done.cpu_seconds, done.peak_mb)


def compare(data: DataSet, tools: list[Tool], failures: dict[str, str], limits: Limits, fresh: bool) -> list[str]:
    """The tables of a data set, one for each m."""
    yardstick, sections = Yardstick(data.rows, data.width), []
    for m in data.sizes:
        title, lines = f"{data.title}, m = {m}", []
        for tool in tools:
            if tool.name in failures:
                lines.append(Line(tool.name, failure=failures[tool.name]))
            else:
                lines.append(measure(tool, data, m, yardstick, limits, fresh))
            note(f"{title}: {', '.join(lines[-1].cells())}")
        lines += at_equal_rows(data, m, tools, lines, yardstick, limits)
        sections.append(_report.section(title, lines))
    return sections


def at_equal_rows(
    data: DataSet, m: int, tools: list[Tool], lines: list[Line], yardstick: Yardstick, limits: Limits
) -> list[Line]:
    """Some tools give more rows than m, and more rows make a smaller MMD: our first with as many as each of them."""
    first = tools[0]
    found = []
    for rows in sorted({int(line.rows) for line in lines if line.rows > m} if first.environment == OURS else ()):
        line = measure(first, data, rows, yardstick, limits, fresh=True)
        found.append(replace(line, tool=f"{first.name}, {rows} rows"))
        note(f"{data.title}, m = {m}: {', '.join(found[-1].cells())}")
    return found


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--data", nargs="+", choices=DATA, help="these data sets only")
    parser.add_argument("--tools", nargs="+", metavar="NAME", help="tools whose names contain one of these only")
    parser.add_argument("--quick", action="store_true", help="the smallest data set only")
    parser.add_argument("--fresh", action="store_true", help="run peers again whose choice is stored")
    parser.add_argument("--minutes", type=float, default=Limits.seconds / 60, help="for one run (default %(default)g)")
    parser.add_argument("--memory", type=float, default=Limits.gigabytes, help="GB for one run (default %(default)g)")
    parser.add_argument("--output", help="a file, or - to print (default docs/peers.md if all is run, else -)")
    return parser.parse_args()


def main() -> None:
    """Install, run, judge, write."""
    options = arguments()
    names = options.data or (["mixture-2000"] if options.quick else list(DATA))
    words = [word.lower() for word in options.tools or [""]]
    tools = [tool for tool in TOOLS if any(word in tool.name.lower() for word in words)]
    if not tools:
        sys.exit(
            f"no tool has {' or '.join(options.tools)} in its name: choose from {', '.join(t.name for t in TOOLS)}"
        )
    limits = Limits(60 * options.minutes, options.memory)
    versions, failures = prepare(tools)
    page = [_report.header(options.minutes, options.memory)]
    for name in names:
        page += compare(DATA[name], tools, failures, limits, options.fresh)
    page += [_report.calls({tool.name: tool.note for tool in tools}), _report.versions(versions), _report.REPRODUCE]
    whole = names == list(DATA) and tools == TOOLS
    output = options.output or (str(PAGE) if whole else "-")
    if output == "-":
        print("\n".join(page))
    else:
        Path(output).write_text("\n".join(page))
        note(f"written: {output}")


if __name__ == "__main__":
    main()
