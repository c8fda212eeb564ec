"""Tables in memory, of every kind: the same rows and weights as the same table in a Parquet file, or as a stream."""

import io
import signal
import sys
import tracemalloc
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from protosieve import InputError, ParameterError, ProtoSwap, Prototypes, select
from protosieve.io import BadRows, tables_in
from protosieve.passes import _stream
from protosieve.run import Stopped
from table_files import COLUMNS, assert_same, frame, numbers

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")
FEW = {"n_prototypes": 12, "sample": 800}


class Interchange:
    """What has the interchange protocol only; pandas warns that it is an old one."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, **_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.table.__dataframe__()


class Stream:
    """What has the protocol of Arrow streams only, and gives it once."""

    def __init__(self, table):
        self.reader = pa.table(table).to_reader(700)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


STORED = {
    "pandas": lambda table, path: table,
    "pandas, in Arrow's types": lambda table, path: table.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, with an index": lambda table, path: table.set_index(table.index[::-1]),
    "polars": lambda table, path: pl.from_pandas(table),
    "polars, in chunks": lambda table, path: pl.concat([pl.from_pandas(table[:999]), pl.from_pandas(table[999:])]),
    "polars, lazy": lambda table, path: pl.from_pandas(table).lazy().filter(pl.col("c0").is_not_nan()),
    "polars, lazy, of a file": lambda table, path: pl.scan_parquet(path),
    "Arrow table": lambda table, path: pa.Table.from_pandas(table),
    "Arrow batch": lambda table, path: pa.RecordBatch.from_pandas(table),
    "Arrow dataset": lambda table, path: pyarrow.dataset.dataset(path).filter(pyarrow.dataset.field("c1") > -1e9),
    "DuckDB": lambda table, path: duckdb.connect().sql(f"select * from '{path}'"),
    "interchange": lambda table, path: Interchange(table),
    "one frame in a list": lambda table, path: [table],
}
STREAMS = {
    "frames of pandas": lambda table: (table[i : i + 777] for i in range(0, len(table), 777)),
    "frames of polars": lambda table: map(pl.from_pandas, STREAMS["frames of pandas"](table)),
    "any frames": lambda table: iter([table[:500], pl.from_pandas(table[500:9000]), pa.table(table[9000:])]),
    "an iterable that is no iterator": lambda table: {"a": table}.values(),
    "Arrow reader": lambda table: pa.table(table).to_reader(700),
    "readers in a list": lambda table: [table[:500], pa.table(table[500:]).to_reader()],
    "Arrow stream": Stream,
    "readers": lambda table: (pa.table(part).to_reader() for part in STREAMS["frames of pandas"](table)),
    "DuckDB reader": lambda table: duckdb.connect().from_arrow(pa.table(table)).to_arrow_reader(999),
}
MATRICES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "memory map": lambda X: np.asarray(X).view(np.memmap),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
}


@pytest.fixture(scope="module")
def table():
    """Numbers, text with nulls, categories, dates and Python objects."""
    made = frame(numbers(18_000))
    rng = np.random.default_rng(0)
    made["when"] = pd.Timestamp("2024-02-29") + pd.to_timedelta(rng.integers(10**6, size=len(made)), unit="s")
    made["object"] = pd.Series(rng.choice(["yes", "no", None], size=len(made)), dtype=object)
    made["size"] = pd.Categorical(rng.choice(["S", "M", "L"], size=len(made)))
    made.loc[7, "c2"] = np.nan
    return made


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    made = tmp_path_factory.mktemp("tables") / "table.parquet"
    table.to_parquet(made)
    return made


@pytest.fixture(scope="module")
def stored(path):
    return select(path, **FEW, **COLUMNS)


@pytest.fixture(scope="module")
def streamed(table):
    return as_standard_input(pa.table(table), **FEW, **COLUMNS)


def as_standard_input(table, **options):
    data = io.BytesIO()
    with pa.ipc.new_stream(data, table.schema) as stream:
        stream.write_table(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.getvalue())))
        return select("-", **options)


def cells(result):
    """The user's own columns, but for the file."""
    return result.table.drop_columns(["file"]).to_pylist()


