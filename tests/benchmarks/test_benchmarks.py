"""Benchmarks that others read figures from print what they promise."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("benchmarks", reason="the benchmarks are not part of a release")


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_accuracy_is_told_of_every_chooser_and_what_is_left_by_every_scale():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.accuracy", "--sets", "digits", "--m", "30", "--draws", "3"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    tables = [table.splitlines() for table in done.stdout.split("\n\n")]
    (head, *right), (_, *left) = ([[cell.strip() for cell in row.strip("|").split("|")] for row in t] for t in tables)
    assert head[2:] == ["w", "w/2", "w/4", "MultiScale", "random rows", "k-means", "spread"]
    assert [row[:2] for row in right[1:]] == [["digits", "30"]]
    assert [row[0] for row in left[1:]] == [f"digits, seen by {scale}" for scale in ("w", "w/2", "w/4")]
    figures = np.array([row[2:] for row in left[1:]], float)
    assert (np.diff(figures, axis=0) > 0).all()  # the narrower the kernel, the more is left over
    assert (figures.argmin(axis=1) == [0, 1, 2]).all()  # and each is served best by its own choice


@pytest.mark.thorough
def test_a_few_rows_of_each_class_are_told_beside_all_rows():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.classify", "--sets", "digits", "--n", "1", "10", "--draws", "1"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines())
    assert head[3:] == ["random rows", "k-means", "match", "cover", "all rows"]
    assert [line[:2] for line in lines] == [["digits", "1"], ["digits", "10"]]
    one, ten = ([float(cell.split()[0]) for cell in line[3:]] for line in lines)
    assert one[0] < one[3] < ten[3] < ten[4] == one[4]  # random rows, cover, more of it, all rows


@pytest.mark.thorough
def test_rounds_that_go_on_from_each_other_are_worth_more_than_rounds_that_do_not():
    asked = ["--sets", "digits", "--m", "30", "--rounds", "2", "--draws", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.rounds", *asked],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    head, _, *lines = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if line
    )
    assert [line[:2] for line in lines] == [["digits", "30"], ["digits", "60"]]
    first, second = (dict(zip(head[2:], (float(c.split()[0]) for c in line[2:]), strict=True)) for line in lines)
    assert first["cover"] == first["cover, at once"]
    assert second["cover"] > max(first["cover"], second["k-means"], second["random rows"])


@pytest.mark.parametrize("workers", ["0", pytest.param("1", marks=pytest.mark.thorough)])
def test_the_seconds_of_passes_and_the_memory_of_processes_are_told_of_any_number_of_workers(workers, tmp_path):
    rows = ["--rows", "11000", "--columns", "4", "--m", "5", "--partition-rows", "4000"]
    places = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", *rows, "--workers", workers],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": places}, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    _, head, _, line, sizes = done.stdout.splitlines()
    told = dict(zip(*([cell.strip() for cell in row.strip("|").split("|")] for row in (head, line)), strict=True))
    assert (told["rows"], told["workers"], told["speed-up"]) == ("11,000", workers, "1.00")
    spent = [float(told[f"{name} s"]) for name in ("survey", "settle", "sum", "choose", "all")]
    assert 0 <= sum(spent[:-1]) <= spent[-1] + 0.3  # each is rounded
    assert float(told["MB here"]) > 0
    assert len(told["MB of each worker"].replace("-", "").split()) == int(workers)
    assert ("survey" in sizes and "sum" in sizes) == (workers == "1")


def test_every_benchmark_of_the_guide_is_a_target():
    """Whoever reads CONTRIBUTING.md can call them."""
    guide, makefile = ((ROOT / name).read_text() for name in ("CONTRIBUTING.md", "Makefile"))
    named = [line.split()[1] for line in guide.splitlines() if line.startswith("make bench")]
    assert "bench-latency" in named
    assert all(f"\n{target}: " in makefile for target in named)


@pytest.mark.thorough
def test_false_alarms_are_counted_and_delays_told():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.drift", "--streams", "1", "--rows", "100000", "--half-life", "2000"],
        cwd=ROOT, capture_output=True, text=True, timeout=500, check=True,
    )  # fmt: skip
    _, alarms, *delays = done.stdout.splitlines()
    assert alarms in ("0 false alarms", "1 false alarms")
    assert [line.partition(":")[0] for line in delays] == [
        *(f"shift of {of} in one column" for of in (0.1, 0.3, 1.0)), "cluster"
    ]  # fmt: skip
    assert "not noticed" not in delays[2]
