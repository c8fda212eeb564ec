"""Whole runs on damaged and on odd files: success, or one line on standard error and nothing left behind.

PROTOSIEVE_FUZZ says how many files to try: `make test-rest` tries 180, `make soak` 10,000. Runs share a process, which
names the file it is at, so that a crash in a library or a hang can be told.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from damaged_files import ENDINGS, damaged, whole
from volumes import repeated, volume

CASES = int(os.environ.get("PROTOSIEVE_FUZZ") or volume(30, 180))
SEED = int(os.environ.get("PROTOSIEVE_FUZZ_SEED", "0"))
GROUPS = volume(1, 2)  # each in a process of its own

OPTIONS = [
    [],
    ["--bad-rows", "skip"],
    ["--bad-rows", "skip", "--sample", "10", "--partition-rows", "10"],
    ["--scale", "none", "--kernel", "cosine"],
    ["--scale", "minmax", "--kernel", "laplacian", "--method", "stream"],
    ["--embedding", "vector", "--bad-rows", "skip"],
    ["--method", "sieve", "-m", "50%"],
    ["--method", "basic", "--kernel", "linear", "--max-categories", "1"],
    ["--sample", "10", "--seed", "none"],
]


def odd_cells(rng, rows):
    """A column no one would want to get."""
    extremes = [np.nan, np.inf, -np.inf, 1e308, -1e-308, 0.0, 3.4e38, 5.0]
    texts = ["", " ", "NaN", "null", "1,5", "é", "\u202e", "x" * 300, "0", "2020-01-01", "true", "\n", '"']
    kinds = [
        lambda: rng.normal(size=rows) * 10.0 ** rng.integers(-300, 300),
        lambda: np.where(rng.random(rows) < 0.1, rng.choice(extremes, size=rows), rng.normal(size=rows)),
        lambda: np.full(rows, rng.choice(extremes)),
        lambda: [None] * rows,
        lambda: [None if rng.random() < 0.3 else texts[rng.integers(len(texts))] for _ in range(rows)],
        lambda: rng.integers(-(2**62), 2**62, size=rows),
        lambda: pa.array(rng.integers(-(2**50), 2**50, size=rows), pa.timestamp("us")),
        lambda: [rng.normal(size=int(rng.integers(0, 4))).tolist() for _ in range(rows)],
        lambda: pa.array([[1.0, np.nan if rng.random() < 0.1 else 2.0]] * rows, pa.list_(pa.float32(), 2)),
        lambda: rng.random(rows) < 0.5,
        lambda: pa.array([b"\xff\xfe"] * rows, pa.binary()),
        lambda: pa.array([{"a": 1}] * rows),
        lambda: np.round(rng.normal(size=rows), 1),
    ]
    return kinds[rng.integers(len(kinds))]()


def odd_file(folder, case, rng):
    """A whole file of odd columns, some of them ours by name."""
    rows = int(rng.choice([0, 1, 2, 3, 40, 300]))
    names = rng.permutation(["vector", "row", "file", "weight", "share", "a b", "ü", "", "protosieve.row", "c", "-m"])
    columns = {str(names[i]): pa.array(odd_cells(rng, rows)) for i in range(int(rng.integers(1, 6)))}
    table = pa.table(columns)
    ending = rng.choice(["parquet", "csv", "jsonl"])
    path = folder / f"{case:06}.odd.{ending}"
    if ending == "csv":
        plain = [field.name for field in table.schema if not _unwritable(field.type)]
        pa.csv.write_csv(table.select(plain), path)
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in table.to_pylist()))
    else:
        pq.write_table(table, path)


def _unwritable(kind):
    return pa.types.is_nested(kind) or pa.types.is_binary(kind)


def fill(folder, group, cases):
    rng = np.random.default_rng([SEED, group])
    for case in range(cases):
        if case % 2:
            ending = ENDINGS[int(rng.integers(len(ENDINGS)))]
            (folder / f"{case:06}.{ending}").write_bytes(damaged(whole(ending), rng))
        else:
            odd_file(folder, case, rng)


def run(folder):
    """Select from every file of the folder, as the command line does, and say what came of it."""
    from protosieve.cli import main

    rows, out = Path(folder) / "rows", Path(folder) / "out"
    rng = np.random.default_rng(0)
    for path in sorted(rows.iterdir()):
        print(path.name, end=" ", flush=True)  # noqa: T201
        target = out / f"kept.{rng.choice(['parquet', 'csv', 'jsonl', 'json', 'npz'])}"
        options = OPTIONS[int(rng.integers(len(OPTIONS)))]
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main(["select", str(path), "-m", "3", *options, "-o", str(target)])
        left = [found.name for found in out.iterdir()]
        for found in out.iterdir():
            found.unlink()
        print(json.dumps([code, said.getvalue(), left, options]), flush=True)  # noqa: T201


@repeated
@pytest.mark.parametrize("group", range(GROUPS))
def test_a_run_ends_well_or_with_one_line(group, tmp_path):
    rows, cases = tmp_path / "rows", -(-CASES // GROUPS)
    rows.mkdir()
    (tmp_path / "out").mkdir()
    fill(rows, group, cases)
    script = "import sys; sys.path[:0] = sys.argv[2:]; import test_damaged_and_odd_files as t; t.run(sys.argv[1])"
    command = [sys.executable, "-c", script, str(tmp_path), *map(str, Path(__file__).parents[:2])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120 + 2 * cases)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"at {lines[-1:]} of {tmp_path}: {done.stderr[-2000:]}"
    assert len(lines) == cases
    for line in lines:
        name, told = line.split(" ", 1)
        code, said, left, options = json.loads(told)
        complaints = [words for words in said.splitlines() if not words.startswith("note: ")]
        if code == 0:
            assert not complaints, (name, options, said)
            assert len(left) == 1, (name, options, left)
        else:
            assert code == 2, (name, options, said)
            assert len(complaints) == 1, (name, options, said)
            assert complaints[0].startswith("protosieve: "), (name, options, said)
            assert not left, (name, options, left)