@pytest.mark.parametrize("kind", STORED)
def test_a_table_in_memory_gives_what_its_parquet_file_does(kind, table, path, stored):
    found = select(STORED[kind](table, path), **FEW, **COLUMNS)
    assert_same(found, stored)
    known = stored.table.column_names
    assert [{name: row[name] for name in known if name != "file"} for row in cells(found)] == cells(stored)
    assert found.provenance["command"].startswith("protosieve.select(inputs, 12, ")


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_of_tables_gives_what_standard_input_does(kind, table, streamed):
    found = select(STREAMS[kind](table), **FEW, **COLUMNS)
    assert_same(found, streamed)
    assert cells(found) == cells(streamed)


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
def test_a_matrix_gives_what_its_npy_file_does(kind, dtype, tmp_path):
    X = (numbers(15_000) * (numbers(15_000, seed=1) > 0)).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    found, expected = select(MATRICES[kind](X), **FEW), select(tmp_path / "x.npy", **FEW)
    assert_same(found, expected)
    assert found.feature_names == expected.feature_names == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize("values", [np.arange(50.0), np.array(["a", "b"] * 25), np.arange(50).astype("M8[D]")])
def test_an_array_of_one_dimension_is_a_column(values, tmp_path):
    np.save(tmp_path / "x.npy", values)
    assert_same(select(values, 5), select(tmp_path / "x.npy", 5))


@pytest.mark.parametrize("kind", ["pandas", "polars, lazy", "Arrow dataset", "DuckDB"])
def test_a_target_may_be_a_table_too(kind, table, path):
    expected = select(path, **FEW, **COLUMNS, target=path)
    target = STORED[kind](table, path)
    assert_same(select(path, **FEW, **COLUMNS, target=target), expected)
    assert_same(select(table, **FEW, **COLUMNS, target=target), expected)


def test_a_format_is_that_of_files_beside_tables(tmp_path):
    made = pd.DataFrame(numbers(60), columns=list("abcd"))
    made.to_csv(tmp_path / "rows.txt", index=False)
    found = select(made, 5, target=tmp_path / "rows.txt", format="csv")
    assert_same(found, select(made, 5, target=made))
    assert select([made, tmp_path / "rows.txt"], 5, format="csv").n_seen == 120


def test_a_target_may_come_once(table, path):
    found = select(table, **FEW, **COLUMNS, target=STREAMS["frames of pandas"](table))
    assert found.provenance["target_files"] == [{"name": "target (a stream)", "size": None}]
    streams = [STREAMS["frames of pandas"](table), STREAMS["Arrow reader"](table)]
    assert select(streams[0], **FEW, **COLUMNS, target=streams[1]).n_seen == len(table)


@pytest.mark.parametrize("options", [{"method": "stream"}, {"goal": "cover"}, {"executor": ThreadPoolExecutor(2)}])
def test_other_methods_and_threads_take_tables(options, table, path):
    expected = select(path, **FEW, **COLUMNS, **options)
    assert_same(select(table, **FEW, **COLUMNS, **options), expected)
    assert_same(select(pl.from_pandas(table), **FEW, **COLUMNS, **options), expected)


def test_a_list_of_tables_is_like_several_files(table, path, tmp_path):
    parts = [table[:5000], table[5000:12_000], table[12_000:]]
    for i, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{i}.parquet")
    expected = select(tmp_path, **FEW, **COLUMNS)
    found = select([parts[0], pl.from_pandas(parts[1]), pa.table(parts[2])], **FEW, **COLUMNS)
    assert_same(found, expected)
    assert set(found.table["file"].to_pylist()) == {"inputs[0]", "inputs[1]", "inputs[2]"}
    mixed = select([parts[0], tmp_path / "1.parquet", str(tmp_path / "2.parquet")], **FEW, **COLUMNS)
    assert_same(mixed, expected)


def test_partitions_are_those_of_a_file_that_pandas_writes(monkeypatch, table, tmp_path):
    from protosieve.io import _tables

    monkeypatch.setattr(_tables, "_GROUP", 4000)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=4000)
    options = {**FEW, **COLUMNS, "partition_rows": 4000}
    expected = select(tmp_path / "t.parquet", **options)
    for kind in ("pandas", "polars", "Arrow table", "interchange"):
        assert_same(select(STORED[kind](table, None), **options), expected)


