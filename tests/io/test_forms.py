"""CSV files in the forms of other places, arrays of JSON, and Excel."""

import builtins
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protosieve import InputError, ParameterError, select
from protosieve.io import BadRows, CsvForm, find_sources
from protosieve.io import _jsonlines as jsonlines


def read(path, **form):
    [source] = find_sources(path, csv=CsvForm(**form))
    rows = [row for piece in source.pieces(None, 0, BadRows(skip=False)) for row in piece.table.to_pylist()]
    return source.schema(), rows


@pytest.mark.parametrize("encoding", ["latin1", "utf-16", "cp1252", "utf-8-sig"])
def test_a_file_may_have_another_encoding(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("größe;ort\n1;Zürich\n".encode(encoding))
    assert read(tmp_path / "t.csv", encoding=encoding)[1] == [{"größe": "1", "ort": "Zürich"}]


def test_a_file_in_another_encoding_than_was_said_is_one_line(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,ü\n".encode("latin1"))
    with pytest.raises(
        InputError, match=r"the file is not ascii \(.*, byte 0xFC\); name the right encoding with encoding"
    ):
        read(tmp_path / "t.csv", encoding="ascii")


@pytest.mark.parametrize("delimiter", ["~", ":", "\t", ";"])
def test_cells_may_be_separated_by_any_character(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text(f"a,b{delimiter}c\n1{delimiter}2\n")
    assert read(tmp_path / "t.csv", delimiter=delimiter)[1] == [{"a,b": "1", "c": "2"}]


@pytest.mark.parametrize(
    ("delimiter", "form"), [(";", {}), ("\t", {}), (",", {"decimal": ","}), (";", {"decimal": ","})]
)
def test_numbers_may_have_decimal_commas(tmp_path, delimiter, form):
    (tmp_path / "t.csv").write_text(
        f'a{delimiter}b\n"1,5"{delimiter}2\n"-2,25"{delimiter}x,y\n'.replace("x,y", '"x,y"')
    )
    schema, rows = read(tmp_path / "t.csv", **form)
    assert rows == [{"a": "1.5", "b": "2"}, {"a": "-2.25", "b": "x,y"}]
    assert [str(kind) for kind in schema.types] == ["double", "string"]


@pytest.mark.parametrize(("text", "form"), [('a,b\n"1,5",2\n', {}), ("a;b\n1,5;2\n", {"decimal": "."})])
def test_commas_stay_where_they_need_not_be_decimal(tmp_path, text, form):
    (tmp_path / "t.csv").write_text(text)
    assert read(tmp_path / "t.csv", **form)[1] == [{"a": "1,5", "b": "2"}]


def test_a_run_over_another_form_is_that_over_the_usual_one(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"größe": rng.normal(size=200).round(3), "ort": rng.choice(["Köln", "Bern"], 200)})
    frame.to_csv(tmp_path / "usual.csv", index=False)
    frame.to_csv(tmp_path / "other.csv", index=False, sep="|", decimal=",", encoding="latin1")
    frame.to_json(tmp_path / "array.json", orient="records", indent=2)
    form = {"delimiter": "|", "encoding": "latin1", "decimal": ","}
    usual = select(tmp_path / "usual.csv", 9)
    for other in (select(tmp_path / "other.csv", 9, **form), select(tmp_path / "array.json", 9)):
        np.testing.assert_array_equal(usual.indices, other.indices)
        np.testing.assert_array_equal(usual.weights, other.weights)
        assert usual.table["größe"].equals(other.table["größe"])


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (
            {"delimiter": ";;"},
            r"delimiter must be one character of ASCII, and no quote, such as ';' or a tab; got ';;'",
        ),
        ({"delimiter": '"'}, "delimiter must be one character of ASCII"),
        ({"decimal": "'"}, r"decimal must be '\.' or ',', got"),
        (
            {"encoding": "klingon"},
            "encoding must be one that Python knows, such as 'latin1' or 'utf-16'; got 'klingon'",
        ),
    ],
)
def test_forms_that_cannot_be_are_said_before_anything_is_read(form, words):
    with pytest.raises(ParameterError, match=words):
        select("nowhere.csv", 5, **form)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=6),
    lambda v: st.lists(v, max_size=3),
    max_leaves=4,
)


