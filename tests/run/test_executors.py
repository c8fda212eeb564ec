"""Runs over partitions on executors: the same answer anywhere, never too much at a time, and stopped when asked to."""

import gc
import json
import os
import pickle
import random
import signal
import sys
import threading
import time
import weakref
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executors import AtOnce, Counting, Unruly
from killed_processes import FORKS, MortalAttempts
from oracles import select_in_turn
from partition_jobs import job_of, people, same, selected
from protosieve import InputError, OutputError, ParameterError, ProtosieveError, ProtosieveWarning, select
from protosieve.cli import main
from protosieve.io._parquet import ParquetSource
from protosieve.passes import Plan, Summary, SumsPass, SurveyPass, _row_sample
from protosieve.run import _drive, _executor, estimate, window_of
from protosieve.run._attempt import Attempt
from protosieve.run._signals import Stopped
from volumes import volume

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
def target(tmp_path_factory):
    """600 rows of another distribution, in three row groups."""
    folder = tmp_path_factory.mktemp("target")
    pq.write_table(people(1200, seed=4).slice(600), folder / "t.parquet", row_group_size=200)
    return folder


@pytest.fixture(scope="module")
def alone(folder):
    """One partition after the other."""
    return select_in_turn(job_of(folder))


@pytest.fixture(scope="module")
def known(folder, target):
    """That of what is asked for besides, found once."""
    found = {}

    def of(**asked):
        words = str(sorted(asked.items()))
        if words not in found:
            found[words] = select_in_turn(job_of(folder, **asked))
        return found[words]

    return of


# -- the same answer


@pytest.mark.parametrize("workers", [2, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 4))])
def test_threads_give_the_same_answer(folder, alone, workers):
    with ThreadPoolExecutor(workers) as pool:
        assert same(selected(folder, executor=pool), alone)


def test_this_process_gives_the_same_answer(folder, alone):
    assert same(selected(folder), alone)


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, FORKS) as pool:
        yield pool


KINDS = [
    {},
    {"target": True},
    {"sample": None},
    {"target": True, "sample": 300},
    {"goal": "cover"},
    {"goal": "cover", "target": True, "sample": 300},
]


@pytest.mark.parametrize("asked", KINDS, ids=str)
def test_processes_give_the_same_answer(folder, target, known, processes, asked):
    asked = {**asked, **({"target": target} if "target" in asked else {})}
    assert same(selected(folder, **asked, executor=processes), known(**asked))


@settings(max_examples=volume(4, 20))
@given(st.sampled_from(KINDS), st.integers(0, 99), st.none() | st.integers(1, 15), st.booleans())
def test_any_order_of_completion_gives_the_same_answer(folder, target, known, asked, seed, window, is_heavy):
    """With and without a target, whether sums are to be made or not, and columns are fetched or kept."""
    asked = {**asked, **({"target": target} if "target" in asked else {})}
    with pytest.MonkeyPatch.context() as patch, Unruly(random.Random(seed).randrange) as unruly:
        if is_heavy:
            patch.setattr(_row_sample, "_HELD", 1)
            patch.setattr(_row_sample, "_FEWEST", 2)
        found, ticks = [], []
        for executor in (unruly, None):
            more = {} if executor is None else {"executor": unruly, "window": window}
            found.append(selected(folder, **asked, **more, progress=ticks.append))
    assert same(*found)
    expected = known(**asked)
    assert found[0].table.equals(expected.table)
    assert found[0].residual == expected.residual
    assert "fetch" in {tick.label for tick in ticks} or not is_heavy


def test_results_that_must_not_be_written_to_are_taken_in(folder, target, known):
    """As Ray hands them out: pickled with their buffers apart, and these are read-only."""

    class Frozen(Executor):
        def submit(self, fn, /, *args):
            future, buffers = Future(), []
            data = pickle.dumps(fn(*args), protocol=5, buffer_callback=buffers.append)
            future.set_result(pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers]))
            return future

    assert same(selected(folder, executor=Frozen()), known())
    asked = {"target": target, "sample": 300}
    assert same(selected(folder, **asked, executor=Frozen()), known(**asked))


def test_a_target_is_surveyed_and_summed_up_by_the_executor(folder, target, known):
    asked = {"target": target, "sample": 300}
    with ThreadPoolExecutor(2) as pool:
        counting = Counting(pool)
        assert same(selected(folder, **asked, executor=counting), known(**asked))
    passes = ["survey"] * 12 + ["target-survey"] * 3 + ["target-sums"] * 3 + ["sums"] * 12
    assert counting.given[: len(passes)] == passes
    assert set(counting.given[len(passes) :]) == {"fetch"}  # of rows like the target that are not in the sample


