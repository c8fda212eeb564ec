"""Work done in threads comes back in order, errors too, and stops when nobody wants it any more."""

import itertools
import threading

import pytest

from protosieve import _threads
from protosieve._threads import ahead_of


@pytest.fixture(params=[1, 2, 8])
def threads(request, monkeypatch):
    monkeypatch.setattr(_threads, "n_threads", lambda: request.param)
    return request.param


def test_results_come_in_order(threads):
    assert list(ahead_of(lambda x: x * x, range(100))) == [x * x for x in range(100)]


def test_all_that_came_before_an_error_of_reading_is_there(threads):
    def items():
        yield from range(10)
        raise OSError("the disk is gone")

    found = []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(ahead_of(lambda x: x, items()))
    assert found == list(range(10))


def test_the_first_error_is_the_first_in_the_order_of_items(threads):
    def fails(x):
        if x in (5, 7):
            raise ValueError(x)
        return x

    def items():
        yield from range(8)
        raise OSError

    found = []
    with pytest.raises(ValueError, match="5"):
        found.extend(ahead_of(fails, items()))
    assert found == list(range(5))


def test_closed_early_it_makes_no_more_calls_and_reads_no_more_items(threads):
    made, read, lock = [], itertools.count(), threading.Lock()

    def work(x):
        with lock:
            made.append(x)
        return x

    results = ahead_of(work, iter(lambda: next(read), None))
    assert next(results) == 0
    results.close()
    n_made, n_read = len(made), next(read)
    assert n_made <= n_read <= threads + 2
    assert len(made) == n_made
