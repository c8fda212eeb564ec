"""NumPy arrays: ``.npy``, and ``.npz`` with one array per column."""

import math
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from protosieve.errors import InputError
from protosieve.io._file_source import FileSource
from protosieve.io._source import BadRows, Piece, consecutive, rows_within

_SUFFIX = ".npy"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_NUMBERS = {b"protosieve": b"numbers"}  # tells a matrix of features from an embedding
_UNITS = ("s", "ms", "us", "ns", "D")  # of dates, that Arrow has too


class _ArraySource(FileSource):
    """Arrays of one length, each a column, in streams of the ``.npy`` format."""

    def _read(self, streams: dict[str, Any], start: int, local: str | None) -> Iterator[Piece]:
        """The rows from ``start`` on, of arrays by name; of a pipe all rows."""
        with ExitStack() as stack:
            arrays = [ArrayHead.of(stream, name, self.name) for name, stream in streams.items()]
            rows = arrays[0].rows
            first = min(start, rows) if all(stream.seekable() for stream in streams.values()) else 0
            pairs = zip(streams.values(), arrays, strict=True)
            columns = [_Values(stream, array, first, stack, local) for stream, array in pairs]
            yield from consecutive(_tables(columns, first), first, lambda row: self._share(row, rows))


@final
class NpySource(_ArraySource):
    """One array, as the column ``x``: a number per row, or a list of them."""

    format = "npy"
    title = "a NumPy array"
    endings = (_SUFFIX,)
    magic = (b"\x93NUMPY",)

    def _head(self) -> pa.Schema:
        with self.location.peek() as opened:
            array = ArrayHead.of(opened.file, "x", self.name)
        array.check(self.name, "the array")
        needed = array.offset + array.rows * array.row_bytes
        if self.size is not None and self.size < needed:
            raise InputError(
                f"{self.name}: is cut short: it has {self.size} bytes where {array.rows} rows of {array.row_bytes} "
                f"bytes need {needed}; copy it again"
            )
        return pa.schema([array.field])

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with self.location.open() as opened:
            yield from self._read({"x": opened.file}, start, self.location.local)


@final
class NpzSource(_ArraySource):
    """Arrays of one length, each a column of its own name. Members are unpacked as they are read, never whole."""

    format = "npz"
    title = "an .npz archive"
    endings = (".npz",)
    magic = (b"PK",)
    seeks = True

    def _head(self) -> pa.Schema:
        with self.location.open() as opened, zipfile.ZipFile(opened.file) as archive:
            return pa.schema([array.field for array in self._arrays(archive)])

    def _arrays(self, archive: zipfile.ZipFile) -> list["ArrayHead"]:
        """The headers of all arrays that have rows; their numbers of rows must agree."""
        arrays = []
        for name in archive.namelist():
            if name.endswith(_SUFFIX):
                with archive.open(name) as stream:
                    arrays.append(ArrayHead.of(stream, name.removesuffix(_SUFFIX), self.name))
        arrays = [array for array in arrays if array.shape]
        if not arrays:
            raise InputError(f"{self.name}: holds no arrays with rows; save some with numpy.savez(path, name=array)")
        for array in arrays:
            array.check(self.name, f"array {array.name!r}")
            if array.rows != arrays[0].rows:
                raise InputError(
                    f"{self.name}: array {arrays[0].name!r} has {arrays[0].rows} rows and array {array.name!r} has "
                    f"{array.rows}; save arrays that belong together in one file, and others in another"
                )
        return arrays

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with self.location.open() as opened, zipfile.ZipFile(opened.file) as archive, ExitStack() as stack:
            streams = {name: stack.enter_context(archive.open(name + _SUFFIX)) for name in columns}
            yield from self._read(streams, start, None)


def _tables(columns: list["_Values"], first: int) -> Iterator[pa.Table]:
    """The rows from ``first`` on, a piece at a time."""
    rows = columns[0].array.rows
    step = rows_within(sum(column.array.row_bytes for column in columns))
    for begin in range(first, rows, step):
        parts = [column.read(begin, min(begin + step, rows)) for column in columns]
        yield pa.table(parts, schema=pa.schema([column.array.field for column in columns]))


