"""Runs that survive: stopped, killed, refused, and gone on with by the same call."""

import os
import resource
import signal
import time
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from killed_processes import begun, command_until_a_tick, ended
from protosieve import InputError, OutputError, ProtoSwap, StateFileError, select
from protosieve.kernels import Gaussian
from protosieve.passes import _blocks
from protosieve.run import _engine
from protosieve.run._signals import Stopped
from terminals import call
from volumes import repeated, volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

KILLS = int(os.environ.get("PROTOSIEVE_KILLS", "6"))  # `make soak` asks for 300

ROWS, COLUMNS = 1400, 24  # of each file
BLOCK = 2048  # rows; a block of so few columns would have more


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Many blocks of few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_MOST", BLOCK)
        yield


def table(name, rows, seed):
    """Mixed columns, some rows of which cannot be used."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(rng.normal(size=(rows, COLUMNS)).round(3), columns=[f"c{j}" for j in range(COLUMNS)])
    made["name"] = [f"{name} {k}" for k in range(rows)]
    made["colour"] = rng.choice([f"{name} {colour}" for colour in "abcd"], size=rows)
    made.loc[rng.integers(rows, size=5), "c7"] = np.inf
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of several formats."""
    folder = tmp_path_factory.mktemp("rows")
    table("parquet", ROWS, 0).to_parquet(folder / "0.parquet", row_group_size=700)
    table("csv", ROWS, 1).to_csv(folder / "1.csv", index=False)
    lines = table("jsonl", ROWS, 2).replace(np.inf, 0.0).to_json(orient="records", lines=True).splitlines()
    lines[5] = lines[700] = lines[ROWS - 1] = "{"
    (folder / "2.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def one_file(tmp_path_factory):
    """A CSV file, which cannot be cut: all of it is one partition."""
    path = tmp_path_factory.mktemp("one") / "rows.csv"
    table("csv", 3 * ROWS, 3).to_csv(path, index=False)
    return path


OPTIONS = {"id": "name", "bad_rows": "skip", "sample": 1000}

# Over one partition of many blocks, over several that have a block or two, and where rows are judged one by one.
KINDS = {
    "one partition": {},
    "partitions": {"partition_rows": 600},
    "one by one": {"method": "streak"},
    "a target": {"target": True},
    "cover": {"partition_rows": 600, "goal": "cover"},
    "cover, one by one": {"method": "streak", "goal": "cover"},
    "groups": {"partition_rows": 600, "per": "colour", "sample": 100},
    "groups, one partition": {"per": "colour", "sample": 100},
}


def run(rows, out, **options):
    given = {**OPTIONS, **options}
    return select(rows, 10, output=out, **{**given, "target": rows if given.get("target") else None})


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """What a run that nobody stops writes, and the passes it tells of at every tick; each made once."""
    out, made = tmp_path_factory.mktemp("whole"), {}

    def whole(rows, kind="one partition"):
        if (rows, kind) not in made:
            ticks, path = [], out / f"{len(made)}.parquet"
            run(rows, path, progress=ticks.append, **KINDS[kind])
            made[rows, kind] = path.read_bytes(), [tick.label for tick in ticks]
        return made[rows, kind]

    return whole


def stop_after(ticks):
    """Ctrl-C, sent to ourselves, at the given tick."""
    told = count(1)

    def watch(tick):
        if next(told) == ticks:
            os.kill(os.getpid(), signal.SIGINT)

    return watch


PASSES = {
    "one by one": {"survey", "sum", "select"},
    "a target": {"survey", "sum", "fetch"},
    "cover": {"survey"},
    "cover, one by one": {"survey", "select"},
}

KEPT = r"stopped (at row [\d,]+|after \d of \d partitions) of pass \d of \d; what was done is kept in .*work: the same"


def stopped_and_gone_on(rows, kind, n, tmp_path):
    """Stopped at tick n; returns what is written in the end, and how many ticks that took."""
    out, work, ticks = tmp_path / "out.parquet", tmp_path / "work", []
    with pytest.raises(Stopped, match=KEPT):
        run(rows, out, work=work, progress=stop_after(n), **KINDS[kind])
    assert not out.exists()
    run(rows, out, work=work, progress=ticks.append, **KINDS[kind])
    assert not work.exists()
    found = out.read_bytes()
    out.unlink()
    return found, len(ticks)


@repeated
@pytest.mark.parametrize("kind", KINDS)
def test_stopped_after_any_block_and_gone_on_with_it_is_the_same_byte_for_byte(folder, wholes, tmp_path, kind):
    expected, labels = wholes(folder, kind)
    assert set(labels) == PASSES.get(kind, {"survey", "sum"})
    for n in volume([len(labels) - 2], range(1, len(labels), 2)):
        found, ticks = stopped_and_gone_on(folder, kind, n, tmp_path)
        assert found == expected
        assert ticks < len(labels) or n <= 2


@repeated
def test_a_single_file_goes_on_from_the_middle(one_file, wholes, tmp_path):
    expected, labels = wholes(one_file)
    assert labels == ["survey"] * 5 + ["sum"] * 5
    for n in volume([3, 8], range(1, 10)):
        found, ticks = stopped_and_gone_on(one_file, "one partition", n, tmp_path)
        assert found == expected
        # of every pass its beginning, three blocks and its end are told, but blocks that were done are not told again
        passes, tick = divmod(n - 1, 5)
        assert ticks == 10 - 3 * passes - min(tick, 3)


@pytest.mark.parametrize("more", [{}, {"method": "streak"}])
def test_values_of_rows_that_were_let_go_are_not_written(tmp_path, more):
    """A dictionary names them all; what is kept of it on the way differs between the two runs."""
    rng, n = np.random.default_rng(0), 2 * BLOCK + 1000
    names = pa.array([f"row {i}" for i in range(n)]).dictionary_encode()
    pq.write_table(pa.table({"x": rng.normal(size=n), "y": rng.normal(size=n), "name": names}), tmp_path / "x.parquet")
    given = {"id": "name", "sample": 500, **more}
    for name in ("whole", "gone on"):
        out = {"output": tmp_path / f"{name}.parquet", **given}
        if name == "gone on":
            out["work"] = tmp_path / "work"
            with pytest.raises(Stopped):
                select(tmp_path / "x.parquet", 10, progress=stop_after(3 if not more else 13), **out)
        found = select(tmp_path / "x.parquet", 10, **out)
        (chunk,) = found.table["name"].chunks
        assert sorted(chunk.dictionary.to_pylist()) == sorted(chunk.to_pylist())
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "gone on.parquet").read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["one partition", "one by one"])
def test_stopped_again_and_again(folder, wholes, tmp_path, kind):
    out, stops = tmp_path / "out.parquet", 0
    while True:
        try:
            run(folder, out, work=tmp_path / "work", progress=stop_after(2 + stops), **KINDS[kind])
            break
        except Stopped:
            stops += 1
    assert stops >= 4
    assert out.read_bytes() == wholes(folder, kind)[0]


