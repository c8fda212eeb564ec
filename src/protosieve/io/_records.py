"""Rows of comma- or tab-separated text as cells, and what is wrong with the others."""

import codecs
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from protosieve.io._file import FEW_ROWS, PIECE_BYTES, not_utf8

__all__ = ["LONGEST_ROW", "NULLS", "Records"]

NULLS = ["", "NA", "N/A", "n/a", "NULL", "null", "None"]
LONGEST_ROW = 1 << 24  # bytes; what goes on beyond is a quote that nobody closes
_BLOCK = 1 << 20  # bytes parsed at once, about
_FIRST_MARK = 0xF0000  # for private use; nobody writes these
_MARKS = f"[{chr(_FIRST_MARK + 128)}-{chr(_FIRST_MARK + 255)}]"
_LINE = b"\n"
_BOM = b"\xef\xbb\xbf"
_OPEN = "opens a quote that is never closed, so that it holds the rest of the file"


class Records:
    r"""The rows after the header, as batches of text.

    Rows are numbered as they stand in the file, bad ones included; a blank line is no row. ``bad`` collects what is
    wrong, by row number: too many or too few cells, bytes that are not UTF-8, a quote that is never closed.

    Text is cut into whole rows here and parsed by pyarrow a block at a time. Its own reader of streams would read ahead
    in threads that call back into Python, and a run that ends early cannot wait for them: the interpreter hangs or
    aborts at exit.

    >>> import io
    >>> records = Records(io.BytesIO(b'1,NA\n2\n"3",x\n').read, ["a", "b"], ",")
    >>> [(numbers.tolist(), table.to_pydict()) for numbers, table in records.batches()]
    [([0, 2], {'a': ['1', '3'], 'b': [None, 'x']})]
    >>> records.bad
    {1: 'has 1 cell and the header has 2'}
    """

    def __init__(self, read: Callable[[int], bytes], names: list[str], separator: str):
        self.bad: dict[int, str] = {}
        self._read, self._names = read, names
        self._text = _Text()
        self._rows = _whole_rows(separator)
        self._next = 0  # the number of the next row
        self._gaps: list[int] = []  # rows of the block at hand that pyarrow leaves out
        self._options = {
            "read_options": pa.csv.ReadOptions(use_threads=False, block_size=1 << 30, column_names=names),
            "parse_options": pa.csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=self._leave_out
            ),
            "convert_options": pa.csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                null_values=NULLS,
                strings_can_be_null=True,
            ),
        }

    def batches(self) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
        """Numbers and cells of good rows. Of a slow pipe, those that are there."""
        for text in self._blocks():
            numbers, table = self._parse(text)
            keep = ~np.isin(numbers, list(self.bad))
            if keep.any():
                yield (numbers, table) if keep.all() else (numbers[keep], table.filter(pa.array(keep)))

    @property
    def is_other(self) -> bool:
        """Whether some bytes were not UTF-8."""
        return self._text.marked

    def _blocks(self) -> Iterator[bytes]:
        """Whole rows, a block of them or a few."""
        left, wanted = b"", 0
        while data := self._read(_BLOCK):
            left += self._text.valid(data)
            if len(data) == _BLOCK and len(left) < PIECE_BYTES and left.count(b"\n") < FEW_ROWS:
                continue  # a column takes as long for a few cells as for hundreds
            if len(left) < min(wanted, LONGEST_ROW):
                continue
            end = self._end_of_rows(left)
            if end:
                yield left[:end]
                left = left[end:]
            wanted = 0 if end else 2 * len(left)  # else a long row that comes slowly would be looked at again and again
            if len(left) >= LONGEST_ROW:
                raise ValueError(f"a row is longer than {LONGEST_ROW >> 20} MB; perhaps a quote is never closed")
        left += self._text.valid(b"")
        end = self._end_of_rows(left + b"\n")
        if left and end:
            yield left[:end]
        if end < len(left):
            lines = left.count(_LINE, end) + 1
            self.bad[self._next] = f"{_OPEN}, {lines:,} line{'s' * (lines > 1)}"

    def _end_of_rows(self, text: bytes) -> int:
        """Where the last whole row of ``text`` ends, which begins with a row."""
        if b'"' not in text:
            return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        found = self._rows.match(text)
        return found.end() if found else 0

    def _parse(self, text: bytes) -> tuple[NDArray[np.int64], pa.Table]:
        try:
            # pyarrow takes what begins a block for a byte order mark, wherever in the file it is
            begin = b"\n" if text.startswith(_BOM) else b""
            table = pa.csv.read_csv(pa.BufferReader(begin + text), **self._options)
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):  # as pyarrow calls blank lines alone
                raise
            table = pa.table({name: pa.array([], pa.string()) for name in self._names})
        numbers = self._numbers(table.num_rows)
        self._check_encoding(table, numbers)
        return numbers, table

    def _leave_out(self, row: Any) -> str:
        number = self._next + row.number - 1  # pyarrow counts from 1, and knows the number because one thread parses
        cells = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns} cells"
        self.bad[number] = f"has {cells} and the header has {row.expected_columns}"
        self._gaps.append(number)
        return "skip"

    def _numbers(self, count: int) -> NDArray[np.int64]:
        """Of the ``count`` rows of a block that pyarrow did not leave out."""
        found = np.arange(self._next, self._next + count + len(self._gaps))
        self._next += len(found)
        found = found[~np.isin(found, self._gaps)]
        self._gaps.clear()
        return found

    def _check_encoding(self, table: pa.Table, numbers: NDArray[np.int64]) -> None:
        for name, cells in zip(self._names, table.columns if self._text.marked else [], strict=False):
            marked = pc.fill_null(pc.match_substring_regex(cells, _MARKS), False)
            for row in np.flatnonzero(marked.to_numpy()).tolist():
                self.bad.setdefault(int(numbers[row]), f"column {name!r} {not_utf8(_marked(cells[row].as_py()))}")


def _whole_rows(separator: str) -> re.Pattern[bytes]:
    """As many whole rows as there are, by pyarrow's rules: a quote is one at the beginning of a cell only."""
    cell = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^S\r\n]*+'
    row = rb"(?:CS)*+C[\r\n]".replace(b"C", cell).replace(b"S", re.escape(separator.encode()))
    return re.compile(rb'(?:[^"\r\n]*+[\r\n]|' + row + rb")*+")


class _Text:
    """UTF-8, whatever it is made of: bytes that are none are replaced by marks, and ``marked`` says so.

    pyarrow names no row that is not UTF-8, and chokes on one that has the wrong number of cells besides.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("protosieve.mark")
        self.marked = False

    def valid(self, data: bytes) -> bytes:
        """The next bytes, perhaps with the first part of a character kept back; no bytes mean the end."""
        if data.isascii() and data and not self._decoder.getstate()[0]:
            return data
        text = self._decoder.decode(data, final=not data)
        self.marked = self.marked or bool(re.search(_MARKS, text))
        return text.encode()


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(chr(_FIRST_MARK + byte) for byte in error.object[error.start : error.end]), error.end


def _marked(text: str) -> int:
    """The first byte that has become a mark."""
    return next(ord(letter) - _FIRST_MARK for letter in text if re.match(_MARKS, letter))


codecs.register_error("protosieve.mark", _mark)
