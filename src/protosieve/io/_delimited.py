"""CSV and TSV: a header line with names, then rows of text."""

import io
from collections.abc import Iterator
from typing import BinaryIO, final

import pyarrow as pa

from protosieve.errors import InputError
from protosieve.io._base import BadRow, BadRows, Piece
from protosieve.io._file import FileSource, reading
from protosieve.io._guess import HEAD_BYTES, HEAD_ROWS, guessed
from protosieve.io._header import header_names
from protosieve.io._places import Place, first_lines, line_bytes, unpacked
from protosieve.io._records import LONGEST_ROW, Records

__all__ = ["DelimitedSource"]


@final
class DelimitedSource(FileSource):
    """Text with a header line. Cells are given as text, as they are written; `schema` says what they seem to mean.

    All columns are looked at, whichever are asked for: a row is bad or good whatever it is read for.
    """

    def __init__(self, place: Place, separator: str):
        super().__init__(place)
        self.separator = separator

    @property
    def title(self) -> str:
        return "TSV" if self.separator == "\t" else "CSV"

    def row_bytes(self) -> float | None:
        with reading(self.name, self.title):
            return line_bytes(self.place)

    def _head(self) -> pa.Schema:
        with unpacked(self.place, head=True) as opened:
            names = header_names(opened.file, self.separator, self.name)
            cells = self._first_rows(opened.file, names)
        return pa.schema([(name, guessed(cells[name])) for name in names])

    def _first_rows(self, file: BinaryIO, names: list[str]) -> pa.Table:
        """Rows to guess from: those in the first lines, and more lines where the first row takes more."""
        data = b""
        while lines := first_lines(file, HEAD_ROWS, HEAD_BYTES, LONGEST_ROW):
            data += lines
            records = Records(io.BytesIO(data).read, names, self.separator)
            for _, table in records.batches():
                return table.slice(0, HEAD_ROWS)
            if records.is_other:
                number, problem = min(records.bad.items())
                raise InputError(f"{self.name}, row {number}: {problem}; none of the first rows can be read")
        return pa.table({name: pa.array([], pa.string()) for name in names})

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        with unpacked(self.place) as opened:
            names = header_names(opened.file, self.separator, self.name)
            records = Records(opened.arriving, names, self.separator)
            for numbers, table in records.batches():
                self._report(records, int(numbers[-1]), start, bad)
                late = int((numbers < start).sum())
                if late < len(numbers):
                    yield Piece(table.select(columns).slice(late), numbers[late:], opened.taken)
            self._report(records, None, start, bad)

    def _report(self, records: Records, last: int | None, start: int, bad: BadRows) -> None:
        """The bad rows up to number ``last``, each once; those before ``start`` are somebody else's."""
        for number in sorted(number for number in records.bad if last is None or number <= last):
            problem = records.bad.pop(number)
            if number >= start:
                bad.found(BadRow(self.name, number, problem))
