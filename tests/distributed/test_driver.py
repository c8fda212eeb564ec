"""Runs over partitions on executors: the same answer anywhere, never too much at a time, nothing done twice."""

import gc
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import killed_processes
from oracles import select_in_turn
from partition_jobs import job_of, options, people, same
from protosieve import (
    InputError,
    OutputError,
    ParameterError,
    ProtosieveError,
    ProtosieveWarning,
    StateFileError,
    select,
)
from protosieve.cli import main
from protosieve.distributed import Serial, Work, begin, drive, estimate, fan_in, levels, select_partition, summarise
from protosieve.distributed import _driver as driving
from protosieve.distributed import _flight as flying
from protosieve.distributed import _merge as merging
from protosieve.distributed._flight import window_of
from protosieve.distributed._task import Attempt
from protosieve.io._parquet import ParquetSource
from protosieve.pipeline import Stopped

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

ROWS = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """3,000 rows in twelve row groups of two files."""
    folder, whole = tmp_path_factory.mktemp("people"), people(ROWS)
    pq.write_table(whole.slice(0, 2500), folder / "a.parquet", row_group_size=250)
    pq.write_table(whole.slice(2500), folder / "b.parquet", row_group_size=250)
    return folder


@pytest.fixture(scope="module")
def alone(folder):
    """One partition after the other, merged by a tree of threes."""
    return select_in_turn(job_of(folder), 3)


class Counting(Executor):
    """Another executor, and what it was given: (stage, number) of every task but merges, and the most at a time."""

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
        self.given = self.unfinished = self.most_unfinished = 0
        self._over = False
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def submit(self, fn, /, *args):
        future = Future()
        with self._news:
            self._waiting.append((future, fn, args))
            self.unfinished += 1
            self.most_unfinished = max(self.most_unfinished, self.unfinished)
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
            future.set_result(fn(*args))
            with self._news:
                self.unfinished -= 1


# -- the same answer


@pytest.mark.parametrize("workers", [2, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 4))])
def test_threads_give_the_same_answer(folder, alone, workers):
    with ThreadPoolExecutor(workers) as pool:
        assert same(drive(job_of(folder), pool, at_once=3), alone)


def test_this_process_gives_the_same_answer(folder, alone):
    assert same(drive(job_of(folder), Serial(), at_once=3), alone)


def test_processes_give_the_same_answer(folder, alone):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert same(drive(job_of(folder), pool, at_once=3), alone)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2))])
def test_any_order_of_completion_gives_the_same_answer(folder, alone, seed):
    with Unruly(random.Random(seed).randrange) as unruly:
        assert same(drive(job_of(folder), unruly, window=5, at_once=3), alone)


def test_results_that_must_not_be_written_to_are_taken_in(folder, alone):
    """As Ray hands them out: pickled with their buffers apart, and these are read-only."""

    class Frozen(Serial):
        def submit(self, fn, /, *args):
            future, buffers = Future(), []
            data = pickle.dumps(fn(*args), protocol=5, buffer_callback=buffers.append)
            future.set_result(pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers]))
            return future

    assert same(drive(job_of(folder), Frozen(), at_once=3), alone)


def test_a_target_is_surveyed_and_weighed_by_the_executor(folder, tmp_path):
    pq.write_table(people(600, seed=4), tmp_path / "t.parquet", row_group_size=200)
    asked = options(folder, target=[str(tmp_path)], partition_rows=250)
    with ThreadPoolExecutor(2) as pool:
        counting = Counting(pool)
        assert same(
            drive(begin(asked), counting),
            select_in_turn(begin(asked)),
        )
    assert counting.given == ["summarise"] * 15 + ["select_partition"] * 12 + ["weigh_partition"] * 3


def test_select_takes_an_executor_and_says_how_to_repeat_it(folder):
    expected = select_in_turn(begin(options(folder, exact_weights=False, sample=16384, partition_rows=500)))
    with ThreadPoolExecutor(2) as pool:
        found = select(folder, 20, id="name", executor=pool, partition_rows=500)
    assert same(found, expected)
    assert found.provenance["command"].endswith("id=['name'], partition_rows=500)")
    assert same(select(folder, 20, id="name", partition_rows=500), found)
    assert not same(select(folder, 20, id="name"), found)


# -- what is at the executor at a time


