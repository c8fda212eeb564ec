"""Runs that survive: stopped, killed, refused, resumed."""

import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from protosieve.pipeline import Stopped

from protosieve import InputError, OutputError, ProtoSwap, StateFileError, select
from protosieve.kernels import Gaussian
from volumes import repeated, volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

KILLS = int(os.environ.get("PROTOSIEVE_KILLS", "6"))  # `make soak` asks for 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Mixed columns wide enough for many blocks, in files of several formats, some rows of which cannot be used."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for i, ending in enumerate(["parquet", "csv", "jsonl"]):
        table = pd.DataFrame(rng.normal(size=(ROWS, 300)).round(3), columns=[f"c{j}" for j in range(300)])
        table["name"] = [f"{ending} {k}" for k in range(len(table))]
        table["colour"] = rng.choice([f"{ending} {colour}" for colour in "abcd"], size=len(table))
        table.loc[rng.integers(ROWS, size=5), "c7"] = np.inf
        path = folder / f"{i}.{ending}"
        if ending == "parquet":
            table.to_parquet(path, row_group_size=700)
        elif ending == "csv":
            table.to_csv(path, index=False)
        else:
            lines = table.replace(np.inf, 0.0).to_json(orient="records", lines=True).splitlines()
            lines[5] = lines[700] = lines[ROWS - 1] = "{"
            path.write_text("\n".join(lines))
    return folder


ROWS = 1400  # of each file; with 300 columns a block has 2,048

OPTIONS = {"id": "name", "bad_rows": "skip", "exact_weights": True, "sample": 1000}


def run(folder, out, **options):
    return select(folder, 10, output=out, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """What a run that nobody stops writes, and how many blocks it tells of."""
    out, ticks = tmp_path_factory.mktemp("whole") / "whole.parquet", []
    run(folder, out, progress=ticks.append)
    return out.read_bytes(), len(ticks)


def stop_after(ticks):
    """Ctrl-C, sent to ourselves, while the given block is told of."""
    left = [ticks]

    def watch(tick):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGINT)

    return watch


@repeated
def test_stopped_after_any_block_and_resumed_it_is_the_same_byte_for_byte(folder, whole, tmp_path):
    expected, ticks = whole
    assert ticks == 12
    store = tmp_path / "run.ckpt"
    for n in volume([3, 8], range(1, ticks, 2)):
        with pytest.raises(
            Stopped, match=r"stopped at row [\d,]+ of pass \d of 3; stored in .*run\.ckpt: .*resume=True"
        ):
            run(folder, tmp_path / "out.parquet", checkpoint=store, progress=stop_after(n))
        assert not (tmp_path / "out.parquet").exists()
        run(folder, tmp_path / "out.parquet", checkpoint=store, resume=True)
        assert (tmp_path / "out.parquet").read_bytes() == expected
        assert not store.exists()
        (tmp_path / "out.parquet").unlink()


@pytest.mark.thorough
def test_stopped_again_and_again(folder, whole, tmp_path):
    store, stops = tmp_path / "run.ckpt", 0
    while True:
        try:
            run(folder, tmp_path / "out.parquet", checkpoint=store, resume=True, progress=stop_after(2))
            break
        except Stopped:
            stops += 1
    assert stops >= 9  # each time after a block, or between two passes
    assert (tmp_path / "out.parquet").read_bytes() == whole[0]


def test_stopped_without_a_checkpoint_it_says_what_would_have_helped(folder, tmp_path):
    with pytest.raises(Stopped, match=r"nothing was written\. With checkpoint='FILE' a run can go on later"):
        run(folder, None, progress=stop_after(3))


def command(folder, out, *more):
    return [
        *(sys.executable, "-m", "protosieve", "select", folder, "-m", "10", "--id", "name", "--bad-rows", "skip"),
        *("--exact-weights", "--sample", "1000", "--output", out, "--quiet", *more),
    ]


