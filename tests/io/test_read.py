"""Every format gives back the rows that others wrote, from any row on."""

import gzip
import io
import os
import warnings
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import io_files
from io_files import TABLE_FORMATS, encoded, read, rows_of, sample
from protosieve import select
from protosieve.errors import InputError, ProtosieveWarning
from protosieve.io import BadRows, _jsonlines, _locations, find_sources
from protosieve.io._csv_rows import CsvRows


def as_text(rows):
    """Rows as CSV knows them."""
    return [{name: str(value) for name, value in row.items()} for row in rows]


def truth(table, ending):
    rows = table.to_pylist()
    return as_text(rows) if ending[:3] in ("csv", "tsv") else rows


@pytest.mark.parametrize("ending", TABLE_FORMATS)
def test_a_file_gives_back_its_rows(ending, tmp_path):
    table = sample()
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(encoded(table, ending))
    numbers, rows, bad = read(path)
    assert rows == truth(table, ending)
    assert numbers == list(range(50))
    assert bad == []


@pytest.mark.parametrize("ending", TABLE_FORMATS)
def test_the_schema_has_the_names_and_kinds(ending, tmp_path):
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(encoded(sample(), ending))
    schema = find_sources(path)[0].schema()
    assert schema.names == ["height", "word", "count"]
    assert [pa.types.is_floating(t) or pa.types.is_integer(t) for t in schema.types] == [True, False, True]
    assert schema.field("word").type == pa.string()


@pytest.mark.parametrize("ending", TABLE_FORMATS)
def test_columns_come_in_the_order_asked_for(ending, tmp_path):
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(encoded(sample(), ending))
    _, rows, _ = read(path, columns=["count", "height"])
    assert [list(row) for row in rows] == [["count", "height"]] * 50
    with pytest.raises(InputError, match=rf"rows\.{ending}: has no column 'age'; its columns are 'height', 'word', "):
        read(path, columns=["age"])


@given(data=st.data(), ending=st.sampled_from(TABLE_FORMATS), rows=st.integers(1, 60), start=st.integers(0, 70))
def test_starting_at_a_row_is_slicing(data, ending, rows, start, tmp_path_factory):
    table = sample(rows, seed=data.draw(st.integers(0, 5)))
    path = tmp_path_factory.getbasetemp() / f"slice.{ending}"
    path.write_bytes(encoded(table, ending))
    numbers, found, _ = read(path, start=start)
    assert found == truth(table, ending)[start:]
    assert numbers == list(range(start, rows))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl", "npz"])
def test_starting_at_a_row_is_slicing_in_files_of_many_pieces(ending, tmp_path):
    table = sample(33_000)
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(encoded(table, ending))
    whole = truth(table, ending)
    for start in (1, 16_383, 16_384, 16_385, 32_999, 33_000, 10**12):
        numbers, rows, _ = read(path, start=start)
        assert rows == whole[start:]
        assert numbers == list(range(start, 33_000))


@pytest.mark.parametrize("ending", TABLE_FORMATS)
def test_pieces_are_small_and_progress_ends_at_the_size(ending, tmp_path):
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(encoded(sample(20_000), ending))
    (source,) = find_sources(path)
    pieces = list(source.pieces(None, 0, BadRows(False)))
    assert max(len(piece.numbers) for piece in pieces) <= 16_384
    assert pieces[-1].bytes_read == source.size == path.stat().st_size


