"""Rows of comma- or tab-separated text as cells, and what is wrong with the others."""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from protosieve.io._file import FEW_ROWS, PIECE_BYTES, not_utf8

__all__ = ["NULLS", "Records"]

NULLS = ["", "NA", "N/A", "n/a", "NULL", "null", "None"]
_BLOCK = 1 << 20  # bytes parsed at once, and therefore the longest row; pyarrow reads 32 of them ahead
_FIRST_MARK = 0xF0000  # for private use; nobody writes these
_MARKS = f"[{chr(_FIRST_MARK + 128)}-{chr(_FIRST_MARK + 255)}]"
_OPEN = "opens a quote that is never closed, so that it holds the rest of the file"


class Records:
    r"""The rows after the header, as batches of text.

    Rows are numbered as they stand in the file, bad ones included; a blank line is no row. ``bad`` collects what is
    wrong, by row number: too many or too few cells, bytes that are not UTF-8, a quote that is never closed.

    >>> import io
    >>> records = Records(io.BytesIO(b'1,NA\n2\n"3",x\n').read, ["a", "b"], ",")
    >>> [(numbers.tolist(), table.to_pydict()) for numbers, table in records.batches()]
    [([0, 2], {'a': ['1', '3'], 'b': [None, 'x']})]
    >>> records.bad
    {1: 'has 1 cell and the header has 2'}
    """

    def __init__(self, read: Callable[[int], bytes], names: list[str], separator: str):
        self.bad: dict[int, str] = {}
        self._stream = _Watched(read)
        self._names, self._separator = names, separator
        self._gaps: list[int] = []  # rows that pyarrow left out and `_numbers` has not passed yet
        self._next = 0

    def batches(self) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
        """Numbers and cells of good rows."""
        reader = self._reader()
        table = self._next_table(reader)
        while table is not None:
            following = self._next_table(reader)
            numbers = self._numbers(table.num_rows)
            self._check_text(table, numbers)
            if following is None:
                self._check_closed(table, numbers)
            keep = ~np.isin(numbers, list(self.bad))
            if keep.any():
                yield (numbers, table) if keep.all() else (numbers[keep], table.filter(pa.array(keep)))
            table = following

    @property
    def is_other(self) -> bool:
        """Whether some bytes were not UTF-8."""
        return self._stream.marked

    def _reader(self) -> Any:
        try:
            return pa.csv.open_csv(
                pa.PythonFile(self._stream, "r"),
                read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=self._names),
                parse_options=pa.csv.ParseOptions(
                    delimiter=self._separator, newlines_in_values=True, invalid_row_handler=self._leave_out
                ),
                convert_options=pa.csv.ConvertOptions(
                    check_utf8=False,
                    column_types=dict.fromkeys(self._names, pa.string()),
                    null_values=NULLS,
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return None
            raise

    def _next_table(self, reader: Any) -> pa.Table | None:
        """The next batch, or the next few where rows are wide and do not come slowly; ``None`` after the last."""
        batches, rows, is_full = list[Any](), 0, True
        while is_full and rows < FEW_ROWS and len(batches) < PIECE_BYTES // _BLOCK:
            batch = _next_batch(reader)
            if batch is None:
                break
            batches.append(batch)
            rows += batch.num_rows
            is_full = self._stream.sizes.popleft() == _BLOCK if self._stream.sizes else False
        return pa.Table.from_batches(batches).combine_chunks() if batches else None

    def _leave_out(self, row: Any) -> str:
        number = row.number - 1  # pyarrow counts from 1, and knows the number because one thread parses
        cells = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns} cells"
        self.bad[number] = f"has {cells} and the header has {row.expected_columns}"
        self._gaps.append(number)
        return "skip"

    def _numbers(self, count: int) -> NDArray[np.int64]:
        """Of the next ``count`` rows that pyarrow did not leave out."""
        found = np.arange(self._next, self._next + count + len(self._gaps))
        found = found[~np.isin(found, self._gaps)][:count]
        self._next = int(found[-1]) + 1 if count else self._next
        self._gaps = [gap for gap in self._gaps if gap >= self._next]
        return found

    def _check_text(self, table: pa.Table, numbers: NDArray[np.int64]) -> None:
        for name, cells in zip(self._names, table.columns if self._stream.marked else [], strict=False):
            marked = pc.fill_null(pc.match_substring_regex(cells, _MARKS), False)
            for row in np.flatnonzero(marked.to_numpy(zero_copy_only=False)).tolist():
                self.bad.setdefault(int(numbers[row]), f"column {name!r} {not_utf8(_marked(cells[row].as_py()))}")

    def _check_closed(self, table: pa.Table, numbers: NDArray[np.int64]) -> None:
        """A cell with a line break was quoted: if it is the file's last and no quote ends the file, it is open."""
        last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
        if last is not None and "\n" in last and self._stream.last != b'"':
            self.bad[int(numbers[-1])] = _OPEN


class _Watched:
    """A stream of UTF-8, whatever it is of: bytes that are none are replaced by marks, and ``marked`` says so.

    pyarrow names no row that is not UTF-8, and chokes on one that has the wrong number of cells besides. The stream
    remembers its last visible byte. It is closed by whoever opened it, not by pyarrow.
    """

    closed = False

    def __init__(self, read: Callable[[int], bytes]):
        self._read = read  # as many bytes at most, fewer where they come slowly, none at the end
        self._decoder = codecs.getincrementaldecoder("utf-8")("protosieve.mark")
        self._ready = b""
        self._quoted = False  # whether a quote is open at the end of what has been read
        self.last = b""
        self.sizes = deque[int]()  # of blocks that were read and not yet made batches
        self.marked = False

    def read(self, size: int) -> bytes:
        """As much; less at the end, and of a slow pipe, whose rows are whole then: pyarrow joins no three parts."""
        while len(self._ready) < size:
            data = self._read(size)
            self.last = data[-1024:].rstrip()[-1:] or self.last
            self._quoted ^= bool(data.count(b'"') % 2)
            self._ready += self._valid(data)
            if not data or (len(data) < size and data.endswith(b"\n") and not self._quoted):
                break
        out, self._ready = self._ready[:size], self._ready[size:]
        self.sizes.append(len(out))
        return out

    def _valid(self, data: bytes) -> bytes:
        if data.isascii() and data and not self._decoder.getstate()[0]:
            return data
        text = self._decoder.decode(data, final=not data)
        self.marked = self.marked or bool(re.search(_MARKS, text))
        return text.encode()

    def close(self) -> None:
        """Nothing to do."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(chr(_FIRST_MARK + byte) for byte in error.object[error.start : error.end]), error.end


def _marked(text: str) -> int:
    """The first byte that has become a mark."""
    return next(ord(letter) - _FIRST_MARK for letter in text if re.match(_MARKS, letter))


codecs.register_error("protosieve.mark", _mark)


def _next_batch(reader: Any) -> Any:
    """The next batch of ``reader``, ``None`` after the last."""
    try:
        return None if reader is None else reader.read_next_batch()
    except StopIteration:
        return None
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise pa.ArrowInvalid(f"a row is longer than {_BLOCK >> 20} MB; perhaps a quote is never closed") from error
        raise
