"""A run that fails in the middle of a file ends at once and cleanly, whatever its reader was at."""

import gzip
import io
import os
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from protosieve.io import BadRows, find_sources
from protosieve.io._locations import LocalFile, Opened
from volumes import repeated, volume

RUNS = int(os.environ.get("PROTOSIEVE_EXITS") or volume(1, 2))  # of each format, every other one on one processor
ROWS, BAD = 30_000, 10_000


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Files of 6 MB with one row, in the middle, that cannot be used."""
    folder = tmp_path_factory.mktemp("broken")
    numbers = [float(row % 97) for row in range(ROWS)]
    numbers[BAD] = float("inf")
    table = pa.table({"x": numbers, "text": [f"{row} " + "lorem ipsum " * 16 for row in range(ROWS)]})
    pa.csv.write_csv(table, folder / "rows.csv")
    (folder / "rows.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes(), 1))
    cells = zip(numbers, table["text"].to_pylist(), strict=True)
    (folder / "rows.jsonl").write_text("".join(f'{{"x": {min(x, 1e308)}0, "text": "{text}"}}\n' for x, text in cells))
    pa.parquet.write_table(table, folder / "rows.parquet", row_group_size=5_000)
    return folder


@repeated
@pytest.mark.parametrize(
    "name",
    [
        "rows.csv.gz",
        "rows.parquet",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("rows.csv", "rows.jsonl", "-")),
    ],
)
def test_a_run_that_fails_in_the_middle_exits_cleanly(broken, name):
    for run in range(RUNS):
        found = _select(broken, name, alone=bool(run % 2))
        assert (found.returncode, f"row {BAD}" in found.stderr) == (2, True), found.stderr


@repeated
def test_a_caught_error_leaves_nothing_that_could_hang_the_interpreter(broken):
    code = (
        "import sys, protosieve\n"
        "try:\n    protosieve.select(sys.argv[1], 5, exclude='text')\n"
        "except protosieve.errors.InputError as error:\n    kept = error; print('caught')\n"
    )
    for run in range(RUNS):
        found = _run([sys.executable, "-c", code, str(broken / "rows.csv")], alone=bool(run % 2))
        assert (found.returncode, found.stdout) == (0, "caught\n"), found.stderr


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_a_file_is_read_by_nobody_but_the_thread_that_asks(broken, ending, monkeypatch):
    """So that no thread is at it when the one that asked has ended."""
    threads = set()

    class Watched(io.FileIO):
        def readinto(self, buffer):
            threads.add(threading.get_ident())
            return super().readinto(buffer)

    monkeypatch.setattr(LocalFile, "open", lambda self: Opened(io.BufferedReader(Watched(self.name))))
    (source,) = find_sources(broken / f"rows{ending}")
    for _ in source.pieces(["x"], 0, BadRows(skip=True)):
        break
    assert threads == {threading.get_ident()}


def _select(folder, name, alone):
    file = "-" if name == "-" else str(folder / name)
    arguments = [*(["--format", "csv"] if name == "-" else []), "--exclude", "text", "--quiet"]
    command = [sys.executable, "-m", "protosieve", "select", file, "-m", "5", *arguments]
    with (folder / "rows.csv").open("rb") as rows:
        return _run(command, alone, rows)


def _run(command, alone, rows=None):
    """With ``alone`` on one processor: whoever is to end first then often does not."""
    pinned = (lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])) if alone else None
    return subprocess.run(command, stdin=rows, capture_output=True, text=True, timeout=120, preexec_fn=pinned)
