"""Rows and files that cannot be used: one line that names the place, what was found and what to do."""

import csv
import gzip
import io
import json
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from io_files import arrow_stream, encoded, npy, read, rows_of, sample
from protosieve.errors import InputError
from protosieve.io import find_sources
from protosieve.io._file_source import not_utf8


@pytest.fixture
def written(tmp_path):
    def write(name, data):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


BAD_CSV = b'a,b\n0,x\n1\n2,x,y\n3,\xff\n"4",ok\n5\n'
BAD_JSON = b'{"a": 0}\n{"a": 1\n\n[2]\n{"a": NaN}\n{"a": "\xff"}\n{"a": 5}\n'


def test_bad_rows_of_csv_are_left_out_and_noted(written):
    numbers, rows, noted = read(written("rows.csv", BAD_CSV), skip=True)
    assert numbers == [0, 4]
    assert [row["a"] for row in rows] == ["0", "4"]
    assert [(row.number, row.problem) for row in noted] == [
        (1, "has 1 cell and the header has 2"),
        (2, "has 3 cells and the header has 2"),
        (3, f"column 'b' {not_utf8(0xFF)}"),
        (5, "has 1 cell and the header has 2"),
    ]


def test_bad_rows_of_json_lines_are_left_out_and_noted(written):
    numbers, rows, noted = read(written("rows.jsonl", BAD_JSON), skip=True)
    assert numbers == [0, 5]
    assert [row["a"] for row in rows] == [0, 5]
    assert [row.number for row in noted] == [1, 2, 3, 4]
    assert [row.problem.split(" (")[0] for row in noted] == [
        "is not JSON", "is an array, not an object", "is not JSON", "is not UTF-8",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "data"), [("rows.csv", BAD_CSV), ("rows.jsonl", BAD_JSON)])
def test_bad_rows_before_the_start_are_somebody_elses(name, data, written):
    path = written(name, data)
    whole = read(path, skip=True)
    for start in range(8):
        numbers, rows, noted = read(path, start=start, skip=True)
        assert numbers == [number for number in whole[0] if number >= start]
        assert rows == [row for row, number in zip(whole[1], whole[0], strict=True) if number >= start]
        assert noted == [row for row in whole[2] if row.number >= start]


def test_the_same_rows_are_bad_whichever_columns_are_read(written):
    path = written("rows.csv", BAD_CSV)
    assert read(path, columns=["a"], skip=True)[2] == read(path, columns=["b"], skip=True)[2]


def row_error(number, problem):
    return rf"rows\.\w+, row {number}: {problem}[^;]*; fix the row, or skip such rows with bad_rows='skip'$"


