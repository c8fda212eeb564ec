"""Excel files, through pandas: the first sheet, whose first row has the names."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, final

import pyarrow as pa

from protosieve.errors import InputError
from protosieve.io._file_source import FileSource
from protosieve.io._source import BadRows, Piece, consecutive


@final
class ExcelSource(FileSource):
    """The first sheet of an Excel file. It is held in memory as a whole: a sheet has at most 1,048,576 rows."""

    format = "excel"
    title = "an Excel file"
    endings = (".xlsx", ".xls")
    seeks = True

    def _head(self) -> pa.Schema:
        return self._table.schema

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        rows = self._table.num_rows
        yield from consecutive([self._table.select(columns)], 0, lambda row: self._share(row, rows))

    @cached_property
    def _table(self) -> pa.Table:
        try:
            import pandas

            with self.location.open() as opened:
                frame = pandas.read_excel(opened.file)
        except ImportError as error:  # pandas, or what it reads such files with
            raise InputError(
                f"{self.name}: an Excel file is read through pandas, and {error.name or 'openpyxl'} is not "
                "installed: pip install pandas openpyxl, or save the sheet as CSV"
            ) from error
        return pa.table({str(name): _column(frame[name]) for name in frame.columns})


def _column(cells: Any) -> pa.Array:
    """Cells of one type, or of several as text."""
    with suppress(pa.ArrowException):
        return pa.Array.from_pandas(cells)
    return pa.array([None if cell is None or cell != cell else str(cell) for cell in cells], pa.string())  # NaN is null
