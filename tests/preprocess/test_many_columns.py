"""Tables of many columns: what is done with a column is done once, however many there are."""

import json
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from protosieve import select
from protosieve.insight._columns import Columns
from protosieve.io import BadRows, find_sources
from protosieve.preprocess import Encoding, Layout, Survey
from protosieve.result.files._read import read_result

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


def written(folder, ending, table):
    path = str(folder / f"wide{table.num_columns}{ending}")
    if ending == ".parquet":
        pq.write_table(table, path)
    elif ending == ".csv":
        pa.csv.write_csv(table, path)
    elif ending == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def numbers(rng, n):
    return pa.array(rng.normal(size=n))


def names(rng, n):
    return pa.array(rng.choice(["red", "green", "blue"], n))


def views(rng, n):
    return names(rng, n).cast(pa.string_view())


def wide(cells, columns, n=30):
    rng = np.random.default_rng(columns)
    return pa.table({f"c{i}": cells(rng, n) for i in range(columns)})


def calls(work):
    """How many functions are called, those written in C among them, in all threads."""
    counted = 0

    def count(frame, event, argument):
        nonlocal counted
        counted += event in ("call", "c_call")

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return counted


def assert_grows_in_proportion(work):
    """Twice as many columns make twice as many calls more: of a square it would be four times."""
    work(50)  # imports, and what is remembered
    few, some, many = (calls(lambda d=d: work(d)) for d in (100, 200, 400))
    assert many - some < 2.6 * (some - few)


@pytest.mark.parametrize(
    ("ending", "cells"),
    [
        (".csv", numbers),
        (".parquet", names),
        (".jsonl", names),
        *(
            pytest.param(*one, marks=pytest.mark.thorough)
            for one in ((".csv", names), (".parquet", numbers), (".jsonl", numbers))
        ),
    ],
)
def test_calls_grow_in_proportion_to_columns_from_the_file_to_the_page_and_back(tmp_path, ending, cells):
    def work(columns):
        path = written(tmp_path, ending, wide(cells, columns))
        select(path, 3, output=tmp_path / "chosen.parquet", report=tmp_path / "page.html")
        read_result(tmp_path / "chosen.parquet")

    assert_grows_in_proportion(work)


@pytest.mark.parametrize("ending", [".arrow", ".json", ".npz", ".csv", ".jsonl"])
def test_calls_grow_in_proportion_to_columns_whatever_is_written(tmp_path, ending):
    def work(columns):
        path = written(tmp_path, ".arrow", wide(views, columns))
        select(path, 3, output=tmp_path / f"chosen{ending}")
        if ending == ".arrow":
            read_result(tmp_path / f"chosen{ending}")

    assert_grows_in_proportion(work)


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("option", ["features", "exclude", "id", "categorical"])
def test_named_columns_are_looked_up_rather_than_searched(option):
    schema = pa.schema([(f"c{i}", pa.float64()) for i in range(400)])
    Name.compared = 0
    layout = Layout.of(schema, **{option: [Name(f"c{i}") for i in range(200)]})
    assert len(layout.items) == {"features": 200, "exclude": 200, "id": 200, "categorical": 400}[option]
    assert 0 < Name.compared < 20 * 400  # a search would take 200 per column


def test_a_stored_encoding_looks_its_typed_columns_up():
    table = wide(numbers, 300)
    survey = Survey.of(Layout.of(table.schema, categorical=table.column_names))
    survey.update(survey.layout.raw(table, grow=True)[0])
    encoding = survey.settle()
    stored = encoding.as_dict()
    Name.compared = 0
    again = Encoding.from_dict({**stored, "typed": list(map(Name, stored["typed"]))})
    assert Name.compared < 20 * 300
    assert (again.encode(table) == encoding.encode(table)).all()


def test_columns_of_a_report_are_looked_up():
    named = [Name(f"c{i}") for i in range(400)]
    columns = Columns(zip(named, [[i] for i in range(400)], strict=True))
    Name.compared = 0
    assert [columns.cells(f"c{i}") for i in range(400)] == [[i] for i in range(400)]
    assert all(f"c{i}" in columns for i in range(400))
    assert Name.compared < 20 * 400


def pieces(path):
    (source,) = find_sources([path])
    return list(source.pieces(None, 0, BadRows(skip=False)))


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_few_wide_rows_of_text_make_one_piece(tmp_path, ending):
    table = wide(lambda rng, n: pa.array(rng.integers(10**8, 10**9, n)), 2000, n=300)
    found = pieces(written(tmp_path, ending, table))
    assert [piece.table.num_rows for piece in found] == [300]  # of 6 MB, and readers parse 1 or 4 MB at once
    assert found[0].numbers.tolist() == list(range(300))
    assert [int(cell) for cell in found[0].table["c1999"].to_pylist()] == table["c1999"].to_pylist()


def test_many_category_columns_are_told_of_together():
    table = wide(names, 300).append_column("coat", pa.array([f"k{i % 4}" for i in range(30)]))
    survey = Survey.of(Layout.of(table.schema))
    survey.update(survey.layout.raw(table, grow=True)[0])
    assert survey.settle().describe() == [
        "c0, c1, c2, c3, c4, c5, c6 and 293 more: 3 categories each",
        "coat: 4 categories",
    ]