@pytest.mark.parametrize(
    ("name", "data", "match"),
    [
        ("rows.csv", b"a,b\n1,2\n3\n", row_error(1, "has 1 cell and the header has 2")),
        ("rows.tsv", b"a\tb\n1\t2\t3\n", row_error(0, "has 3 cells and the header has 2")),
        ("rows.csv", b"a,b\n1,\xff\n2,x\n", row_error(0, "column 'b' is not UTF-8")),
        ("rows.csv", b'a,b\n1,2\n3,"4\n5,6\n', row_error(1, "opens a quote that is never closed, so that")),
        ("rows.jsonl", b'{"a": 1}\n{"a": }\n', row_error(1, r"is not JSON \(Expecting value, character 6\)")),
        ("rows.jsonl", b'{"a": 1}\n{"a": 2}{"a": 3}\n', row_error(1, r"is not JSON \(Extra data, character 8\)")),
        ("rows.jsonl", b'{"a": 1}\n{"a":\n2}\n', row_error(1, r"is not JSON \(.*\)")),
        ("rows.jsonl", b'{"a": 1}\n[1]\n', row_error(1, "is an array, not an object")),
        ("rows.jsonl", b'{"a": 1}\n"x"\n', row_error(1, "is text, not an object")),
        ("rows.jsonl", b'{"a": 1}\n5\n', row_error(1, "is a number, not an object")),
        ("rows.jsonl", b'{"a": 1}\nnull\n', row_error(1, "is null, not an object")),
        ("rows.jsonl", b'{"a": 1}\ntrue\n', row_error(1, "is true or false, not an object")),
        ("rows.jsonl", b'{"a": 1}\n{"a": NaN}\n', row_error(1, r"is not JSON \(NaN is no JSON number\)")),
        ("rows.jsonl", b'{"a": 1}\n{"b": [-Infinity]}\n', row_error(1, r"is not JSON \(-Infinity is no JSON number\)")),
        ("rows.jsonl", b'{"a": "x"}\n{"a": "\xff"}\n', row_error(1, "is not UTF-8")),
        ("rows.jsonl", b'{"a": "x"}\n{"a": "\\ud800"}\n', row_error(1, "holds half of a surrogate pair, which is no")),
        ("rows.jsonl", b'{"a": 1}\n{"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}\n", row_error(1, "is nested too")),
    ],
)  # fmt: skip
def test_the_first_bad_row_is_an_error_that_names_it(name, data, match, written):
    with pytest.raises(InputError, match=match):
        read(written(name, data))


@given(
    rows=st.lists(st.sampled_from(["1,2", "3", "4,5,6", "7,\xff", '"8\n8",9', ""]), max_size=40), block=st.booleans()
)
def test_rows_of_csv_agree_with_the_standard_library(rows, block, tmp_path_factory):
    """Numbers count all rows, good and bad, but no blank lines; with ``block``, over many blocks of the parser."""
    rows = ["1,2", *(rows * 40 if block else rows)]  # a file of which no row is UTF-8 is an error as a whole
    data = "\n".join(["a,b", *rows, ""]).encode("latin-1")
    path = tmp_path_factory.getbasetemp() / "agree.csv"
    path.write_bytes(data)
    expected = [row for row in csv.reader(io.StringIO(data.decode("latin-1"), newline="")) if row][1:]
    good = [number for number, row in enumerate(expected) if len(row) == 2 and row[1] != "\xff"]
    with pytest.MonkeyPatch.context() as patch:
        if block:
            patch.setattr("protosieve.io._csv_rows._BLOCK", 64)
        numbers, found, noted = read(path, skip=True)
    assert numbers == good
    assert [list(row.values()) for row in found] == [expected[number] for number in good]
    assert [row.number for row in noted] == sorted(set(range(len(expected))) - set(good))


LINES = [
    '{"a": 1}',
    '{"a": 2.5, "b": "x"}',
    '{"b": null}',
    '{"a": NaN}',
    "[]",
    "",
    " ",
    '{"a"',
    '{"c": [1]}',
    '{"a": "t"}',
]


@given(rows=st.lists(st.sampled_from(LINES), max_size=30), small=st.booleans())
def test_rows_of_json_lines_agree_with_the_standard_library(rows, small, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "agree.jsonl"
    path.write_text("\n".join(['{"a": 1, "b": "x"}', *rows]))
    expected = {}
    for number, row in enumerate(row for row in ['{"a": 1, "b": "x"}', *rows] if row.strip()):
        if row not in (LINES[3], LINES[4], LINES[7]):
            expected[number] = json.loads(row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protosieve.io._jsonlines._BLOCK", 16 if small else 1 << 22)
        numbers, found, _ = read(path, columns=["b", "a"], skip=True)
    assert numbers == list(expected)
    for row, truth in zip(found, expected.values(), strict=True):
        assert row["b"] == truth.get("b")
        assert row["a"] in (truth.get("a"), json.dumps(truth.get("a")))


# --- headers


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", r"rows\.csv: is empty; a header line with the names of the columns is needed$"),
        (b"\n\n", r"rows\.csv: is empty; a header line"),
        (b"1,2.5\n3,4\n", r"the first line looks like data \(1, 2\.5\); a header line with names is needed$"),
        (b"a,,b\n", r"column 2 of the header has no name; give it one$"),
        (b"a,b,a\n", r"columns 1 and 3 are both called 'a'; give each column its own name$"),
        (
            b"\xffa,b\n",
            r"the header line is not UTF-8 \(byte 0xFF: .* convert it: iconv -f latin1 -t utf8\); save the file",
        ),
    ],
)
def test_headers_that_cannot_be_used_say_so(data, match, written):
    with pytest.raises(InputError, match=match):
        read(written("rows.csv", data))


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_cells_may_have_another_delimiter_where_the_header_tells(delimiter, ending, written):
    """A header has the format's own delimiter, or another; a name in quotes may hold any of them."""
    text = f'"a{delimiter}a"{delimiter}b\n1{delimiter}"2{delimiter}3"\n'
    assert read(written(f"rows.{ending}", text.encode()))[1] == [{f"a{delimiter}a": "1", "b": f"2{delimiter}3"}]
    assert read(written(f"one.{ending}", f'"a{delimiter}b"\n"p{delimiter}q"\n'.encode()))[1] == [
        {f"a{delimiter}b": f"p{delimiter}q"}
    ]


def test_text_with_commas_is_no_number_in_a_file_of_semicolons(written):
    assert read(written("rows.csv", b"a;b\n1,5 kg;2\nx,y;3\n"))[1][0] == {"a": "1,5 kg", "b": "2"}


def test_column_names_may_be_numbers_beside_others(written):
    assert read(written("rows.csv", b"name,2023,2024\nx,1,2\n"))[1] == [{"name": "x", "2023": "1", "2024": "2"}]


@pytest.mark.parametrize(("rest", "lost"), [("half", "1 line"), ("half\n3,4\n5,6", "3 lines")])
def test_what_an_open_quote_swallows_is_counted(written, rest, lost):
    noted = read(written("rows.csv", f'a,b\n1,2\n5,"{rest}'.encode()), skip=True)[2]
    assert [(row.number, row.problem.endswith(f"the rest of the file, {lost}")) for row in noted] == [(1, True)]


def test_a_mark_like_that_of_a_files_beginning_is_text_elsewhere(written, monkeypatch):
    monkeypatch.setattr("protosieve.io._csv_rows._BLOCK", 8)
    rows = ["\ufeffx", "y", "\ufeff", "\ufeffz\ufeff"]
    found = read(written("rows.csv", ("a,b\n" + "".join(f"{row},{i}\n" for i, row in enumerate(rows))).encode()))[1]
    assert [row["a"] for row in found] == rows


def test_a_quote_that_swallows_a_large_file_is_noticed(written):
    path = written("rows.csv", b'a,b\n1,2\n3,"4\n' + b"5,6\n" * 5_000_000)
    with pytest.raises(InputError, match=r"a row is longer than 16 MB; perhaps a quote is never closed"):
        read(path)


def test_a_line_without_end_is_noticed(written):
    path = written("rows.jsonl", b'{"a": "' + b"x" * (70 << 20))
    with pytest.raises(InputError, match=r"cannot be read as JSON lines: a line is longer than 64 MB"):
        read(path)


# --- whole files


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ipc", "npz", "npy", "csv.gz", "jsonl.gz"])
def test_a_file_cut_short_is_one_line(ending, written):
    data = npy(np.eye(50)) if ending == "npy" else encoded(sample(500), ending)
    for length in (5, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(InputError, match=rf"rows\.{ending}: (cannot be read as|is cut short)") as caught:
            read(written(f"rows.{ending}", data[:length]))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "npz", "npy"])
