"""Shared fixtures: small data, and the paper's data where it is at hand."""

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import is_hypothesis_test, settings

from browsers import Visit, open_browser
from experiments.datasets import load_letters, load_mnist
from protosieve import selectors
from protosieve._blas import one_thread
from protosieve.io._locations import Pipe
from protosieve.means import _sizes
from protosieve.passes import _blocks
from protosieve.selectors import BatchSelector, StreamSelector
from volumes import EXAMPLES, PROFILE

# Where tests run in the background Ctrl-C is ignored, here and in every process started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every machine: a red run can be repeated. HYPOTHESIS_PROFILE=explore looks for new ones.
for name, count in EXAMPLES.items():
    settings.register_profile(name, max_examples=count, derandomize=name != "explore", deadline=None)
settings.load_profile(PROFILE)

SELECTORS = tuple(cls for cls in selectors.SELECTORS if issubclass(cls, StreamSelector))
BATCH_SELECTORS = tuple(cls for cls in selectors.SELECTORS if issubclass(cls, BatchSelector))


@pytest.fixture(autouse=True)
def pipes(monkeypatch):
    """No test has read a pipe before this one: the command line would leave its process, and that of all tests."""
    monkeypatch.setattr(Pipe, "read", False)


@pytest.fixture(params=SELECTORS, ids=lambda cls: cls.__name__)
def selector(request):
    """Each streaming selector's class."""
    return request.param


@pytest.fixture(params=BATCH_SELECTORS, ids=lambda cls: cls.__name__)
def batch_selector(request):
    """Each batch selector's class."""
    return request.param


@pytest.fixture(scope="module")
def one_blas_thread():
    """For the literal twins of small problems, which many threads only hinder. Other modules count threads."""
    with one_thread():
        yield


@pytest.fixture
def X():
    """300 rows of three clusters in four columns."""
    rng = np.random.default_rng(7)
    return rng.normal(scale=3, size=(3, 4))[rng.integers(3, size=300)] + rng.normal(size=(300, 4))


def paper_folder():
    """The folder with ``mnist.npz`` and ``letters.npz``, named by PROTOSIEVE_DATA, or None."""
    folder = Path(os.environ.get("PROTOSIEVE_DATA") or "nowhere")
    return folder if all((folder / f"{name}.npz").exists() for name in ("letters", "mnist")) else None


NO_DATA = "PROTOSIEVE_DATA does not name a folder with the paper's data"


@pytest.fixture(scope="session")
def paper_data():
    """The folder with ``mnist.npz`` and ``letters.npz``, named by PROTOSIEVE_DATA."""
    return paper_folder() or pytest.skip(NO_DATA)


def pytest_collection_modifyitems(items):
    """Property tests are repeated. Examples of `experiments.datasets` download nothing: they run where the data is."""
    for item in items:
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.repeated)
        if isinstance(item, pytest.DoctestItem) and "datasets" in item.nodeid and not paper_folder():
            item.add_marker(pytest.mark.skip(reason=NO_DATA))


@pytest.fixture(scope="session")
def letters(paper_data):
    """The 16,000 base rows of Letters."""
    return load_letters(paper_data).base


@pytest.fixture(scope="session")
def mnist(paper_data):
    """The 10,000 test images of MNIST, pixels in [0, 1]."""
    return load_mnist(paper_data).base


@pytest.fixture(scope="module")
def browser():
    """A headless browser; tests that use it are skipped, with a word, where there is none."""
    with open_browser() as found:
        yield found


@pytest.fixture
def visit(browser):
    """Opens windows of the browser: ``visit(size, color_scheme=...)``; they are closed after the test."""
    visits = []

    def one(*size, **context):
        visits.append(Visit(browser, *size, **context))
        return visits[-1]

    yield one
    for each in visits:
        each.context.close()


@pytest.fixture
def full_disk():
    """A context in which a limit on the size of files stops the writing half way, as a full disk does."""
    resource = pytest.importorskip("resource")

    @contextmanager
    def limited():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


def write_rows(path):
    """5,000 rows of a number and a kind, in a Parquet file: with `small_blocks`, three of them."""
    rng = np.random.default_rng(0)
    kinds = np.array(list("abcd"))[rng.integers(4, size=5_000)]
    pq.write_table(pa.table({"x": rng.normal(size=5_000), "kind": kinds}), path)
    return path


@pytest.fixture(scope="module")
def small_blocks():
    """Blocks of 2,048 rows, and samples of 1,000: a few thousand rows are many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_MOST", 2048)
        patch.setattr(_sizes, "_CANDIDATES", (1, 800, 800))
        yield


@pytest.fixture
def rows_file(tmp_path):
    """What `write_rows` writes, in a folder of the test's own."""
    return write_rows(tmp_path / "rows.parquet")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with models, and what is kept of their vectors, of its own."""
    monkeypatch.setenv("PROTOSIEVE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    return tmp_path
