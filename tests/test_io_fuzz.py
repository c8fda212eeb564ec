"""Damaged files: reading them works or is one `InputError` of one line; never another error, a crash or a hang.

PROTOSIEVE_FUZZ says how many damaged files to try, by default 300. They are read in a process of their own, which a
crash in a library would end; it names the file that it was reading.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

import io_files
from io_files import encoded, sample

CASES = int(os.environ.get("PROTOSIEVE_FUZZ", "300"))
SEED = int(os.environ.get("PROTOSIEVE_FUZZ_SEED", "0"))
ENDINGS = ["parquet", "arrow", "feather", "ipc", "csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "npy", "npz"]


def whole(ending):
    if ending == "npy":
        return io_files.npy(np.random.default_rng(0).normal(size=(20, 3)))
    if ending == "feather":
        sink = pa.BufferOutputStream()
        pa.feather.write_feather(rich(), sink, compression="lz4", chunksize=15)
        return bytes(sink.getvalue())
    return encoded(rich() if ending in ("parquet", "arrow", "ipc") else sample(40), ending)


def rich():
    """Columns of many kinds, for formats that can hold them."""
    nested = {
        "kind": pa.array(["a", None, "b", "c"] * 10).dictionary_encode(),
        "vector": pa.array([[0.5, 1.5, 2.5]] * 40, pa.list_(pa.float32(), 3)),
        "many": pa.array([[1], None, [], [2, 3]] * 10),
        "both": pa.array([{"a": 1, "b": "x"}, None] * 20),
        "good": pa.array([True, None, False, True] * 10),
    }
    return pa.table({**{name: sample(40)[name] for name in ("height", "word", "count")}, **nested})


def damaged(data, rng):
    """One to four flips, cuts, insertions or deletions."""
    for _ in range(rng.integers(1, 5)):
        place, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 9))
        change = rng.integers(4)
        if change == 0 and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << rng.integers(8))]) + data[place + 1 :]
        elif change == 1:
            data = data[:place] if rng.random() < 0.3 else data
        elif change == 2:
            data = data[:place] + rng.bytes(length) + data[place:]
        else:
            data = data[:place] + data[place + length :]
    return data


def attempt(path):
    """What became of reading the file, in a word; anything but an `InputError` of one line goes up."""
    from protosieve.errors import InputError
    from protosieve.io import BadRows, check_schemas, find_sources

    try:
        sources = find_sources(path)
        check_schemas(sources)
        for piece in sources[0].pieces(None, 3, BadRows(skip=True)):
            assert piece.table.num_rows == len(piece.numbers) > 0
            piece.table.validate(full=True)
    except InputError as error:
        return "refused" if "\n" not in str(error) else "wordy"
    return "read"


def run(folder):
    """Read every file of a folder, saying which before and how it went after."""
    for path in sorted(Path(folder).iterdir()):
        print(path.name, end=" ", flush=True)  # noqa: T201
        print(attempt(str(path)), flush=True)  # noqa: T201


@pytest.mark.parametrize("ending", ENDINGS)
def test_damage_is_one_line_or_harmless(ending, tmp_path):
    rng = np.random.default_rng([SEED, ENDINGS.index(ending)])
    data, count = whole(ending), -(-CASES // len(ENDINGS))
    for case in range(count):
        (tmp_path / f"{case:06}.{ending}").write_bytes(damaged(data, rng))
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_io_fuzz as t; t.run(sys.argv[1])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60 + count
    )
    assert found.returncode == 0, f"reading {found.stdout.splitlines()[-1:]} of {tmp_path}: {found.stderr[-2000:]}"
    words = [line.split()[-1] for line in found.stdout.splitlines()]
    assert len(words) == count
    assert set(words) <= {"read", "refused"}
