"""Rows of CSV and TSV as cells of text, and what is wrong with the others."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from protosieve.io._file_source import BOM, FEW_ROWS, Batch, not_utf8
from protosieve.io._source import PIECE_BYTES

_NULLS = ["", "NA", "N/A", "n/a", "NULL", "null", "None"]
LONGEST_ROW = 1 << 24  # bytes; beyond, a quote is never closed
_BLOCK = 1 << 20  # bytes parsed at once, about
# Characters for private use, which no text has, stand for bytes that are not UTF-8.
_FIRST_MARK = 0xF0000
_MARKS = f"[{chr(_FIRST_MARK + 128)}-{chr(_FIRST_MARK + 255)}]"
_TO_MARKS = {0xDC00 + byte: _FIRST_MARK + byte for byte in range(128, 256)}  # from what "surrogateescape" gives
_OPEN = "opens a quote that is never closed, so that it holds the rest of the file"


class CsvRows:
    r"""The rows after the header, as batches of text.

    Rows are numbered by their order in the file, bad ones included; a blank line is no row. A bad row has too many or
    too few cells, bytes that are not UTF-8, or a quote that is never closed.

    Text is cut into whole rows here and parsed by pyarrow a block at a time. Its own reader of streams would read ahead
    in threads that call back into Python, and a run that ends early cannot wait for them: the interpreter hangs or
    aborts at exit.

    >>> import io
    >>> rows = CsvRows(io.BytesIO(b'1,NA\n2\n"3",x\n').read, ["a", "b"], ",")
    >>> [(numbers.tolist(), table.to_pydict(), problems) for numbers, table, problems in rows.batches()]
    [([0, 2], {'a': ['1', '3'], 'b': [None, 'x']}, {1: 'has 1 cell and the header has 2'})]
    """

    def __init__(self, read: Callable[[int], bytes], names: list[str], delimiter: str):
        self.is_marked = False  # whether some bytes were not UTF-8
        self._read, self._names = read, names
        self._rows = _whole_rows(delimiter)
        self._next = 0  # the number of the next row
        self._problems: dict[int, str] = {}  # of the block at hand
        self._options = {
            "read_options": pa.csv.ReadOptions(use_threads=False, block_size=1 << 30, column_names=names),
            "parse_options": pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=self._leave_out
            ),
            "convert_options": pa.csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                null_values=_NULLS,
                strings_can_be_null=True,
            ),
        }

    def batches(self) -> Iterator[Batch]:
        """Numbers and cells of good rows, and what is wrong with the others. From a slow pipe, the rows so far."""
        left, wanted = b"", 0
        while data := self._read(_BLOCK):
            left += data
            if len(data) == _BLOCK and len(left) < PIECE_BYTES and left.count(b"\n") < FEW_ROWS:
                continue  # a column takes as long for a few cells as for hundreds
            if len(left) < min(wanted, LONGEST_ROW):
                continue
            end = self._end_of_rows(left)
            if end:
                yield self._batch(left[:end])
                left = left[end:]
            wanted = 0 if end else 2 * len(left)  # else a long row that comes slowly would be searched again and again
            if len(left) >= LONGEST_ROW:
                raise ValueError(f"a row is longer than {LONGEST_ROW >> 20} MB; perhaps a quote is never closed")
        end = self._end_of_rows(left + b"\n")
        if left and end:
            yield self._batch(left[:end])
        if end < len(left):
            lines = left.count(b"\n", end) + 1
            problem = f"{_OPEN}, {lines:,} line{'s' * (lines > 1)}"
            yield np.zeros(0, np.int64), self._no_rows(), {self._next: problem}

    def _end_of_rows(self, text: bytes) -> int:
        """The end of the last complete row in ``text``; ``text`` starts at the beginning of a row."""
        if b'"' not in text:
            return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        found = self._rows.match(text)
        return found.end() if found else 0

    def _batch(self, text: bytes) -> Batch:
        """Parse complete rows."""
        self._problems = {}
        text, is_marked = _marked(text)
        table = self._parsed(text)
        first, self._next = self._next, self._next + table.num_rows + len(self._problems)
        numbers = np.delete(np.arange(first, self._next), [number - first for number in self._problems])
        if not is_marked:
            return numbers, table, self._problems
        self.is_marked = True
        keep = np.ones(len(numbers), np.bool_)
        for name, cells in zip(self._names, table.columns, strict=True):
            marks = pc.fill_null(pc.match_substring_regex(cells, _MARKS), False)
            for row in np.flatnonzero(marks.to_numpy()).tolist():
                byte = next(ord(letter) - _FIRST_MARK for letter in cells[row].as_py() if re.match(_MARKS, letter))
                self._problems.setdefault(int(numbers[row]), f"column {name!r} {not_utf8(byte)}")
                keep[row] = False
        return numbers[keep], table.filter(pa.array(keep)), self._problems

    def _parsed(self, text: bytes) -> pa.Table:
        try:
            # pyarrow takes what begins a block for a byte order mark, wherever in the file it is
            begin = b"\n" if text.startswith(BOM) else b""
            return pa.csv.read_csv(pa.BufferReader(begin + text), **self._options)
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):  # as pyarrow calls blank lines alone
                raise
            return self._no_rows()

    def _no_rows(self) -> pa.Table:
        return pa.table({name: pa.array([], pa.string()) for name in self._names})

    def _leave_out(self, row: Any) -> str:
        number = self._next + row.number - 1  # pyarrow counts from 1, and knows the number because one thread parses
        cells = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns} cells"
        self._problems[number] = f"has {cells} and the header has {row.expected_columns}"
        return "skip"


def _whole_rows(delimiter: str) -> re.Pattern[bytes]:
    """As many whole rows as there are, by pyarrow's rules: a quote is one at the beginning of a cell only."""
    cell = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^S\r\n]*+'
    row = rb"(?:CS)*+C[\r\n]".replace(b"C", cell).replace(b"S", re.escape(delimiter.encode()))
    return re.compile(rb'(?:[^"\r\n]*+[\r\n]|' + row + rb")*+")


def _marked(text: bytes) -> tuple[bytes, bool]:
    """Text with marks in place of bytes that are not UTF-8, and whether there are any.

    pyarrow names no row that is not UTF-8, and fails on one that has the wrong number of cells as well.
    """
    try:
        if not text.isascii():
            text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "surrogateescape").translate(_TO_MARKS).encode(), True
    return text, False
