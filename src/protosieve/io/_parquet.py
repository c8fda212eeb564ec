"""Parquet: row groups, read a few pages at a time."""

from collections.abc import Iterator
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from protosieve.io._base import BadRows, Piece
from protosieve.io._file import FileSource, from_row, reading, rows_within

__all__ = ["ParquetSource"]

_READ_AHEAD = 1 << 22  # bytes over all columns


@final
class ParquetSource(FileSource):
    """A Parquet file. Memory is a piece and a few pages of each column, however large the row groups are."""

    @property
    def title(self) -> str:
        return "Parquet"

    def _head(self) -> pa.Schema:
        with self.place.open() as opened, pq.ParquetFile(opened.file, pre_buffer=False) as file:
            return file.schema_arrow

    def groups(self) -> list[int]:
        with reading(self.name, self.title), self.place.open() as opened:
            metadata = pq.read_metadata(opened.file)
            return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        # Without a buffer, pyarrow reads a column of a whole row group at once; with pre_buffer, all columns of it.
        buffer = min(1 << 20, max(1 << 16, _READ_AHEAD // len(columns)))
        with self.place.open() as opened:
            where = opened.file if self.place.local is None else self.place.local  # paths are read without Python
            with pq.ParquetFile(where, pre_buffer=False, buffer_size=buffer) as file:
                group, first = _group_of(file.metadata, start)
                yield from from_row(_tables(file, group, columns), first, start, file.metadata.num_rows, self.size)


def _group_of(metadata: Any, start: int) -> tuple[int, int]:
    """The row group that holds row ``start``, and its first row."""
    first = 0
    for group in range(metadata.num_row_groups):
        after = first + metadata.row_group(group).num_rows
        if start < after:
            return group, first
        first = after
    return metadata.num_row_groups, first


def _tables(file: Any, group: int, columns: list[str]) -> Iterator[pa.Table]:
    groups = range(group, file.metadata.num_row_groups)
    if not groups:
        return
    for batch in file.iter_batches(_batch_rows(file.metadata, groups), row_groups=list(groups), columns=columns):
        table = pa.Table.from_batches([batch])
        table.validate(full=True)  # text that is not UTF-8 would be found by whoever touches it
        yield table.select(columns)  # pyarrow takes "a" for every column whose name begins with "a."


def _batch_rows(metadata: Any, groups: range) -> int:
    """Rows of a piece, by the widest row group."""
    found = [metadata.row_group(group) for group in groups]
    return rows_within(max(group.total_byte_size / max(group.num_rows, 1) for group in found))
