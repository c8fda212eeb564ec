"""Tasks that are not timed, several at once: a process per core, each on one thread."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from threadpoolctl import threadpool_limits

from experiments._task import Result, Store, Task

__all__ = ["together"]


def together(tasks: list[Task], store: Store) -> Iterator[tuple[Task, Result]]:
    """Every task and its result, as they come; stopping early stops the others, and what is done is kept."""
    workers = min(os.cpu_count() or 1, len(tasks))
    if workers < 2:
        yield from ((task, store.result(task)) for task in tasks)
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_settle_in)
    try:
        running = {pool.submit(store.result, task): task for task in tasks}
        for done in as_completed(running):
            yield running[done], done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _settle_in() -> None:
    """Ctrl-C ends a worker without a word, the main process speaks; and workers do not fight over cores."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threadpool_limits(1)
