"""Executors that count, that work at once, and that do things in an order of their own."""

import threading
import time
from concurrent.futures import Executor, Future


class AtOnce(Executor):
    """Does in this thread what it is given, when it is given."""

    def submit(self, fn, /, *args):
        future = Future()
        try:
            future.set_result(fn(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class Counting(Executor):
    """Another executor, and what it was given: the stage of every task, and the most at a time."""

    def __init__(self, inner):
        self.inner, self.given, self.open, self.most = inner, [], 0, 0
        self._lock = threading.Lock()

    def submit(self, fn, /, *args):
        with self._lock:
            self.given.append(fn.__name__)
            self.open += 1
            self.most = max(self.most, self.open)
        future = self.inner.submit(fn, *args)
        future.add_done_callback(self._done)
        return future

    def _done(self, _):
        with self._lock:
            self.open -= 1


class Unruly(Executor):
    """Does what it was given in an order of its own: ``pick`` says which of those that wait is next."""

    def __init__(self, pick):
        self._pick, self._waiting, self._news = pick, [], threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def submit(self, fn, /, *args):
        future = Future()
        with self._news:
            self._waiting.append((future, fn, args))
            self._news.notify()
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._news:
            self._over = True
            self._news.notify()
        self._thread.join()

    def _work(self):
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._over)
                if not self._waiting:
                    return
            time.sleep(0.005)  # for others to come
            with self._news:
                future, fn, args = self._waiting.pop(self._pick(len(self._waiting)))
            if future.set_running_or_notify_cancel():
                future.set_result(fn(*args))
