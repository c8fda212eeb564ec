"""Arrow IPC (Feather): files of record batches, and streams of them."""

import mmap
from collections.abc import Iterator
from typing import Any, final

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

    An uncompressed file on this machine is mapped, and its pages are let go after each piece; other batches are read
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
                yield from self._from_file(opened, columns, start)
                return
            tables = (pa.Table.from_batches([batch]).select(columns) for batch in _open_stream(opened))
            for piece in consecutive(tables, 0, lambda _: opened.taken):
                piece.table.validate(full=True)
                yield piece

    def _from_file(self, opened: Opened, columns: list[str], start: int) -> Iterator[Piece]:
        mapped = None if self.location.local is None else mmap.mmap(opened.file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(opened.file if mapped is None else pa.py_buffer(mapped))
        first, batches = 0, reader.num_record_batches
        for number in range(batches):
            table = pa.Table.from_batches([reader.get_batch(number)]).select(columns)
            table.validate()  # its buffers are long enough: only then may it be measured and sliced
            rows, size = table.num_rows, rows_within(table.nbytes / max(table.num_rows, 1))
            for begin in range(max(start - first, 0), rows, size):
                part = table.slice(begin, size)
                part.validate(full=True)
                end = begin + len(part)
                share = (number + end / rows) / batches
                yield Piece(part, np.arange(first + begin, first + end), int(share * (self.size or 0)))
                if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
                    mapped.madvise(mmap.MADV_DONTNEED)
            first += rows


def _is_file(opened: Opened) -> bool:
    return bool(opened.file.peek(len(_FILE))[: len(_FILE)] == _FILE)


def _open_stream(opened: Opened) -> Any:
    return pa.ipc.open_stream(pa.PythonFile(opened.file, "r"))
