"""Arrow IPC (Feather): files of record batches, and streams of them."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np
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
        batches = _Batches(where, columns)
        if start:
            batches.skip(start)
        while (table := batches.take()).num_rows:
            numbers = np.arange(start, start + table.num_rows)
            start += table.num_rows
            yield Piece(table, numbers, int(batches.share * (self.size or 0)))


class _Batches:
    """A place in an Arrow file, at row ``row`` of batch ``number``, from which a piece after the other is copied.

    The file is opened anew for each piece, so that the pages of a memory map that were read before can go.
    """

    def __init__(self, where: Any, columns: list[str]):
        self._where, self._columns = where, columns
        self._number, self._row = 0, 0
        self.share = 0.0  # of the file that lies behind

    def skip(self, rows: int) -> None:
        """Go on by ``rows`` rows. To count those of a batch, one column will do; no columns would mean all."""
        reader = _open_file(self._where, [0])
        while self._number < reader.num_record_batches:
            count = reader.get_batch(self._number).num_rows
            if rows < count:
                self._row = rows
                return
            rows -= count
            self._number += 1

    def take(self) -> pa.Table:
        """The rows of the next piece; at the end, none."""
        reader = _open_file(self._where)
        parts, room = [], 1.0  # the share of a piece that is still free
        while room > 0 and self._number < reader.num_record_batches:
            batch = reader.get_batch(self._number).select(self._columns)
            batch.validate()  # its buffers are long enough: only then may it be measured and sliced
            most = rows_within(batch.nbytes / max(batch.num_rows, 1))
            part = batch.slice(self._row, max(1, int(room * most)))
            room -= part.num_rows / most
            parts.append(part)
            self._advance(part.num_rows, batch.num_rows, reader.num_record_batches)
        return _copy(parts) if parts else pa.table({})

    def _advance(self, rows: int, count: int, batches: int) -> None:
        self._row += rows
        if self._row >= count:
            self._number, self._row = self._number + 1, 0
        self.share = (self._number + self._row / max(count, 1)) / batches


def _is_file(opened: Opened) -> bool:
    return bool(opened.file.peek(len(_MAGIC))[: len(_MAGIC)] == _MAGIC)  # type: ignore[attr-defined]  # it is buffered


def _open_file(where: Any, fields: list[int] | None = None) -> Any:
    source = pa.memory_map(where) if isinstance(where, str) else where
    return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields))


def _copy(batches: list[Any]) -> pa.Table:
    """A table of its own, without the buffers that slices share with the whole."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            batch.validate(full=True)
            writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
