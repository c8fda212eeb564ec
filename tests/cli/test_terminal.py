"""The command line in a real terminal: the bar, colours, widths, Ctrl-C and TAB."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

pytest.importorskip("termios")

import fcntl
import pty
import termios

from terminals import COMMAND, Terminal, call, environment, protosieve

COLOUR = re.compile(rb"\x1b\[[\d;]*3[0-9]")


def rows(n):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n, 6))
    colours = np.array(["red", "green", "blue"])[rng.integers(3, size=n)]
    names = [f"row {i:06}" for i in range(n)]
    return pa.table({"name": names, "colour": colours, **{f"x{i}": numbers[:, i] for i in range(6)}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A few rows, and so many that there is time to look and to press keys."""
    folder = tmp_path_factory.mktemp("files")
    many = rows(400_000)
    pq.write_table(many, folder / "many.parquet", row_group_size=50_000)
    pa.csv.write_csv(many.slice(0, 1_000), folder / "few.csv")
    pa.csv.write_csv(many.slice(0, 39_999), folder / "late.csv")
    with (folder / "late.csv").open("a") as late:
        late.write('"row 039999","red",0,0,0,"oops",0,0\n')
    return folder


MANY = ["select", "many.parquet", "-m", "60", "--id", "name"]
FEW = ["select", "few.csv", "-m", "12", "--id", "name"]


def bars(terminal):
    return [line for line in terminal.seen if re.match(r"(survey|sum|select) \d/\d", line)]


@pytest.fixture(scope="module")
def whole(folder):
    """A run nobody interrupts; its output is what all others are compared with."""
    terminal = protosieve(*MANY, "-o", "whole.parquet", cwd=folder)
    assert terminal.finish() == 0
    return terminal


def test_the_bar_shows_both_passes_and_is_gone_at_the_end(whole):
    lines = "\n".join(bars(whole))
    assert re.search(r"survey 1/2 .* [\d,]+ rows", lines)
    assert re.search(r"sum 2/2 .* [\d,]+ rows", lines)
    assert re.search(r"\d:\d\d left", lines)
    assert "rows/s" in lines
    assert not re.search(r"(survey|sum) \d/\d", whole.screen)
    assert whole.cursor_is_there
    assert whole.screen.startswith("60 of 400,000 rows of many.parquet")
    assert "Written to whole.parquet." in whole.screen
    assert COLOUR.search(whole.raw)


@pytest.mark.parametrize("width", [60, pytest.param(120, marks=pytest.mark.thorough)])
def test_everything_fits_the_width(folder, width):
    terminal = protosieve(*FEW, width=width, cwd=folder, NO_COLOR="1")
    assert terminal.finish() == 0
    assert bars(terminal)
    (head,) = (line for line in terminal.screen.splitlines() if "weight" in line and "share" in line)
    assert ("x4" in head) == (width == 120)
    assert "x0" in head or width == 60
    table = terminal.screen.split("weight")[1].split("and 2 more")[0].splitlines()[1:]
    assert len([line for line in table if line]) == 11  # a rule and ten rows: none is broken
    assert not COLOUR.search(terminal.raw)


def test_an_error_is_red_and_one_line_where_a_person_looks(folder):
    terminal = protosieve("select", "few.csv", cwd=folder)
    assert terminal.finish() == 2
    assert terminal.raw.startswith(b"\x1b[31mprotosieve: missing option '-m'")
    plain = protosieve("select", "few.csv", cwd=folder, NO_COLOR="1")
    assert plain.finish() == 2
    assert plain.raw.startswith(b"protosieve: missing option")


def test_an_error_half_way_takes_the_bar_with_it(folder):
    terminal = protosieve("select", "late.csv", "-m", "5", "--id", "name", width=120, cwd=folder)
    assert terminal.finish() == 2
    assert bars(terminal)
    assert terminal.screen.startswith("protosieve: late.csv, row 39999: column 'x3' holds 'oops', not a number;")
    assert terminal.cursor_is_there


def same_when_resumed(folder, work, output):
    """The run goes on without a terminal."""
    rest = call(*MANY, "-o", output, "--work", work, "-q", cwd=folder)
    assert (rest.returncode, rest.stdout, rest.stderr) == (0, "", "")
    assert not (folder / work).exists()
    return (folder / output).read_bytes() == (folder / "whole.parquet").read_bytes()


