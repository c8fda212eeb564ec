"""CSV and TSV: a header line with names, then rows of text."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar, final

import pyarrow as pa
import pyarrow.compute as pc

from protosieve.errors import InputError, ParameterError, arg
from protosieve.io._csv_rows import LONGEST_ROW, CsvRows
from protosieve.io._file_source import BOM, Batch, TextSource, not_utf8
from protosieve.io._guess_types import HEAD_BYTES, HEAD_ROWS, NUMBER, as_field, guessed, has_decimal_commas
from protosieve.io._locations import Location, Opened, Recoded, first_lines

_UNNAMED = "(index)"  # a first column without a name is the index that pandas writes
_COMMAS = (b"protosieve", b"decimal-comma")  # metadata of a column of numbers
_LONGEST_HEADER = 1 << 22
_LATE = 1 << 26  # bytes after the first rows in which a column that is empty there may begin
_DELIMITERS = ",\t;|"
_NUMBER = re.compile(NUMBER, re.ASCII)


@dataclass(frozen=True)
class CsvForm:
    """How CSV files are written, where users say so: what separates cells, the encoding, what begins fractions."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None

    @property
    def given(self) -> str | None:
        """The first that users say."""
        return next((name for name, value in vars(self).items() if value is not None), None)

    def __post_init__(self) -> None:
        given = self.delimiter
        if given is not None and (len(given) != 1 or not given.isascii() or given in '"\r\n'):
            raise ParameterError(
                f"{arg('delimiter')} must be one character of ASCII, and no quote, such as ';' or a tab; got {given!r}"
            )
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"{arg('decimal')} must be '.' or ',', got {self.decimal!r}")
        try:
            "".encode(self.encoding or "utf-8")
        except LookupError as error:
            raise ParameterError(
                f"{arg('encoding')} must be one that Python knows, such as 'latin1' or 'utf-16'; got {self.encoding!r}"
            ) from error


class CsvSource(TextSource):
    """Text with a header line. Cells are given as text, as they are written; `schema` says what they seem to mean.

    Cells are separated by ``delimiter``, or by another where the header has only others: see `read_header`. All columns
    are parsed, whichever are asked for: whether a row is bad does not depend on them. Of numbers with decimal commas
    the cells have points: all such columns where the ``form`` says so, else where commas separate no cells.
    """

    format = "csv"
    title = "CSV"
    endings = (".csv", ".csv.gz")
    delimiter: ClassVar[str] = ","

    def __init__(self, location: Location, form: CsvForm = CsvForm()):
        super().__init__(location)
        self.form = form

    def _head(self) -> pa.Schema:
        with self.location.peek() as stored, self._text(stored) as opened:
            names, delimiter = self._header(opened)
            cells = self._first_rows(opened.file, names, delimiter)
            if not self.comes_once:
                cells = _with_late(cells, CsvRows(opened.file.read, names, delimiter))
        may_have_commas = self.form.decimal == "," or (self.form.decimal is None and delimiter != ",")
        return pa.schema([_field(name, column, may_have_commas) for name, column in cells.items()])

    def _header(self, opened: Opened) -> tuple[list[str], str]:
        return read_header(opened.file, self.form.delimiter or self.delimiter, self.name, self.form.delimiter is None)

    def _text(self, opened: Opened) -> Opened:
        unpacked = opened.unpacked()
        return unpacked if self.form.encoding is None else unpacked.through(Recoded(unpacked.file, self.form.encoding))

    def _first_rows(self, file: BinaryIO, names: list[str], delimiter: str) -> dict[str, pa.ChunkedArray]:
        """The cells from which types are guessed: of the first lines, or more if the first row is longer."""
        data = b""
        while lines := first_lines(file, HEAD_ROWS, HEAD_BYTES, LONGEST_ROW):
            data += lines
            rows = CsvRows(io.BytesIO(data).read, names, delimiter)
            for numbers, table, problems in rows.batches():
                if len(numbers):
                    return {name: table[name].slice(0, HEAD_ROWS) for name in names}
                if rows.is_marked:
                    first = min(problems)
                    raise InputError(f"{self.name}, row {first}: {problems[first]}; none of the first rows can be read")
        return {name: pa.chunked_array([], pa.string()) for name in names}

    def _batches(self, opened: Opened, start: int) -> Iterator[Batch]:
        names, delimiter = self._header(opened)
        commas = [field.name for field in self.schema() if _COMMAS in (field.metadata or {}).items()]
        for numbers, table, problems in CsvRows(opened.arriving, names, delimiter).batches():
            yield numbers, _with_points(table, commas), problems


@final
class TsvSource(CsvSource):
    """CSV whose cells are separated by tabs."""

    format = "tsv"
    title = "TSV"
    endings = (".tsv", ".tsv.gz")
    delimiter = "\t"


def _with_late(cells: dict[str, pa.ChunkedArray], rows: CsvRows) -> dict[str, pa.ChunkedArray]:
    """Of columns without a value in the first rows the cells of rows after them that have some, if these come soon."""
    found, seen = dict(cells), 0
    late = {name for name, column in cells.items() if column.null_count == len(column)}
    batches = rows.batches()
    while late and seen < _LATE and (batch := next(batches, None)) is not None:
        table = batch[1]
        seen += max(table.nbytes, 1)
        there = {name for name in late if table[name].null_count < len(table)}
        found |= {name: table[name] for name in there}
        late -= there
    return found


def _field(name: str, cells: pa.ChunkedArray, may_have_commas: bool) -> pa.Field:
    """A column as its first cells show it."""
    kind = guessed(cells)
    if may_have_commas and pa.types.is_string(kind) and has_decimal_commas(cells):
        return pa.field(name, pa.float64(), metadata=dict([_COMMAS]))
    return as_field(name, kind, cells)


def _with_points(table: pa.Table, names: list[str]) -> pa.Table:
    for name in names:
        cells = pc.replace_substring(table[name], ",", ".", max_replacements=1)
        table = table.set_column(table.schema.get_field_index(name), name, cells)
    return table


def read_header(stream: Any, delimiter: str, file: str, may_differ: bool = True) -> tuple[list[str], str]:
    r"""The names and what separates them; the stream then stands at the first row. ``file`` is for messages.

    A header that does not have the ``delimiter`` may have another: the most frequent of comma, tab, ``;`` and ``|``,
    unless it must not differ.

    >>> read_header(io.BytesIO(b"id;height;weight\n"), ",", "rows.csv")
    (['id', 'height', 'weight'], ';')
    """
    try:
        text = _header_line(stream, file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: the header line {not_utf8(error.object[error.start])}; save the file as UTF-8, or name its "
            f"encoding, such as {arg('encoding', 'latin1')}"
        ) from error
    names = _split(text, delimiter)
    other = max(_DELIMITERS, key=text.count)
    if may_differ and len(names) == 1 and len(_split(text, other)) > 1:
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
