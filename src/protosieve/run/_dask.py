"""Dask as an executor: processes on this machine, or an existing cluster."""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from multiprocessing import resource_tracker
from typing import Any, ParamSpec, TypeVar

from protosieve._formatting import one_line
from protosieve.errors import InputError, ParameterError, ProtosieveError
from protosieve.selectors import whole_number

__all__ = ["Cluster", "LocalWorkers"]

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
    """A Dask client as an executor; ``connected`` connects, or starts its cluster, with the first task."""

    def __init__(self, connected: Callable[[], AbstractContextManager[Any]]) -> None:
        _distributed()
        self._connected = connected
        self._stack = ExitStack()
        self._inner: Any = None
        self._lock = threading.Lock()
        self._is_over = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._is_over:
            raise RuntimeError(f"{type(self).__name__} takes no tasks after shutdown")
        import dask

        with self._lock:
            self._inner = self._inner or self._start()
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

    def _start(self) -> Executor:
        client = self._stack.enter_context(self._connected())
        executor: Executor = client.get_executor(retries=_RETRIES, pure=False)
        return executor


def _check_guard() -> None:
    """A process that is being started runs the script again; it must not start more of them."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ParameterError(f"workers are started anew by each of them; {_GUARD}")


def _without_interrupts() -> None:
    """Threads and processes begun by this thread leave Ctrl-C, and the end of a terminal, to the driver: the system
    sends these to all processes.
    """
    if hasattr(signal, "pthread_sigmask"):  # Windows has none
        resource_tracker.ensure_running()  # which undoes it when it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})


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
        super().__init__(partial(_local, workers))
        self.workers = self._max_workers = workers

    def _start(self) -> Executor:
        """In another thread: there Ctrl-C can neither leave a cluster half started nor reach its processes."""
        _check_guard()
        with ThreadPoolExecutor(1, initializer=_without_interrupts) as starter:
            return starter.submit(super()._start).result()


class Cluster(Dask):
    """The workers of the scheduler at ``address``, such as ``tcp://10.0.0.5:8786``; they stay as they are."""

    def __init__(self, address: str) -> None:
        super().__init__(partial(_there, address))


@contextmanager
def _local(workers: int) -> Iterator[Any]:
    distributed = _distributed()
    with (
        _cluster(distributed, workers) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _cluster(distributed: Any, workers: int) -> Any:
    import dask

    try:
        with dask.config.set(_SETTINGS):
            return distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs="CRITICAL",
            )
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ProtosieveError(
            f"workers did not start ({one_line(str(error)).rstrip('.')}). Is there memory for {workers}? And {_GUARD}"
        ) from error


@contextmanager
def _there(address: str) -> Iterator[Any]:
    distributed = _distributed()
    remedy = "give the address it printed when it started, such as tcp://10.0.0.5:8786"
    if ":" not in address:
        raise InputError(f"{address}: is no address of a Dask scheduler; {remedy}")
    try:
        client = distributed.Client(address, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = type(error).__name__
        raise InputError(f"{address}: no Dask scheduler answers there ({why}); {remedy}") from error
    with client:
        _wait_for_some(address, client)
        yield client


def _wait_for_some(address: str, client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=_WORKERS)
    except TimeoutError as error:
        raise InputError(
            f"{address}: the Dask scheduler there has had no workers for {_WORKERS:g} seconds; start some, such as "
            "with dask worker, of one thread each"
        ) from error


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ParameterError("workers need Dask, which is not installed: pip install 'protosieve[dask]'") from error
    return distributed