@pytest.mark.thorough
def test_a_run_stopped_by_ctrl_c_goes_on_as_if_it_had_not_been(folder, whole):
    terminal = protosieve(*MANY, "-o", "one.parquet", "--work", "one.run", cwd=folder)
    terminal.wait_for("sum 2/2")
    terminal.process.sendintr()
    assert terminal.finish() == 130
    message = terminal.screen.replace("\n", "")
    assert re.search(r"stopped after [01] of 2 partitions of pass 2 of 2; what was done is kept in one\.run:", message)
    assert "sum 2/2" not in terminal.screen
    assert terminal.cursor_is_there
    assert not (folder / "one.parquet").exists()
    assert same_when_resumed(folder, "one.run", "one.parquet")


@pytest.mark.thorough
def test_who_presses_ctrl_c_twice_does_not_wait(folder, whole):
    terminal = protosieve(*MANY, "-o", "two.parquet", "--work", "two.run", cwd=folder)
    terminal.wait_for("sum 2/2")
    for _ in range(2):
        terminal.process.sendintr()
        time.sleep(0.02)
    assert terminal.finish() == 130
    assert re.search(r"protosieve: stopped", terminal.screen)
    assert same_when_resumed(folder, "two.run", "two.parquet")


@pytest.fixture
def hang_ups():
    """Heeded, also where the tests themselves run under nohup, which programs respect."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.thorough
def test_a_run_that_is_hung_up_goes_on_as_if_it_had_not_been(folder, whole, hang_ups):
    terminal = protosieve(*MANY, "-o", "hung.parquet", "--work", "hung.run", cwd=folder)
    terminal.wait_for("sum 2/2")
    os.kill(terminal.process.pid, signal.SIGHUP)
    assert terminal.finish() == 129
    message = terminal.screen.replace("\n", "")
    assert re.search(r"stopped after [01] of 2 partitions of pass 2 of 2; what was done is kept in hung\.run:", message)
    assert same_when_resumed(folder, "hung.run", "hung.parquet")


@pytest.mark.thorough
def test_a_run_whose_terminal_is_closed_is_stored(folder, whole, hang_ups):
    """Nobody is left to tell, nor to draw a bar for; the system hangs up on it."""
    ours, theirs = pty.openpty()
    words = [*COMMAND, *MANY, "-o", "gone.parquet", "--work", "gone.run"]
    process = subprocess.Popen(
        words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment(),
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    seen = b""
    while not re.search(rb"sum 2/2[^\r\n]* [1-9][\d,]* rows", seen):
        seen += os.read(ours, 4096)
    os.close(ours)
    try:
        assert process.wait(60) == 129
    finally:
        process.kill()
    stored = call(*MANY, "-o", "gone.parquet", "--work", "gone.run", "--dry-run", cwd=folder)
    assert re.search(r"[34] results of partitions are in gone\.run already", stored.stdout)  # two of them surveys
    assert same_when_resumed(folder, "gone.run", "gone.parquet")


def test_a_terminated_run_says_where_it_was(folder):
    terminal = protosieve(*MANY, cwd=folder)
    terminal.wait_for("survey 1/2")
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.finish() == 143
    assert "nothing was written. With --work DIR a run can" in terminal.screen.replace("\n", "")
    assert terminal.cursor_is_there


BASH = shutil.which("bash")


@pytest.mark.thorough
@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_standard_input_that_never_ends_has_a_bar_and_stops_at_once(folder):
    script = f"(cat few.csv; while tail -n +2 few.csv 2> /dev/null; do :; done) | {' '.join(COMMAND)} select - -m 5"
    terminal = Terminal(BASH, "-c", script, cwd=folder)
    terminal.wait_for("select 1/1")
    terminal.process.sendintr()
    assert terminal.finish() == 130
    assert re.search(r"stopped at row [\d,]+ of pass 1 of 1", terminal.screen)


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_tab_completes_commands_options_values_and_files(folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    bash = Terminal(
        BASH, "--norc", "--noprofile", "-i", width=150, cwd=folder, PATH=path, PS1="$ ", INPUTRC="/dev/null"
    )
    bash.process.send('eval "$(protosieve --show-completion)"; echo re""ady\n')
    bash.wait_for("\nready")
    for typed, completed in [
        ("protosieve sel\t", "protosieve select "),
        ("--bad\t", "--bad-rows "),
        ("sk\t", "skip "),
        ("--scale mi\t", "--scale minmax "),
        ("--kernel la\t", "--kernel laplacian "),
        ("--method stre\t", "--method strea"),
        ("k\t", "streak "),
        ("man\t", "many.parquet"),
    ]:
        bash.process.send(typed)
        bash.wait_for(completed.rstrip())
    bash.process.sendcontrol("u")  # what was typed is gone; an interrupt might take what is typed after it, too
    bash.process.send("exit\n")
    bash.finish()
