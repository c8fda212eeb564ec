"""The command line, in this process and as one of its own: what it prints, what it writes, and how it ends."""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import protosieve
from protosieve.cli import main
from protosieve.errors import InputError
from protosieve.run import Stopped
from terminals import COMMAND, call, environment, run

SHELL = shutil.which("bash")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Flowers: 300 rows of four numbers, a name and a kind, as a CSV file and as two Parquet files."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 4)) + 3 * (np.arange(300)[:, None] % 3)
    table = pa.table(
        {
            **{f"size {i}": numbers[:, i] for i in range(4)},
            "name": [f"flower {i:03}" for i in range(300)],
            "kind": [f"kind {i % 3}" for i in range(300)],
        }
    )
    pa.csv.write_csv(table, folder / "flowers.csv")
    (folder / "parts").mkdir()
    pq.write_table(table.slice(0, 100), folder / "parts" / "a.parquet")
    pq.write_table(table.slice(100), folder / "parts" / "b.parquet")
    (folder / "bad.csv").write_text("x,y\n1,2\n3,nan\n5,6\n7,9\n")
    (folder / "empty.jsonl").write_text("")
    (folder / "heads.csv").write_text("a,b\n")
    (folder / "notes.txt").write_text("no data")
    pq.write_table(pa.table({"my vec": [[1.0, 2.0]] * 9}), folder / "lists.parquet")
    return folder


COLUMNS = ["--id", "name", "--label", "kind"]


