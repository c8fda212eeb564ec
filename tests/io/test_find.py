"""What users name becomes files, in an order they can foresee; and files that belong together."""

import datetime
import gzip
import io
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import io_files
from io_files import encoded, rows_of, sample
from protosieve.errors import InputError, ParameterError
from protosieve.io import check_schemas, find_sources
from protosieve.io._formats import ENDINGS, FORMATS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to stand in, with files in folders."""
    for name in ("b.csv", "a.CSV", "sub/c.tsv.gz", "sub/deep/d.csv", "_skip.csv", ".hidden.csv", ".git/x.csv", "e.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("h\tw\n1\t2\n" if ".tsv" in name else "h,w\n1,2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(inputs, form=None):
    return [source.name for source in find_sources(inputs, form)]


def test_a_folder_gives_its_files_sorted(folder):
    assert names(".") == ["./a.CSV", "./b.csv", "./sub/c.tsv.gz", "./sub/deep/d.csv"]
    assert names(folder / "sub") == [str(folder / "sub/c.tsv.gz"), str(folder / "sub/deep/d.csv")]


def test_a_pattern_gives_its_files_sorted(folder):
    assert names("*.csv") == ["b.csv"]
    assert names("?.[cC][sS][vV]") == ["a.CSV", "b.csv"]
    assert names("**/*.csv") == ["b.csv", "sub/deep/d.csv"]
    assert names("_*.csv") == ["_skip.csv"]
    assert names("su*") == ["sub/c.tsv.gz", "sub/deep/d.csv"]


def test_inputs_keep_the_order_given(folder):
    assert names(["sub", "b.csv", "a.CSV"]) == ["sub/c.tsv.gz", "sub/deep/d.csv", "b.csv", "a.CSV"]


def test_a_path_that_exists_is_no_pattern(folder):
    (folder / "odd[1]*.csv").write_text("a\n1\n")
    assert names("odd[1]*.csv") == ["odd[1]*.csv"]


def test_the_size_is_known(folder):
    assert find_sources("b.csv")[0].size == 8


@pytest.mark.parametrize(
    ("inputs", "match"),
    [
        ("c.csv", r"^c\.csv: no such file; did you mean 'b\.csv'\?$"),
        ("zzzzzzz", r"^zzzzzzz: no such file; check the path$"),
        ("nowhere/b.csv", r"^nowhere/b\.csv: there is no folder 'nowhere'; check the path$"),
        ("*.parquet", r"^\*\.parquet: no file matches this pattern; check it, and quote it"),
        ("e.txt", r"^e\.txt: its ending says no known format; known are \.parquet, .*or give format \(parquet, arrow"),
        (
            ["b.csv", "./b.csv"],
            r"^\./b\.csv: is given twice \(also as b\.csv\), so its rows would count twice; give it",
        ),
        (["b.csv", "*.csv"], r"^b\.csv: is given twice"),
        (["-", "b.csv"], r"^- \(standard input\) cannot be mixed with other inputs; give it alone, once$"),
        (["-", "-"], r"cannot be mixed with other inputs; give it alone, once$"),
        ([], r"^no input is given; name at least one file"),
    ],
)
def test_inputs_that_name_nothing_say_so(folder, inputs, match):
    with pytest.raises(InputError, match=match):
        find_sources(inputs)


def test_a_link_to_a_file_is_that_file(folder):
    (folder / "link.csv").symlink_to("b.csv")
    with pytest.raises(InputError, match=r"link\.csv: is given twice \(also as b\.csv\)"):
        find_sources(["b.csv", "link.csv"])


def test_a_folder_of_nothing_known_lists_the_endings(folder):
    (folder / "docs").mkdir()
    (folder / "docs/readme.md").write_text("hello")
    with pytest.raises(
        InputError,
        match=r"^docs: no file in it has a known ending \(\.parquet, \.pq, .*\.xls, \.png, .*\.tiff\); name",
    ):
        find_sources("docs")
    with pytest.raises(InputError, match=r"^docs: no file in it has a known ending \(\.csv, \.csv\.gz\); name files"):
        find_sources("docs", "csv")


def test_a_named_format_overrides_the_ending(folder):
    assert rows_of(find_sources("e.txt", "csv")[0])[1] == [{"h": "1", "w": "2"}]
    (folder / "parts").mkdir()
    for name in ("part-0", "part-1", "notes.txt", "_SUCCESS"):
        (folder / "parts" / name).write_text("h,w\n1,2\n")
    assert names("parts", "csv") == ["parts/part-0", "parts/part-1"]
    with pytest.raises(ParameterError, match=r"format must be one of parquet, arrow, csv, .*; got 'xls'"):
        find_sources("e.txt", "xls")


def test_every_format_says_what_it_is_and_is_in_the_docs():
    docs = (Path(__file__).parents[2] / "docs/formats.md").read_text()
    assert sum(len(source.endings) for source in FORMATS.values()) == len(ENDINGS)
    for name, source in FORMATS.items():
        assert source.format == name
        assert source.title
        assert f"`{name}`" in docs
        assert all(f"`{ending.removesuffix('.gz')}`" in docs for ending in source.endings)


def test_a_fingerprint_changes_with_the_file(folder):
    (source,) = find_sources("b.csv")
    before = source.fingerprint()
    assert before == {"name": "b.csv", "size": 8, "modified": (folder / "b.csv").stat().st_mtime_ns}
    assert source.fingerprint() == before
    os.utime("b.csv", ns=(5, 5))
    assert source.fingerprint() != before
    (folder / "b.csv").unlink()
    with pytest.raises(InputError, match=r"^b\.csv: cannot be read: No such file or directory; check that it exists"):
        source.fingerprint()


# --- standard input


class Standard:
    """What `sys.stdin` is when something is piped in."""

    def __init__(self, data):
        self.buffer = io.BufferedReader(io.BytesIO(data))


@pytest.fixture
def pipe(monkeypatch):
    def feed(data):
        monkeypatch.setattr(sys, "stdin", Standard(data))
        return find_sources("-")[0]

    return feed


PIPED = {
    "csv": encoded(sample(), "csv"),
    "tsv": encoded(sample(), "tsv"),
    "jsonl": encoded(sample(), "jsonl"),
    "ipc": encoded(sample(), "ipc"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", PIPED)
def test_standard_input_is_recognised_and_read_whole(kind, packed, pipe, tmp_path):
    (tmp_path / f"rows.{kind}").write_bytes(PIPED[kind])
    source = pipe(gzip.compress(PIPED[kind]) if packed else PIPED[kind])
    assert source.name == "standard input"
    assert source.size is None
    assert source.fingerprint() is None
    assert source.schema() == find_sources(tmp_path / f"rows.{kind}")[0].schema()
    assert rows_of(source) == io_files.read(tmp_path / f"rows.{kind}")


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_can_be_piped(order, pipe):
    array = np.asarray(np.random.default_rng(0).normal(size=(30, 3)), order=order)
    numbers, rows, _ = rows_of(pipe(io_files.npy(array)), start=4)
    assert numbers == list(range(4, 30))
    np.testing.assert_array_equal([row["x"] for row in rows], array[4:])


def test_a_long_pipe_loses_no_row_to_the_look_at_its_head(pipe):
    source = pipe(b"a,b\n" + b"".join(b"%d,x\n" % i for i in range(400_000)))
    assert source.schema().field("a").type == pa.float64()
    assert [row["a"] for row in rows_of(source)[1]] == [str(i) for i in range(400_000)]


def test_a_pipe_is_read_once(pipe):
    source = pipe(b"a\n1\n")
    assert rows_of(source)[1] == [{"a": "1"}]
    with pytest.raises(InputError, match=r"^standard input can be read only once; save its rows to a file and give"):
        rows_of(source)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", r"^standard input: is empty; pipe rows into it$"),
        (
            encoded(sample(), "parquet"),
            r"^standard input: parquet has its index at the end, so it cannot be read from a",
        ),
        (
            encoded(sample(), "npz"),
            r"^standard input: npz has its index at the end, so it cannot be read from a pipe; give",
        ),
        (
            encoded(sample(), "arrow"),
            r"^standard input: an Arrow file has its index at the end.*or pipe an Arrow stream",
        ),
        (b"[1, 2]", r"^standard input, row 0: is a number, not an object; give an object per line, or an array of obj"),
    ],
)
def test_what_a_pipe_cannot_bring_says_so(data, match, pipe):
    with pytest.raises(InputError, match=match):
        rows_of(pipe(data))


def test_a_damaged_gzip_in_a_pipe_says_so(pipe):
    with pytest.raises(InputError, match=r"^standard input: cannot be read as rows: .*; it is damaged"):
        pipe(gzip.compress(b"a\n1\n")[:12])


def test_standard_input_stays_open(pipe):
    source = pipe(b"a\n1\n")
    rows_of(source)
    del source
    assert not sys.stdin.buffer.closed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_like_standard_input(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=(b"a\n1\n2\n",))
    writer.start()
    (source,) = find_sources(tmp_path / "fifo")
    assert rows_of(source)[1] == [{"a": "1"}, {"a": "2"}]
    writer.join()


# --- URLs


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for ending in ("parquet", "arrow", "ipc", "csv.gz", "jsonl", "npz"):
        system.pipe(f"/data/rows.{ending}", encoded(sample(), ending))
    system.pipe("/data/fortran.npy", io_files.npy(np.asfortranarray(np.eye(4))))
    system.pipe("/data/_skip/rows.csv", b"a\n1\n")
    yield system
    system.store.clear()


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ipc", "csv.gz", "jsonl", "npz"])
def test_files_behind_a_url_are_read_like_files(ending, memory, tmp_path):
    (tmp_path / f"rows.{ending}").write_bytes(encoded(sample(), ending))
    (source,) = find_sources(f"memory://data/rows.{ending}")
    assert source.size == (tmp_path / f"rows.{ending}").stat().st_size
    assert rows_of(source, start=13) == io_files.read(tmp_path / f"rows.{ending}", start=13)


def test_arrays_behind_a_url(memory):
    (source,) = find_sources("memory://data/fortran.npy")
    assert [row["x"] for row in rows_of(source, start=2)[1]] == np.eye(4)[2:].tolist()


def test_folders_and_patterns_behind_a_url(memory):
    assert names("memory://data/rows.*r*") == [
        "memory:///data/rows.arrow",
        "memory:///data/rows.parquet",
    ]
    assert len(names("memory://data")) == 7
    with pytest.raises(InputError, match=r"^memory://data/\*\.tsv: no file matches this pattern"):
        find_sources("memory://data/*.tsv")
    with pytest.raises(
        InputError, match=r"^memory://data/none\.csv: no such file; check the URL and your access rights"
    ):
        find_sources("memory://data/none.csv")


def test_fingerprints_behind_a_url_change_with_the_file(memory):
    (source,) = find_sources("memory://data/rows.jsonl")
    before = source.fingerprint()
    assert before == source.fingerprint()
    assert set(before) == {"name", "size", "etag"}
    memory.pipe("/data/rows.jsonl", b"{}\n")
    assert source.fingerprint() != before


def test_a_file_url_is_the_file(folder):
    pytest.importorskip("fsspec")
    (source,) = find_sources(f"file://{folder}/b.csv")
    assert rows_of(source)[1] == [{"h": "1", "w": "2"}]
    with pytest.raises(InputError, match="is given twice"):
        find_sources(["b.csv", f"file://{folder}/b.csv"])


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        InputError, match=r"^s3://bucket/rows\.csv: a URL needs more packages .*; run pip install 'protosieve\[s3\]'"
    ):
        find_sources("s3://bucket/rows.csv")


def test_an_unknown_kind_of_url_says_so():
    pytest.importorskip("fsspec")
    with pytest.raises(InputError, match=r"^nosuch://x/rows\.csv: cannot be opened: Protocol not known: nosuch"):
        find_sources("nosuch://x/rows.csv")


# --- files that belong together


def schema_of(tmp_path, *tables):
    paths = []
    for number, table in enumerate(tables):
        paths.append(tmp_path / f"{number}.parquet")
        pq.write_table(table, paths[-1])
    return check_schemas(find_sources(paths))


def test_columns_may_come_in_any_order_and_nulls_fit_all(tmp_path):
    found = schema_of(
        tmp_path,
        pa.table({"a": pa.nulls(1), "b": ["x"]}),
        pa.table({"b": pa.nulls(1), "a": [1]}),
        pa.table({"b": pa.array(["y"]).dictionary_encode(), "a": [2]}),
    )
    assert found == pa.schema([("a", pa.int64()), ("b", pa.string())])


def test_the_widest_type_is_the_columns(tmp_path):
    narrow, wide = pa.table({"a": pa.array([1], pa.float32())}), pa.table({"a": pa.array([1], pa.float64())})
    assert schema_of(tmp_path, narrow, wide) == schema_of(tmp_path, wide, narrow) == wide.schema


LISTS = pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))


@pytest.mark.parametrize(
    ("first", "then", "match"),
    [
        (
            {"a": [1]},
            {"b": [1]},
            r"1\.parquet: has no column 'a', which .*0\.parquet has; give all the same columns",
        ),
        ({"a": [1]}, {"a": [1], "b": [1]}, r"1\.parquet: has a column 'b', which .*0\.parquet has not; give all the"),
        (
            {"a": [1]},
            {"a": ["x"]},
            r"1\.parquet: column 'a' holds text, and in .*0\.parquet it holds numbers; give the",
        ),
        ({"a": [True]}, {"a": [1.5]}, r"column 'a' holds numbers, and in .*0\.parquet it holds true/false"),
        ({"a": [1]}, {"a": [datetime.date(2024, 1, 1)]}, r"column 'a' holds dates, and in .* it holds numbers"),
        (
            {"a": LISTS},
            {"a": pa.array([[1.0]], pa.list_(pa.float32(), 1))},
            r"holds lists of 1 numbers, .* lists of 2 num",
        ),
        ({"a": LISTS}, {"a": [[1.0]]}, r"column 'a' holds lists of numbers, and in .* it holds lists of 2 numbers"),
        ({"a": [b"x"]}, {"a": ["x"]}, r"column 'a' holds text, and in .* it holds binary"),
    ],
)
def test_files_that_do_not_belong_together_say_why(first, then, match, tmp_path):
    with pytest.raises(InputError, match=match):
        schema_of(tmp_path, pa.table(first), pa.table(then))


def test_an_empty_file_of_json_lines_belongs_to_all(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n')
    assert check_schemas(find_sources(tmp_path)) == pa.schema([("a", pa.int64())])
    with pytest.raises(InputError, match=r"a\.jsonl: no columns and no rows; give some rows"):
        check_schemas(find_sources(tmp_path / "a.jsonl"))


def test_a_matrix_keeps_its_mark(tmp_path):
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.eye(3))
    found = check_schemas(find_sources(tmp_path))
    assert found.field("x").metadata == {b"protosieve": b"numbers"}


def test_a_path_that_is_not_utf8_is_an_error_at_once(tmp_path):
    path = os.fsdecode(bytes(tmp_path) + b"/\xff.csv")
    with open(path, "w") as file:  # noqa: PTH123
        file.write("a\n1\n")
    with pytest.raises(InputError, match=r"udcff\.csv: its path is not UTF-8, so that no result could name it"):
        find_sources(tmp_path)
