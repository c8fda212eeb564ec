"""Parts of files, and rows that are in memory, read as files are."""

import itertools
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from io_files import TABLE_FORMATS, encoded, sample
from protosieve.io import BadRows, BatchSource, RowRange, find_sources


def read(source, columns=None, start=0):
    pieces = list(source.pieces(columns, start, BadRows(skip=False)))
    return [row for piece in pieces for row in piece.table.to_pylist()], [n for p in pieces for n in p.numbers.tolist()]


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    path = tmp_path_factory.mktemp("grouped") / "rows.parquet"
    pq.write_table(sample(95), path, row_group_size=10)
    return find_sources(path)[0]


@given(first=st.integers(0, 95), length=st.integers(0, 95), start=st.integers(0, 95))
def test_a_stretch_has_the_rows_between_its_ends_under_their_own_numbers(grouped, first, length, start):
    last = min(first + length, 95)
    rows, numbers = read(RowRange(grouped, first, last), start=start)
    assert numbers == list(range(max(first, start), last))
    assert rows == sample(95).to_pylist()[max(first, start) : last]


def test_parquet_tells_the_rows_of_its_groups(grouped):
    assert grouped.groups() == [10] * 9 + [5]


@pytest.mark.parametrize("ending", TABLE_FORMATS)
def test_files_and_their_stretches_can_be_pickled(ending, tmp_path):
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(encoded(sample(), ending))
    source = find_sources(path)[0]
    source.schema()
    again = pickle.loads(pickle.dumps(RowRange(source)))
    assert read(again) == read(source)
    assert again.schema() == source.schema()
    assert again.fingerprint() == source.fingerprint()
    assert source.groups() is None or ending in ("parquet", "pq")


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(0, 60))
def test_batches_are_read_as_a_file_of_the_same_rows(sizes, start):
    table = sample(sum(sizes))
    ends = np.cumsum([0, *sizes])
    batches = [table.slice(a, b - a).combine_chunks().to_batches() for a, b in itertools.pairwise(ends)]
    source = BatchSource("memory", table.schema, [batch for part in batches for batch in part])
    assert read(source, start=start)[0] == table.to_pylist()[start:]
    assert read(source, ["count"])[0] == table.select(["count"]).to_pylist()
    assert source.groups() == [len(table)]
    assert not source.comes_once


def test_an_iterator_of_batches_comes_once():
    source = BatchSource("memory", sample().schema, iter(sample().to_batches()))
    assert source.comes_once
    assert source.groups() is None
    assert source.fingerprint() is None


def test_large_batches_come_in_pieces_of_bounded_size():
    table = pa.table({"x": np.zeros(100_000)})
    pieces = list(BatchSource.of("memory", table).pieces(None, 0, BadRows(skip=False)))
    assert max(len(piece.table) for piece in pieces) <= 16384
    assert sum(len(piece.table) for piece in pieces) == 100_000