def test_to_cover_a_target_it_is_read_once_and_the_rows_twice(folder, target, known):
    asked = {"target": target, "sample": 300, "goal": "cover"}
    counting = Counting(AtOnce())
    assert same(selected(folder, **asked, executor=counting), known(**asked))
    assert counting.given[:27] == ["survey"] * 12 + ["target-survey"] * 3 + ["sums"] * 12


def test_a_sample_of_all_rows_is_read_once(folder, known):
    counting = Counting(AtOnce())
    assert same(selected(folder, sample=None, executor=counting), known(sample=None))
    assert counting.given == ["survey"] * 12


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_methods_that_judge_rows_one_by_one_do_so_here(folder, known):
    counting = Counting(AtOnce())
    with pytest.warns(
        ProtosieveWarning, match="method='stream' judges rows one after the other: that pass is made in this process"
    ) as told:
        found = selected(folder, method="stream", executor=counting)
    assert told[0].filename.endswith("partition_jobs.py")  # whoever calls `select`
    assert same(found, known(method="stream"))
    assert counting.given == ["survey"] * 12 + ["sums"] * 12


def test_select_takes_an_executor_and_says_how_to_repeat_it(folder):
    with ThreadPoolExecutor(2) as pool:
        found = select(folder, 20, id="name", sample=1000, executor=pool, partition_rows=500)
    assert same(found, select_in_turn(job_of(folder, partition_rows=500)))
    assert found.provenance["command"].endswith("id=['name'], sample=1000, partition_rows=500)")
    assert same(eval(found.provenance["command"], {"protosieve": __import__("protosieve")}), found)


# -- what is at the executor at a time


@pytest.mark.parametrize("window", [2, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 5))])
def test_no_more_than_a_window_of_tasks_is_ever_at_the_executor(folder, window):
    with ThreadPoolExecutor(8) as pool:
        counting = Counting(pool)
        selected(folder, executor=counting, window=window)
    assert counting.most <= window
    assert len(counting.given) == 24


def test_results_that_wait_for_their_turn_count(folder, monkeypatch):
    """The first partition is done last: nothing but the window may be begun before it."""
    begun, released = [], threading.Event()
    true = SurveyPass.over

    def slow(work, partition, *begin):
        begun.append(partition.number)
        if partition.number == 0:
            assert released.wait(60)
        elif len(begun) == 4:
            threading.Timer(0.2, released.set).start()
            time.sleep(0.1)
            assert len(begun) == 4
        return true(work, partition, *begin)

    monkeypatch.setattr(SurveyPass, "over", slow)
    with ThreadPoolExecutor(8) as pool:
        selected(folder, executor=pool, window=4)
    assert sorted(begun[:4]) == [0, 1, 2, 3]
    assert sorted(begun) == list(range(12))


def test_the_window_is_two_tasks_for_each_worker_that_is_told_of():
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(16) as many:
        assert window_of(one) == 4
        assert window_of(many) == 32
        assert window_of(many, 3) == 3
    assert window_of(AtOnce()) == max(4, 2 * os.cpu_count())
    with pytest.raises(ParameterError, match="window must be a whole number of at least 1, got 0"):
        window_of(AtOnce(), 0)


def test_progress_counts_rows_over_all_workers(folder):
    ticks = []
    with ThreadPoolExecutor(3) as pool:
        selected(folder, executor=pool, progress=ticks.append)
    by_phase = [[tick for tick in ticks if tick.phase == phase] for phase in (1, 2)]
    assert [phase[0].label for phase in by_phase] == ["survey", "sum"]
    size = sum(path.stat().st_size for path in folder.iterdir())
    for phase in by_phase:
        assert len(phase) == 13
        assert all(tick.phases == 2 for tick in phase)
        assert phase[0].rows == phase[0].bytes_read == 0
        assert (phase[-1].rows, phase[-1].bytes_read, phase[-1].bytes_in_all) == (ROWS, size, size)
        assert (np.diff([tick.rows for tick in phase]) >= 0).all()


def test_progress_here_counts_the_same_rows_and_never_goes_back(folder):
    ticks = []
    selected(folder, progress=ticks.append)
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert [phase[0] for phase in (("survey", 1), ("sum", 2))] == list(dict.fromkeys(tick.label for tick in ticks))
    for label in ("survey", "sum"):
        phase = [tick for tick in ticks if tick.label == label]
        assert (np.diff([tick.rows for tick in phase]) >= 0).all()
        assert (np.diff([tick.bytes_read for tick in phase]) >= 0).all()
        assert (phase[-1].rows, phase[-1].bytes_read) == (ROWS, size)