def test_embeddings_images_and_bad_rows_are_as_in_files(tmp_path):
    X = numbers(900).astype(np.float32)
    X[5, 2] = np.nan
    made = pd.DataFrame({"vector": list(X), "n": np.arange(900)})
    made.to_parquet(tmp_path / "t.parquet")
    options = {"n_prototypes": 9, "embedding": "vector", "bad_rows": "skip", "image_shape": "2x2", "id": "n"}
    expected = select(tmp_path / "t.parquet", **options)
    for data in (made, pl.from_pandas(made), pa.table(made)):
        found = select(data, **options, report=tmp_path / "page.html", output=tmp_path / "out.parquet")
        assert_same(found, expected)
        assert found.provenance["rows_left_out"]["count"] == 1
        assert_same(Prototypes.read(tmp_path / "out.parquet"), found)
    assert "inputs, row 5: column 'vector[2]' is null" in found.provenance["rows_left_out"]["first"][0]


def test_categories_of_polars_are_text(tmp_path):
    made = pl.DataFrame({"c": pl.Series(["u", "v", "w"] * 40, dtype=pl.Categorical), "x": np.arange(120.0)})
    made.cast({"c": pl.String}).write_parquet(tmp_path / "t.parquet")
    found = select(made.with_columns(e=pl.col("c").cast(pl.Enum(["w", "v", "u"]))), 6, exclude="e")
    assert_same(found, select(tmp_path / "t.parquet", 6))
    assert set(found.table["e"].to_pylist()) == {"u", "v", "w"}


@given(st.lists(st.integers(0, 1500), max_size=8), st.sampled_from([pd.DataFrame, pl.from_pandas, pa.table]))
def test_any_cut_of_a_stream_gives_the_same_result(cuts, make):
    """Also where some tables have no rows, and others hold the head that settles the encoding."""
    made = frame(numbers(1500))
    places = [0, *sorted(cuts), 1500]
    parts = [make(made[i:j]) for i, j in pairwise(places)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_stream, "_HEAD", 400)
        found = select(iter(parts), 7, sample=300, **COLUMNS)
        assert_same(found, as_standard_input(pa.table(made), n_prototypes=7, sample=300, **COLUMNS))
    assert found.table["name"].to_pylist() == [f"row {i}" for i in found.indices]


# -- what comes back


def test_the_index_of_a_frame_is_kept_and_not_compared(table, path, stored, tmp_path):
    named = table.set_index("name")
    found = select(named, **FEW, label="kind", output=tmp_path / "out.parquet", report=tmp_path / "page.html")
    assert_same(found, stored)
    assert found.table.column_names[:6] == ["row", "file", "weight", "share", "name", "kind"]
    for result in (found, Prototypes.read(tmp_path / "out.parquet")):
        back = result.to_pandas()
        assert back.index.name == "name"
        assert back.index.tolist() == named.index[found.indices].tolist()
    assert table.iloc[found.indices]["c0"].tolist() == found.to_pandas()["c0"].tolist()
    assert select(table, **FEW, **COLUMNS).to_pandas().index.equals(pd.RangeIndex(12))


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.RangeIndex(10, 310), ["index"]),
        (pd.MultiIndex.from_product([range(100), ["x", "y", "z"]], names=["c0", None]), ["index_c0", "level_1"]),
        (pd.interval_range(0, 300), ["index"]),
        (pd.Index([1, "text"] * 150, dtype=object, name="mixed"), ["mixed"]),
        (pd.CategoricalIndex(["a", "b", "c"] * 100), ["index"]),
        (pd.date_range("2024", periods=300, name="day"), ["day"]),
    ],
)
def test_indices_of_all_kinds_are_kept(index, names):
    made = frame(numbers(300)).set_index(index)
    found = select(made, 5, **COLUMNS)
    back = found.to_pandas()
    assert list(back.index.names) == names
    assert [str(label) for label in back.index] == [str(label) for label in made.index[found.indices]]
    halves = select([made[:100], made[100:]], 5, **COLUMNS)
    assert halves.to_pandas().index.tolist() == back.index.tolist()


