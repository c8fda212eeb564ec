"""Devices, pipes and sockets are never replaced by files: refused before the work, or written to where they flow.

All of them lie in a temporary folder: what is tested here would destroy the machine's own.
"""

import csv
import json
import os
import re
import socket
import stat
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from protosieve import OutputError, ProtoSwap, Prototypes, StateFileError, load, select
from protosieve._atomic import replacing, write_whole
from protosieve.result.files import check_output, write_table
from terminals import call, run

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

TABLE = pa.table({"row": [1, 2], "name": ["a", "b"]})


def make(kind, path):
    """A node of this kind; a device is a second /dev/null, which only root can make."""
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.fspath(path))
    else:
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    return path


KINDS = ["a named pipe", "a device", "a socket"]


@pytest.fixture(params=[f"{way}{kind}" for kind in KINDS for way in ("", "a link to ")])
def special(request, tmp_path, monkeypatch):
    """Makes such a node, or a link to one; afterwards it must be what it was."""
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    kind = request.param.removeprefix("a link to ")
    kinds = {}

    def at(name):
        path = node = Path(name)
        if request.param == kind:
            make(kind, node)
        else:
            node = make(kind, Path("the node"))
            path.symlink_to(node.absolute())
        kinds[node] = stat.S_IFMT(node.stat().st_mode)
        return path, kind

    yield at
    assert {path: stat.S_IFMT(path.stat().st_mode) for path in kinds} == kinds
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    np.save(path, np.random.default_rng(0).normal(size=(300, 3)))
    return path


def test_nothing_that_is_written_whole_replaces_them(special):
    path, kind = special("out.bin")
    with pytest.raises(OutputError, match=rf"out\.bin: cannot be written: it is {kind}, and a file must not take its"):
        write_whole(path, b"x")
    with pytest.raises(OSError, match=f"it is {kind}"), replacing(path) as stream:
        stream.write(b"x")


def refused_before_the_work(rows, kind, path, **options):
    with pytest.raises(OutputError, match=rf"{path.name}: is {kind}, "):
        select(rows, 5, progress=pytest.fail, **options)


def test_an_output_is_refused_before_the_work(special, rows):
    path, kind = special("out.parquet")
    with pytest.raises(OutputError, match=rf"out\.parquet: is {kind}, .*; give another "):
        check_output(path)
    refused_before_the_work(rows, kind, path, output=path)


def test_a_report_is_refused_before_the_work(special, rows):
    path, kind = special("page.html")
    refused_before_the_work(rows, kind, path, report=path)
    with pytest.raises(OutputError, match=rf"page\.html: is {kind}, and a file must not take its place; give another"):
        select(rows, 5).report(path)


def test_a_folder_for_partitions_is_refused_before_the_work(special, rows):
    path, _ = special("work")
    with pytest.raises(OutputError, match="work: cannot be made a folder for results: File exists; give another"):
        select(rows, 5, work=path, progress=pytest.fail)


@pytest.mark.parametrize("name", ["run.npz", "run.lock", "survey-000000.npz", "sums-000000.npz"])
def test_what_stands_in_a_folder_for_partitions_is_refused_before_the_work(special, rows, name):
    Path("work").mkdir()
    path, kind = special(f"work/{name}")
    refused_before_the_work(rows, kind, path, work="work")