@pytest.mark.parametrize("kind", [SurveyPass, SumsPass])
@pytest.mark.parametrize("executor", [None, AtOnce()])
def test_results_that_were_taken_in_are_let_go(folder, monkeypatch, kind, executor):
    """Without help of the garbage collector: a window of results may be all that fits."""
    made, most, true = [], [0], kind.over

    def weak(work, partition, begun=None, **others):
        found = true(work, partition, begun, **others)
        made.append(weakref.ref(found))
        most[0] = max(most[0], sum(one() is not None for one in made))
        return found

    monkeypatch.setattr(kind, "over", weak)
    gc.disable()
    try:
        selected(folder, **({} if executor is None else {"executor": executor, "window": 1}))
    finally:
        gc.enable()
    assert len(made) == 12
    assert most[0] <= 2  # this one, and the one before, which was just merged


def test_every_result_is_told_of_and_kept(folder, tmp_path):
    ticks = []
    with ThreadPoolExecutor(4) as pool:
        selected(folder, executor=pool, work=tmp_path / "work", progress=ticks.append)
    assert len(ticks) == 2 * 13
    assert len(list((tmp_path / "work").iterdir())) == len(["run.npz", "run.lock"]) + 2 * 12


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
    with (
        Unruly(pick) as unruly,
        pytest.raises(InputError, match=r"rows\.parquet, row 510: column 'depth' is infinite"),
    ):
        selected(broken, executor=unruly, window=6)


