"""Benchmarks: speed is shown, not said. Ratios within one run, best of several, BLAS held to one thread."""