def test_a_result_can_go_on_as_any_table(table, stored):
    assert stored.to_arrow() is stored.table
    pd.testing.assert_frame_equal(stored.to_pandas(), stored.table.to_pandas())
    assert stored.to_polars().to_arrow().to_pylist() == stored.table.to_pylist()
    X = pd.DataFrame(numbers(200), columns=["weight", "input_weight", "row", "x"])
    found = ProtoSwap(4).fit(X).result_
    columns = ["row", "weight", "input_weight", "input_input_weight", "input_row", "x"]
    for back in (found.to_pandas(), found.to_polars().to_pandas(), found.to_arrow().to_pandas()):
        assert back.columns.tolist() == columns
        np.testing.assert_array_equal(back.to_numpy()[:, 2:], X.iloc[found.indices])
    back = found.to_pandas()
    back.loc[0, "weight"] = 9.0
    assert found.weights[0] != 9.0


@pytest.mark.parametrize("name", ["pandas", "pyarrow", "polars"])
def test_a_library_that_is_not_installed_is_named(name, monkeypatch):
    found = ProtoSwap(4).fit(numbers(100)).result_
    monkeypatch.setitem(sys.modules, name, None)
    method = f"to_{name.removeprefix('py')}"
    with pytest.raises(ImportError, match=f"{method} needs {name}, which is not installed: pip install {name}$"):
        getattr(found, method)()


# -- what cannot be used


def broken(table, rows):
    yield table[:rows]
    yield table[rows:rows]
    raise OSError("the network is gone")


def test_a_stream_that_fails_says_after_how_many_rows(table, tmp_path):
    output = tmp_path / "out.parquet"
    output.write_text("an earlier result")
    words = r"inputs \(a stream\): raised OSError after 12,345 rows: the network is gone; nothing was chosen or written"
    with pytest.raises(InputError, match=words) as caught:
        select(broken(table, 12_345), **FEW, output=output)
    assert isinstance(caught.value.__cause__, OSError)
    assert output.read_text() == "an earlier result"
    assert [found.name for found in tmp_path.iterdir()] == ["out.parquet"]
    with pytest.raises(InputError, match=r"target \(a stream\): raised OSError after 50 rows"):
        select(table, **FEW, target=broken(table, 50))
    with pytest.raises(InputError, match=r"raised ZeroDivisionError after 0 rows"):
        select((1 / 0 for _ in range(3)), 5)


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (
            lambda part: part.rename(columns={"c0": "c9"}),
            "table 1, from row 300 on: has no column 'c0', which .*table 0 has; give all",
        ),
        (
            lambda part: part.assign(new=1),
            "table 1, from row 300 on: has a column 'new', which .*table 0 has not; give",
        ),
        (lambda part: part.assign(c0="text"), "column 'c0' holds text, and in .*table 0 it holds numbers; give the co"),
        (lambda part: part.astype({"c1": float}), "column 'c1' holds double, and float in .*table 0, by which rows ar"),
        (lambda part: part.to_dict("records"), "a table is wanted, and this is a list; give a path, a frame or an"),
        (lambda part: part.iloc[0].to_dict(), r"this is a dict; make it a table, pandas.DataFrame\(rows\)"),
        (lambda part: None, "table 1, from row 300 on: a table is wanted, and this is None"),
        (lambda part: np.zeros(4), r"is an array of shape \(4,\); give several rows at a time, np.stack\(rows\)"),
    ],
)
def test_tables_of_a_stream_must_be_alike(then, words, table):
    first = table[["c0", "c1", "colour"]].astype({"c0": "float32", "c1": "float32"})
    with pytest.raises(InputError, match=rf"^inputs \(a stream\), .*{words}"):
        select(iter([first[:300], then(first[300:])]), 5)


@pytest.mark.parametrize("make", [np.asarray, lambda X: pd.DataFrame(X, copy=False), sp.csr_array])
def test_a_stream_may_use_its_memory_again(make):
    X = numbers(30_000)

    def parts():
        memory = np.empty((1000, 4))
        for start in range(0, len(X), 1000):
            memory[:] = X[start : start + 1000]
            yield make(memory)
            memory[:] = np.nan

    assert_same(select(parts(), **FEW), select(iter([make(X)]), **FEW))


