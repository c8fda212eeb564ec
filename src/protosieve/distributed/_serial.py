"""An executor that needs no other thread or process."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

__all__ = ["Serial"]

P = ParamSpec("P")
T = TypeVar("T")


class Serial(Executor):
    """Does each task when it is given it, here: for tests, and for runs over partitions on one processor.

    >>> Serial().submit(max, 3, 5).result()
    5
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