def test_stopped_without_a_folder_it_says_what_would_have_helped(folder, tmp_path):
    with pytest.raises(Stopped, match=r"nothing was written\. With work='DIR' a run can go on later"):
        run(folder, None, progress=stop_after(3))


def words(rows, out, *more):
    """The command line's for `run`."""
    given = ["select", rows, "-m", 10, "--id", "name", "--bad-rows", "skip", "--sample", 1000, "--output", out, "-q"]
    return [*map(str, given), *map(str, more)]


@pytest.mark.parametrize(
    ("kind", "life"),
    [
        ("one partition", 8),
        ("one by one", 13),
        *(pytest.param("one partition", n, marks=pytest.mark.thorough) for n in (3, 5)),
    ],
)
def test_killed_after_a_block_and_gone_on_with_it_is_the_same_byte_for_byte(folder, wholes, tmp_path, kind, life):
    """At a moment that is known: any moment is for the series below."""
    (expected, labels), out, work, ticks = wholes(folder, kind), tmp_path / "out.parquet", tmp_path / "work", []
    more = [word for name, value in KINDS[kind].items() for word in (f"--{name}", value)]
    given = words(folder, out, "--work", work, *more)
    assert ended(command_until_a_tick, life, BLOCK, given) == -signal.SIGKILL
    assert not out.exists()
    run(folder, out, work=work, progress=ticks.append, **KINDS[kind])
    assert len(ticks) < len(labels)
    assert out.read_bytes() == expected


