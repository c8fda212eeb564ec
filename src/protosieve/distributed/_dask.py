"""Dask as an executor: processes of this machine, or a cluster that is there already."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from typing import Any, ParamSpec, TypeVar

from protosieve.errors import InputError, ParameterError
from protosieve.selectors._rules import whole_number

__all__ = ["LocalWorkers", "at_address"]

P = ParamSpec("P")
T = TypeVar("T")

_RETRIES = 2  # of a task that fails, such as for a network's sake; a worker that dies is another matter, and Dask's
_WAIT = 30  # seconds for a cluster to answer
_SETTINGS: dict[str, Any] = {
    **{f"distributed.nanny.pre-spawn-environ.{name}_NUM_THREADS": 1 for name in ("OMP", "OPENBLAS", "MKL")},
    "distributed.admin.large-graph-warning-threshold": "100GB",  # a merge is given its candidates
}


class LocalWorkers(Executor):
    """So many processes on this machine, of one thread each: a Dask cluster of its own, without limits of memory or a
    dashboard. One that dies is replaced, and what it was at is done again.

    They start with the first task. In a script, use it below ``if __name__ == "__main__":``, as all that starts
    processes.

    Examples
    --------
    >>> from protosieve.distributed import LocalWorkers
    >>> with LocalWorkers(2) as executor:  # doctest: +SKIP
    ...     result = protosieve.select("rows.parquet", 500, executor=executor)
    """

    def __init__(self, workers: int) -> None:
        whole_number(1).check("select", "workers", workers)
        _distributed()
        self._max_workers = workers
        self._stack = ExitStack()
        self._inner: Executor | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._inner is None:
            self._inner = _executor(self._stack.enter_context(_local(self._max_workers)))
        return self._inner.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, whatever they are at."""
        self._inner = None
        self._stack.close()


@contextmanager
def _local(workers: int) -> Iterator[Any]:
    import dask

    distributed = _distributed()
    with (
        dask.config.set(_SETTINGS),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            preload=["protosieve.distributed._worker"],
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def at_address(address: str) -> Iterator[Executor]:
    """The cluster whose scheduler is at ``address``, such as ``tcp://10.0.0.5:8786``; it stays as it is."""
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{address}: no Dask scheduler answers there ({type(error).__name__}); give the address it told when it "
            "started, such as tcp://10.0.0.5:8786"
        ) from error
    with client:
        yield _executor(client)


def _executor(client: Any) -> Executor:
    executor: Executor = client.get_executor(retries=_RETRIES, pure=False)
    return executor


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ParameterError(
            "workers and dask need Dask, which is not installed: pip install 'protosieve[dask]'"
        ) from error
    return distributed
