"""One array in a stream: what its head says, and its rows as an Arrow column, a few at a time."""

import math
import shutil
import tempfile
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from protosieve.errors import InputError

__all__ = ["ArrayHead", "Cells"]

_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_SKIP = 1 << 20
_NUMBERS = {b"protosieve": b"numbers"}  # tells a matrix of features from an embedding
_UNITS = ("s", "ms", "us", "ns", "D")  # of dates, that Arrow has too


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
        """From the first bytes of an ``.npy`` stream, which then stands at the values."""
        version = npy.read_magic(stream)
        if version not in _READERS:  # 3.0 exists for the field names of structured arrays
            raise InputError(f"{file}: array {name!r} is a structured array; save its fields as arrays of their own")
        shape, fortran, dtype = _READERS[version](stream)
        return cls(name, shape, fortran, dtype, stream.tell() if stream.seekable() else 0)

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def field(self) -> pa.Field:
        """The Arrow column that it becomes."""
        if len(self.shape) == 2:
            matrix = pa.list_(pa.from_numpy_dtype(_wide(self.dtype)), self.shape[1])
            return pa.field(self.name, matrix, metadata=_NUMBERS)
        return pa.field(self.name, _as_column(np.empty(0, self.dtype)).type)

    def check(self, file: str, what: str) -> None:
        """Whether it can be a column: numbers in one or two dimensions, or text or dates in one."""
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


class Cells:
    """The values of an array, read from its stream in order: memory is what one call asks for.

    Values in Fortran order lie column by column, so rows need a stream that can seek; one that cannot do so quickly (a
    pipe, a member of an archive) is first unpacked to a temporary file.
    """

    def __init__(self, stream: Any, head: ArrayHead, stack: ExitStack):
        self.head = head
        self._stream, self._offset, self._at = stream, head.offset, 0
        self._by_column = head.fortran and len(head.shape) == 2
        if self._by_column and not _seeks(stream):
            self._stream = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # the stack is its context
            shutil.copyfileobj(stream, self._stream, _SKIP)
            self._offset = 0

    def read(self, begin: int, end: int) -> pa.Array:
        """Rows ``begin`` to ``end``; the next call goes on from there."""
        values = self._columns(begin, end) if self._by_column else self._values(begin, end)
        return _as_matrix(values) if values.ndim == 2 else _as_column(values)

    def _values(self, begin: int, end: int) -> NDArray[Any]:
        if begin > self._at:
            self._skip((begin - self._at) * self.head.row_bytes)
        self._at = end
        return self._take((end - begin) * self.head.row_bytes).reshape(end - begin, *self.head.shape[1:])

    def _columns(self, begin: int, end: int) -> NDArray[Any]:
        rows, width = self.head.shape
        found = np.empty((end - begin, width), self.head.dtype)
        for column in range(width):
            self._stream.seek(self._offset + (column * rows + begin) * self.head.dtype.itemsize)
            found[:, column] = self._take((end - begin) * self.head.dtype.itemsize)
        return found

    def _skip(self, size: int) -> None:
        if _seeks(self._stream):
            self._stream.seek(size, 1)
            return
        while size and (data := self._stream.read(min(size, _SKIP))):
            size -= len(data)

    def _take(self, size: int) -> NDArray[Any]:
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError(f"array {self.head.name!r} ends before its {self.head.rows} rows do")
        return np.frombuffer(data, self.head.dtype)


def _seeks(stream: Any) -> bool:
    """Quickly, that is: a member of an archive seeks by reading."""
    return bool(stream.seekable()) and not isinstance(stream, zipfile.ZipExtFile)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that a matrix is given in: long integers as they are, float32 for it and half floats, else float64."""
    if dtype.kind in "iu" and dtype.itemsize == 8:
        return dtype.newbyteorder("=")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def _as_matrix(values: NDArray[Any]) -> pa.Array:
    wide = np.ascontiguousarray(values, _wide(values.dtype))
    return pa.FixedSizeListArray.from_arrays(pa.array(wide.reshape(-1)), values.shape[1])


def _as_column(values: NDArray[Any]) -> pa.Array:
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