@pytest.mark.parametrize("window", [2, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 5))])
def test_no_more_than_a_window_of_tasks_is_ever_at_the_executor(folder, window):
    with ThreadPoolExecutor(8) as pool:
        counting = Counting(pool)
        drive(job_of(folder), counting, window=window, at_once=3)
    assert counting.most <= window
    assert counting.given.count("merge_candidates") == sum(map(len, levels(12, 3)))


def test_results_that_wait_for_their_turn_count(folder, monkeypatch):
    """The first partition is done last: nothing but the window may be begun before it."""
    begun, released = [], threading.Event()
    true = summarise

    def slow(partition, outline):
        begun.append(partition.number)
        if partition.number == 0:
            assert released.wait(60)
        elif len(begun) == 4:
            threading.Timer(0.2, released.set).start()
            time.sleep(0.1)
            assert len(begun) == 4
        return true(partition, outline)

    monkeypatch.setattr("protosieve.distributed._driver.summarise", slow)
    with ThreadPoolExecutor(8) as pool:
        drive(job_of(folder), pool, window=4)
    assert sorted(begun[:4]) == [0, 1, 2, 3]
    assert sorted(begun) == list(range(12))


def test_the_window_is_two_tasks_for_each_worker_that_is_told_of():
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(16) as many:
        assert window_of(one) == 4
        assert window_of(many) == 32
        assert window_of(many, 3) == 3
    assert window_of(Serial()) == 1
    with pytest.raises(ParameterError, match="window must be a whole number of at least 1, got 0"):
        window_of(Serial(), 0)


def test_progress_counts_rows_over_all_workers(folder):
    ticks = []
    with ThreadPoolExecutor(3) as pool:
        drive(job_of(folder), pool, watcher=ticks.append)
    by_phase = [[tick for tick in ticks if tick.phase == phase] for phase in (1, 2, 3)]
    assert [phase[0].label for phase in by_phase] == ["survey", "select", "weigh"]
    size = sum(path.stat().st_size for path in folder.iterdir())
    for phase in by_phase:
        assert len(phase) == 13
        assert all(tick.phases == 3 for tick in phase)
        assert phase[0].rows == phase[0].bytes_read == 0
        assert (phase[-1].rows, phase[-1].bytes_read, phase[-1].bytes_in_all) == (ROWS, size, size)
        assert (np.diff([tick.rows for tick in phase]) >= 0).all()


def test_results_that_were_taken_in_are_let_go(folder, monkeypatch):
    """Without help of the garbage collector: a window of candidates may be all that fits."""
    made, most = [], [0]

    def weak(partition, plan):
        found = select_partition(partition, plan)
        made.append(weakref.ref(found))
        most[0] = max(most[0], sum(one() is not None for one in made))
        return found

    monkeypatch.setattr("protosieve.distributed._gather.select_partition", weak)
    gc.disable()
    try:
        drive(job_of(folder), Serial(), window=1, at_once=2)
    finally:
        gc.enable()
    assert most[0] <= 1 + 2  # this one, and a group of two that is merged


def test_every_result_is_told_of_and_kept(folder, tmp_path):
    ticks, job = [], job_of(folder)
    with ThreadPoolExecutor(4) as pool, Work(tmp_path / "work", job) as work:
        drive(job, pool, work=work, watcher=ticks.append)
    assert len(ticks) == 3 * 13
    assert len(list((tmp_path / "work").iterdir())) == len(["run.npz", "run.lock"]) + 3 * 12


# -- what goes wrong


@pytest.fixture
def broken(tmp_path):
    """Rows that cannot be used in partitions 2 and 5 of 12."""
    table = people(ROWS).to_pandas()
    table.loc[[510, 1300], "depth"] = np.inf
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "rows.parquet", row_group_size=250)
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("pick", [lambda n: n - 1, lambda n: 0])
def test_the_first_error_in_the_order_of_the_partitions_is_the_one_raised(broken, pick):
    class Careful(Unruly):
        def submit(self, fn, /, *args):
            inner, outer = super().submit(Outcome(fn), *args), Future()
            inner.add_done_callback(lambda done: done.result()(outer))
            return outer

    with (
        Careful(pick) as unruly,
        pytest.raises(InputError, match=r"rows\.parquet, row 510: column 'depth' is infinite"),
    ):
        drive(job_of(broken), unruly, window=6)