def test_wide_rows_make_pieces_of_few_rows(tmp_path):
    wide = np.zeros((40, 1 << 20), np.float32)  # 4 MB a row
    np.save(tmp_path / "wide.npy", wide)
    table = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(wide.ravel()), 1 << 20)})
    pa.feather.write_feather(table, tmp_path / "wide.arrow", compression="uncompressed")
    for name in ("wide.npy", "wide.arrow"):
        pieces = find_sources(tmp_path / name)[0].pieces(None, 0, BadRows(False))
        assert [len(piece.numbers) for piece in pieces] == [4] * 10


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ipc", "npz", "csv", "tsv", "npy"])
def test_no_rows_are_no_pieces(ending, tmp_path):
    table = sample(1).slice(1)
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(io_files.npy(np.empty((0, 3))) if ending == "npy" else encoded(table, ending))
    assert read(path) == ([], [], [])


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4"])
def test_parquet_of_pandas_is_read_as_pandas_reads_it(compression, tmp_path):
    frame = sample(500).to_pandas()
    frame["kind"] = frame["word"].astype("category")
    frame["day"] = pd.date_range("2024-01-01", periods=500)
    frame.to_parquet(tmp_path / "rows.parquet", compression=compression, row_group_size=77)
    (source,) = find_sources(tmp_path / "rows.parquet")
    assert pa.types.is_dictionary(source.schema().field("kind").type)
    pieces = [piece.table for piece in source.pieces(None, 0, BadRows(False))]
    pd.testing.assert_frame_equal(pa.concat_tables(pieces).to_pandas(), frame)


def test_a_column_name_with_a_dot_is_only_itself(tmp_path):
    table = pa.table({"a": [1], "a.b": [2], "s": [{"b": 3}]})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert read(tmp_path / "rows.parquet", columns=["a"])[1] == [{"a": 1}]
    assert read(tmp_path / "rows.parquet", columns=["s", "a.b"])[1] == [{"s": {"b": 3}, "a.b": 2}]


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_files_of_every_compression(compression, tmp_path):
    pa.feather.write_feather(sample(300), tmp_path / "rows.feather", compression=compression, chunksize=40)
    assert read(tmp_path / "rows.feather", start=55)[1] == sample(300).to_pylist()[55:]


VIEWS = {
    "text": pa.array(["a", None, "ccc"], pa.string_view()),
    "bytes": pa.array([b"a", None, b"ccc"], pa.binary_view()),
    "lists": pa.array([[1.0], None, [2.0, 3.0]], pa.list_view(pa.float64())),
    "large lists of text": pa.array([["a"], None, ["b", None]], pa.large_list_view(pa.string_view())),
    "text in lists": pa.array([["a"], None, []], pa.list_(pa.string_view())),
    "text in lists of two": pa.array([["a", "b"], None, ["c", "d"]], pa.list_(pa.string_view(), 2)),
    "text in large lists": pa.array([["a"], None, []], pa.large_list(pa.string_view())),
    "text in structs": pa.array([{"a": "x"}, None, {"a": None}], pa.struct([("a", pa.string_view())])),
    "lists in structs": pa.array([{"a": [1]}, None, {"a": None}], pa.struct([("a", pa.list_view(pa.int64()))])),
    "runs": pc.run_end_encode(pa.array([5, 5, None])),
}


@pytest.mark.parametrize("name", VIEWS)
def test_rows_can_be_taken_of_columns_in_views(name, tmp_path):
    table = pa.table({"x": [0.0, 1.0, 5.0], "v": VIEWS[name]})
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    (source,) = find_sources([str(tmp_path / "x.arrow")])
    pieces = [piece.table for piece in source.pieces(None, 0, BadRows(skip=False))]
    assert {piece.schema for piece in pieces} == {source.schema()}
    assert [row for piece in pieces for row in piece.to_pylist()] == table.to_pylist()
    result = select(tmp_path / "x.arrow", 3, features="x")
    cells = table.column("v").to_pylist()
    assert result.table.column("v").to_pylist() == [cells[row] for row in result.indices]


