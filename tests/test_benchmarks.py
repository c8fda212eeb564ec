"""Benchmarks that others read figures from print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytest.importorskip("benchmarks", reason="the benchmarks are not part of a release")


def test_latencies_are_told_per_call_and_size():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.latency", "--chunks", "3", "--every", "1", "--m", "5", "7"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines())
    assert head == ["call", "m", "calls", "p50 s", "p99 s", "worst s"]
    assert [(call.split()[0], m, calls) for call, m, calls, *_ in lines] == [
        (call, m, "3") for m in ("5", "7") for call in ("`partial_fit`", "`result_`")
    ]
    for line in lines:
        p50, p99, worst = map(float, line[3:])
        assert 0 <= p50 <= p99 <= worst


def test_every_benchmark_of_the_guide_is_a_target():
    """Whoever reads CONTRIBUTING.md can call them."""
    guide, makefile = ((ROOT / name).read_text() for name in ("CONTRIBUTING.md", "Makefile"))
    named = [line.split()[1] for line in guide.splitlines() if line.startswith("make bench")]
    assert "bench-latency" in named
    assert all(f"\n{target}: " in makefile for target in named)
