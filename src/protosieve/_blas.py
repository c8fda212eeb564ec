"""One BLAS thread around the library's numerics, and no false alarms.

Two reasons. Speed: with two OpenBLAS threads on a busy two-core machine the matrix-vector products of
a set's weights were 15 times slower than with one. Reproducibility: the number of threads changes how a
product is cut and so its last bits; with one thread a result does not depend on the machine's cores.

Products of finite float32 matrices make some BLAS kernels raise the processor's "invalid" flag, of which NumPy would
warn. Inside, the flag is ignored: what must be finite is looked at where it arises.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # scans the loaded libraries: milliseconds, so once


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the ``with``; some 10 microseconds."""
    with _controller().limit(limits=1, user_api="blas"), np.errstate(invalid="ignore"):
        yield