def test_an_error_cancels_the_rest_and_leaves_nothing_half_written(broken, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        counting = Counting(pool)
        with pytest.raises(InputError, match=r"rows\.parquet, row 510: .*bad_rows='skip'"):
            selected(broken, executor=counting, work=tmp_path / "work", output=tmp_path / "out.parquet")
        assert len(counting.given) <= 3 + 4
        assert counting.open == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.parquet", "work"]
    kept = sorted(path.name for path in (tmp_path / "work").iterdir())
    assert kept[1:4] == ["run.npz", "survey-000000.npz", "survey-000001.npz"]
    assert "survey-000002.npz" not in kept
    assert not any(name.endswith(".tmp") for name in kept)


def test_an_error_of_ours_is_not_tried_again_and_one_of_the_system_is(broken):
    class Stubborn(AtOnce):
        """Tries what raises three times, as an engine may."""

        def submit(self, fn, /, *args):
            for _ in range(2):
                try:
                    return super().submit(lambda made: made, fn(*args))
                except Exception:
                    pass
            return super().submit(fn, *args)

    job = job_of(broken)
    counting = Calls(job.survey().over)
    found = Stubborn().submit(Attempt(counting, "survey"), job.inputs[2]).result()
    assert counting.calls == 1
    assert "row 510" in str(found.error)
    refused = Calls(unreachable)
    with pytest.raises(InputError, match="no network"):
        Stubborn().submit(Attempt(refused, "survey")).result()
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
    class Dropping(Executor):
        def submit(self, fn, /, *args):
            future = Future()
            future.cancel()
            return future

    with pytest.raises(ProtosieveError, match="partition 0 of the pass to survey was cancelled by the executor"):
        selected(folder, executor=Dropping())


class KilledWorker(Exception):  # noqa: N818  (its name is how it is known)
    """As Dask raises."""


class Blaming(AtOnce):
    """Gives up tasks of these partitions, each as often as told, as Dask does with all that a dead worker had."""

    def __init__(self, times):
        self.times = times

    def submit(self, fn, /, partition, *args):
        left = self.times.get(partition.number, 0)
        if not left:
            return super().submit(fn, partition, *args)
        self.times[partition.number] = left - 1
        future = Future()
        future.set_exception(KilledWorker(f"partition {partition.number}"))
        return future


def test_partitions_lost_with_a_worker_are_tried_alone(folder, alone):
    assert same(selected(folder, executor=Blaming({3: 1, 5: 1, 6: 1, 7: 1})), alone)


def test_the_partition_that_kills_is_named_and_not_its_neighbours(folder):
    with pytest.raises(ProtosieveError, match=r"^partition 7 of the pass to survey was started several times"):
        selected(folder, executor=Blaming({5: 1, 6: 1, 7: 2, 8: 1}))


def test_workers_that_are_all_gone_are_told_of(folder, monkeypatch):
    class Deserted(Executor):
        """A client without workers, whose tasks are never done."""

        _client = type("Client", (), {"nthreads": lambda _: {}})()

        def submit(self, fn, /, *args):
            return Future()

    monkeypatch.setattr(_executor, "_LOOK", 0.01)
    monkeypatch.setattr(_executor, "_PATIENCE", 0.05)
    with pytest.raises(ProtosieveError, match=r"^all workers are gone, and none has come back for 0\.05 seconds\."):
        selected(folder, executor=Deserted())


def test_what_is_done_when_an_error_comes_is_kept_and_not_told_of(folder, tmp_path, monkeypatch):
    """The first task fails while the second is at work: that is waited for, and kept."""
    begun, true = threading.Event(), SurveyPass.over

    def summarised(work, partition, *begin):
        if partition.number == 0:
            begun.wait(30)
            raise OSError("no disk")
        begun.set()
        time.sleep(0.3)
        return true(work, partition, *begin)

    monkeypatch.setattr(SurveyPass, "over", summarised)
    ticks = []
    with ThreadPoolExecutor(2) as pool, pytest.raises(OSError, match="no disk"):
        selected(folder, executor=pool, work=tmp_path / "work", progress=ticks.append, window=2)
    assert [path.name for path in (tmp_path / "work").glob("survey-*.npz")] == ["survey-000001.npz"]
    assert len(ticks) == 1


def test_a_pool_that_is_broken_is_told_of(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_executor, "Attempt", MortalAttempts("survey", tmp_path, life=2))
    with (
        ProcessPoolExecutor(1, FORKS) as pool,
        pytest.raises(
            ProtosieveError,
            match=r"of the pass to survey was lost: a worker process died .*\. A run with work='DIR' can go on$",
        ),
    ):
        selected(folder, executor=pool)


# -- stopped


def stop_at(label, rows):
    """Ctrl-C when so many rows of a pass are done."""

    def stop(tick):
        if tick.label == label and tick.rows >= rows:
            signal.raise_signal(signal.SIGINT)

    return stop


HERE_AND_THERE = [{}, {"executor": AtOnce(), "window": 1}]


@pytest.mark.parametrize("place", HERE_AND_THERE, ids=["here", "executor"])
def test_stopped_it_says_how_far_it_was_and_the_same_call_goes_on(folder, alone, tmp_path, place):
    stop = stop_at("sum", 1000)
    with pytest.raises(Stopped, match=r"^stopped after [34] of 12 partitions of pass 2 of 2; what was done is kept"):
        selected(folder, **place, work=tmp_path / "work", progress=stop)
    with pytest.raises(
        Stopped, match=r"stopped after [34] of 12 partitions of pass 2 of 2; nothing was written\. With work='DIR' a"
    ):
        selected(folder, **place, progress=stop)
    counting = Counting(AtOnce())
    assert same(selected(folder, executor=counting, work=tmp_path / "work"), alone)
    assert counting.given.count("survey") == 0
    assert counting.given.count("sums") == (12 - 4 if place else 12 - 3)  # here, all rows of the fourth, not its end


@pytest.mark.parametrize("executor", [None, AtOnce()])
@pytest.mark.parametrize(("where", "step"), [(_drive, "settle"), (Plan, "mean"), (Plan, "chosen"), (Plan, "result")])
def test_between_the_passes_it_stops_at_once(folder, monkeypatch, where, step, executor):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")

    monkeypatch.setattr(where, step, interrupted)
    with pytest.raises(Stopped, match=r"^stopped after 12 of 12 partitions of pass \d of 2; nothing was written"):
        selected(folder, executor=executor)


def test_within_a_merge_it_does_not(folder, monkeypatch):
    """What is half done must not be stored, nor looked at."""
    merged = []

    def interrupted(_, later):
        signal.raise_signal(signal.SIGINT)
        merged.append(later)

    monkeypatch.setattr(Summary, "merge", interrupted)
    with pytest.raises(Stopped, match=r"^stopped after \d of 12 partitions of pass 1 of 2"):
        selected(folder)
    assert len(merged) == 1


@pytest.mark.parametrize("place", HERE_AND_THERE, ids=["here", "executor"])
def test_it_stops_while_it_goes_through_results_that_are_there(folder, tmp_path, place):
    with pytest.raises(Stopped):
        selected(folder, work=tmp_path / "work", progress=stop_at("sum", 0))
    with pytest.raises(Stopped, match="stopped after 4 of 12 partitions of pass 1"):
        selected(folder, **place, work=tmp_path / "work", progress=stop_at("survey", 1000))


# -- what is told before


def test_what_cannot_be_done_is_said_first(folder, tmp_path):
    with pytest.raises(ParameterError, match="executor: standard input is one stream of rows, for one process; store"):
        select("-", 20, executor=AtOnce())
    with pytest.raises(ParameterError, match="work cannot bring back rows of standard input; store them in a file"):
        select("-", 20, work=tmp_path / "w")
    with pytest.raises(ParameterError, match="partition_rows must be a whole number of at least 1, got 0"):
        select(folder, 20, partition_rows=0)
    with pytest.raises(ParameterError, match=r"executor must be one of concurrent\.futures, got 3"):
        select(folder, 20, executor=3)
    with pytest.raises(ParameterError, match="window is for runs at an executor; give executor too"):
        select(folder, 20, window=3)
    with pytest.raises(OutputError, match=r"b\.parquet: is one of the files to be read"):
        select(folder, 20, executor=AtOnce(), output=folder / "b.parquet")
    assert not (tmp_path / "w").exists()


def test_an_estimate_counts_what_there_is(folder):
    found = estimate(job_of(folder))
    assert (found.files, found.rows, found.partitions, found.passes, found.sample) == (2, ROWS, 12, 2, 1000)
    assert found.columns == 2 + 34  # every value told apart, the rest and nulls
    told = str(found).splitlines()
    assert told[0] == "3,000 rows in 2 files: 12 partitions, read 2 times"
    assert told[1] == "20 prototypes, chosen from a sample of 1,000 rows"
    once = estimate(job_of(folder, sample=None))
    assert (once.passes, once.sample) == (1, ROWS)
    assert str(once).startswith("3,000 rows in 2 files: 12 partitions, read once\n")
    assert replace(once, rows=1_000_000).passes == 2
    assert estimate(job_of(folder, "50%")).prototypes == 1500


def test_an_estimate_tells_of_a_target_by_itself(folder, tmp_path):
    pq.write_table(people(1000), tmp_path / "t.parquet", row_group_size=250)
    asked = {"target": [str(tmp_path)], "sample": 100}
    told = str(estimate(job_of(folder, **asked))).splitlines()
    assert told[0] == "3,000 rows in 2 files: 12 partitions, read 2 times"
    assert told[1] == "the target: 1,000 rows in 1 file: 4 partitions, read 2 times"
    told = str(estimate(job_of(folder, **asked, goal="cover"))).splitlines()
    assert (told[0][-12:], told[1][-10:]) == ("read 2 times", " read once")  # to find the rows most like it
    once = estimate(job_of(folder, **{**asked, "sample": 1000}))
    assert str(once).splitlines()[1].endswith("read once")
    assert estimate(job_of(folder), window=40).driver_bytes > estimate(job_of(folder), window=4).driver_bytes
    assert once.figures()["target_passes"] == 1


@pytest.mark.parametrize("asked", [{}, {"sample": None}, {"sample": 2999}, {"sample": 3000}, {"goal": "cover"}])
def test_an_estimate_and_the_run_agree_on_how_often_files_are_read(folder, asked):
    ticks = []
    selected(folder, **asked, progress=ticks.append)
    assert estimate(job_of(folder, **asked)).passes == max(tick.phase for tick in ticks)


def test_a_file_of_no_rows_is_one_sentence(tmp_path):
    pq.write_table(people(0), tmp_path / "none.parquet")
    assert str(estimate(job_of(tmp_path))).startswith("0 rows in 1 file: 1 partition")
    with pytest.raises(InputError, match=r"none\.parquet: there are no rows"):
        select(tmp_path, 20, id="name", partition_rows=250, quiet=False)


def test_an_estimate_does_not_guess_what_only_reading_tells(tmp_path):
    (tmp_path / "rows.csv").write_text("name,x\n" + "".join(f"{i},{i % 7}\n" for i in range(50)))
    assert str(estimate(job_of(tmp_path))).startswith("rows that only reading will count, in 1 file: 1 partition, read")
    assert estimate(job_of(tmp_path, m="10%")).driver_bytes is None


def test_a_dry_run_reads_no_rows_and_writes_nothing(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ParquetSource, "_rows", None)
    words = ["--id", "name", "--workers", "2", "--work", tmp_path / "work", "-o", tmp_path / "out.csv", "--dry-run"]
    monkeypatch.setattr(sys, "argv", ["protosieve", "select", str(folder), "-m", "20", *map(str, words)])
    assert main() == 0
    told = capsys.readouterr()
    assert told.out.startswith("3,000 rows in 2 files: 1 partition, read once\n20 prototypes, chosen from a sample of")
    assert told.err == ""
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--json"])
    assert main() == 0
    assert json.loads(capsys.readouterr().out)["sample"] == ROWS
    assert not list(tmp_path.iterdir())
