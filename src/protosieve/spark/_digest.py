"""Whether rows that are read again are the same."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protosieve._arrow_types import is_list
from protosieve.preprocess import whole


class Digest:
    """What rows hold in some columns, and in which order, however they are cut into batches.

    O(bytes), about a second for a gigabyte; constant memory.

    >>> table = pa.table({"x": [1, None, 3], "y": ["a", "bc", ""]})
    >>> whole, parts = Digest(["x", "y"]), Digest(["x", "y"])
    >>> _ = list(whole.watch(table.to_batches())), list(parts.watch(table.to_batches(max_chunksize=1)))
    >>> whole.result() == parts.result()
    True
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = {name: _Cells() for name in columns}

    def watch(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches, taken note of on their way."""
        for batch in batches:
            for name, cells in self._columns.items():
                cells.take(whole(pa.chunked_array([batch.column(name)])))
            yield batch

    def result(self) -> bytes:
        """Of all rows so far: 16 bytes."""
        return _hash(b"".join(cells.result() for cells in self._columns.values())).digest()


class _Cells:
    """One column: where its nulls are, how long its values, and their bytes; what null slots hold is left aside."""

    def __init__(self) -> None:
        self._count = 0
        self._nulls, self._lengths, self._bytes = _hash(), _hash(), _hash()
        self._inner: list[_Cells] = []  # of lists, and of each field of structs

    def take(self, cells: pa.Array) -> None:
        if cells.null_count:
            nulls = np.flatnonzero(cells.is_null().to_numpy(zero_copy_only=False))
            self._nulls.update((nulls + self._count).tobytes())
        self._count += len(cells)
        some = cells.drop_null() if cells.null_count else cells
        if is_list(some.type):
            self._lengths.update(_as_bytes(pc.list_value_length(some)))
            self._take_inner([some.flatten()])
        elif pa.types.is_struct(some.type):
            self._take_inner(some.flatten())
        elif _has_offsets(some.type):
            self._lengths.update(_as_bytes(pc.binary_length(some)))
            self._bytes.update(_joined(some))
        elif not pa.types.is_null(some.type):
            self._bytes.update(_fixed(some))

    def _take_inner(self, parts: Sequence[pa.Array]) -> None:
        self._inner = self._inner or [_Cells() for _ in parts]
        for inner, part in zip(self._inner, parts, strict=True):
            inner.take(part)

    def result(self) -> bytes:
        inner = b"".join(inner.result() for inner in self._inner)
        parts = b"".join(part.digest() for part in (self._nulls, self._lengths, self._bytes))
        return self._count.to_bytes(8, "little") + parts + inner


def _hash(data: bytes = b"") -> hashlib.blake2b:
    return hashlib.blake2b(data, digest_size=16)


def _has_offsets(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _as_bytes(lengths: pa.Array) -> bytes:
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64).tobytes()


def _joined(cells: pa.Array) -> memoryview | bytes:
    """The bytes of text, one cell after the other."""
    is_large = pa.types.is_large_string(cells.type) or pa.types.is_large_binary(cells.type)
    _, offsets, data = cells.buffers()
    if data is None or not len(cells):
        return b""
    ends = np.frombuffer(offsets, np.int64 if is_large else np.int32)[cells.offset : cells.offset + len(cells) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _fixed(cells: pa.Array) -> memoryview | bytes:
    """The bytes of values of one size."""
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    data, size = cells.buffers()[1], cells.type.bit_width // 8
    return b"" if data is None else memoryview(data)[cells.offset * size : (cells.offset + len(cells)) * size]