def test_dictionaries_in_arrow_files_stay(tmp_path):
    table = pa.table({"word": sample(100)["word"].dictionary_encode()})
    (tmp_path / "rows.arrow").write_bytes(io_files.arrow_file(table))
    (tmp_path / "rows.ipc").write_bytes(io_files.arrow_stream(table))
    for name in ("rows.arrow", "rows.ipc"):
        pieces = list(find_sources(tmp_path / name)[0].pieces(None, 30, BadRows(False)))
        assert pa.types.is_dictionary(pieces[0].table["word"].type)
        assert [row for piece in pieces for row in piece.table.to_pylist()] == table.to_pylist()[30:]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("f2", "f4"), ("f4", "f4"), (">f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("u1", "f8"), ("?", "f8"), ("g", "f8")],
)
def test_a_matrix_is_one_column_of_lists(dtype, expected, order, tmp_path):
    array = np.asarray(np.random.default_rng(0).normal(size=(40, 3)) * 5, order=order).astype(dtype, order=order)
    np.save(tmp_path / "rows.npy", array)
    (source,) = find_sources(tmp_path / "rows.npy")
    field = source.schema().field("x")
    assert field.metadata == {b"protosieve": b"numbers"}
    assert field.type == pa.list_(pa.from_numpy_dtype(np.dtype(expected)), 3)
    for start in (0, 7, 39):
        (piece,) = source.pieces(None, start, BadRows(False))
        assert piece.table.schema.equals(source.schema(), check_metadata=True)
        np.testing.assert_array_equal(np.array(piece.table["x"].to_pylist(), expected), array[start:].astype(expected))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_each_array_of_an_archive_is_a_column(save, tmp_path):
    rng = np.random.default_rng(1)
    arrays = {
        "X": np.asfortranarray(rng.normal(size=(30, 4)).astype(np.float32)),
        "id": np.arange(30, dtype=np.int64) + 2**60,
        "word": np.array([f"w{i}" for i in range(30)]),
        "bytes": np.array([b"b%d" % i for i in range(30)]),
        "good": np.arange(30) % 2 == 0,
        "day": np.datetime64("2024-01-01") + np.arange(30),
        "month": np.datetime64("2024-01", "M") + np.arange(30),
        "half": np.arange(30, dtype=np.float16),
    }
    save(tmp_path / "rows.npz", scalar=3.0, **arrays)
    numbers, rows, _ = read(tmp_path / "rows.npz", start=5)
    assert numbers == list(range(5, 30))
    np.testing.assert_array_equal([row["X"] for row in rows], arrays["X"][5:])
    assert [row["id"] for row in rows] == arrays["id"][5:].tolist()
    assert [row["word"] for row in rows] == [f"w{i}" for i in range(5, 30)]
    assert [row["bytes"] for row in rows] == [f"b{i}" for i in range(5, 30)]
    assert [row["good"] for row in rows] == arrays["good"][5:].tolist()
    assert [row["day"] for row in rows] == arrays["day"][5:].tolist()
    assert [row["month"].date() for row in rows] == arrays["month"][5:].tolist()
    assert [row["half"] for row in rows] == arrays["half"][5:].tolist()
    assert "scalar" not in rows[0]


def test_an_array_of_one_dimension_is_a_column_of_numbers(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(5))
    assert read(tmp_path / "rows.npy")[1] == [{"x": i} for i in range(5)]


def test_cells_of_csv_stay_as_they_are_written(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes('\ufeffid, n,nan\r\n007, 1.50,NaN\r\n\r\n1e5,NA,x\r\n"a\nb",n/a,None'.encode())
    assert read(path) == (
        [0, 1, 2],
        [
            {"id": "007", " n": " 1.50", "nan": "NaN"},
            {"id": "1e5", " n": None, "nan": "x"},
            {"id": "a\nb", " n": None, "nan": None},
        ],
        [],
    )


@pytest.mark.parametrize("null", ["", "NA", "N/A", "n/a", "NULL", "null", "None", '""'])
def test_spellings_of_null(null, tmp_path):
    (tmp_path / "rows.csv").write_text(f"a,b\n1,{null}\n")
    assert read(tmp_path / "rows.csv")[1] == [{"a": "1", "b": None}]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2.5", "1e9", "NaN", ""], pa.float64()),
        ([" 1", "2 "], pa.float64()),
        (["true", "FALSE", "True"], pa.bool_()),
        (["2024-02-29", "2024-03-01"], pa.timestamp("us")),
        (["2024-02-29 12:00", "2024-03-01T00:00:00.25", "NA"], pa.timestamp("us")),
        (["2024-02-29T12:00:00Z", "2024-03-01 00:00:00+02:00"], pa.timestamp("us", "UTC")),
        (["2024-02-29T12:00:00.123456789"], pa.timestamp("ns")),
        (["2024-02-30"], pa.string()),
        (["2024-02-29T12:00:00Z", "2024-02-29T12:00:00"], pa.string()),
        (["1", "one"], pa.string()),
        (["1,5"], pa.string()),
        (["true", "1"], pa.string()),
        (["", "NA"], pa.null()),
        ([], pa.null()),
    ],
)
def test_types_of_csv_are_guessed_from_its_cells(cells, kind, tmp_path):
    (tmp_path / "rows.csv").write_text("".join(f'{i},"{cell}"\n' for i, cell in [("k", "c"), *enumerate(cells)]))
    assert find_sources(tmp_path / "rows.csv")[0].schema().field("c").type == kind