def test_a_selector_is_not_saved_there(special):
    path, kind = special("state.npz")
    selector = ProtoSwap(3).fit(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(
        StateFileError, match=rf"cannot write the state to .*: it is {kind}, and a file must not take its place; give"
    ):
        selector.save(path)


# --- links to regular files


def test_links_stay_links_and_what_they_lead_to_is_replaced(tmp_path, rows):
    (tmp_path / "real").mkdir()
    names = ["out.parquet", "page.html", "state.npz"]
    for name in names:
        (tmp_path / "real" / name).write_text("before")
        (tmp_path / name).symlink_to(tmp_path / "real" / name)
    result = select(rows, 5, output=tmp_path / "out.parquet", report=tmp_path / "page.html")
    ProtoSwap(3).fit(np.random.default_rng(0).normal(size=(30, 2))).save(tmp_path / "state.npz")
    assert all((tmp_path / name).is_symlink() for name in names)
    assert Prototypes.read(tmp_path / "real" / "out.parquet").table.equals(result.table)
    assert (tmp_path / "real" / "page.html").read_text().startswith("<!doctype html>")
    assert load(tmp_path / "real" / "state.npz").result_.indices.shape == (3,)


def test_a_folder_for_work_behind_a_link_is_used_and_the_link_stays(tmp_path, rows):
    link, real = tmp_path / "work", tmp_path / "elsewhere"
    real.mkdir()
    link.symlink_to(real)
    seen = []
    for number in range(2):  # the folder was there before the run, and stays too
        output = tmp_path / f"{number}.csv"
        select(rows, 5, work=link, output=output, progress=lambda _: seen.append((real / "run.npz").is_file()))
        assert link.is_symlink()
        assert list(real.iterdir()) == []
    assert all(seen)


# --- what can be written to directly


def read_in_thread(path):
    """What somebody reads who opened a pipe before we write to it."""
    found = []
    thread = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    thread.start()

    def end():
        thread.join(30)
        assert found, "nobody wrote"
        return found[0].decode()

    return end


@pytest.mark.parametrize("way", ["itself", "link"])
def test_a_named_pipe_takes_text_that_is_read_as_it_comes(tmp_path, way):
    for ending in ("csv", "tsv", "jsonl"):
        path = pipe = tmp_path / f"out.{ending}"
        if way == "link":
            pipe = tmp_path / f"pipe of {ending}"
            path.symlink_to(pipe)
        os.mkfifo(pipe)
        end = read_in_thread(pipe)
        write_table(TABLE, path, {})
        text = end()
        if ending == "jsonl":
            assert [json.loads(line) for line in text.splitlines()] == TABLE.to_pylist()
        else:
            lines = list(csv.DictReader(text.splitlines(), delimiter="," if ending == "csv" else "\t"))
            assert lines == [{"row": "1", "name": "a"}, {"row": "2", "name": "b"}]
        assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "json", "npz"])
def test_a_named_pipe_takes_nothing_that_must_be_whole(tmp_path, ending):
    os.mkfifo(tmp_path / f"out.{ending}")
    with pytest.raises(
        OutputError, match=rf"out\.{ending}: is a named pipe, which takes \.csv, \.tsv, \.jsonl only; give another"
    ):
        check_output(tmp_path / f"out.{ending}")


def test_who_reads_a_pipe_may_have_enough(tmp_path):
    path = tmp_path / "out.jsonl"
    os.mkfifo(path)

    def look():
        with path.open("rb") as stream:
            stream.read(1)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    with pytest.raises(BrokenPipeError):  # as of standard output: the command line ends quietly
        write_table(pa.table({"row": range(200_000)}), path, {})
    thread.join(30)


def test_a_run_into_a_named_pipe_is_that_into_a_file(tmp_path, rows):
    os.mkfifo(tmp_path / "out.csv")
    end = read_in_thread(tmp_path / "out.csv")
    done = call("select", rows, "-m", 5, "-o", "out.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert "Written to out.csv." in done.stdout
    select(rows, 5, output=tmp_path / "file.csv")
    assert end() == (tmp_path / "file.csv").read_text()


@pytest.mark.parametrize("name", ["/dev/stdout", pytest.param("/dev/fd/1", marks=pytest.mark.thorough)])
def test_the_systems_names_for_standard_output_are_a_dash(tmp_path, rows, name):
    if not Path(name).exists():
        pytest.skip("the system has no such name")
    done = run("select", rows, "-m", 5, "-o", name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 5
    assert re.search("Written to standard output", done.stderr)  # the summary makes way
