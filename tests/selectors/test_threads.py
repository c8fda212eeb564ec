"""One selector and several threads."""

import copy
import itertools
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from conftest import BATCH_SELECTORS, SELECTORS
from protosieve import ProtoBasic, ProtoSwap, load

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

_PATIENCE = 0.3  # seconds in which another thread could come between, if it were let
_LIMIT = 60


class Slow:
    """A kernel that stops once in one thread, until another has had its chance to come between; then it may fail."""

    def __init__(self, fails=False):
        self.fails, self.stops_in = fails, None
        self.entered, self.other_is_done = threading.Event(), threading.Event()

    def __call__(self, X, Y):
        if threading.get_ident() == self.stops_in:
            self.stops_in = None
            self.entered.set()
            self.other_is_done.wait(_PATIENCE)
            if self.fails:
                raise ValueError("the kernel failed")
        return rbf_kernel(X, Y, gamma=0.1)

    def __deepcopy__(self, memo):
        return self


def meanwhile(slow, first, second):
    """Run ``first`` in a thread; once it computes, run ``second`` in another; wait for both and return their values."""

    def stopping():
        slow.stops_in = threading.get_ident()
        return first()

    def between():
        assert slow.entered.wait(_LIMIT)
        try:
            return second()
        finally:
            slow.other_is_done.set()

    with ThreadPoolExecutor(2) as pool:
        return tuple(done.result(_LIMIT) for done in [pool.submit(stopping), pool.submit(between)])


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_result_read_while_rows_come_is_not_kept_beyond_them(selector, X):
    slow = Slow()
    fed = selector(5, kernel=slow, block_size=50, random_state=0).partial_fit(X[:120])
    result, _ = meanwhile(slow, lambda: fed.result_, lambda: fed.partial_fit(X[120:]))
    assert result.n_seen in (120, 300)
    assert fed.result_.n_seen == fed.n_samples_seen_ == 300


@pytest.mark.parametrize("selector", SELECTORS)
def test_rows_that_two_threads_feed_are_all_seen(selector, X):
    slow = Slow()
    fed = selector(5, kernel=slow, block_size=50, random_state=0).partial_fit(X[:50])
    meanwhile(slow, lambda: fed.partial_fit(X[50:150]), lambda: fed.partial_fit(X[150:]))
    assert fed.n_samples_seen_ == fed.result_.n_seen == 300


def test_two_first_chunks_are_one_stream(X):
    slow = Slow()
    fed = ProtoSwap(5, kernel=slow, block_size=50, random_state=0)
    meanwhile(slow, lambda: fed.partial_fit(X[:100]), lambda: fed.partial_fit(X[100:]))
    assert fed.n_samples_seen_ == 300


def test_threads_give_what_one_of_the_orders_of_their_chunks_gives(X):
    chunks = np.split(X, 3)
    orders = {
        ProtoSwap(8, block_size=30, random_state=0).partial_fit(np.concatenate(order)).weights_.tobytes()
        for order in itertools.permutations(chunks)
    }
    for _ in range(10):
        fed = ProtoSwap(8, block_size=30, random_state=0)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(fed.partial_fit, chunks))
        assert fed.weights_.tobytes() in orders


@pytest.mark.parametrize("selector", BATCH_SELECTORS)
def test_two_fits_at_once_leave_what_belongs_together(selector, X):
    slow = Slow()
    fitted = selector(5, kernel=slow, random_state=0)
    meanwhile(slow, lambda: fitted.fit(X), lambda: fitted.fit(X[:100]))
    assert sorted(fitted.order_) == sorted(fitted.prototype_indices_)
    assert fitted.n_samples_seen_ in (100, 300)


def test_a_copy_taken_while_rows_come_goes_on_from_a_whole_number_of_chunks(X):
    slow = Slow()
    fed = ProtoSwap(5, kernel=slow, block_size=50, random_state=0).partial_fit(X[:100])
    _, twin = meanwhile(slow, lambda: fed.partial_fit(X[100:200]), lambda: copy.deepcopy(fed))
    seen = twin.n_samples_seen_
    assert seen in (100, 200)
    assert twin.result_.n_seen == seen
    assert twin.partial_fit(X[200:]).result_.n_seen == seen + 100


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda fed: pickle.loads(pickle.dumps(fed))])
@pytest.mark.parametrize("selector", [*SELECTORS, *BATCH_SELECTORS])
def test_copies_need_not_wait_for_each_other(selector, again, X):
    fitted = selector(5, random_state=0).fit(X)
    twin = again(fitted)
    with fitted._lock, ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: twin.fit(X[:100]).n_samples_seen_).result(_LIMIT) == 100
    assert fitted.n_samples_seen_ == 300
    assert clone(fitted).get_params() == fitted.get_params()


def test_a_loaded_selector_goes_on(tmp_path, X):
    ProtoBasic(5, random_state=0).partial_fit(X[:200]).save(tmp_path / "run.npz")
    assert load(tmp_path / "run.npz").partial_fit(X[200:]).result_.n_seen == 300


def test_a_call_that_fails_in_one_thread_undoes_nothing_of_another(X):
    slow = Slow(fails=True)
    fed = ProtoSwap(5, kernel=slow, block_size=50, random_state=0).partial_fit(X[:50])

    def fail():
        with pytest.raises(ValueError, match="the kernel failed"):
            fed.partial_fit(X[50:100])

    meanwhile(slow, fail, lambda: fed.partial_fit(X[100:]))
    assert fed.n_samples_seen_ == fed.result_.n_seen == 250


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_not_wait_for_threads_it_does_not_have():
    program = """
import os, signal, threading
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from protosieve import ProtoSwap

X, inside, over = np.random.default_rng(0).normal(size=(100, 3)), threading.Event(), threading.Event()

def kernel(A, B):
    if threading.current_thread() is feeder:
        inside.set()
        over.wait()
    return rbf_kernel(A, B)

fed = ProtoSwap(5, kernel=kernel, block_size=50)
feeder = threading.Thread(target=fed.partial_fit, args=[X])
feeder.start()
inside.wait()
child = os.fork()
if not child:
    signal.alarm(30)
    os._exit(fed.partial_fit(X[:60]).n_samples_seen_)
_, status = os.waitpid(child, 0)
over.set()
feeder.join()
print(os.waitstatus_to_exitcode(status), fed.n_samples_seen_)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=_LIMIT, check=True
    )
    assert done.stdout.split() == ["60", "100"]
