"""Arrow IPC (Feather): files of record batches, and streams of them."""

from collections.abc import Iterator
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa

from protosieve.errors import InputError
from protosieve.io._file_source import FileSource
from protosieve.io._locations import Opened, Pipe
from protosieve.io._source import BadRows, Piece, consecutive, rows_within

_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # a stream begins with a length of -1


@final
class ArrowSource(FileSource):
    """An Arrow file or stream; the first bytes tell which.

    Batches of an uncompressed file on this machine are mapped, and copied out a piece at a time; other batches are read
    whole, one after the other.
    """

    format = "arrow"
    title = "Arrow"
    endings = (".arrow", ".feather", ".ipc")
    magic = (_FILE, _STREAM)

    def _head(self) -> pa.Schema:
        with self.location.peek() as opened:
            if not _is_file(opened):
                return _open_stream(opened).schema
            if isinstance(self.location, Pipe):
                raise InputError(
                    f"{self.name}: an Arrow file has its index at the end, so it cannot be read from a pipe; "
                    "give the file's path, or pipe an Arrow stream (pyarrow.ipc.new_stream)"
                )
            return pa.ipc.open_file(opened.file).schema

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with self.location.open() as opened:
            if _is_file(opened):
                yield from self._from_file(self.location.local or opened.file, columns, start)
            else:
                tables = (_table([batch], columns) for batch in _open_stream(opened))
                yield from consecutive(tables, 0, lambda _: opened.taken)

    def _from_file(self, where: Any, columns: list[str], start: int) -> Iterator[Piece]:
        place = _place_of(where, start)
        while place.batch < place.batches:
            table, place = _take(where, columns, place)
            numbers = np.arange(start, start + table.num_rows)
            start += table.num_rows
            yield Piece(table, numbers, int(place.share * (self.size or 0)))


class _Place(NamedTuple):
    """A row of an Arrow file, by its batch, and the share of the file before it."""

    batch: int
    row: int
    batches: int
    share: float = 0.0


def _place_of(where: Any, row: int) -> _Place:
    """The place of a row. One column is read to count the rows of a batch; no columns would mean all."""
    batch, reader = 0, _open_file(where, [0] if row else None)
    while row and batch < reader.num_record_batches and row >= (count := reader.get_batch(batch).num_rows):
        batch, row = batch + 1, row - count
    return _Place(batch, row, reader.num_record_batches)


def _take(where: Any, columns: list[str], place: _Place) -> tuple[pa.Table, _Place]:
    """The rows of the next piece as a copy, and where the one after it begins.

    The file is opened anew for each piece, so that the pages of a memory map that were read before can go.
    """
    reader, (number, row, batches, _) = _open_file(where), place
    parts, room, share = [], 1.0, 1.0  # room: the share of a piece that is still free
    while room > 0 and number < batches:
        batch = reader.get_batch(number).select(columns)
        batch.validate()  # its buffers are long enough: only then may it be measured and sliced
        most = rows_within(batch.nbytes / max(batch.num_rows, 1))
        parts.append(batch.slice(row, max(1, int(room * most))))
        room -= parts[-1].num_rows / most
        row += parts[-1].num_rows
        number, row = (number, row) if row < batch.num_rows else (number + 1, 0)
        share = (number + row / max(batch.num_rows, 1)) / batches
    return _copy(parts, columns), _Place(number, row, batches, share)


def _is_file(opened: Opened) -> bool:
    return bool(opened.file.peek(len(_FILE))[: len(_FILE)] == _FILE)


def _open_stream(opened: Opened) -> Any:
    return pa.ipc.open_stream(pa.PythonFile(opened.file, "r"))


def _open_file(where: Any, fields: list[int] | None = None) -> Any:
    source = pa.memory_map(where) if isinstance(where, str) else where
    return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields))


def _table(batches: list[Any], columns: list[str]) -> pa.Table:
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches).select(columns)


def _copy(batches: list[Any], columns: list[str]) -> pa.Table:
    """A copy that does not share buffers with the file."""
    table, sink = _table(batches, columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
