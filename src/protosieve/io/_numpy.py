"""NumPy arrays: ``.npy``, and ``.npz`` with one array per column."""

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, final

import pyarrow as pa

from protosieve.errors import InputError
from protosieve.io._arrays import ArrayHead, Cells
from protosieve.io._base import BadRows, Piece
from protosieve.io._file import FileSource, from_row, rows_within
from protosieve.io._places import Pipe

__all__ = ["NpySource", "NpzSource"]

_SUFFIX = ".npy"


@final
class NpySource(FileSource):
    """One array, as the column ``x``: a number per row, or a list of them."""

    @property
    def title(self) -> str:
        return "a NumPy array"

    def _head(self) -> pa.Schema:
        with self.place.peek() as opened:
            head = ArrayHead.of(opened.file, "x", self.name)
        head.check(self.name, "the array")
        self._check_size(head)
        return pa.schema([head.field])

    def _check_size(self, head: ArrayHead) -> None:
        if self.size is not None and self.size < head.offset + head.rows * head.row_bytes:
            raise InputError(
                f"{self.name}: is cut short: it has {self.size} bytes where {head.rows} rows of {head.row_bytes} bytes "
                f"need {head.offset + head.rows * head.row_bytes}; copy it again"
            )

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with self.place.open() as opened, ExitStack() as stack:
            head = ArrayHead.of(opened.file, "x", self.name)
            cells = Cells(opened.file, head, stack)
            yield from from_row(_tables([cells], start), min(start, head.rows), start, head.rows, self.size)


@final
class NpzSource(FileSource):
    """Arrays of one length, each a column of its own name. Members are unpacked as they are read, never whole."""

    @property
    def title(self) -> str:
        return "an .npz archive"

    def _head(self) -> pa.Schema:
        if isinstance(self.place, Pipe):
            raise InputError(
                f"{self.name}: an .npz archive has its index at the end, so it cannot be read from a pipe; "
                "give the file's path, or pipe a .npy array"
            )
        with self.place.open() as opened, zipfile.ZipFile(opened.file) as archive:
            return pa.schema([head.field for head in self._heads(archive)])

    def _heads(self, archive: zipfile.ZipFile) -> list[ArrayHead]:
        """Of the arrays that have rows; all have the same number of them."""
        names = [name for name in archive.namelist() if name.endswith(_SUFFIX)]
        heads = [head for head in (self._member_head(archive, name) for name in names) if head.shape]
        if not heads:
            raise InputError(f"{self.name}: holds no arrays with rows; save some with numpy.savez(path, name=array)")
        for head in heads:
            head.check(self.name, f"array {head.name!r}")
            if head.rows != heads[0].rows:
                raise InputError(
                    f"{self.name}: array {heads[0].name!r} has {heads[0].rows} rows and array {head.name!r} has "
                    f"{head.rows}; save arrays that belong together in one file, and others in another"
                )
        return heads

    def _member_head(self, archive: zipfile.ZipFile, member: str) -> ArrayHead:
        with archive.open(member) as stream:
            return ArrayHead.of(stream, member.removesuffix(_SUFFIX), self.name)

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with self.place.open() as opened, zipfile.ZipFile(opened.file) as archive, ExitStack() as stack:
            cells = [self._cells(archive, name, stack) for name in columns]
            rows = cells[0].head.rows
            yield from from_row(_tables(cells, start), min(start, rows), start, rows, self.size)

    def _cells(self, archive: zipfile.ZipFile, name: str, stack: ExitStack) -> Cells:
        stream: Any = stack.enter_context(archive.open(name + _SUFFIX))
        return Cells(stream, ArrayHead.of(stream, name, self.name), stack)


def _tables(columns: list[Cells], start: int) -> Iterator[pa.Table]:
    """The rows from ``start`` on, a piece at a time."""
    rows = columns[0].head.rows
    step = rows_within(sum(column.head.row_bytes for column in columns))
    for begin in range(start, rows, step):
        parts = [column.read(begin, min(begin + step, rows)) for column in columns]
        yield pa.table(parts, schema=pa.schema([column.head.field for column in columns]))
