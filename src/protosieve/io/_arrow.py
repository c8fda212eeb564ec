"""Arrow IPC (Feather): files of record batches, and streams of them."""

from collections.abc import Iterator
from typing import Any, final

import pyarrow as pa

from protosieve.errors import InputError
from protosieve.io._base import BadRows, Piece
from protosieve.io._file import FileSource, from_row, rows_within
from protosieve.io._places import Opened, Pipe

__all__ = ["ArrowSource"]

_MAGIC = b"ARROW1"


@final
class ArrowSource(FileSource):
    """An Arrow file or stream, told apart by the first bytes.

    Batches of an uncompressed file on this machine are mapped, and copied out a piece at a time; other batches are read
    whole, one after the other.
    """

    @property
    def title(self) -> str:
        return "Arrow"

    def _head(self) -> pa.Schema:
        with self.place.peek() as opened:
            return self._reader(opened).schema

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with self.place.open() as opened:
            if not _is_file(opened):
                yield from self._streamed(opened, columns, start)
            elif self.place.local is None:
                yield from self._filed(opened.file, columns, start)
            else:
                yield from self._filed(self.place.local, columns, start)

    def _reader(self, opened: Opened) -> Any:
        if not _is_file(opened):
            return pa.ipc.open_stream(pa.PythonFile(opened.file, "r"))
        if isinstance(self.place, Pipe):
            raise InputError(
                f"{self.name}: an Arrow file has its index at the end, so it cannot be read from a pipe; "
                "give the file's path, or pipe an Arrow stream (pyarrow.ipc.new_stream)"
            )
        return pa.ipc.open_file(opened.file)

    def _streamed(self, opened: Opened, columns: list[str], start: int) -> Iterator[Piece]:
        reader, first = self._reader(opened), 0
        for batch in reader:
            batch.validate(full=True)
            table = pa.Table.from_batches([batch]).select(columns)
            for piece in from_row([table], first, start, 0, None):
                yield Piece(piece.table, piece.numbers, opened.taken)
            first += batch.num_rows

    def _filed(self, where: Any, columns: list[str], start: int) -> Iterator[Piece]:
        counts = _counts(where)
        first = 0
        for number, count in enumerate(counts):
            if start < first + count:
                tables = _copied(where, number, columns, max(0, start - first))
                yield from from_row(tables, max(first, start), start, sum(counts), self.size)
            first += count


def _is_file(opened: Opened) -> bool:
    return bool(opened.file.peek(len(_MAGIC))[: len(_MAGIC)] == _MAGIC)  # type: ignore[attr-defined]  # it is buffered


def _open_file(where: Any, fields: list[int] | None = None) -> Any:
    source = pa.memory_map(where) if isinstance(where, str) else where
    return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields))


def _counts(where: Any) -> list[int]:
    """The rows of each record batch, from one column of it: an empty list of columns would mean all."""
    reader = _open_file(where, [0])
    return [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]


def _copied(where: Any, number: int, columns: list[str], begin: int) -> Iterator[pa.Table]:
    """Rows of a batch from ``begin`` on; the map is made anew for each piece, so that pages read before can go."""
    count = begin + 1
    while begin < count:
        reader = _open_file(where)
        batch = reader.get_batch(number).select(columns)
        batch.validate()  # its buffers are long enough: only then may it be sliced
        count = batch.num_rows
        step = rows_within(batch.nbytes / max(count, 1))
        yield _copy(batch.slice(begin, step))
        begin += step


def _copy(batch: Any) -> pa.Table:
    """A batch of its own, without the buffers that a slice shares with the whole."""
    batch.validate(full=True)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
