"""Dask as an executor: processes on this machine, or an existing cluster."""

import multiprocessing
import signal
import threading
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing import resource_tracker
from typing import Any, ParamSpec, TypeVar

from protosieve._formatting import one_line
from protosieve._threads import n_threads
from protosieve.errors import InputError, ParameterError, ProtosieveError
from protosieve.selectors import whole_number

P = ParamSpec("P")
T = TypeVar("T")

_RETRIES = 2  # of a task that fails, such as for a network's sake; a worker that dies is another matter, and Dask's
_ANSWER, _WORKERS = 10, 60  # seconds for a scheduler to answer, and for the first of its workers to come
_GUARD = 'in a script, start them below `if __name__ == "__main__":`'
_SETTINGS: dict[str, Any] = {
    **{f"distributed.nanny.pre-spawn-environ.{name}_NUM_THREADS": 1 for name in ("OMP", "OPENBLAS", "MKL")},
    # Dask's own is so low that every block's arrays go back to the system, and come again as page faults
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.worker.profile.enabled": False,  # what it collects for the dashboard grows with time
}


class Dask(Executor):
    """A Dask client as an executor; it connects, or starts its cluster, with the first task."""

    def __init__(self) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ParameterError("workers need Dask, which is not installed: pip install 'protosieve[dask]'") from error
        self._distributed = distributed
        self._stack = ExitStack()  # cluster and client
        self._inner: Any = None
        self._lock = threading.Lock()
        self._is_over = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._is_over:
            raise RuntimeError(f"{type(self).__name__} takes no tasks after shutdown")
        import dask

        with self._lock:
            self._inner = self._inner or self._connected().get_executor(retries=_RETRIES, pure=False)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):  # a task carries points
            future: Future[T] = self._inner.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop all tasks; ``wait`` and ``cancel_futures`` make no difference."""
        self._is_over = True
        self._stack.close()

    @property
    def _client(self) -> Any:
        """None before the first task."""
        return None if self._inner is None else self._inner._client

    @abstractmethod
    def _connected(self) -> Any:
        """A client, which `shutdown` closes."""


class LocalWorkers(Dask):
    """``workers`` processes on this machine, of one thread each: a Dask cluster without memory limits or a dashboard. A
    process that dies is replaced, and its task is done again.

    They start with the first task and end with `shutdown`. In a script, use it below ``if __name__ == "__main__":``,
    like everything that starts processes.

    Examples
    --------
    >>> from protosieve.run import LocalWorkers
    >>> with LocalWorkers(2) as executor:  # doctest: +SKIP
    ...     result = protosieve.select("rows.parquet", 500, executor=executor)
    """

    def __init__(self, workers: int) -> None:
        whole_number(1).check("select", "workers", workers)
        super().__init__()
        self.workers = self._max_workers = workers
        n_threads()  # asked for now: Dask sets OMP_NUM_THREADS=1 for its workers, and leaves it set in this process

    def _connected(self) -> Any:
        """In another thread: there Ctrl-C can neither leave a cluster half started nor reach its processes."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            # a process that is being started runs the script again; it must not start more of them
            raise ParameterError(f"each worker would start workers of its own; {_GUARD}")
        with ThreadPoolExecutor(1, initializer=_without_interrupts) as starter:
            return starter.submit(self._started).result()

    def _started(self) -> Any:
        import dask

        try:
            with dask.config.set(_SETTINGS):
                cluster = self._distributed.LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs="CRITICAL",
                )
        except (OSError, RuntimeError, TimeoutError) as error:
            why = one_line(str(error)).rstrip(".")
            raise ProtosieveError(
                f"workers did not start ({why}). Is there memory for {self.workers}? And {_GUARD}"
            ) from error
        self._stack.enter_context(cluster)
        return self._stack.enter_context(self._distributed.Client(cluster, set_as_default=False))


class Cluster(Dask):
    """The workers of the scheduler at ``address``, such as ``tcp://10.0.0.5:8786``; they stay as they are."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def _connected(self) -> Any:
        remedy = "give the address it printed when it started, such as tcp://10.0.0.5:8786"
        if ":" not in self._address:
            raise InputError(f"{self._address}: is not the address of a Dask scheduler; {remedy}")
        try:
            client = self._distributed.Client(self._address, timeout=_ANSWER, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            why = type(error).__name__
            raise InputError(f"{self._address}: no Dask scheduler answers there ({why}); {remedy}") from error
        self._stack.enter_context(client)
        try:
            client.wait_for_workers(1, timeout=_WORKERS)
        except TimeoutError as error:
            raise InputError(
                f"{self._address}: the Dask scheduler there has had no workers for {_WORKERS:g} seconds; start some, "
                "such as with dask worker, of one thread each"
            ) from error
        return client


def _without_interrupts() -> None:
    """Threads and processes begun by this thread leave Ctrl-C, and the end of a terminal, to the driver: the system
    sends these to all processes.
    """
    if hasattr(signal, "pthread_sigmask"):  # Windows has none
        resource_tracker.ensure_running()  # which undoes it when it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
