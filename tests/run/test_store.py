"""The folder of a run: killed or stopped anywhere, by whatever means it worked, it goes on with what is missing."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pyarrow.parquet as pq
import pytest

from executors import AtOnce, Counting
from killed_processes import PASSES, ended, run_until_a_block, small_blocks
from oracles import select_in_turn
from partition_jobs import job_of, people, same, selected
from protosieve import OutputError, ProtosieveWarning, StateFileError
from protosieve.cli import main
from protosieve.passes import Plan
from protosieve.run import Store
from protosieve.run._signals import Stopped
from volumes import repeated, volume

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
    """One partition after the other."""
    return select_in_turn(job_of(folder))


# -- killed

TWO = {"partition_rows": 1500}  # partitions of three blocks each


@pytest.fixture(scope="module")
def expected(folder):
    """The answer of one that was never killed, by the method of a pass."""
    found = {}

    def of(stage):
        if stage not in found:
            with small_blocks():
                found[stage] = select_in_turn(job_of(folder, **TWO, method=method_of(stage)))
        return found[stage]

    return of


def method_of(stage):
    """One that makes such a pass."""
    return "basic" if stage == "choose" else "swap"


def killed(folder, tmp_path, stage, life, workers):
    """The folder of a run that was killed in a block of one of its passes."""
    calls, work, out = tmp_path / "calls", tmp_path / "work", tmp_path / "out.parquet"
    calls.mkdir()
    places = {"work": work, "output": out}
    assert ended(run_until_a_block, stage, life, workers, calls, method_of(stage), folder, places) == -signal.SIGKILL
    assert not out.exists()
    return work


def resumed(folder, work, stage, workers):
    """Its result, and the rows of each pass that were read for it."""
    read = dict.fromkeys(PASSES, 0)

    def counted(name, true):
        def take(work, value, block, *others):
            read[name] += len(block)
            true(work, value, block, *others)

        return take

    with small_blocks() as patch, ThreadPoolExecutor(workers) if workers else nullcontext() as pool:
        for name, kind in PASSES.items():
            patch.setattr(kind, "take", counted(name, kind.take))
        asked = {**TWO, "method": method_of(stage), "work": work, "output": work.parent / "out.parquet"}
        return selected(folder, **asked, executor=pool), read


LIVES = [("survey", 2), ("survey", 5), ("sums", 3), ("sums", 4), ("choose", 3), ("fetch", 2)]
DONE = [0, 512, 1024, 1500, 2012, 2524]  # rows before each block of two partitions
QUICK = [("survey", 5), ("sums", 3)]
LIVES_OF_TWO = [("survey", 4), ("sums", 5), ("fetch", 2)]


def quick_or_thorough(lives, quick):
    return [one if one in quick else pytest.param(*one, marks=pytest.mark.thorough) for one in lives]


def copies(left):
    """What a killed run left, once for every number of workers it is resumed with."""
    for workers in volume([0], [0, 2]):
        yield workers, shutil.copytree(left, left.with_name(f"resumed with {workers}"))


@repeated
@pytest.mark.parametrize(("stage", "life"), quick_or_thorough(LIVES, QUICK))
def test_killed_in_the_middle_of_a_partition_it_goes_on_there(folder, expected, tmp_path, stage, life):
    """Also on workers, where there were none before."""
    for workers, work in copies(killed(folder, tmp_path, stage, life, 0)):
        found, read = resumed(folder, work, stage, workers)
        assert same(found, expected(stage))
        assert read[stage] == ROWS - (512 * (life - 1) if stage == "choose" else DONE[life - 1])
        assert all(read[earlier] == 0 for earlier in list(PASSES)[: list(PASSES).index(stage)])
        assert not work.exists()


@repeated
@pytest.mark.parametrize(("stage", "life"), quick_or_thorough(LIVES_OF_TWO, [("sums", 5)]))
def test_killed_with_two_workers_it_goes_on_with_any_number(folder, expected, tmp_path, stage, life):
    left = killed(folder, tmp_path, stage, life, 2)
    done = {name: len(list(left.glob(f"{name}-*.npz"))) for name in PASSES}
    assert done[stage] <= 1  # at work on both, when it was killed
    for workers, work in copies(left):
        found, read = resumed(folder, work, stage, workers)
        assert same(found, expected(stage))
        assert all(read[name] <= ROWS - 1500 * done[name] for name in PASSES)
        assert read["survey"] == ROWS - 1500 * done["survey"]
        assert not work.exists()


# -- stopped, and begun again


def kept(folder, tmp_path, **others):
    """The folder of a run that was stopped when all was surveyed."""

    def stop(tick):
        if tick.label == "sum":
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        selected(folder, **others, work=tmp_path / "work", progress=stop)
    assert len(list((tmp_path / "work").glob("survey-*.npz"))) == len(job_of(folder, **others).inputs)
    return tmp_path / "work"


@pytest.mark.parametrize("life", [1, pytest.param(4, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("label", ["survey", "sum", "select", "fetch"])
def test_stopped_in_the_middle_of_a_partition_it_goes_on_there(folder, expected, tmp_path, label, life):
    stage = {"sum": "sums", "select": "choose"}.get(label, label)

    def stop(tick):
        if tick.label == label and tick.rows >= DONE[life]:
            signal.raise_signal(signal.SIGINT)

    with small_blocks(), pytest.raises(Stopped, match=r"what was done is kept in .*work: the same run goes on from"):
        selected(folder, **TWO, method=method_of(stage), work=tmp_path / "work", progress=stop)
    found, read = resumed(folder, tmp_path / "work", stage, 0)
    assert same(found, expected(stage))
    assert 0 < read[stage] < ROWS
    assert not (tmp_path / "work").exists()


def test_a_folder_that_a_killed_run_has_left_empty_but_for_its_lock_is_removed(folder, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "run.lock").touch()
    selected(folder, **TWO, work=tmp_path / "work", output=tmp_path / "out.parquet")
    assert not (tmp_path / "work").exists()


def test_what_is_there_already_is_told(folder, tmp_path, capsys):
    work = kept(folder, tmp_path)
    selected(folder, work=work, quiet=False)
    assert f"12 results of partitions are in {work} already\n" in capsys.readouterr().err


def test_a_dry_run_says_what_is_there_too(folder, tmp_path, monkeypatch, capsys):
    work = kept(folder, tmp_path)
    words = ["-m", "20", "--id", "name", "--sample", "1000", "--partition-rows", "250", "--dry-run", "--work"]
    for place, last in ((work, f"12 results of partitions are in {work} already"), (tmp_path / "no", "about")):
        monkeypatch.setattr(sys, "argv", ["protosieve", "select", str(folder), *words, str(place)])
        assert main() == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith(last)
    assert len(list(work.glob("survey-*.npz"))) == 12
    assert not (tmp_path / "no").exists()


def test_work_stays_as_long_as_its_result_is_written_nowhere(folder, tmp_path):
    found = selected(folder, work=tmp_path / "work")
    counting = Counting(AtOnce())
    again = selected(folder, work=tmp_path / "work", executor=counting, output=tmp_path / "out.parquet")
    assert same(again, found)
    assert counting.given == []
    assert not (tmp_path / "work").exists()


def test_a_seed_that_nobody_asked_for_is_kept(folder, tmp_path):
    work = kept(folder, tmp_path, random_state=None)
    job, counting = job_of(folder, random_state=None), Counting(AtOnce())
    with Store(work, job) as again:
        seed = again.seed
    assert seed != job.seed
    found = selected(folder, random_state=None, work=work, executor=counting)
    assert counting.given.count("survey") == 0
    assert same(found, select_in_turn(replace(job, seed=seed)))


def test_a_folder_of_another_run_is_refused_and_the_difference_named(folder, tmp_path):
    work = kept(folder, tmp_path)
    for others, words in (
        ({"sample": 999}, "sample was 1000 and is 999 now"),
        ({"m": 21}, "n_prototypes was 20 and is 21 now"),
        ({"partition_rows": 500}, "partition_rows was 250 and is 500 now"),
    ):
        with pytest.raises(StateFileError, match=rf"work: is of another run: {words}\. Give what was given then"):
            Store(work, job_of(folder, **others))


def test_files_that_have_changed_are_named(tmp_path):
    rows = tmp_path / "rows.parquet"
    pq.write_table(people(1500), rows, row_group_size=250)
    work = kept(rows, tmp_path)
    pq.write_table(people(1500, seed=1), rows, row_group_size=250)
    with pytest.raises(StateFileError, match=r"rows\.parquet has changed: its \w+ was"):
        Store(work, job_of(rows))


def test_another_version_is_refused(folder, tmp_path, monkeypatch):
    work = kept(folder, tmp_path)
    monkeypatch.setattr("protosieve.run._store.version", lambda _: "99")
    with pytest.raises(StateFileError, match=r"it was made by protosieve \S+, and this is 99"):
        Store(work, job_of(folder))


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_a_damaged_result_is_made_again_with_a_warning(folder, alone, tmp_path):
    work = kept(folder, tmp_path)
    damaged, strange = work / "survey-000003.npz", work / "survey-000007.npz"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    (tmp_path / "other").mkdir()
    other = kept(folder, tmp_path / "other", sample=900)
    strange.write_bytes((other / strange.name).read_bytes())
    counting = Counting(AtOnce())
    with pytest.warns(ProtosieveWarning) as told:
        found = selected(folder, executor=counting, work=work)
    words = [str(one.message) for one in told]
    assert any("survey-000003.npz: not a protosieve state file, or a damaged one" in word for word in words)
    assert any("survey-000007.npz: belongs to another run or to other earlier results" in word for word in words)
    assert counting.given.count("survey") == 2
    assert same(found, alone)


def test_only_what_is_ours_is_removed(folder, tmp_path):
    work = kept(folder, tmp_path)
    (work / ".survey-000011.npz.abc.tmp").touch()  # of a run that was killed while it wrote
    (work / "mine.txt").touch()
    job = job_of(folder)
    opened = Store(work, job)
    assert not (work / ".survey-000011.npz.abc.tmp").exists()
    with pytest.warns(ProtosieveWarning, match="work: is no longer needed, but cannot be removed: Directory not empty"):
        opened.remove()
    assert [path.name for path in work.iterdir()] == ["mine.txt"]
    (work / "mine.txt").unlink()
    Store(work, job).remove()
    assert work.exists()  # it was there before this run


def test_files_of_others_in_the_folder_are_left_alone(folder, tmp_path):
    theirs = ["sums-old.npz", "sums-best.npz", ".sums-best.npz.abc.tmp", "survey-000012.npz"]
    for name in theirs:
        (tmp_path / name).touch()
    with Store(tmp_path, job_of(folder)) as store:
        assert store.there == 0
    (tmp_path / "run.npz").unlink()
    selected(folder, work=tmp_path, output=tmp_path / "sums-mine.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*theirs, "sums-mine.npz"])
    with pytest.raises(
        OutputError, match=r"sums-000003\.npz: is where a result of a partition would be written; give another work$"
    ):
        selected(folder, work=tmp_path, output=tmp_path / "sums-000003.npz")


def test_what_follows_from_other_results_is_done_again(folder, alone, tmp_path):
    """Sums at other points must not be taken for those at these."""

    def stop(tick):
        if tick.label == "sum" and tick.rows >= 1000:
            signal.raise_signal(signal.SIGINT)

    work = tmp_path / "work"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "n_points", 100)
        with pytest.raises(Stopped):
            selected(folder, executor=AtOnce(), window=1, work=work, progress=stop)
    assert len(list(work.glob("sums-*.npz"))) == 4
    counting = Counting(AtOnce())
    with pytest.warns(ProtosieveWarning, match="sums-000000.npz: belongs to another run or to other earlier results"):
        assert same(selected(folder, executor=counting, work=work), alone)
    assert [counting.given.count(one) for one in ("survey", "sums")] == [0, 12]


def test_one_run_at_a_time_works_in_a_folder(folder, tmp_path):
    with Store(tmp_path / "work", job_of(folder)):
        with pytest.raises(
            OutputError, match=r"work: another run is using it; wait for its end, or give another work$"
        ):
            selected(folder, work=tmp_path / "work")
        code = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        command = [sys.executable, "-c", code, str(tmp_path / "work" / "run.lock")]
        assert "BlockingIOError" in subprocess.run(command, capture_output=True, text=True).stderr
    selected(folder, work=tmp_path / "work", output=tmp_path / "out.csv")
    assert not (tmp_path / "work").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked there")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12, where there are threads
def test_forked_processes_do_not_keep_the_folder(folder, tmp_path):
    asked = {"partition_rows": 1500, "work": tmp_path / "work"}
    with Store(tmp_path / "held", job_of(folder)) as held:
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
        held._release()
        Store(tmp_path / "held", job_of(folder))._release()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        first = selected(folder, **asked, executor=pool)
        assert same(selected(folder, **asked, executor=pool), first)


@pytest.mark.skipif(sys.platform != "linux", reason="locks are others there")
def test_where_a_file_system_has_no_locks_a_run_goes_on_without(folder, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with Store(tmp_path / "work", job_of(folder)), Store(tmp_path / "work", job_of(folder)) as second:
        assert second.there == 0


def test_a_folder_that_cannot_be_is_refused_at_once(folder, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file: cannot be made a folder for results: File exists; give"):
        Store(tmp_path / "file", job_of(folder))
    (tmp_path / "state").mkdir()
    np.savez(tmp_path / "state" / "run.npz", x=1)
    with pytest.raises(StateFileError, match="not a protosieve state file"):
        Store(tmp_path / "state", job_of(folder))


@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
@pytest.mark.parametrize("executor", [None, AtOnce()])
def test_a_result_that_cannot_be_kept_is_a_warning(folder, alone, tmp_path, executor):
    work = tmp_path / "work"

    def lose(tick):
        """The folder, before the first row is read."""
        if (tick.label, tick.rows) == ("survey", 0) and work.exists():
            for path in work.iterdir():
                path.unlink()
            work.rmdir()

    with pytest.warns(
        ProtosieveWarning, match="no result kept of partition 0: cannot write .* The run goes on"
    ) as told:
        found = selected(folder, executor=executor, work=work, progress=lose)
    assert len([one for one in told if "no result kept" in str(one.message)]) == 1
    assert same(found, alone)