class Outcome:
    """A call whose error is a result."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, *args):
        try:
            found = self.fn(*args)
        except ProtosieveError as error:
            return lambda future, error=error: future.set_exception(error)
        return lambda future: future.set_result(found)


def test_an_error_cancels_the_rest_and_leaves_nothing_half_written(broken, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        counting = Counting(pool)
        with pytest.raises(InputError, match=r"rows\.parquet, row 510: .*bad_rows='skip'"):
            select(broken, 20, id="name", executor=counting, partition_rows=250, work=tmp_path / "work",
                   output=tmp_path / "out.parquet")  # fmt: skip
        assert len(counting.given) <= 3 + 4
        assert counting.open == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.parquet", "work"]
    kept = sorted(path.name for path in (tmp_path / "work").iterdir())
    assert kept[1:4] == ["run.npz", "survey-000000.npz", "survey-000001.npz"]
    assert "survey-000002.npz" not in kept
    assert not any(name.endswith(".tmp") for name in kept)


def test_an_error_of_ours_is_not_tried_again_and_one_of_the_system_is(broken):
    class Stubborn(Serial):
        """Tries what raises three times, as an engine may."""

        def submit(self, fn, /, *args):
            for _ in range(2):
                try:
                    return super().submit(lambda made: made, fn(*args))
                except Exception:
                    pass
            return super().submit(fn, *args)

    counting = Calls(driving.summarise)
    task = Attempt(counting)
    job = job_of(broken)
    found = Stubborn().submit(task, job.inputs[2], job.outline()).result()
    assert counting.calls == 1
    assert "row 510" in str(found.error)
    refused = Calls(unreachable)
    with pytest.raises(InputError, match="no network"):
        Stubborn().submit(Attempt(refused)).result()
    assert refused.calls == 3


class Calls:
    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


def unreachable():
    raise InputError("no network") from TimeoutError()


def test_a_task_that_the_executor_drops_is_told_of(folder):
    class Dropping(Serial):
        def submit(self, fn, /, *args):
            future = Future()
            future.cancel()
            return future

    with pytest.raises(ProtosieveError, match="partition 0 of the pass to survey was cancelled by the executor"):
        drive(job_of(folder), Dropping())


def test_workers_that_are_all_gone_are_told_of(folder, monkeypatch):
    class Deserted(Executor):
        """A client without workers, whose tasks are never done."""

        _client = type("Client", (), {"nthreads": lambda _: {}})()

        def submit(self, fn, /, *args):
            return Future()

    monkeypatch.setattr(flying, "_LOOK", 0.01)
    monkeypatch.setattr(flying, "_PATIENCE", 0.05)
    with pytest.raises(ProtosieveError, match=r"^all workers are gone, and none has come back for 0\.05 seconds\."):
        drive(job_of(folder), Deserted())


def test_what_is_done_when_an_error_comes_is_kept_and_not_told_of(folder, tmp_path, monkeypatch):
    """The first task fails while the second is at work: that is waited for, and kept."""
    begun = threading.Event()

    def summarised(partition, outline):
        if partition.number == 0:
            begun.wait(30)
            raise OSError("no disk")
        begun.set()
        time.sleep(0.3)
        return summarise(partition, outline)

    monkeypatch.setattr(driving, "summarise", summarised)
    ticks, job = [], job_of(folder)
    with ThreadPoolExecutor(2) as pool, Work(tmp_path / "work", job) as work, pytest.raises(OSError, match="no disk"):
        drive(job, pool, work=work, watcher=ticks.append, window=2)
    assert [path.name for path in (tmp_path / "work").glob("survey-*.npz")] == ["survey-000001.npz"]
    assert len(ticks) == 1


def test_a_pool_that_is_broken_is_told_of(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(driving, "summarise", killed_processes.Mortal(driving.summarise, tmp_path, 2))
    with (
        ProcessPoolExecutor(2, get_context("spawn")) as pool,
        pytest.raises(
            ProtosieveError,
            match=r"of the pass to survey was lost: a worker process died .*\. A run with work='DIR' can go on$",
        ),
    ):
        drive(job_of(folder), pool)


def test_stopped_it_says_how_far_it_was_and_the_same_call_goes_on(folder, alone, tmp_path):
    def stop(tick):
        if (tick.label, tick.rows >= 1000) == ("select", True):
            signal.raise_signal(signal.SIGINT)

    job = job_of(folder)
    with (
        pytest.raises(Stopped, match=r"^stopped after 4 of 12 partitions of pass 2 of 3; what was done is kept"),
        Work(tmp_path / "work", job) as work,
    ):
        drive(job, Serial(), at_once=3, work=work, watcher=stop)
    with pytest.raises(Stopped, match="stopped after 4 of 12 partitions of pass 2 of 3; nothing was written"):
        drive(job_of(folder), Serial(), watcher=stop)
    counting, job = Counting(Serial()), job_of(folder)
    with Work(tmp_path / "work", job) as work:
        assert same(drive(job, counting, at_once=3, work=work), alone)
    assert counting.given.count("summarise") == 0
    assert counting.given.count("select_partition") == 12 - 4


@pytest.mark.parametrize("step", ["settle", "conclude", "finish"])
def test_between_the_passes_it_stops_at_once(folder, monkeypatch, step):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")

    monkeypatch.setattr(driving, step, interrupted)
    with pytest.raises(Stopped, match=r"^stopped after 12 of 12 partitions of pass \d of 3; nothing was written"):
        drive(job_of(folder), Serial())


def test_it_stops_while_it_goes_through_results_that_are_there(folder, tmp_path):
    def stop(tick):
        if tick.rows >= 1000:
            signal.raise_signal(signal.SIGINT)

    work, job = kept(folder, tmp_path), job_of(folder)
    with pytest.raises(Stopped, match="stopped after 4 of 12 partitions of pass 1"), Work(work, job) as again:
        drive(job, Serial(), work=again, watcher=stop)


def test_what_one_stream_can_do_and_partitions_cannot_is_said_first(folder, tmp_path):
    for more in ({"checkpoint": tmp_path / "c"}, {"resume": True}):
        with pytest.raises(ParameterError, match=r"checkpoint and resume are for one stream of rows; .* work='DIR'"):
            select(folder, 20, executor=Serial(), **more)
    with pytest.raises(ParameterError, match=r"watch shows one stream of rows .* report='FILE\.html'"):
        select(folder, 20, work=tmp_path / "w", watch=True)
    with pytest.raises(ParameterError, match="partitions are read twice, and standard input comes once; store"):
        select("-", 20, executor=Serial())
    with pytest.raises(ParameterError, match="partition_rows must be a whole number of at least 1, got 0"):
        select(folder, 20, partition_rows=0)
    with pytest.raises(ParameterError, match=r"executor must be one of concurrent\.futures, got 3"):
        select(folder, 20, executor=3)
    with pytest.raises(ParameterError, match="window is for runs over partitions; give executor, partition_rows or"):
        select(folder, 20, window=3)
    with pytest.raises(ParameterError, match="at_once must be a whole number of at least 2, got 1"):
        drive(job_of(folder), Serial(), at_once=1)
    with pytest.raises(OutputError, match=r"b\.parquet: is one of the files to be read"):
        select(folder, 20, executor=Serial(), output=folder / "b.parquet")
    assert not (tmp_path / "w").exists()


# -- the folder of a run

LIVES = [
    ("select_partition", 4),
    *(pytest.param(*one, marks=pytest.mark.thorough) for one in [("summarise", 5), ("merge_candidates", 1)]),
    pytest.param("weigh_partition", 9, marks=pytest.mark.thorough),
]
MISSING = {  # of 12 partitions in each pass; those that were done before the fatal call are not
    "summarise": [12 - 4, 12, 12],
    "select_partition": [0, 12 - 3, 12],
    "merge_candidates": [0, 12 - 8, 12],  # of the first eight
    "weigh_partition": [0, 0, 12 - 8],
}


@pytest.mark.parametrize(("name", "life"), LIVES)
def test_a_driver_killed_in_any_phase_goes_on_with_what_is_missing(folder, tmp_path, monkeypatch, name, life):
    monkeypatch.setattr(merging, "_ROWS", 1)
    assert fan_in(20) == 8
    calls, work, out = tmp_path / "calls", tmp_path / "work", tmp_path / "out.parquet"
    calls.mkdir()
    command = [sys.executable, killed_processes.__file__, name, life, calls, folder, work, out]
    assert subprocess.run(list(map(str, command))).returncode == -signal.SIGKILL
    assert not out.exists()
    asked = {"id": "name", "exact_weights": True, "sample": 1000, "partition_rows": 250}
    counting = Counting(Serial())
    found = select(folder, 20, **asked, work=work, output=out, executor=counting)
    assert same(found, select(folder, 20, **asked))
    missing = [counting.given.count(one) for one in ("summarise", "select_partition", "weigh_partition")]
    assert missing == MISSING[name]
    assert not work.exists()


def kept(folder, tmp_path, **others):
    """A job, and its folder after a run that was stopped when all was surveyed."""

    def stop(tick):
        if tick.label == "select":
            signal.raise_signal(signal.SIGINT)

    job = job_of(folder, **others)
    with pytest.raises(Stopped), Work(tmp_path / "work", job) as work:
        drive(job, Serial(), work=work, watcher=stop)
    return tmp_path / "work"


def test_what_is_there_already_is_told(folder, tmp_path, capsys):
    work = kept(folder, tmp_path)
    select(folder, 20, id="name", exact_weights=True, sample=1000, partition_rows=250, work=work, quiet=False)
    assert f"12 of 36 results of partitions are in {work} already\n" in capsys.readouterr().err


def test_a_dry_run_says_what_is_there_too(folder, tmp_path, monkeypatch, capsys):
    work = kept(folder, tmp_path, exact_weights=False, sample=16384)
    words = ["-m", "20", "--id", "name", "--partition-rows", "250", "--dry-run", "--work"]
    for place, last in ((work, f"12 of 24 results of partitions are in {work} already"), (tmp_path / "no", "about")):
        monkeypatch.setattr(sys, "argv", ["protosieve", "select", str(folder), *words, str(place)])
        assert main() == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith(last)
    assert len(list(work.glob("survey-*.npz"))) == 12
    assert not (tmp_path / "no").exists()


def test_work_stays_as_long_as_its_result_is_written_nowhere(folder, tmp_path):
    asked = {"id": "name", "sample": 1000, "partition_rows": 250, "work": tmp_path / "work"}
    found = select(folder, 20, **asked)
    counting = Counting(Serial())
    assert same(select(folder, 20, **asked, executor=counting, output=tmp_path / "out.parquet"), found)
    assert counting.given == []
    assert not (tmp_path / "work").exists()


def test_a_seed_that_nobody_asked_for_is_kept(folder, tmp_path):
    work = kept(folder, tmp_path, random_state=None)
    job = job_of(folder, random_state=None)
    fresh = job.run.seed
    counting = Counting(Serial())
    with Work(work, job) as again:
        found = drive(job, counting, work=again)
    assert job.run.seed != fresh
    assert counting.given.count("summarise") == 0
    assert same(found, select_in_turn(job_of(folder, random_state=job.run.seed)))


def test_a_folder_of_another_run_is_refused_and_the_difference_named(folder, tmp_path):
    work = kept(folder, tmp_path)
    for others, words in (
        ({"sample": 999}, "sample was 1000 and is 999 now"),
        ({"m": 21}, "n_prototypes was 20 and is 21 now"),
    ):
        with pytest.raises(StateFileError, match=rf"work: is of another run: {words}\. Give what was given then"):
            Work(work, job_of(folder, **others))
    with pytest.raises(StateFileError, match="is of another run: partition_rows was 250 and is 500 now"):
        Work(work, begin(options(folder, partition_rows=500)))


def test_files_that_have_changed_are_named(tmp_path):
    rows = tmp_path / "rows.parquet"
    pq.write_table(people(1000), rows, row_group_size=250)
    work = kept(rows, tmp_path)
    pq.write_table(people(1000, seed=1), rows, row_group_size=250)
    with pytest.raises(StateFileError, match=r"rows\.parquet has changed: its \w+ was"):
        Work(work, job_of(rows))


def test_another_version_is_refused(folder, tmp_path, monkeypatch):
    work = kept(folder, tmp_path)
    monkeypatch.setattr("protosieve.distributed._work.version", lambda _: "99")
    with pytest.raises(StateFileError, match=r"it was made by protosieve \S+, and this is 99"):
        Work(work, job_of(folder))


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_a_damaged_result_is_made_again_with_a_warning(folder, tmp_path):
    expected = select_in_turn(job_of(folder))
    work = kept(folder, tmp_path)
    damaged, strange = work / "survey-000003.npz", work / "survey-000007.npz"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    (tmp_path / "other").mkdir()
    other = kept(folder, tmp_path / "other", sample=900)
    strange.write_bytes((other / strange.name).read_bytes())
    counting, job = Counting(Serial()), job_of(folder)
    with pytest.warns(ProtosieveWarning) as told, Work(work, job) as again:
        found = drive(job, counting, work=again)
    words = [str(one.message) for one in told]
    assert any("survey-000003.npz: not a protosieve state file, or a damaged one" in word for word in words)
    assert any("survey-000007.npz: is of another run, or of other results before it" in word for word in words)
    assert counting.given.count("summarise") == 2
    assert same(found, expected)


def test_only_what_is_ours_is_removed(folder, tmp_path):
    work = kept(folder, tmp_path)
    (work / ".survey-000011.npz.abc.tmp").touch()  # of a run that was killed while it wrote
    (work / "mine.txt").touch()
    job = job_of(folder)
    opened = Work(work, job)
    assert not (work / ".survey-000011.npz.abc.tmp").exists()
    with pytest.warns(ProtosieveWarning, match="work: is no longer needed and cannot be removed: Directory not empty"):
        opened.remove()
    assert [path.name for path in work.iterdir()] == ["mine.txt"]
    (work / "mine.txt").unlink()
    Work(work, job).remove()
    assert work.exists()  # it was there before this run


def test_files_of_others_in_the_folder_are_left_alone(folder, tmp_path):
    theirs = ["weigh-old.npz", "select-best.npz", ".select-best.npz.abc.tmp", "survey-000012.npz"]
    for name in theirs:
        (tmp_path / name).touch()
    asked = {"id": "name", "sample": 1000, "partition_rows": 250, "work": tmp_path}
    job = job_of(folder)
    with Work(tmp_path, job) as work:
        assert work.there == 0
    (tmp_path / "run.npz").unlink()
    select(folder, 20, **asked, output=tmp_path / "select-mine.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*theirs, "select-mine.npz"])
    with pytest.raises(
        OutputError, match=r"select-000003\.npz: is where a result of a partition would be written; give another work$"
    ):
        select(folder, 20, **asked, output=tmp_path / "select-000003.npz")


def test_what_follows_from_other_results_is_done_again(folder, alone, tmp_path):
    """Sums of other prototypes must not be taken for those of these."""

    def stop(tick):
        if tick.label == "weigh" and tick.rows >= 1000:
            signal.raise_signal(signal.SIGINT)

    job = job_of(folder)
    with pytest.raises(Stopped), Work(tmp_path / "work", job) as work:
        drive(job, Serial(), at_once=12, work=work, watcher=stop)
    counting, job = Counting(Serial()), job_of(folder)
    with Work(tmp_path / "work", job) as work, pytest.warns(ProtosieveWarning, match="or of other results before it"):
        assert same(drive(job, counting, at_once=3, work=work), alone)
    assert [counting.given.count(one) for one in ("summarise", "select_partition", "weigh_partition")] == [0, 0, 12]


def test_one_run_at_a_time_works_in_a_folder(folder, tmp_path):
    asked = {"id": "name", "exact_weights": True, "sample": 1000, "partition_rows": 250}
    with Work(tmp_path / "work", job_of(folder)):
        with pytest.raises(
            OutputError, match=r"work: another run is using it; wait for its end, or give another work$"
        ):
            select(folder, 20, **asked, work=tmp_path / "work")
        other = "from protosieve.distributed._lock import hold; from pathlib import Path; import sys"
        code = f"{other}; print(hold(Path(sys.argv[1])))"
        command = [sys.executable, "-c", code, str(tmp_path / "work" / "run.lock")]
        assert subprocess.run(command, capture_output=True, text=True).stdout == "None\n"
    select(folder, 20, **asked, work=tmp_path / "work", output=tmp_path / "out.csv")
    assert not (tmp_path / "work").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked there")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12, where there are threads
def test_forked_processes_do_not_keep_the_folder(folder, tmp_path):
    asked = {"id": "name", "partition_rows": 1500, "work": tmp_path / "work"}
    with Work(tmp_path / "held", job_of(folder)) as held:
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
        held._release()
        Work(tmp_path / "held", job_of(folder))._release()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        first = select(folder, 20, **asked, executor=pool)
        assert same(select(folder, 20, **asked, executor=pool), first)


def test_a_folder_that_cannot_be_is_refused_at_once(folder, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file: cannot be made a folder for results: File exists; give"):
        Work(tmp_path / "file", job_of(folder))
    (tmp_path / "state").mkdir()
    np.savez(tmp_path / "state" / "run.npz", x=1)
    with pytest.raises(StateFileError, match="not a protosieve state file"):
        Work(tmp_path / "state", job_of(folder))


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_a_result_that_cannot_be_kept_is_a_warning(folder, tmp_path, monkeypatch):
    job = job_of(folder)
    work = Work(tmp_path / "work", job)
    for path in (tmp_path / "work").iterdir():
        path.unlink()
    (tmp_path / "work").rmdir()
    with pytest.warns(
        ProtosieveWarning, match="no result kept of partition 0: cannot write .* The run goes on"
    ) as told:
        found = drive(job, Serial(), work=work)
    assert len([one for one in told if "no result kept" in str(one.message)]) == 1
    assert same(found, select_in_turn(job_of(folder)))


# -- what is told before


def test_an_estimate_counts_what_there_is(folder):
    found = estimate(job_of(folder))
    assert (found.files, found.rows, found.partitions, found.passes) == (2, ROWS, 12, 3)
    assert found.columns == 2 + 34  # every value told apart, the rest and nulls
    assert found.candidates == ROWS  # all there are
    assert replace(found, rows=1_000_000).candidates == 12 * 20 + 8192
    assert found.levels == 1
    assert str(found).startswith("3,000 rows in 2 files: 12 partitions, read 3 times\nabout 3,000 candidates for 20 ")
    many = estimate(begin(options(folder, m="50%", partition_rows=250)))
    assert many.prototypes == 1500
    assert (many.levels, len(levels(12, fan_in(1500)))) == (1, 0)


def test_an_estimate_tells_of_a_target_by_itself(folder, tmp_path):
    pq.write_table(people(1000), tmp_path / "t.parquet", row_group_size=250)
    asked = {"target": [str(tmp_path)], "sample": 100}
    told = str(estimate(job_of(folder, **asked))).splitlines()
    assert told[0] == "3,000 rows in 2 files: 12 partitions, read 2 times"
    assert told[1] == "the target: 1,000 rows in 1 file: 4 partitions, read 2 times"
    once = estimate(job_of(folder, **asked, exact_weights=False))
    assert str(once).splitlines()[1].endswith("read once")
    assert estimate(job_of(folder), window=40).driver_bytes > estimate(job_of(folder), window=4).driver_bytes
    assert once.figures()["levels"] == 1


def test_a_file_of_no_rows_is_one_sentence(tmp_path):
    pq.write_table(people(0), tmp_path / "none.parquet")
    assert str(estimate(job_of(tmp_path))).startswith("0 rows in 1 file: 1 partition")
    with pytest.raises(InputError, match=r"none\.parquet: there are no rows"):
        select(tmp_path, 20, id="name", partition_rows=250, quiet=False)


def test_an_estimate_does_not_guess_what_only_reading_tells(tmp_path):
    (tmp_path / "rows.csv").write_text("name,x\n" + "".join(f"{i},{i % 7}\n" for i in range(50)))
    assert str(estimate(job_of(tmp_path))).startswith("rows that only reading will count, in 1 file: 1 partition, read")
    assert estimate(job_of(tmp_path, m="10%")).worker_bytes is None


def test_a_dry_run_reads_no_rows_and_writes_nothing(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ParquetSource, "_rows", None)
    words = ["--id", "name", "--workers", "2", "--work", tmp_path / "work", "-o", tmp_path / "out.csv", "--dry-run"]
    monkeypatch.setattr(sys, "argv", ["protosieve", "select", str(folder), "-m", "20", *map(str, words)])
    assert main() == 0
    told = capsys.readouterr()
    assert told.out.startswith("3,000 rows in 2 files: 1 partition, read 2 times\nabout 3,000 candidates")
    assert told.err == ""
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--json"])
    assert main() == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == ROWS
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--checkpoint", "c"])
    assert main() == 2
    assert "--checkpoint and --resume are for one stream of rows" in capsys.readouterr().err