def test_numbers_of_a_stream_may_be_wider_where_that_loses_nothing(table):
    parts = [pd.DataFrame({"x": [1, 2, 3] * 30, "y": None}), pd.DataFrame({"x": [0.5, np.nan] * 45, "y": None})]
    found = select(iter(parts), 5)
    assert found.n_seen == 180
    assert 0.5 in found.table["x"].to_pylist()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda rows: {"inputs": broken(rows, 60)}, r"inputs \(a stream\): raised OSError after 60 rows"),
        (lambda rows: {"keep": broken(rows, 60)}, r"keep \(a stream\): raised OSError after 60 rows"),
        (lambda rows: {"keep": rows[["c1", "colour"]]}, "keep: the table has no column 'c0'"),
        (lambda rows: {"keep": rows.assign(c0="tall")}, "keep: row 0: column 'c0' holds 'tall', not a number"),
        (
            lambda rows: {"exclude_rows": rows.rename(columns={"c1": "C1"})},
            "exclude_rows: the table has no column 'c1'",
        ),
        (
            lambda rows: {"keep": rows.assign(c0=rows["c0"].astype(object).where(rows.index != 7, "x"))},
            "not of one kind",
        ),
        (
            lambda rows: {"inputs": [rows, rows.drop(columns="c1")]},
            r"inputs\[1\]: has no column 'c1', which inputs\[0\]",
        ),
        (
            lambda rows: {"inputs": [rows, rows.assign(c1="text")]},
            r"inputs\[1\]: column 'c1' holds text, and in inputs\[0",
        ),
        (lambda rows: {"target": rows.drop(columns="c1")}, "target: has no column 'c1'"),
    ],
)
def test_whatever_cannot_be_used_leaves_files_as_they_were(asked, words, table, tmp_path):
    (tmp_path / "page.html").write_text("an earlier page")
    rows = table[["c0", "c1", "colour"]][:600]
    given = {"inputs": rows, "output": tmp_path / "out.csv", "report": tmp_path / "page.html", **asked(rows)}
    with pytest.raises(InputError, match=words):
        select(n_prototypes=5, **given)
    assert [found.name for found in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "an earlier page"


def test_an_index_with_copies_names_rows_as_well():
    made = frame(numbers(300)).set_index(np.arange(300) // 100)
    found = select(made, 5, **COLUMNS)
    assert found.to_pandas().index.tolist() == (found.indices // 100).tolist()
    assert_same(found, select(made.reset_index(drop=True), 5, **COLUMNS))


def change_rows(made):
    made.loc[len(made)] = 0.0


def change_columns(made):
    del made["c1"]


def change_names(made):
    made.columns = [*made.columns[:-1], "other"]


@pytest.mark.parametrize("stage", ["survey", "sum"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_rows, r"its shape was \(20000, 4\) and is \(20001, 4\)"),
        (change_columns, r"its shape was \(20000, 4\) and is \(20000, 3\)"),
        (change_names, r"its columns was \['c0', 'c1', 'c2', 'c3'\] and is \['c0', 'c1', 'c2', 'other'\]"),
    ],
)
def test_a_frame_that_changes_while_it_is_read_is_an_error(stage, change, words, tmp_path):
    made = pd.DataFrame(numbers(20_000), columns=["c0", "c1", "c2", "c3"])

    def meddle(tick):
        if tick.label == stage and tick.rows == 0 and made.shape == (20_000, 4) and "c3" in made:
            change(made)

    with pytest.raises(InputError, match=f"^inputs has changed: {words}: it was written to while it was read"):
        select(made, **FEW, progress=meddle, output=tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_a_query_that_gives_other_rows_is_an_error(path):
    connection = duckdb.connect()
    connection.sql(f"create table rows as select * from '{path}'")

    def meddle(tick):
        if tick.label == "sum" and tick.rows == 0:
            connection.cursor().sql("delete from rows where c0 > 0")

    words = r"^inputs: had 18,000 usable rows when read first and [\d,]+ now, so it has changed on the way"
    with pytest.raises(InputError, match=words):
        select(connection.sql("from rows"), **FEW, **COLUMNS, progress=meddle)


XY = {"x": [1.0, 2.5, 4.0], "colour": ["red", "blue", "red"]}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pd.DataFrame(XY)[:0], "^inputs: there are no rows; give some"),
        (pl.DataFrame(XY)[:0], "^inputs: there are no rows; give some"),
        (np.zeros((0, 3)), "^inputs: there are no rows; give some"),
        (iter([]), r"^inputs \(a stream\): there are no rows; give tables that have some"),
        (iter([pd.DataFrame(XY)[:0]]), r"^inputs \(a stream\): there are no rows; give tables that have some"),
        (pa.table(XY)[:0].to_reader(), r"^inputs \(a stream\): there are no rows; give tables that have some"),
        (pd.DataFrame(), "^inputs: has no columns; give at least one"),
        (pd.DataFrame(index=range(5)), "^inputs: has no columns; give at least one"),
        ([pd.DataFrame(XY), pd.DataFrame(index=range(5))], r"^inputs\[1\]: has no columns; give at least one"),
        (np.zeros((5, 0)), r"^inputs: has no columns \(shape \(5, 0\)\); give at least one"),
        (np.zeros((5, 2, 2)), "^inputs: the array has 3 dimensions .*reshape it to one or two"),
        (np.array(3.0), "^inputs: the array has 0 dimensions"),
        (np.zeros((3, 2), complex), "^inputs: the array .* holds complex128; two dimensions are for real numbers"),
        (np.array([["a", 1]], object), r"^inputs: is an array of object, .*make it a DataFrame, pandas.DataFrame\(inp"),
        (np.zeros(3, [("a", float)]), r"^inputs: is an array of \[\('a', '<f8'\)\], .*make it a DataFrame"),
        (np.ma.masked_less(np.eye(3), 1), r"^inputs is a masked array; fill it, inputs.filled\(0\), or make it a Da"),
        (pd.Series([1, 2]), r"^inputs is a Series, one column; pass inputs.to_frame\(\)"),
        (pl.Series([1, 2]), r"^inputs is a Series, one column; pass inputs.to_frame\(\)"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "^inputs: 'x' names more than one column; give each column"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "^inputs: '1' names more than one column; give each column"),
        (pa.table([[1], [2]], names=["x", "x"]), "^inputs: 'x' names more than one column; give each column"),
        (pd.DataFrame({"x": [1, "a", 2.5]}), "^inputs: column 'x' is not of one kind, by rows 0 to 2: .*'a' .*; conve"),
        (pd.DataFrame({"x": [0] * 20_000 + ["a"]}, dtype=object), "column 'x' is not of one kind, by rows 16,384 to 2"),
        (pa.chunked_array([[1, 2]]), "^inputs: this ChunkedArray cannot be read: .*; give columns of numbers, text"),
        ([{"x": 1}, {"x": 2}], r"^inputs must be paths or tables, got a list of dicts; .* pandas.DataFrame\(inputs\)$"),
        ([[1, 2], [3, 4]], r"^inputs must be .*, got a list of lists; make it a table, numpy.array\(inputs\)$"),
        ([1.5, 2.5], r"^inputs must be .*, got a list of floats; make it a table, numpy.array\(inputs\)$"),
        ([pd.DataFrame(XY), None], "^inputs must be .*, got None in a list; give frames, arrays or paths$"),
        ([pd.DataFrame(XY), "-"], r"^- \(standard input\) cannot be mixed with other inputs"),
        (XY, r"^inputs must be .*, got a dict; make it a table, pandas.DataFrame\(inputs\)$"),
        ({"train": pd.DataFrame(XY)}, r"^inputs must be .*, got a dict; pass one of its tables, inputs\['train'\]$"),
        (5, "^inputs must be paths or tables, got 5; give a path, a frame or an array, or several$"),
        (b"rows", "^inputs must be paths or tables, got b'rows'; give a path"),
        (pd.DataFrame, "^inputs must be paths or tables, got <class 'pandas.DataFrame'>; give a path"),
        (pl.LazyFrame(XY).group_by("x"), "^inputs must be paths or tables, got a LazyGroupBy; give a path"),
        ("penguins", "^penguins: no such file"),
        (iter(["a.csv"]), r"table 0: a table is wanted, and this is 'a.csv'; paths go in a list, list\(rows\)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_is_no_table_is_told_a_remedy(data, words):
    with pytest.raises((InputError, ParameterError), match=words):
        select(data, 2)


class Spark:
    def mapInArrow(self):
        """Of Spark's DataFrames only."""


class Computed:
    def compute(self):
        """Of lazy tables of other libraries."""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "csv"}, "^format='csv' is for files, and there are only tables in memory; leave it out"),
        (
            {"work": "folder"},
            "^work goes on later with the same rows, .*; write it to a Parquet file and pass its",
        ),
        ({"inputs": iter([]), "work": "folder"}, r"^work cannot bring back rows of inputs \(a stream\); store them in"),
        ({"inputs": iter([]), "executor": ThreadPoolExecutor(1)}, r"^executor: inputs \(a stream\) is one stream of"),
        ({"inputs": iter([]), "n_prototypes": "1%"}, r"='1%' is a share, and inputs \(a stream\) does not tell of how"),
        ({"executor": ProcessPoolExecutor(1)}, "^executor: inputs is in the memory of this process, .* Parquet file"),
        (
            {"target": iter([pd.DataFrame(XY)]), "executor": ProcessPoolExecutor(1)},
            "^executor: inputs is in the memory",
        ),
        ({"target": 5}, "^target must be paths or tables, got 5"),
        ({"inputs": Spark()}, "^inputs is a DataFrame of Spark; pass it to protosieve.spark.select"),
        ({"inputs": Computed()}, r"^inputs must be .*, got a Computed; pass inputs.compute\(\)"),
        ({"inputs": io.StringIO("a,b")}, "^inputs is an open file; pass its path"),
    ],
)
def test_what_tables_cannot_be_combined_with_is_refused(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=words):
        select(**{"inputs": pd.DataFrame(XY), "n_prototypes": 2, **options})
    assert not list(tmp_path.iterdir())


