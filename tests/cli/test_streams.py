"""The command line with standard streams that are closed or full: in real processes, for only these have such."""

import json
import shutil
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest

from protosieve import select
from terminals import COMMAND, environment

SHELL = shutil.which("bash")
pytestmark = pytest.mark.skipif(SHELL is None, reason="needs bash")

WAYS = {">&-": "Bad file descriptor", "> /dev/full": "No space left on device"}
each_way = pytest.mark.parametrize("way", [">&-", pytest.param("> /dev/full", marks=pytest.mark.thorough)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "x.npy", np.random.default_rng(0).normal(size=(300, 3)))
    select(folder / "x.npy", 5, output=folder / "whole.parquet")
    return folder


def shell(words, folder):
    """The command after an ``exec`` of its own, so that the shell's streams are the process's."""
    return subprocess.run(
        [SHELL, "-c", f"exec {' '.join(COMMAND)} {words}"],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def is_whole(path):
    found, whole = (pq.read_table(one).drop_columns("file") for one in (path, path.parent / "whole.parquet"))
    return found.equals(whole)


@each_way
def test_a_result_in_a_file_is_a_success_though_the_summary_is_lost(folder, way):
    (folder / "out.parquet").unlink(missing_ok=True)
    ended = shell(f"select x.npy -m 5 -o out.parquet --report page.html {way}", folder)
    kept = "the result is in out.parquet and the report is in page.html"
    assert ended.stderr == f"note: standard output: cannot be written: {WAYS[way]}; nothing else is missing: {kept}\n"
    assert (ended.returncode, ended.stdout) == (0, "")
    assert is_whole(folder / "out.parquet")


def test_a_report_of_a_result_is_a_success_though_nobody_is_told_where(folder):
    ended = shell("report whole.parquet -o told.html > /dev/full", folder)
    assert ended.returncode == 0
    assert "nothing else is missing: The report is in told.html." in ended.stderr
    assert (folder / "told.html").exists()


@pytest.mark.parametrize("way", ["2>&-", pytest.param("2> /dev/full", marks=pytest.mark.thorough)])
def test_without_standard_error_a_run_goes_on(folder, way):
    (folder / "out.parquet").unlink(missing_ok=True)
    ended = shell(f"select x.npy -m 5 -o out.parquet --partition-rows 100 {way}", folder)  # tells what it will take
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Written to out.parquet." in ended.stdout
    assert (folder / "out.parquet").exists()
    piped = shell(f"select x.npy -m 5 -o - {way}", folder)  # whose summary would go there
    assert piped.returncode == 0
    assert len([json.loads(line) for line in piped.stdout.splitlines()]) == 5
    wrong = shell(f"select nope.npy -m 5 {way}", folder)
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (2, "", "")


@pytest.mark.thorough  # each stream alone is tried above and below
def test_with_no_stream_at_all_the_exit_code_tells(folder):
    (folder / "out.parquet").unlink(missing_ok=True)
    assert shell("select x.npy -m 5 -o out.parquet <&- >&- 2>&-", folder).returncode == 0
    assert is_whole(folder / "out.parquet")
    assert shell("select x.npy -m 5 -o - <&- >&- 2>&-", folder).returncode == 2


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("select nope.npy -m 5 -o -", ">&-"),  # before any file is looked at
        ("--version", "> /dev/full"),
        ("select --help", ">&-"),
        *(
            pytest.param(words, way, marks=pytest.mark.thorough)
            for words, way in (
                ("select nope.npy -m 5 -o -", "> /dev/full"),
                ("select nope.npy -m 5", ">&-"),
                ("select nope.npy -m 5 --json -o out.parquet", "> /dev/full"),
                ("select x.npy -m 5 --dry-run", ">&-"),
                ("compare nope.npy -m 5", "> /dev/full"),
                ("demo", ">&-"),
            )
        ),
    ],
)
def test_what_has_no_other_place_is_an_error_of_one_line(folder, words, way):
    ended = shell(f"{words} {way}", folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"protosieve: standard output: cannot be written: {WAYS[way]}; check ")
    assert ended.stderr.count("\n") == 1


def test_a_closed_standard_input_is_an_error_of_one_line(folder):
    ended = shell("select - -m 5 <&-", folder)
    assert ended.returncode == 2
    assert ended.stderr.startswith("protosieve: standard input: cannot be read: Bad file descriptor; ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.thorough
def test_quiet_has_nothing_to_lose(folder):
    ended = shell("select x.npy -m 5 -o out.parquet -q >&-", folder)
    assert (ended.returncode, ended.stderr) == (0, "")
