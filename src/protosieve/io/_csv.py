"""CSV and TSV: a header line with names, then rows of text."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar, final

import pyarrow as pa

from protosieve.errors import InputError
from protosieve.io._csv_rows import LONGEST_ROW, CsvRows
from protosieve.io._file_source import BOM, Batch, TextSource, not_utf8
from protosieve.io._guess_types import HEAD_BYTES, HEAD_ROWS, NUMBER, as_field, guessed, has_decimal_commas
from protosieve.io._locations import Opened, first_lines

_UNNAMED = "(index)"  # a first column without a name is the index that pandas writes
_LONGEST_HEADER = 1 << 22
_DELIMITERS = ",\t;|"
_NUMBER = re.compile(NUMBER, re.ASCII)


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
        schema = pa.schema([as_field(name, guessed(cells[name]), cells[name]) for name in names])
        for name in names if delimiter == ";" else []:  # where commas separate no cells, they may be decimal
            if pa.types.is_string(schema.field(name).type) and has_decimal_commas(cells[name]):
                raise InputError(f"{self.name}: column {name!r} has decimal commas; write numbers with a decimal point")
        return schema

    def _first_rows(self, file: BinaryIO, names: list[str], delimiter: str) -> pa.Table:
        """The rows from which types are guessed: the first lines, or more if the first row is longer."""
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
    """CSV whose cells are separated by tabs."""

    format = "tsv"
    title = "TSV"
    endings = (".tsv", ".tsv.gz")
    delimiter = "\t"


def read_header(stream: Any, delimiter: str, file: str) -> tuple[list[str], str]:
    r"""The names and what separates them; the stream then stands at the first row. ``file`` is for messages.

    A header that does not have the ``delimiter`` may have another: the most frequent of comma, tab, ``;`` and ``|``.

    >>> read_header(io.BytesIO(b"id;height;weight\n"), ",", "rows.csv")
    (['id', 'height', 'weight'], ';')
    """
    try:
        text = _header_line(stream, file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: the header line {not_utf8(error.object[error.start])}; save the file as UTF-8"
        ) from error
    names = _split(text, delimiter)
    other = max(_DELIMITERS, key=text.count)
    if len(names) == 1 and len(_split(text, other)) > 1:
        names, delimiter = _split(text, other), other
    if len(names) > 1 and not names[0].strip():
        names[0] = _UNNAMED
    _check_header(names, file)
    return names, delimiter


def _split(text: str, delimiter: str) -> list[str]:
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])


def _header_line(stream: Any, file: str) -> bytes:
    """The first line that is not blank, and more lines where a quoted name holds a line break."""
    record: bytes = stream.readline(_LONGEST_HEADER).removeprefix(BOM)
    while record and not record.strip():
        record = stream.readline(_LONGEST_HEADER)
    while record.count(b'"') % 2 and len(record) < _LONGEST_HEADER and (line := stream.readline(_LONGEST_HEADER)):
        record += line
    if not record:
        raise InputError(f"{file}: is empty; a header line with the names of the columns is needed")
    return record


def _check_header(names: list[str], file: str) -> None:
    numbers = [name for name in names if _NUMBER.fullmatch(name.strip())]
    # years may name columns, and fractions do not
    if len(numbers) == len(names) or (2 * len(numbers) > len(names) and any("." in name for name in numbers)):
        raise InputError(
            f"{file}: the first line looks like data ({', '.join(names[:5])}); a header line with names is needed"
        )
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if not name.strip():
            raise InputError(f"{file}: column {position + 1} of the header has no name; give it one")
        if first.setdefault(name, position) != position:
            raise InputError(
                f"{file}: columns {first[name] + 1} and {position + 1} are both called {name!r}; "
                "give each column its own name"
            )