def test_a_summary_says_what_was_done_and_how_good_it_is(folder):
    shown = call("select", "parts", "-m", 12, *COLUMNS, "-o", "chosen.parquet", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    assert "12 of 300 rows of 2 files; kernel MultiScale(width=" in shown.stdout
    assert "4 number columns standardised: size 0, size 1, size 2, size 3" in shown.stdout
    assert re.search(r"\n *row +file +weight +share +name +kind +size 0", shown.stdout)
    assert "and 2 more" in shown.stdout
    assert re.search(r"The 12 prototypes carry 9\d\.\d+ % of what the kernel sees\.", shown.stdout)
    assert re.search(r"12 random rows with the best weights would leave [\d.]+ times the error", shown.stdout)
    assert re.search(r"By kind: kind \d has \d+ prototypes, nearest to \d+ % of the rows; kind \d has", shown.stdout)
    assert shown.stdout.endswith("Written to chosen.parquet.\n")
    assert not set("─│╭\x1b") & set(shown.stdout)
    chosen = pq.read_table(folder / "chosen.parquet")
    source = pa.concat_tables([pq.read_table(folder / "parts" / name) for name in ("a.parquet", "b.parquet")])
    assert chosen["name"].equals(source.take(chosen["row"])["name"])
    for name, row in zip(chosen["name"].to_pylist()[:10], chosen["row"].to_pylist(), strict=False):
        assert re.search(rf"^ *{row} +[ab]\.parquet .* {name} ", shown.stdout, re.MULTILINE)


def test_json_is_provenance_and_prototypes_and_nothing_else(folder):
    shown = call("select", "flowers.csv", "-m", "4%", *COLUMNS, "--json", "--seed", 3, cwd=folder)
    told = json.loads(shown.stdout)
    result = protosieve.select(folder / "flowers.csv", 12, id="name", label="kind", random_state=3)
    assert [row["row"] for row in told["prototypes"]] == result.indices.tolist()
    assert [row["weight"] for row in told["prototypes"]] == result.weights.tolist()
    assert [row["share"] for row in told["prototypes"]] == result.shares.tolist()
    assert {row["file"] for row in told["prototypes"]} == {"flowers.csv"}
    assert told["provenance"]["residual"] == result.residual
    assert told["provenance"]["command"].startswith("protosieve select flowers.csv -m 4%")
    assert shown.stderr == ""


def test_quiet_says_nothing_and_still_writes(folder):
    shown = call("select", "flowers.csv", "-m", 5, "-q", "-o", "quiet.csv", "--method", "stream", cwd=folder)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
    assert len(pa.csv.read_csv(folder / "quiet.csv")) <= 5


def test_tasks_and_columns_to_fill_in_are_those_of_python(folder, monkeypatch):
    monkeypatch.chdir(folder)
    said = call("select", "flowers.csv", "-m", 3, "-o", "todo.csv", "--label-column", "topic", "-q", cwd=folder)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    said = call("select", "flowers.csv", "-m", 3, "-o", "tasks.json", "--output-format", "label-studio", cwd=folder)
    assert said.stdout.endswith("Written to tasks.json.\n"), said.stderr
    result = protosieve.select("flowers.csv", 3)
    result.save(folder / "twin.csv", label_column="topic")
    assert (folder / "todo.csv").read_text() == (folder / "twin.csv").read_text()
    tasks = [task["data"] for task in json.loads((folder / "tasks.json").read_text())]
    assert [task["protosieve_row"] for task in tasks] == result.indices.tolist()
    assert [task["name"] for task in tasks] == result.table["name"].to_pylist()


def test_of_rows_that_cover_the_summary_tells_how_near_they_are(folder):
    shown = call("select", "parts", "-m", 12, *COLUMNS, "--goal", "cover", "-o", "cover.parquet", cwd=folder)
    assert "12 random rows would leave " in shown.stdout
    assert re.search(r"The 12 prototypes cover \d\d\.\d %: on average the similarity of a row to the n", shown.stdout)
    assert not re.search("best weights|carry|matched|MMD", shown.stdout)
    again = call("select", "parts", "-m", 12, "--goal", "cover", "--method", "stream", cwd=folder)
    assert (again.returncode, again.stdout) == (2, "")
    assert (
        "--method stream chooses rows that match the data, and --goal cover asks for rows that cover it" in again.stderr
    )


def test_the_summary_leads_with_random_rows_and_the_feature_that_is_matched_worst(tmp_path):
    """A heavy tail is hidden from the kernel by standardising: the share it sees must not be all that is said."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=3000), "sales": np.exp(4 * rng.normal(size=3000)), "constant": [1] * 3000})
    pq.write_table(table.append_column("review", pa.array([f"text {i}" for i in range(3000)])), tmp_path / "t.parquet")
    lines = call("select", "t.parquet", "-m", 20, "--scale", "standard", cwd=tmp_path).stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("20 random rows with the best weights"))
    assert re.fullmatch(r"\d of 2 features .* worst is sales, \d+ % off: more prototypes .*\.", lines[first + 2])
    assert lines[first + 1] == "review was not compared: all figures are of the other columns alone."
    assert lines[first + 3].startswith("The 20 prototypes carry ")


def test_where_random_rows_do_better_another_method_is_what_to_try(tmp_path):
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), tmp_path / "t.parquet")
    shown = call("select", "t.parquet", "-m", 20, "--method", "basic", cwd=tmp_path).stdout
    assert re.search(
        r"^20 random rows .* would leave 0\.\d+ times the error: try --method swap\.$", shown, re.MULTILINE
    )


def test_figures_that_are_no_number_are_null_in_json(tmp_path):
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), tmp_path / "t.parquet")
    found = call("select", "t.parquet", "-m", 3, "--sample", 10, "--json", cwd=tmp_path).stdout  # two rows judge
    assert json.loads(found, parse_constant=pytest.fail)["prototypes"]


def test_warnings_are_notes_in_the_words_of_the_command_line(folder):
    options = [*COLUMNS, "--kernel", "gaussian", "--methods", "stream,random"]  # too wide to find 100 rows
    shown = call("compare", "flowers.csv", "-m", 100, *options, cwd=folder)
    (note,) = shown.stderr.splitlines()
    assert re.match(
        r"note: ProtoStream kept \d+ of -m 100: under Gaussian\(width=[\d.]{3,5}\) none of the other 2\d\d rows", note
    )
    assert re.search(r"\nmethod +kept +residual +covered +accuracy +seconds", shown.stdout)
    assert re.search(r"\nrandom +100 ", shown.stdout)


def test_a_comparison_is_that_of_python_on_the_same_rows(folder):
    options = [*COLUMNS, "--methods", "swap,basic", "--kernel", "laplacian", "--width", "2.5", "--json"]
    told = json.loads(call("compare", "flowers.csv", "-m", 9, *options, cwd=folder).stdout)
    surveyed = protosieve.run.survey(folder / "flowers.csv", id="name", label="kind")
    kernel = protosieve.kernels.Laplacian(2.5)
    table = protosieve.compare(surveyed.rows, 9, ["swap", "basic"], kernel=kernel, labels=surveyed.labels)
    assert [line["method"] for line in told["methods"]] == ["swap", "basic"]
    for column in ("residual", "covered", "accuracy"):
        assert [line[column] for line in told["methods"]] == table[column].tolist()


def shell(script, folder):
    command = script.replace("protosieve", " ".join(COMMAND))
    return subprocess.run(
        [SHELL, "-o", "pipefail", "-c", command], cwd=folder, capture_output=True, text=True, env=environment()
    )


@pytest.mark.skipif(SHELL is None, reason="needs bash")
def test_pipes_on_both_sides(folder):
    piped = shell("protosieve select - -m 200 --id name,kind -o - < flowers.csv | head -n 1", folder)
    assert piped.returncode == 0, piped.stderr  # head has had enough, and that is no error
    (line,) = piped.stdout.splitlines()
    assert json.loads(line)["file"] == "standard input"
    assert "of 300 rows" in piped.stderr  # the summary makes way
    assert "Written to standard output." in piped.stderr
    assert "Traceback" not in piped.stderr


@pytest.mark.skipif(SHELL is None, reason="needs bash")
def test_a_closed_pipe_is_no_error(folder):
    closed = shell("protosieve --help | true; protosieve select flowers.csv -m 200 -o - -q | true", folder)
    assert (closed.returncode, closed.stdout, closed.stderr) == (0, "", "")


PROBLEMS = [
    (["nope.csv", "-m", "5"], r"nope\.csv: no such file"),
    (["bad.csv", "-m", "2"], r"bad\.csv, row 1: column 'y' is NaN; .*--bad-rows skip$"),
    (["heads.csv", "-m", "2"], r"heads\.csv: there is no value in any column; give rows$"),
    (["empty.jsonl", "-m", "2"], r"empty\.jsonl: no columns and no rows; give some rows"),
    (["notes.txt", "-m", "2"], r"notes\.txt: .*--format"),
    (
        ["lists.parquet", "-m", "2"],
        r"column 'my vec' .* --embedding 'my vec', or leave them out with --exclude 'my vec'$",
    ),
    (["flowers.csv", "-m", "2", "--watch-at", "8000"], r"--watch-at 8000 must be host:port, such as"),
    (["flowers.csv", "-m", "2", "--map", "name,nope"], r"--map: column 'name' holds string; a place on the map is two"),
    (
        ["flowers.csv", "-m", "2", "--kernel", "cosine", "--width", "2"],
        r"--width 2\.0 was given, and the cosine kernel",
    ),
    (["flowers.csv", "-m", "5", "--features", "nope"], r"--features: there is no column 'nope'"),
    (["flowers.csv", "-m", "0"], r"-m must be a whole number of at least 1, or a share .*; got 0$"),
    (["flowers.csv", "-m", "5", "--sample", "many"], r"--sample must be a whole number of at least 10, got 'many'$"),
    (["flowers.csv", "-m", "5", "--method", "dash"], r"--method must be one of basic, .*, got 'dash'"),
    (["flowers.csv", "-m", "5", "--width", "0"], r'--width must be a positive number or "median", got 0\.0'),
    (["flowers.csv", "-m", "5", "-o", "x.xls"], r"x\.xls: its ending names no format"),
    (["flowers.csv", "-m", "5", "-o", "no/x.csv"], r"no/x\.csv: .*folder"),
    (["flowers.csv", "-m", "5", "-o", "x.csv", "--label-column", "kind"], r"--label-column kind: there is a column of"),
    (
        ["flowers.csv", "-m", "5", "--output-format", "label-studio"],
        r"--output-format is about the file to write;",
    ),
    (["flowers.csv", "-m", "5", "-o", "-", "--json"], r"--json and --output - both need standard output;"),
    (["flowers.csv", "-m", "5", "--work", "bad.csv"], r"bad\.csv: cannot be made a folder .*; give another --work$"),
    (["-", "-m", "5", "--work", "w"], r"--work cannot bring back rows of standard input; store them in a file first"),
    (["flowers.csv"], r"missing option '-m'; protosieve select --help lists what there is"),
    (["flowers.csv", "-m", "5", "--nope"], r"no such option: --nope.*; protosieve select --help lists"),
]


@pytest.fixture(scope="module")
def ended(folder):
    """How all of them end."""
    before = sorted(folder.iterdir())
    found = [call("select", *words, cwd=folder) for words, _ in PROBLEMS]
    assert sorted(folder.iterdir()) == before  # nothing half done is left
    return found


@pytest.mark.parametrize("number", range(len(PROBLEMS)), ids=[" ".join(words) for words, _ in PROBLEMS])
def test_what_cannot_be_used_is_one_line(ended, number):
    shown = ended[number]
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.count("\n") == 1
    assert re.match(rf"protosieve: {PROBLEMS[number][1]}", shown.stderr)


def test_the_exit_code_is_that_of_the_process():
    ended = run("selekt")
    assert ended.returncode == 2
    assert re.match("protosieve: no such command 'selekt'.*; protosieve --help lists what there is\n", ended.stderr)


def test_rows_left_out_are_told_of(folder):
    shown = call("select", "bad.csv", "-m", 2, "--bad-rows", "skip", cwd=folder)
    assert "1 row skipped, 25 % of all:\n    bad.csv, row 1: column 'y' is NaN" in shown.stdout


@pytest.fixture
def broken(monkeypatch, capsys):
    """The command, in a world where reading files ends as it is told: its exit code and its line."""

    def end(error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr("protosieve.cli._select.run", fail)
        return main(["select", "x.csv", "-m", "5"]), capsys.readouterr().err

    return end


def test_what_nobody_expected_is_one_line_and_says_how_to_see_more(broken, monkeypatch):
    line = "protosieve: something unexpected happened: OSError: a b. PROTOSIEVE_TRACEBACK=1 shows where\n"
    assert broken(OSError("a\nb")) == (1, line)
    monkeypatch.setenv("PROTOSIEVE_TRACEBACK", "1")
    code, shown = broken(OSError("a\nb"))
    assert code == 1
    assert shown.startswith("Traceback (most recent call last):")
    assert shown.endswith(line)


def test_too_little_memory_is_one_line(broken):
    code, line = broken(MemoryError())
    assert code == 1
    assert line.startswith("protosieve: there is not enough memory; a smaller --sample or -m needs less.")


def test_an_interrupt_before_there_is_a_run_is_one_line(broken):
    assert broken(KeyboardInterrupt()) == (130, "protosieve: interrupted; nothing was written\n")
    assert broken(Stopped(signal.SIGTERM)) == (143, "protosieve: stopped by SIGTERM\n")
    for told in (0, 1):  # a second comes while the first is dealt with
        asked = [Stopped(signal.SIGINT), Stopped(signal.SIGINT)]
        asked[told].tell("stopped after 3 rows")
        asked[1].__context__ = asked[0]
        assert broken(asked[1]) == (130, "protosieve: stopped after 3 rows\n")


def test_a_message_cannot_paint_the_terminal(broken):
    assert broken(InputError("a.csv: column '\x1b[2J' is gone")) == (2, "protosieve: a.csv: column ' [2J' is gone\n")


def test_the_demo_goes_through(tmp_path):
    shown = call("demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "$ protosieve select digits -m 20 --embedding pixels" in shown.stdout
    assert "20 of 1,797 rows of 3 files" in shown.stdout
    assert re.search(r"\d, weight 0\.\d{3}", shown.stdout)
    assert "@@" in shown.stdout
    ours, random = map(int, re.findall(r"(\d+) %(?: of all digits look|\.\n\nNow yours)", shown.stdout))
    assert ours > random
    assert list(tmp_path.iterdir()) == []


def _fed(pipe, data):
    with contextlib.suppress(BrokenPipeError):  # the process may end before it has read all
        pipe.write(data)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.thorough)]
)
def test_stopped_while_it_waits_for_standard_input_it_ends(number, code):
    """A thread waits for rows that do not come: Python must neither abort over it nor wait for it."""
    rows = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 97, i % 31) for i in range(100_000))
    program = (
        "import sys; from protosieve.cli import main; from protosieve.run._progress import RunProgress\n"
        "told = RunProgress._tell\n"
        "RunProgress._tell = lambda *a: (print('block', flush=True), told(*a))[1]\n"
        "sys.exit(main(['select', '-', '-m', '5']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        threading.Thread(target=_fed, args=[process.stdin, rows], daemon=True).start()
        assert [process.stdout.readline() for _ in range(2)] == [b"block\n"] * 2  # before the pass, after a block
        process.send_signal(number)
        try:
            assert process.wait(60) == code
        finally:
            process.kill()
        told = process.stderr.read()
        assert told.startswith(b"protosieve: stopped at row ")
        assert told.endswith(b"of pass 1 of 1; nothing was written\n")  # a folder for work would be refused
