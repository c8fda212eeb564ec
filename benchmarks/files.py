"""``make bench-files``: two million rows in 16 Parquet files: the whole run against reading them once, and its memory.

Each figure comes from a process of its own. Reading is `pyarrow.parquet.ParquetFile.iter_batches` over all files, as
it comes.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._measure import mixture, peak_mb

COLUMNS, FILES = 64, 16
FOLDER = Path(".bench/files")


def main() -> None:
    """Write the files where they are missing, then read, select and compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--m", type=int, default=200)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.m)
        return
    large = written(options.rows, FILES)
    small = written(options.rows // 10, FILES)
    alike = written(options.rows // 10, 2)  # files nearly as large as those of the large set
    reading = min(measured("read", large, options.m)["seconds"] for _ in range(options.times))
    runs = [measured("select", large, options.m) for _ in range(options.times)]
    whole = min(run["seconds"] for run in runs)
    print(f"{options.rows:,} x {COLUMNS} float32 in {FILES} Parquet files, m={options.m}, best of {options.times}")
    print(f"reading once with pyarrow {reading:.2f} s; both passes {whole:.2f} s: {whole / reading:.1f} x reading")
    print(f"peak resident memory {max(run['peak_mb'] for run in runs):.0f} MB; residual {runs[0]['residual']:.3g}")
    covering = min(measured("cover", large, options.m)["seconds"] for _ in range(options.times))
    print(f"to cover them, one pass, {covering:.2f} s: {covering / whole:.2f} x the run that matches them")
    for folder, words in ((small, f"{FILES} files"), (alike, "2 files")):
        peak = max(measured("select", folder, options.m)["peak_mb"] for _ in range(options.times))
        print(f"at {options.rows // 10:,} rows in {words}: {peak:.0f} MB")


def written(rows: int, files: int) -> Path:
    """A folder of a mixture of 50 Gaussians."""
    folder = FOLDER / f"{rows}-{files}"
    if not folder.exists():
        folder.mkdir(parents=True)
        for i, chunk in enumerate(mixture(rows, COLUMNS, files)):
            table = pa.table({f"c{j}": chunk[:, j] for j in range(COLUMNS)})
            pq.write_table(table, folder / f"part-{i:02}.parquet")
    return folder


def measured(task: str, folder: Path, m: int) -> dict[str, float]:
    """One task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.files", "--m", str(m), "--child", task, str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def child(task: str, folder: str, m: int) -> None:
    """Do it, and say what it took; importing is not counted."""
    import protosieve

    select = protosieve.select
    start, residual = time.perf_counter(), 0.0
    if task == "read":
        for path in sorted(Path(folder).iterdir()):
            for _ in pq.ParquetFile(path).iter_batches():
                pass
    else:
        residual = select(folder, m, goal="cover" if task == "cover" else "match").residual
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "residual": residual}))


if __name__ == "__main__":
    main()
