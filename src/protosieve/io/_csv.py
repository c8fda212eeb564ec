"""CSV and TSV: a header line with names, then rows of text."""

import io
from collections.abc import Iterator
from typing import BinaryIO, ClassVar, final

import pyarrow as pa

from protosieve.errors import InputError
from protosieve.io._csv_header import read_header
from protosieve.io._csv_rows import LONGEST_ROW, CsvRows
from protosieve.io._file_source import Batch, TextSource
from protosieve.io._guess_types import HEAD_BYTES, HEAD_ROWS, guessed, has_decimal_commas
from protosieve.io._locations import Opened, first_lines

__all__ = ["CsvSource", "TsvSource"]


class CsvSource(TextSource):
    """Text with a header line. Cells are given as text, as they are written; `schema` says what they seem to mean.

    Cells are separated by ``delimiter``, or by another where the header has only others: see `read_header`. All columns
    are parsed, whichever are asked for: whether a row is bad does not depend on them.
    """

    format = "csv"
    title = "CSV"
    endings = (".csv", ".csv.gz")
    delimiter: ClassVar[str] = ","

    def _head(self) -> pa.Schema:
        with self.location.peek().unpacked() as opened:
            names, delimiter = read_header(opened.file, self.delimiter, self.name)
            cells = self._first_rows(opened.file, names, delimiter)
        schema = pa.schema([(name, guessed(cells[name])) for name in names])
        for name in names if delimiter == ";" else []:  # where commas separate no cells, they may be decimal
            if pa.types.is_string(schema.field(name).type) and has_decimal_commas(cells[name]):
                raise InputError(f"{self.name}: column {name!r} has decimal commas; write numbers with a decimal point")
        return schema

    def _first_rows(self, file: BinaryIO, names: list[str], delimiter: str) -> pa.Table:
        """Rows to guess from: those in the first lines, and more lines where the first row takes more."""
        data = b""
        while lines := first_lines(file, HEAD_ROWS, HEAD_BYTES, LONGEST_ROW):
            data += lines
            rows = CsvRows(io.BytesIO(data).read, names, delimiter)
            for numbers, table, problems in rows.batches():
                if len(numbers):
                    return table.slice(0, HEAD_ROWS)
                if rows.is_marked:
                    first = min(problems)
                    raise InputError(f"{self.name}, row {first}: {problems[first]}; none of the first rows can be read")
        return pa.table({name: pa.array([], pa.string()) for name in names})

    def _batches(self, opened: Opened, start: int) -> Iterator[Batch]:
        names, delimiter = read_header(opened.file, self.delimiter, self.name)
        return CsvRows(opened.arriving, names, delimiter).batches()


@final
class TsvSource(CsvSource):
    """The same, with tabs."""

    format = "tsv"
    title = "TSV"
    endings = (".tsv", ".tsv.gz")
    delimiter = "\t"
