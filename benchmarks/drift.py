"""``make bench-drift``: how often `Drift` is wrong on streams that do not change, and how soon it notices a change.

Streams of 32 standard normal columns; at row 200,000 one column is shifted, or one row in a hundred comes from a
cluster of its own. At most one false alarm in a million rows is asked for.
"""

import argparse

import numpy as np

from protosieve import Drift

COLUMNS, CHUNK, BEFORE, AFTER = 32, 50_000, 200_000, 200_000
SHIFTS = (0.1, 0.3, 1.0)


def main() -> None:
    """Count false alarms, then measure delays."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--half-life", type=int, default=10_000)
    options = parser.parse_args()
    alarms = [len(quiet(seed, options).alarms_) for seed in range(options.streams)]
    print(f"half-life {options.half_life:,} rows; {options.streams} streams of {options.rows:,} rows without change:")
    print(f"{sum(alarms)} false alarms", flush=True)
    for name in (*SHIFTS, "cluster"):
        delays = [delay(seed, name, options.half_life) for seed in range(5)]
        told = ", ".join("not noticed" if rows is None else f"{rows:,}" for rows in delays)
        print(
            f"{name if name == 'cluster' else f'shift of {name} in one column'}: noticed after {told} rows", flush=True
        )


def quiet(seed: int, options: argparse.Namespace) -> Drift:
    """A stream that does not change."""
    rng, drift = np.random.default_rng(seed), Drift(options.half_life, random_state=seed)
    for _ in range(options.rows // CHUNK):
        drift.partial_fit(rng.standard_normal((CHUNK, COLUMNS), dtype=np.float32))
    return drift


def delay(seed: int, change: float | str, half_life: int) -> int | None:
    """Rows between a change and the first alarm after it; none where there is none."""
    rng, drift = np.random.default_rng(1000 + seed), Drift(half_life, random_state=seed)
    X = rng.standard_normal((BEFORE + AFTER, COLUMNS), dtype=np.float32)
    if change == "cluster":
        new = BEFORE + np.flatnonzero(rng.random(AFTER) < 0.01)
        X[new] = X[new] / 3 + 2
    else:
        X[BEFORE:, 0] += change
    drift.partial_fit(X[:BEFORE])
    before = len(drift.alarms_)
    drift.partial_fit(X[BEFORE:])
    return drift.alarms_[before].row - BEFORE if len(drift.alarms_) > before else None


if __name__ == "__main__":
    main()