def test_a_foreign_file_is_one_line(ending, written):
    with pytest.raises(
        InputError, match=rf"rows\.{ending}: cannot be read as .*; it is damaged, cut short or of another"
    ):
        read(written(f"rows.{ending}", b"a,b\n1,2\n" * 50))


def test_the_same_name_twice_is_an_error_in_every_format(written):
    table = pa.table([[1], [2]], names=["a", "a"])
    for name, data in (("rows.ipc", arrow_stream(table)), ("rows.parquet", encoded(table, "parquet"))):
        with pytest.raises(InputError, match=r"'a' names more than one column; give each column its own name"):
            read(written(name, data))


def test_text_in_parquet_that_is_not_utf8_is_one_line(written, tmp_path):
    raw = pa.array([b"\xff\xfe"]).view(pa.string())
    pq.write_table(pa.table({"a": raw}), tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=r"rows\.parquet: cannot be read as Parquet: .*UTF8"):
        read(tmp_path / "rows.parquet")


def test_a_file_that_goes_away_is_one_line(written):
    for ending in ("parquet", "csv", "npy"):
        path = written(f"rows.{ending}", b"a\n1\n")
        (source,) = find_sources(path)
        path.unlink()
        with pytest.raises(
            InputError, match=r"cannot be read: No such file or directory; check that it exists and may be"
        ):
            rows_of(source)