class Slow(io.BytesIO):
    """A file that brings a few bytes at a time."""

    def __init__(self, data, most):
        super().__init__(data)
        self.most = most

    def read1(self, size=-1):
        return self.read(self.most)


@given(
    st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3) | VALUES, max_size=6),
    st.integers(1, 40),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_the_values_of_an_array_are_a_line_each(values, most, indent, ascii_only):
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    if b"\xed" in data:
        return  # half a surrogate, which is no UTF-8
    lines = io.BufferedReader(jsonlines._ArrayLines(Slow(b" \n" + data, most))).read().decode().split("\n")[:-1]
    assert [json.loads(line) for line in lines] == values


def test_what_splits_lines_of_text_stays_in_the_values_of_an_array(tmp_path):
    values = [{"a": f"one{chr(mark)}two"} for mark in (0x0A, 0x0B, 0x85, 0x2028, 0x2029)]
    (tmp_path / "t.json").write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    assert read(tmp_path / "t.json")[1] == values


@pytest.mark.parametrize(
    "text", ['[{"a": 1}', '[{"a": 1}, {"a"', '[{"a": 1} {"a": 2}]', '[{"a": 1}]]', '[{"a": 1},]', '[{"a": 1}, x]']
)
def test_an_array_that_is_none_is_one_line(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(
        InputError, match=r"t\.json: cannot be read as JSON lines: after 1 row the array is broken off, or no"
    ):
        read(tmp_path / "t.json")


def test_memory_does_not_grow_with_an_array(monkeypatch):
    monkeypatch.setattr(jsonlines, "_BLOCK", 1000)
    data = json.dumps([{"a": i} for i in range(20_000)]).encode()
    lines, longest = jsonlines._ArrayLines(io.BytesIO(data)), 0
    while lines.read(100):
        longest = max(longest, len(lines._text) + len(lines._made))
    assert longest < 5000
    assert lines._rows == 20_000


def test_json_beside_other_files_in_a_folder_tells_about_them(tmp_path):
    (tmp_path / "info.json").write_text("{}")
    assert [source.name for source in find_sources(tmp_path)] == [str(tmp_path / "info.json")]
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert [source.name for source in find_sources(tmp_path)] == [str(tmp_path / "t.csv")]


def test_excel_files_are_read_through_pandas(tmp_path, monkeypatch):
    frame = pd.DataFrame(
        {"x": np.arange(50) % 7 / 4, "colour": ["red", "blue"] * 25, "mixed": ["a", 1] * 25, 5: [None] * 50}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    monkeypatch.setattr(pd, "read_excel", lambda file: frame)
    sheet, csv = select(tmp_path / "t.xlsx", 5), select(tmp_path / "t.csv", 5)
    np.testing.assert_array_equal(sheet.rows, csv.rows)
    assert sheet.table["mixed"].to_pylist() == csv.table["mixed"].to_pylist()


@pytest.mark.parametrize("missing", ["pandas", "openpyxl"])
def test_excel_without_pandas_says_what_to_install(tmp_path, monkeypatch, missing):
    def read_excel(file):
        raise ImportError("no", name="openpyxl")

    usual = builtins.__import__

    def without(name, *args):
        if name == missing == "pandas":
            raise ModuleNotFoundError("no", name="pandas")
        return usual(name, *args)

    (tmp_path / "t.xlsx").write_bytes(b"PK")
    monkeypatch.setattr(pd, "read_excel", read_excel)
    monkeypatch.setattr(builtins, "__import__", without)
    words = (
        rf"t\.xlsx: an Excel file is read through pandas, and {missing} is not installed: pip install pandas openpyxl"
    )
    with pytest.raises(InputError, match=words):
        find_sources(tmp_path / "t.xlsx")[0].schema()