def test_who_stops_a_run_over_a_table_is_not_told_of_a_folder_it_cannot_have(table):
    def stop(tick):
        if tick.rows:
            signal.raise_signal(signal.SIGINT)

    for inputs in (table, iter([table])):
        with pytest.raises(Stopped, match=r"^stopped at row [\d,]+ of pass 1 of \d; nothing was written$"):
            select(inputs, **FEW, **COLUMNS, progress=stop)


# -- memory


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow table", "F", "csr"])
def test_pieces_need_no_second_copy(kind):
    """25 MB of numbers are read in pieces of one."""
    X = np.random.default_rng(0).normal(size=(400_000, 8))
    made = {**STORED, **MATRICES}[kind]
    columns = pd.DataFrame(X, columns=list("abcdefgh"))
    (source,) = tables_in(made(columns, None) if kind in STORED else made(X), "inputs")
    source.schema()
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        rows = most = 0
        for piece in source.pieces(None, 1000, BadRows(skip=False)):
            rows += len(piece.numbers)
            most = max(most, pa.total_allocated_bytes() - before)
        most += tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 399_000
    assert most < 8e6


# -- torch and Hugging Face's datasets, which are large


@pytest.mark.large
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # their own
def test_a_tensor_gives_what_its_npy_file_does(tmp_path):
    torch = pytest.importorskip("torch")
    X = numbers(15_000).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    expected = select(tmp_path / "x.npy", **FEW)
    assert_same(select(torch.tensor(X), **FEW), expected)
    assert_same(select(torch.tensor(X, requires_grad=True), **FEW), expected)
    brief = torch.tensor(X).bfloat16()
    assert_same(select(brief, **FEW), select(brief.float().numpy(), **FEW))
    batches = torch.utils.data.DataLoader(torch.tensor(X), batch_size=64)
    assert_same(select(batches, **FEW), select(iter([X]), **FEW))
    with pytest.raises(InputError, match="inputs: this Tensor cannot be read: "):
        select(torch.tensor(X).to_sparse_csr(), 5)


@pytest.mark.large
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # their own
def test_a_hugging_face_dataset_gives_what_its_parquet_file_does(table, path, stored, streamed):
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_pandas(table)
    assert_same(select(whole, **FEW, **COLUMNS), stored)
    shuffled = whole.shuffle(seed=0)
    found = select(shuffled, **FEW, **COLUMNS)
    assert found.table["name"].to_pylist() == [shuffled[int(i)]["name"] for i in found.indices]
    assert_same(select(whole.to_iterable_dataset(), **FEW, **COLUMNS), streamed)
    with pytest.raises(ParameterError, match=r"got a DatasetDict; pass one of its tables, inputs\['train'\]"):
        select(datasets.DatasetDict({"train": whole}), 5)
