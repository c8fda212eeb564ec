"""Memory does not follow the size of a file, nor of its row groups, batches, arrays or lines."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="needs /proc to tell a process's peak memory")

MB = 1 << 20
OTHERS = ["arrow", "C.npy", "F.npy", "npz", "jsonl"]

SCRIPT = """
import sys
import numpy, pyarrow, pyarrow.csv, pyarrow.json, pyarrow.parquet
from protosieve.io import BadRows, find_sources

def peak():  # kB; unlike ru_maxrss, not the peak of the process that started this one
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

(warm,) = find_sources(sys.argv[1])
for _ in warm.pieces(None, 0, BadRows(False)):
    pass
before = peak()
(source,) = find_sources(sys.argv[2])
rows = sum(len(piece.numbers) for piece in source.pieces(None, 0, BadRows(False)))
print(rows, peak() - before)
"""


def write(kind, path, rows):
    """Sixteen float64 columns, all in one row group, batch or array: 128 bytes a row."""
    values = np.random.default_rng(0).normal(size=(rows, 16))
    table = pa.table({f"c{i}": np.ascontiguousarray(values[:, i]) for i in range(16)})
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=rows, compression="none", use_dictionary=False)
    elif kind == "arrow":
        pa.feather.write_feather(table, path, compression="uncompressed", chunksize=rows)
    elif kind == "npz":
        np.savez(path, x=values, y=np.asfortranarray(values[:, :2]), z=np.arange(rows))
    elif kind in ("C.npy", "F.npy"):
        np.save(path, np.asarray(values, order=kind[0]))
    else:
        cells = b",".join([b"%.12f" % value for value in values[0]])
        header, line = b",".join(b"c%d" % i for i in range(16)), cells
        if kind == "jsonl":
            header, line = b"", b'{"v":[' + cells + b"]}"
        path.write_bytes(header + b"\n" + (line + b"\n") * rows)


@pytest.mark.parametrize(
    "kind", ["parquet", "csv", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in OTHERS)]
)
def test_memory_is_bounded(kind, tmp_path):
    """Reading 96 MB (in text, more) takes no more than a few pieces beyond what reading 12 MB has taken."""
    rows = 750_000
    small, large = tmp_path / f"small.{kind}", tmp_path / f"large.{kind}"
    write(kind, small, 100_000)
    write(kind, large, rows)
    assert large.stat().st_size > 80 * MB
    run = subprocess.run([sys.executable, "-c", SCRIPT, small, large], capture_output=True, text=True, check=True)
    found, grown = map(int, run.stdout.split())
    assert found == rows
    assert grown / 1024 < 64, f"{kind}: {grown / 1024:.0f} MB beyond the small file"
    large.unlink()
