"""One BLAS thread around the library's numerics, and no false alarms.

Two reasons. Speed: with two OpenBLAS threads on a busy two-core machine the matrix-vector products of
a set's weights were 15 times slower than with one. Reproducibility: the number of threads changes how a
product is cut and so its last bits; with one thread a result does not depend on the machine's cores.

Products of finite float32 matrices make some BLAS kernels raise the processor's "invalid" flag, of which NumPy would
warn. Inside, the flag is ignored: what must be finite is checked where it is computed.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import OpenBLASController, ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # scans the loaded libraries: milliseconds, so once


class _Hold:
    """The number of BLAS threads belongs to the process: our first thread to enter sets it, the last restores it."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                _clear_owner()
                self._limit = _controller().limit(limits=1, user_api="blas")
                _clear_owner()
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()
                _clear_owner()


def _clear_owner() -> None:
    """From 3.8 on threadpoolctl lets only the thread that set a number change it. Ours may end, or leave first, and
    another thread may have set one for good.
    """
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_HOLD = _Hold()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the ``with``, whatever other threads do; some 10 microseconds."""
    _HOLD.enter()
    try:
        with np.errstate(invalid="ignore"):
            yield
    finally:
        _HOLD.leave()