@dataclass(frozen=True)
class ArrayHead:
    """Name, shape and type of an array, and where its values begin."""

    name: str
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int

    @classmethod
    def of(cls, stream: Any, name: str, file: str) -> "ArrayHead":
        """Read the header of an ``.npy`` stream, which is then at the first value."""
        version = npy.read_magic(stream)
        if version not in _HEADERS:  # 3.0 exists for the field names of structured arrays
            raise InputError(f"{file}: array {name!r} is a structured array; save its fields as arrays of their own")
        shape, fortran, dtype = _HEADERS[version](stream)
        return cls(name, shape, fortran, dtype, stream.tell() if stream.seekable() else 0)

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def field(self) -> pa.Field:
        """The Arrow column for it."""
        if len(self.shape) == 2:
            matrix = pa.list_(pa.from_numpy_dtype(_wide(self.dtype)), self.shape[1])
            return pa.field(self.name, matrix, metadata=_NUMBERS)
        return pa.field(self.name, as_column(np.empty(0, self.dtype)).type)

    def check(self, file: str, what: str) -> None:
        """Raise `InputError` unless it holds numbers in one or two dimensions, or text or dates in one."""
        if self.dtype.hasobject:
            raise InputError(f"{file}: {what} holds Python objects, which are never loaded; save it as numbers or text")
        if self.dtype.names is not None:
            raise InputError(f"{file}: {what} is a structured array; save its fields as arrays of their own")
        if len(self.shape) not in (1, 2):
            raise InputError(
                f"{file}: {what} has {len(self.shape)} dimensions (shape {self.shape}); "
                "rows are wanted: reshape it to one or two, e.g. with array.reshape(len(array), -1)"
            )
        if min(self.shape) < 0:
            raise InputError(f"{file}: {what} has the shape {self.shape}, which no array has; save it again")
        if self.dtype.kind not in ("biuf" if len(self.shape) == 2 else "biufUSM"):
            raise InputError(
                f"{file}: {what} of shape {self.shape} holds {self.dtype}; "
                "two dimensions are for real numbers, one for numbers, text or dates"
            )
        if self.row_bytes == 0:
            raise InputError(f"{file}: {what} has rows of no size (shape {self.shape}, {self.dtype}); give it values")


class _Values:
    """The values of an array, read in order from row ``first`` on: memory is what one call asks for.

    Values in Fortran order lie column by column, so rows need a memory map: of the ``local`` file, else of a temporary
    one that the stream (a pipe, a member of an archive) is first copied to.
    """

    def __init__(self, stream: Any, array: ArrayHead, first: int, stack: ExitStack, local: str | None):
        self.array, self._stream = array, stream
        self._mapped: Any = None  # a path or a file
        self._offset = 0 if local is None else array.offset
        if array.fortran and len(array.shape) == 2:
            self._mapped = local or stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # the stack closes it
        elif first:
            stream.seek(first * array.row_bytes, os.SEEK_CUR)
        if self._mapped is not None and local is None:
            shutil.copyfileobj(stream, self._mapped)
            self._mapped.flush()

    def read(self, begin: int, end: int) -> pa.Array:
        """Rows ``begin`` to ``end``; the next call goes on from there."""
        values = self._streamed(end - begin) if self._mapped is None else self._from_map(begin, end)
        return as_matrix(values) if values.ndim == 2 else as_column(values)

    def _streamed(self, rows: int) -> NDArray[Any]:
        size = rows * self.array.row_bytes
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError(f"array {self.array.name!r} ends before its {self.array.rows} rows do")
        return np.frombuffer(data, self.array.dtype).reshape(rows, *self.array.shape[1:])

    def _from_map(self, begin: int, end: int) -> NDArray[Any]:
        """A copy. The file is mapped again for each call, so that the system can drop pages read before."""
        mapped = np.memmap(self._mapped, self.array.dtype, "r", self._offset, self.array.shape, "F")
        return np.array(mapped[begin:end])


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that a matrix is given in: long integers as they are, float32 for it and half floats, else float64."""
    if dtype.kind in "iu" and dtype.itemsize == 8:
        return dtype.newbyteorder("=")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def as_matrix(values: NDArray[Any]) -> pa.Array:
    wide = np.ascontiguousarray(values, _wide(values.dtype))
    return pa.FixedSizeListArray.from_arrays(pa.array(wide.reshape(-1)), values.shape[1])


def as_column(values: NDArray[Any]) -> pa.Array:
    kind = values.dtype.kind
    if kind == "f":
        return pa.array(values.astype(_wide(values.dtype), copy=False))
    if kind == "S":
        return pa.array(np.char.decode(values, "utf-8").tolist(), pa.string())
    if kind == "U":
        return pa.array(values.tolist(), pa.string())
    if kind == "M" and np.datetime_data(values.dtype) not in [(unit, 1) for unit in _UNITS]:
        values = values.astype("M8[s]")
    return pa.array(values.astype(values.dtype.newbyteorder("="), copy=False))