def test_a_column_that_begins_late_has_the_type_of_its_first_values(tmp_path):
    n = 10_100
    cells = [f"{i},{i / 2 if i > n - 50 else ''},{'x' if i > n - 9 else 'NA'}," for i in range(n)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,late,text,never", *cells]))
    (source,) = find_sources(tmp_path / "rows.csv")
    schema = source.schema()
    assert [str(kind) for kind in schema.types] == ["double", "double", "string", "null"]


def test_types_are_guessed_from_the_first_rows_only(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n" + "1\n" * 20_000 + "x\n")
    (source,) = find_sources(tmp_path / "rows.csv")
    assert source.schema().field("a").type == pa.float64()
    assert rows_of(source)[1][-1] == {"a": "x"}


def test_a_line_break_in_a_cell_where_the_head_is_cut_does_no_harm(tmp_path):
    body = '1,"' + "x\n" * 600_000 + '"\n'
    (tmp_path / "rows.csv").write_text("a,b\n" + body * 3)
    (source,) = find_sources(tmp_path / "rows.csv")
    assert source.schema().names == ["a", "b"]
    assert [row["a"] for row in rows_of(source)[1]] == ["1", "1", "1"]


def test_json_lines_have_the_columns_of_the_head(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n  {"b": "x", "v": [1, 2.5]} \n{}\n')
    numbers, rows, _ = read(path)
    assert numbers == [0, 1, 2]
    assert rows == [
        {"a": 1, "b": None, "v": None},
        {"a": None, "b": "x", "v": [1, 2.5]},
        {"a": None, "b": None, "v": None},
    ]


def test_later_keys_are_left_out_with_a_note_and_missing_ones_null(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n' * 20_000 + '{"new": 2}\n')
    with pytest.warns(ProtosieveWarning, match=r"keys that the first rows do not have are ignored: 'new' \(in 1 row\)"):
        numbers, rows, _ = read(path, start=19_999)
    assert (numbers, rows) == ([19_999, 20_000], [{"a": 1}, {"a": None}])


def test_later_keys_are_told_once_whatever_they_hold_and_however_they_are_parsed(tmp_path):
    path = tmp_path / "rows.jsonl"
    late = ['{"a": 1, "new": 2}', '{"a": 2.5, "new": "x", "other": [1]}', '{"new": {"b": 1}}', '{"new": null}']
    path.write_text('{"a": 1}\n' * 20_000 + "\n".join(late))
    (source,) = find_sources(path)
    with pytest.warns(ProtosieveWarning, match=r"'new' \(in 3 rows\), 'other' \(in 1 row\); to read such"):
        list(source.pieces(None, 0, BadRows(skip=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(source.pieces(None, 0, BadRows(skip=True)))


@pytest.mark.parametrize(
    ("late", "found"), [("2.5", 2.5), ('"x"', "x"), ("true", "true"), ("[1]", "[1]"), (str(10**19 - 1), 10**19 - 1)]
)
def test_a_later_block_of_other_types_is_still_given(late, found, tmp_path, monkeypatch):
    monkeypatch.setattr(_jsonlines, "_BLOCK", 1 << 16)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n' * 20_000 + f'{{"a": {late}}}\n')
    assert read(path, start=20_000)[1] == [{"a": found}]


def test_dates_in_json_lines_stay_as_they_are_written(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"day": "2024-02-29", "many": ["2024-02-29"]}\n')
    (source,) = find_sources(path)
    assert source.schema().field("day").type == pa.timestamp("us")
    assert rows_of(source)[1] == [{"day": "2024-02-29", "many": ["2024-02-29"]}]


def test_text_that_looks_like_broken_json_is_text(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": ", NaN, "}\n{"a": "}\\n{"}\n{"a": "\\ud83d\\ude00"}\n')
    assert [row["a"] for row in read(path)[1]] == [", NaN, ", "}\n{", "😀"]


def test_an_empty_file_of_json_lines_has_no_columns_and_no_rows(tmp_path):
    (tmp_path / "rows.jsonl").write_text("\n")
    (source,) = find_sources(tmp_path / "rows.jsonl")
    assert source.schema().names == []
    assert rows_of(source, columns=["a"]) == ([], [], [])


def test_compression_is_told_by_the_bytes_not_the_ending(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"a\n1\n") + gzip.compress(b"2\n"))
    (tmp_path / "b.csv.gz").write_bytes(b"a\n1\n2\n")
    assert read(tmp_path / "a.csv")[1] == read(tmp_path / "b.csv.gz")[1] == [{"a": "1"}, {"a": "2"}]


def test_a_source_can_be_read_again_and_again(tmp_path):
    for ending in TABLE_FORMATS:
        path = tmp_path / f"rows.{ending}"
        path.write_bytes(encoded(sample(), ending))
        (source,) = find_sources(path)
        assert rows_of(source) == rows_of(source)


def test_an_archive_of_an_older_zip_tool_is_read(tmp_path):
    """Deflated members, in an order of their own, beside things that are no arrays."""
    with zipfile.ZipFile(tmp_path / "rows.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "hello")
        for name, array in (("b", np.arange(3)), ("a", np.eye(3))):
            sink = io.BytesIO()
            np.save(sink, array)
            archive.writestr(f"{name}.npy", sink.getvalue())
    assert read(tmp_path / "rows.npz")[1][1] == {"b": 1, "a": [0.0, 1.0, 0.0]}


class Slow(io.RawIOBase):
    """Bytes that come a few at a time, as of a pipe."""

    def __init__(self, parts):
        self._parts = list(parts)

    def readable(self):
        return True

    def readinto(self, buffer):
        part = self._parts.pop(0) if self._parts else b""
        self._parts[:0] = [part[len(buffer) :]] if len(part) > len(buffer) else []
        buffer[: len(part)] = part[: len(buffer)]
        return min(len(part), len(buffer))


def slow(parts):
    return _locations.Opened(io.BufferedReader(Slow(parts)))


def test_rows_of_a_slow_pipe_are_handed_on_before_there_are_many(monkeypatch):
    monkeypatch.setattr(_locations, "_WAIT", 0.0)
    text = b'1,"a\nb"\n2,c\n3,"d ""e"" f"\n4,g\n'
    for cut in range(1, 12):  # also in the midst of rows and of quotes
        parts = [text[i : i + cut] for i in range(0, len(text), cut)]
        batches = [table for _, table, _ in CsvRows(slow(parts).arriving, ["n", "s"], ",").batches()]
        assert pa.concat_tables(batches).to_pydict() == {"n": list("1234"), "s": ["a\nb", "c", 'd "e" f', "g"]}
    whole = text.splitlines(keepends=True)
    rows = CsvRows(slow([whole[0] + whole[1], *whole[2:]]).arriving, ["n", "s"], ",")
    assert [len(numbers) for numbers, _, _ in rows.batches()] == [1, 1, 1, 1]


def test_what_arrives_is_all_that_is_asked_for_or_all_there_is_so_far(monkeypatch):
    parts = [b"ab", b"cd", b"ef"]
    assert slow(parts).arriving(100) == b"abcdef"
    assert slow(parts).arriving(3) == b"abc"
    assert slow([]).arriving(3) == b""
    monkeypatch.setattr(_locations, "_WAIT", 0.0)
    assert slow(parts).arriving(100) == b"ab"


def test_a_pipe_that_is_silent_does_not_keep_back_what_it_said():
    out, into = os.pipe()
    with os.fdopen(into, "wb", buffering=0) as speaker, os.fdopen(out, "rb") as heard:
        speaker.write(b"one\n")
        opened = _locations.Pipe("a pipe", lambda: heard, own=False).open()
        assert opened.arriving(1 << 20) == b"one\n"  # and does not wait for more
        speaker.write(b"two\n")
        assert opened.arriving(1 << 20) == b"two\n"