@pytest.mark.thorough
@pytest.mark.parametrize("more", [(), ("--partition-rows", "600"), ("--method", "streak")])
def test_killed_at_any_moment_and_gone_on_with_it_is_the_same_byte_for_byte(folder, tmp_path, more):
    ended(int)  # the first one waits for what all are forked from
    began = time.monotonic()
    assert ended(command_until_a_tick, 0, BLOCK, words(folder, tmp_path / "whole.parquet", *more)) == 0
    length = time.monotonic() - began
    whole = (tmp_path / "whole.parquet").read_bytes()
    rng = np.random.default_rng(0)
    out, work = tmp_path / "out.parquet", tmp_path / "work"
    kills = 0
    while kills < -(-KILLS // 3):
        process = begun(command_until_a_tick, 0, BLOCK, words(folder, out, "--work", work, *more))
        process.join(rng.uniform(0.2, 1.2) * length)
        if process.exitcode is None:
            process.kill()
            kills += 1
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        if process.exitcode == 0:
            assert out.read_bytes() == whole
            out.unlink()
    assert ended(command_until_a_tick, 0, BLOCK, words(folder, out, "--work", work, *more)) == 0
    assert out.read_bytes() == whole
    left = {path.name for path in tmp_path.iterdir()} - {"out.parquet", "whole.parquet"}
    assert all(name.startswith(".out.parquet.") for name in left)  # killed while it wrote the result itself


def test_what_cannot_be_kept_is_a_warning_and_the_run_goes_on(folder, tmp_path):
    """A limit on the size of files: what the run is fits into it, what it has done does not."""
    given = words(folder, tmp_path / "out.parquet", "--work", tmp_path / "work")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        done = call(*given, cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no result kept of partition 0: ") == 1
    assert "File too large" in done.stderr
    assert "The run goes on" in done.stderr
    assert not (tmp_path / "work").exists()
    assert pd.read_parquet(tmp_path / "out.parquet").equals(run(folder, None).table.to_pandas())


def test_a_folder_that_cannot_be_written_is_an_error_before_work_starts(folder, tmp_path):
    with pytest.raises(OutputError, match=r"no/work: cannot be made a folder for results: No such file or directory"):
        run(folder, None, work=tmp_path / "no" / "work", progress=pytest.fail)


@pytest.fixture
def stored(folder, tmp_path):
    """A run that was stopped, over a copy of the files."""
    rows = tmp_path / "rows"
    rows.mkdir()
    for path in folder.iterdir():
        (rows / path.name).write_bytes(path.read_bytes())
    with pytest.raises(Stopped):
        run(rows, None, work=tmp_path / "work", progress=stop_after(3))
    return rows, tmp_path / "work"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.lock"}


def refuses(words, rows, work, m=10, **options):
    before = content(work)
    with pytest.raises(StateFileError, match=words):
        select(rows, m, work=work, **{**OPTIONS, **options})
    assert content(work) == before


def test_a_run_goes_on_with_the_same_options_only(stored):
    rows, work = stored
    refuses(
        "is of another run: n_prototypes was 10 and is 11 now. Give what was given then, or delete", rows, work, m=11
    )
    refuses("random_state was 0 and is 1 now", rows, work, random_state=1)
    refuses("sample was 1000 and is 2000 now", rows, work, sample=2000)
    refuses("partition_rows was 250000 and is 600 now", rows, work, partition_rows=600)
    refuses("method was 'swap' and is 'basic' now", rows, work, method="basic")
    refuses(r"kernel was MultiScale\(width='median', .* and is MultiScale\(width=2.0, .* now", rows, work, width=2.0)
    refuses(r"kernel was MultiScale\(.* and is Gaussian\(width='median'\) now", rows, work, kernel="gaussian")


def test_a_run_goes_on_with_the_same_files_only(stored):
    rows, work = stored
    refuses("inputs was .*rows'. and is .*0.parquet'. now", rows / "0.parquet", work)
    (rows / "3.parquet").write_bytes((rows / "0.parquet").read_bytes())
    refuses(r"3\.parquet is new", rows, work)
    (rows / "3.parquet").unlink()
    before = (rows / "2.jsonl").read_bytes()
    (rows / "2.jsonl").write_bytes(before + b" ")
    refuses(r"2\.jsonl has changed: its size was [\d,]+ and is [\d,]+", rows, work)
    (rows / "2.jsonl").write_bytes(before)
    refuses(r"2\.jsonl has changed: its modified was", rows, work)
    (rows / "2.jsonl").unlink()
    refuses(r"2\.jsonl is gone", rows, work)


def test_a_folder_of_something_else_is_left_alone(folder, tmp_path):
    (tmp_path / "run.npz").write_text("do not lose this")
    refuses("not a protosieve state file", folder, tmp_path)
    ProtoSwap(3, kernel=Gaussian(1.0)).partial_fit(np.eye(4)).save(tmp_path / "run.npz")
    refuses("is not of a run over files; give another work", folder, tmp_path)


def test_what_a_killed_run_left_half_written_is_removed(folder, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".run.npz.abcd.tmp").write_bytes(b"half")
    (tmp_path / "work" / ".survey-000000.npz.abcd.tmp").write_bytes(b"half")
    run(folder, tmp_path / "out.parquet", work=tmp_path / "work")
    assert not list((tmp_path / "work").iterdir())


def test_a_result_that_could_not_be_written_needs_no_new_pass(folder, wholes, tmp_path, monkeypatch):
    out, work = tmp_path / "no" / "out.parquet", tmp_path / "work"
    out.parent.mkdir()

    def spoil(tick):
        if tick.label == "sum" and tick.rows and out.parent.exists():
            out.parent.rmdir()

    with pytest.raises(OutputError, match="no/out"):
        run(folder, out, work=work, progress=spoil)
    out.parent.mkdir()
    with monkeypatch.context() as closed:
        closed.setattr("protosieve.passes._pass.read_as_they_come", lambda *_: pytest.fail("rows were read again"))
        run(folder, out, work=work)
    assert out.read_bytes() == wholes(folder)[0]
    assert not work.exists()


def test_a_failed_run_keeps_what_is_done_and_writes_nothing(folder, tmp_path):
    work = tmp_path / "work"
    with pytest.raises(InputError, match="row"):
        run(folder, tmp_path / "out.parquet", work=work, bad_rows="error", partition_rows=600)
    assert not (tmp_path / "out.parquet").exists()
    assert (work / "run.npz").exists()


@pytest.mark.parametrize("method", ["swap", "streak"])
def test_what_is_kept_does_not_grow_with_the_rows(tmp_path, method):
    sizes = []
    for n in (2_500, 10_000):
        np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(n, 6)))
        blocks = -(-n // BLOCK)
        last = (blocks + 2) * (1 if method == "swap" else 2) + blocks  # of the last pass: the block before its last
        work = tmp_path / f"{n}"
        with pytest.raises(Stopped):
            select(tmp_path / "x.npy", 10, sample=1000, method=method, work=work, progress=stop_after(last))
        sizes.append(sum(path.stat().st_size for path in work.iterdir()))
    assert sizes[1] < 1.1 * sizes[0]


def test_what_is_kept_now_and_then_takes_little_of_the_time(monkeypatch):
    """By a clock of our own: values that are dear to store are stored less often."""
    clock, stored = [0.0], []

    class Dear:
        def keep(self, stage, number, value):
            stored.append(clock[0])
            clock[0] += 3.0

    monkeypatch.setattr(_engine.time, "monotonic", lambda: clock[0])
    work = type("Work", (), {"stage": "survey"})
    keeping = _engine._Keeping(Dear(), work, type("Partition", (), {"number": 0}))
    for _ in range(10_000):
        clock[0] += 0.1
        keeping.passed("so far")
    assert len(stored) >= 3
    assert len(stored) * 3.0 <= 0.05 * clock[0] + 3.0