def test_killed_after_a_block_and_resumed_it_is_the_same_byte_for_byte(folder, whole, tmp_path):
    """At a moment that is known: any moment is for the series below."""
    out, store = tmp_path / "out.parquet", tmp_path / "run.ckpt"
    code = (
        "import os, signal, sys; from itertools import count; from protosieve.cli import main\n"
        "import protosieve.pipeline._job as jobs; told, blocks = jobs.Job._tick, count(1)\n"
        "jobs.Job._tick = lambda *a: (told(*a), next(blocks) == 7 and os.kill(os.getpid(), signal.SIGKILL))[0]\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = command(folder, out, "--checkpoint", store, "--every", "1")[3:]
    assert subprocess.run([sys.executable, "-c", code, *words]).returncode == -signal.SIGKILL
    assert store.exists()
    assert not out.exists()
    ticks = []
    run(folder, out, checkpoint=store, resume=True, progress=ticks.append)
    assert 0 < len(ticks) < whole[1]
    assert out.read_bytes() == whole[0]


@pytest.mark.thorough
def test_killed_at_any_moment_and_resumed_it_is_the_same_byte_for_byte(folder, tmp_path):
    began = time.monotonic()
    subprocess.run(command(folder, tmp_path / "whole.parquet"), check=True)
    length = time.monotonic() - began
    whole = (tmp_path / "whole.parquet").read_bytes()
    rng = np.random.default_rng(0)
    out, store = tmp_path / "out.parquet", tmp_path / "run.ckpt"
    kills = 0
    while kills < KILLS:
        more = ("--checkpoint", store, "--every", "1", "--resume")
        process = subprocess.Popen(command(folder, out, *more))
        try:
            process.wait(rng.uniform(0.2, 1.2) * length)
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        code = process.wait()
        assert code in (0, -signal.SIGKILL)
        if code == 0:
            assert out.read_bytes() == whole
            out.unlink()
    subprocess.run(command(folder, out, "--checkpoint", store, "--resume"), check=True)
    assert out.read_bytes() == whole
    left = {path.name for path in tmp_path.iterdir()} - {"out.parquet", "whole.parquet"}
    assert all(name.startswith(".out.parquet.") for name in left)  # killed while it wrote the result itself


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before_and_the_run_goes_on(folder, tmp_path):
    """A limit on the size of files: the first checkpoint is small enough, later ones are not."""
    store = tmp_path / "run.ckpt"
    words = command(folder, tmp_path / "out.parquet", "--checkpoint", store, "--every", "1")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    assert "no checkpoint at row" in done.stderr
    assert "File too large" in done.stderr
    assert "is intact; the run goes on" in done.stderr
    subprocess.run(command(folder, tmp_path / "whole.parquet"), check=True)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_checkpoint_that_cannot_be_written_at_all_is_an_error_before_work_starts(folder, tmp_path):
    with pytest.raises(StateFileError, match=r"cannot write the state to .*no/run\.ckpt: No such file or directory"):
        run(folder, None, checkpoint=tmp_path / "no" / "run.ckpt", progress=pytest.fail)


@pytest.fixture
def stored(folder, tmp_path):
    """A run that was stopped, over a copy of the files."""
    rows = tmp_path / "rows"
    rows.mkdir()
    for path in folder.iterdir():
        (rows / path.name).write_bytes(path.read_bytes())
    with pytest.raises(Stopped):
        run(rows, None, checkpoint=tmp_path / "run.ckpt", progress=stop_after(5))
    return rows, tmp_path / "run.ckpt"


def refuses(words, rows, store, m=10, **options):
    before = store.read_bytes()
    with pytest.raises(StateFileError, match=words):
        select(rows, m, checkpoint=store, **{**OPTIONS, "resume": True, **options})
    assert store.read_bytes() == before


def test_a_run_goes_on_with_the_same_options_only(stored):
    rows, store = stored
    refuses(
        "is of another run: n_prototypes was 10 and is 11 now. Give what was given then, or delete", rows, store, m=11
    )
    refuses("random_state was 0 and is 1 now", rows, store, random_state=1)
    refuses(r"kernel was MultiScale\(width='median', .* and is MultiScale\(width=2.0, .* now", rows, store, width=2.0)
    refuses(r"kernel was MultiScale\(.* and is Gaussian\(width='median'\) now", rows, store, kernel="gaussian")


def test_a_run_goes_on_with_the_same_files_only(stored):
    rows, store = stored
    refuses("inputs was .*rows'. and is .*0.parquet'. now", rows / "0.parquet", store)
    (rows / "3.parquet").write_bytes((rows / "0.parquet").read_bytes())
    refuses(r"3\.parquet is new", rows, store)
    (rows / "3.parquet").unlink()
    content = (rows / "2.jsonl").read_bytes()
    (rows / "2.jsonl").write_bytes(content + b" ")
    refuses(r"2\.jsonl has changed: its size was [\d,]+ and is [\d,]+", rows, store)
    (rows / "2.jsonl").write_bytes(content)
    refuses(r"2\.jsonl has changed: its modified was", rows, store)
    (rows / "2.jsonl").unlink()
    refuses(r"2\.jsonl is gone", rows, store)


def test_a_stored_run_is_never_overwritten_by_a_new_one(stored):
    rows, store = stored
    refuses(
        r"there is a run at row [\d,]+ of pass \d in it; go on with resume=True, or delete it",
        rows,
        store,
        resume=False,
    )


def test_a_file_that_is_no_checkpoint_is_left_alone(folder, tmp_path):
    store = tmp_path / "notes.txt"
    store.write_text("do not lose this")
    refuses("not a protosieve state file", folder, store)
    saved = tmp_path / "selector.npz"
    ProtoSwap(3, kernel=Gaussian(1.0)).partial_fit(np.eye(4)).save(saved)
    refuses("holds a Saved, not a checkpoint", folder, saved)


def test_resume_without_a_stored_run_begins_one(folder, tmp_path):
    run(folder, tmp_path / "out.parquet", checkpoint=tmp_path / "run.ckpt", resume=True)
    assert (tmp_path / "out.parquet").exists()


def test_what_a_killed_run_left_half_written_is_removed(folder, tmp_path):
    (tmp_path / ".run.ckpt.abcd.tmp").write_bytes(b"half")
    run(folder, tmp_path / "out.parquet", checkpoint=tmp_path / "run.ckpt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet"]


def test_a_result_that_could_not_be_written_needs_no_new_pass(folder, whole, tmp_path):
    out, store, ticks = tmp_path / "no" / "out.parquet", tmp_path / "run.ckpt", []
    out.parent.mkdir()

    def spoil(tick):
        if tick.label == "weigh" and tick.rows and out.parent.exists():
            out.parent.rmdir()

    with pytest.raises(OutputError, match="no/out"):
        run(folder, out, checkpoint=store, progress=spoil)
    out.parent.mkdir()
    run(folder, out, checkpoint=store, resume=True, progress=ticks.append)
    assert not ticks
    assert out.read_bytes() == whole[0]


def test_a_failed_run_keeps_its_checkpoint_and_writes_nothing(folder, tmp_path):
    with pytest.raises(InputError, match="row"):
        run(folder, tmp_path / "out.parquet", checkpoint=tmp_path / "run.ckpt", bad_rows="error")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.ckpt"]


def test_the_state_does_not_grow_with_the_rows(tmp_path):
    """Nor does the checkpoint, then."""
    sizes = []
    for n in (20_000, 80_000):
        np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(n, 6)))
        with pytest.raises(Stopped):
            select(
                tmp_path / "x.npy",
                10,
                sample=1000,
                checkpoint=tmp_path / f"{n}",
                progress=stop_after(2 * (n // 16384) + 3),
            )
        sizes.append((tmp_path / f"{n}").stat().st_size)
    assert sizes[1] < 1.1 * sizes[0]
