"""What a process of `LocalWorkers` does when it starts."""

import signal

__all__ = ["dask_setup"]


def dask_setup(_worker: object) -> None:
    """Leave Ctrl-C to the driver: a terminal tells all processes of it, and whoever drives ends these."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
