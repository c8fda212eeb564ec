"""The number of BLAS threads, which is one for all threads of a process."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from protosieve._blas import one_thread
from protosieve.selectors import SELECTORS

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


@pytest.fixture
def threads():
    """What BLAS has now; two to begin with."""
    controller = ThreadpoolController()
    with controller.limit(limits=2, user_api="blas"):
        if count(controller) != {2}:
            pytest.skip("this BLAS has one thread whatever is asked")
        yield lambda: count(controller)


def count(controller):
    return {one["num_threads"] for one in controller.info() if one["user_api"] == "blas"}


def test_inside_there_is_one_and_afterwards_what_there_was(threads):
    with one_thread():
        assert threads() == {1}
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_results_do_not_depend_on_the_number(threads):
    X = np.random.default_rng(0).normal(size=(600, 32)).astype(np.float32)

    def found(cls):
        result = cls(20, random_state=0).fit(X).result_
        return [result.indices.tobytes(), result.weights.tobytes(), result.residual, result.objective]

    for cls in SELECTORS:
        with_two = found(cls)
        with one_thread():
            assert found(cls) == with_two, cls


def test_a_thread_that_leaves_does_not_take_it_from_others():
    controller = ThreadpoolController()
    before = count(controller)
    inside, over, seen = threading.Event(), threading.Event(), []

    def stay():
        with one_thread():
            inside.set()
            over.wait()
            seen.append(count(controller))

    staying = threading.Thread(target=stay)
    with one_thread():
        staying.start()
        inside.wait()
    over.set()
    staying.join()
    assert seen == [{1}]
    assert count(controller) == before