ROWS = np.zeros(3, [("a", int), ("b", float)])


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (
            np.array([{}, 1], object),
            r"the array holds Python objects, which are never loaded; save it as numbers or text$",
        ),
        (ROWS, r"the array is a structured array; save its fields as arrays of their own$"),
        (
            np.zeros((2, 3, 4)),
            r"the array has 3 dimensions \(shape \(2, 3, 4\)\); rows are wanted: reshape it to one or two",
        ),
        (np.array(5.0), r"the array has 0 dimensions \(shape \(\)\); rows are wanted"),
        (
            np.zeros((2, 2), complex),
            r"the array of shape \(2, 2\) holds complex128; two dimensions are for real numbers",
        ),
        (
            np.array([["a"]]),
            r"the array of shape \(1, 1\) holds <U1; two dimensions are for real numbers, one for numbers",
        ),
        (np.zeros(3, "m8[s]"), r"the array of shape \(3,\) holds timedelta64\[s\]; two dimensions"),
        (np.zeros((3, 0)), r"the array has rows of no size \(shape \(3, 0\), float64\); give it values$"),
    ],
)
def test_arrays_that_are_no_columns_say_so(array, match, written, tmp_path):
    np.save(tmp_path / "rows.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=match):
        read(tmp_path / "rows.npy")


def test_a_structured_array_of_the_newest_format_is_one_line(tmp_path):
    with (tmp_path / "rows.npy").open("wb") as file:
        np.lib.format.write_array(file, np.zeros(3, [("ж", int)]), version=(3, 0))
    with pytest.raises(InputError, match="is a structured array; save its fields as arrays of their own"):
        read(tmp_path / "rows.npy")


def test_a_shape_below_zero_is_one_line(written):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (-5,), }".ljust(117) + b"\n"
    with pytest.raises(InputError, match=r"has the shape \(-5,\), which no array has; save it again"):
        read(written("rows.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head))


def test_an_array_cut_short_says_by_how_much(written):
    with pytest.raises(
        InputError, match=r"is cut short: it has 228 bytes where 10 rows of 16 bytes need 288; copy it aga"
    ):
        read(written("rows.npy", npy(np.zeros((10, 2)))[:228]))


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        (
            {"a": np.zeros(3), "b": np.zeros((4, 2))},
            r"array 'a' has 3 rows and array 'b' has 4; save arrays that belong",
        ),
        ({"a": np.float64(3)}, r"rows\.npz: holds no arrays with rows; save some with numpy\.savez"),
        ({"a": ROWS}, r"array 'a' is a structured array"),
        ({"a": np.array([{}], object)}, r"array 'a' holds Python objects, which are never loaded"),
        ({"a": np.zeros((2, 3, 4))}, r"array 'a' has 3 dimensions"),
    ],
)
def test_archives_that_are_no_tables_say_so(arrays, match, tmp_path):
    np.savez(tmp_path / "rows.npz", **arrays)
    with pytest.raises(InputError, match=match):
        read(tmp_path / "rows.npz")


def test_nothing_is_ever_unpickled(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", np.array([{}], object), allow_pickle=True)
    monkeypatch.setattr("pickle.load", lambda *_, **__: pytest.fail("pickle was used"))
    with pytest.raises(InputError, match="never loaded"):
        read(tmp_path / "rows.npy")


def test_gzip_with_a_wrong_checksum_is_one_line(written):
    data = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 100))
    data[-6] ^= 0xFF
    with pytest.raises(InputError, match=r"rows\.csv\.gz: cannot be read as CSV: CRC check failed"):
        read(written("rows.csv.gz", bytes(data)))


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        (
            "rows.csv",
            "Jérôme,{}\n",
            r"rows\.csv, row 0: column 'name' is not UTF-8 \(byte 0xE9: .*iconv -f latin1 -t utf8",
        ),
        (
            "rows.jsonl",
            '{{"name": "Jérôme", "x": {}}}\n',
            r"rows\.jsonl, row 0: is not UTF-8 \(byte 0xE9: .*iconv -f latin1",
        ),
    ],
)
def test_a_file_of_another_encoding_is_said_to_be_none_of_ours(tmp_path, file, line, message):
    header = "name,x\n" if file.endswith(".csv") else ""
    path = tmp_path / file
    path.write_bytes((header + "".join(line.format(i) for i in range(50))).encode("latin1"))
    with pytest.raises(InputError, match=message):
        find_sources([str(path)])[0].schema()
