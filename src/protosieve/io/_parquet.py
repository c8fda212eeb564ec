"""Parquet: row groups, read a few pages at a time."""

from collections.abc import Iterator
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from protosieve.io._file_source import FileSource, reading
from protosieve.io._source import BadRows, Piece, consecutive, rows_within

_READ_AHEAD = 1 << 22  # bytes over all columns


@final
class ParquetSource(FileSource):
    """A Parquet file. Memory is a piece and a few pages of each column, however large the row groups are."""

    format = "parquet"
    title = "Parquet"
    endings = (".parquet", ".pq")
    magic = (b"PAR1",)
    seeks = True

    def _head(self) -> pa.Schema:
        with self.location.open() as opened, pq.ParquetFile(opened.file, pre_buffer=False) as file:
            return file.schema_arrow

    def groups(self) -> list[int]:
        with reading(self.name, self.title), self.location.open() as opened:
            return _group_rows(pq.read_metadata(opened.file))

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        # Without a buffer, pyarrow reads a column of a whole row group at once; with pre_buffer, all columns of it.
        buffer = min(1 << 20, max(1 << 16, _READ_AHEAD // len(columns)))
        with self.location.open() as opened:
            where = opened.file if self.location.local is None else self.location.local  # paths are read without Python
            with pq.ParquetFile(where, pre_buffer=False, buffer_size=buffer) as file:
                group, first = 0, 0
                for rows in _group_rows(file.metadata):
                    if start < first + rows:
                        break
                    group, first = group + 1, first + rows
                total = file.metadata.num_rows
                yield from consecutive(_tables(file, group, columns), first, lambda row: self._share(row, total))


def _group_rows(metadata: Any) -> list[int]:
    return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


def _tables(file: Any, group: int, columns: list[str]) -> Iterator[pa.Table]:
    """The rows from row group ``group`` on, in pieces sized by the widest row group."""
    groups = range(group, file.metadata.num_row_groups)
    found = [file.metadata.row_group(group) for group in groups]
    if not found:
        return
    rows = rows_within(max(group.total_byte_size / max(group.num_rows, 1) for group in found))
    for batch in file.iter_batches(rows, row_groups=list(groups), columns=columns):
        table = pa.Table.from_batches([batch])
        table.validate(full=True)  # text that is not UTF-8 would otherwise fail later, without the file's name
        yield table.select(columns)  # pyarrow takes "a" for every column whose name begins with "a."
