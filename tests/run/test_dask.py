"""Runs over partitions on Dask: the same answer with any number of workers, and with some that die."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from killed_processes import MortalAttempts
from oracles import select_in_turn
from partition_jobs import job_of, people, same, selected
from protosieve import InputError, ParameterError, ProtosieveError, ProtosieveWarning, select
from protosieve._threads import n_threads
from protosieve.run import Cluster, LocalWorkers, _executor, window_of
from terminals import COMMAND, call, environment

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")  # which it needs

pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """3,000 rows in twelve row groups."""
    folder = tmp_path_factory.mktemp("people")
    pq.write_table(people(3000), folder / "a.parquet", row_group_size=250)
    return folder


@pytest.fixture(scope="module")
def alone(folder):
    return select_in_turn(job_of(folder))


@pytest.fixture(scope="module")
def two():
    with LocalWorkers(2) as executor:
        yield executor


@pytest.mark.thorough
def test_one_worker_gives_the_same_answer(folder, alone):
    with LocalWorkers(1) as executor:
        assert same(selected(folder, executor=executor), alone)


def test_two_workers_give_the_same_answer(folder, alone, two):
    assert same(selected(folder, executor=two), alone)


@pytest.mark.thorough
def test_beside_workers_this_process_keeps_its_processors(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    n_threads.cache_clear()
    with LocalWorkers(1) as executor:
        executor.submit(int).result()
        found = n_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    n_threads.cache_clear()
    assert found == n_threads()


def test_workers_have_one_thread_each_and_so_has_blas(two):
    client = client_of(two)
    assert list(client.nthreads().values()) == [1, 1]
    assert set(client.run(os.environ.get, "OMP_NUM_THREADS").values()) == {"1"}
    assert window_of(client.get_executor()) == window_of(two) == 4


def client_of(executor):
    executor.submit(int).result()
    return executor._inner._client


@pytest.mark.thorough
@pytest.mark.parametrize("stage", ["survey", "sums"])
def test_a_worker_killed_in_any_pass_changes_nothing(folder, alone, two, tmp_path, monkeypatch, stage):
    client_of(two).wait_for_workers(2)  # one may have been killed before
    before = set(client_of(two).run(os.getpid).values())
    monkeypatch.setattr(_executor, "Attempt", MortalAttempts(stage, tmp_path, life=2))
    assert same(selected(folder, executor=two), alone)
    assert len(list(tmp_path.iterdir())) > 12  # what died was done again
    killed = int((tmp_path / "2").read_text())
    assert killed in before
    assert killed not in client_of(two).run(os.getpid).values()


@pytest.mark.thorough
def test_a_partition_that_kills_every_worker_is_named(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_executor, "Attempt", MortalAttempts("survey", tmp_path, number=7))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalWorkers(2) as executor,
        pytest.raises(
            ProtosieveError,
            match=r"^partition 7 of the pass to survey was started several times, .* or fewer partition_rows",
        ),
    ):
        selected(folder, executor=executor)


def test_an_error_of_a_worker_names_file_and_row(tmp_path, two):
    table = people(3000).to_pandas()
    table.loc[510, "depth"] = np.inf
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=250)
    with pytest.raises(InputError, match=r"rows\.parquet, row 510: column 'depth' is infinite"):
        selected(tmp_path, executor=two)


def test_a_cluster_that_is_there_is_used_and_stays(folder, alone, two):
    client = client_of(two)
    with Cluster(client.scheduler.address) as executor:
        assert same(selected(folder, executor=executor), alone)
    assert two.submit(max, 1, 2).result() == 2


def test_an_address_where_nobody_answers_is_an_error(monkeypatch):
    monkeypatch.setattr("protosieve.run._dask._ANSWER", 0.5)
    with (
        pytest.raises(InputError, match=r"^nonsense: is not the address of a Dask scheduler; give"),
        Cluster("nonsense") as one,
    ):
        one.submit(int)
    with (
        pytest.raises(InputError, match=r"^tcp://127\.0\.0\.1:9: no Dask scheduler answers there"),
        Cluster("tcp://127.0.0.1:9") as executor,
    ):
        executor.submit(int)


@pytest.mark.thorough
def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr("protosieve.run._dask._WORKERS", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", scheduler_kwargs={"dashboard": False}) as none,
        pytest.raises(InputError, match=r"the Dask scheduler there has had no workers for 0\.5 seconds; start some"),
        Cluster(none.scheduler_address) as executor,
    ):
        executor.submit(int)


def test_workers_that_do_not_start_are_told_of(monkeypatch):
    def fails(**_):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fails)
    with pytest.raises(
        ProtosieveError, match=r"^workers did not start \(Nanny failed to start\)\. Is there memory for 2"
    ):
        LocalWorkers(2).submit(int)


@pytest.mark.thorough
def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from protosieve.run import LocalWorkers\nLocalWorkers(1).submit(int).result()\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith('in a script, start them below `if __name__ == "__main__":`')


@pytest.mark.thorough
@pytest.mark.filterwarnings("default::protosieve.ProtosieveWarning")
def test_more_workers_than_partitions_are_told_of(folder, two):
    with pytest.warns(
        ProtosieveWarning, match="1 partition for 2 workers: not all of them have something to do; fewer partition_rows"
    ):
        select(folder, 20, id="name", executor=two)


def test_no_tasks_are_taken_after_the_end():
    executor = LocalWorkers(1)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="LocalWorkers takes no tasks after shutdown"):
        executor.submit(int)


def test_no_workers_are_refused_and_so_is_a_missing_dask(monkeypatch):
    with pytest.raises(ParameterError, match="workers must be a whole number of at least 1, got 0"):
        LocalWorkers(0)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"need Dask, which is not installed: pip install 'protosieve\[dask\]'"):
        LocalWorkers(2)


def command(*words):
    """The command line, for as long as two processes take to start on a busy machine."""
    return subprocess.run(
        [*COMMAND, "select", *map(str, words)], capture_output=True, text=True, timeout=300, env=environment()
    )


@pytest.mark.thorough
def test_the_command_line_has_workers_and_keeps_what_they_bring(folder, alone, tmp_path):
    out, page, work = tmp_path / "out.parquet", tmp_path / "page.html", tmp_path / "work"
    words = [folder, "-m", 20, "--id", "name", "--sample", 1000, "--partition-rows", 250, "-o", out]
    done = command(*words, "--workers", 2, "--work", work, "--report", page)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Written to" in done.stdout
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert not work.exists()
    assert pq.read_table(out).equals(alone.table)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "code", "workers"), [(signal.SIGKILL, -9, []), (signal.SIGINT, 130, ["--workers", 2])]
)
def test_a_driver_that_is_ended_takes_its_workers_along_and_the_same_command_goes_on(
    folder, alone, tmp_path, number, code, workers
):
    """With workers again or with none."""
    out, work = tmp_path / "out.parquet", tmp_path / "work"
    words = [folder, "-m", 20, "--id", "name", "--sample", 1000, "--partition-rows", 250, "--work", work, "-o", out]
    first = subprocess.Popen(
        [*COMMAND, "select", *map(str, [*words, "--workers", 2])],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        process_group=0,
    )
    wait_until(lambda: len(list(work.glob("s*-*.npz"))) >= 2)
    children = [one for one in psutil.Process(first.pid).children() if one.name().startswith("python")]
    assert len(children) >= 2
    os.kill(first.pid, number) if number == signal.SIGKILL else os.killpg(first.pid, number)  # as a terminal does
    told = first.communicate(timeout=60)[1]
    assert first.returncode == code
    wait_until(lambda: not any(one.is_running() for one in children))
    assert number == signal.SIGKILL or "what was done is kept in" in told
    assert not out.exists()
    there = len(list(work.glob("s*-*.npz")))
    done = command(*words, *workers) if workers else call("select", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{there} results of partitions are in {work} already\n" in done.stderr
    assert pq.read_table(out).equals(alone.table)
    assert not work.exists()


@pytest.mark.thorough
def test_ctrl_c_while_workers_start_is_one_line(folder, tmp_path):
    words = [
        "select",
        str(folder),
        "-m",
        "20",
        "--partition-rows",
        "250",
        "--workers",
        "2",
        "-o",
        str(tmp_path / "o.csv"),
    ]
    run = subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True, env=environment(), process_group=0)
    wait_until(lambda: len(psutil.Process(run.pid).children()) >= 2)  # one may be Python's own, to clean up behind it
    os.killpg(run.pid, signal.SIGINT)
    told = run.communicate(timeout=60)[1].splitlines()
    assert run.returncode == 130
    (line,) = told
    assert line.startswith("protosieve: stopped after 0 of 12 partitions of pass 1 of 2; nothing was written.")
    assert not list(tmp_path.iterdir())


def wait_until(there):
    end = time.monotonic() + 120
    while not there():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_command_line_says_one_place_to_work_at(folder):
    done = call("select", folder, "-m", 20, "--workers", 2, "--dask", "tcp://127.0.0.1:9", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "protosieve: --workers and --dask are two places to work at; give one of them\n"
    done = call("select", folder, "-m", 5, "--workers", "two", cwd=folder)
    assert done.stderr == "protosieve: --workers must be a whole number of at least 1, got 'two'\n"


def test_select_takes_workers(folder, two):
    """Also where the sample holds all rows, and rows are fetched for a target."""
    for asked in ({"sample": None}, {"target": folder, "sample": 300}):
        assert same(selected(folder, **asked, executor=two), selected(folder, **asked))
