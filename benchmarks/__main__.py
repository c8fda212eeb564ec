"""``make bench``: the selectors on the paper's data, against one exact mean pass and against their literal twins.

Each line is measured in a process of its own, so that peak memory is its own. Seconds are without the mean: a
selector's total less what it spent in `FixedMean.at`; the mean pass is what it spent there, block by block, and "to
plain" is the ratio to the same pass written in a few lines of NumPy. Best of several.
"""

import argparse
import json
import platform
import subprocess
import sys
import time

import numpy as np
import scipy

import protosieve
from benchmarks._literal import literal
from benchmarks._measure import clocked_mean, forget_peak, paper_data, peak_mb, resident_mb, thresholds
from protosieve import selectors
from protosieve._blas import one_thread
from protosieve.kernels import Gaussian

SELECTORS = {cls.__name__: cls for cls in selectors.SELECTORS}
SIZES = {"mnist": 750, "letters": 500}
KERNEL = Gaussian(width=5.0)


def build(name: str, m: int) -> protosieve.ProtoBasic:
    """A selector as the paper sets it."""
    options = {"epsilon": 0.4} if hasattr(SELECTORS[name], "epsilon") else {}
    return SELECTORS[name](m, kernel=KERNEL, random_state=0, **options)


def measure(name: str, data: str, repeats: int) -> dict[str, object]:
    """One selector on one data set."""
    X = paper_data(data)
    forget_peak()
    before = resident_mb()
    runs = []
    for _ in range(repeats):
        with clocked_mean() as spent:
            selector = build(name, SIZES[data])
            start = time.perf_counter()
            selector.fit(X)
            total = time.perf_counter() - start
        runs.append((total - sum(spent), sum(spent[:-1]), total))
    peak = peak_mb() - before
    rest, one_pass, total = (min(column) for column in zip(*runs, strict=True))
    result = selector.result_
    return {
        "mean pass s": one_pass,
        "selector s": rest,
        "ratio": rest / one_pass,
        "to plain": rest / min(plain_mean_pass(X) for _ in range(2)),
        "total s": total,
        "l": result.objective,
        "residual": result.residual,
        "rows": len(result),
        "thresholds": thresholds(selector),
        "peak MB": peak,
    }


def plain_mean_pass(X: np.ndarray) -> float:
    """The mean pass as one would write it in NumPy: 512 rows against all, distances, exponential, mean."""
    squares = (X * X).sum(axis=1)
    with one_thread():
        start = time.perf_counter()
        for i in range(0, len(X), 512):
            distances = squares[:, None] + squares[i : i + 512] - 2 * X @ X[i : i + 512].T
            np.exp(np.maximum(distances, 0) / -50.0).mean(axis=0, dtype=np.float64)
        return time.perf_counter() - start


def in_its_own_process(*words: object) -> dict[str, object]:
    """Run one measurement of this module in a new process."""
    command = [sys.executable, "-m", "benchmarks", "--one", *map(str, words)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr or run.stdout)
    return json.loads(run.stdout)


def table(title: str, rows: dict[str, dict[str, object]]) -> None:
    """A Markdown table, printed."""
    columns = list(next(iter(rows.values())))
    print(f"\n### {title}\n")
    print(f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, row in rows.items():
        cells = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print every table, or one measurement as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="leave out the slow ones: Streak on whole data, literal runs at m = 300"
    )
    parser.add_argument("--long", action="store_true", help="add the literal Streak at m = 300: many minutes")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, name, *rest = options.one
        one = (
            measure(name, rest[0], int(rest[1])) if kind == "fit" else literal(build(name, int(rest[0])), int(rest[1]))
        )
        print(json.dumps(one))
        return
    print(
        f"protosieve {protosieve.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, {platform.machine()}"
    )
    for data, m in SIZES.items():
        names = [name for name, cls in SELECTORS.items() if not (options.quick and cls.is_slow)]
        rows = {name: in_its_own_process("fit", name, data, 1 if SELECTORS[name].is_slow else 5) for name in names}
        table(f"{data}, m = {m}, width 5, epsilon 0.4, float32", rows)
    cases = [(name, 100, 8000) for name in ("ProtoStream", "ProtoBasic", "ProtoDash", "Streak")]
    cases += [] if options.quick else [(name, 300, 8000) for name in ("ProtoStream", "ProtoBasic", "ProtoDash")]
    cases += [("Streak", 300, 8000)] if options.long else []
    rows = {f"{name}, m = {m}, n = {n:,}": in_its_own_process("literal", name, m, n) for name, m, n in cases}
    table("The first rows of Letters, float64, against the literal transcription", rows)


if __name__ == "__main__":
    main()
