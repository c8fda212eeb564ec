"""JSON lines: one object a line."""

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import final

import numpy as np
import pyarrow as pa

from protosieve.errors import InputError, ProtosieveWarning
from protosieve.io._file_source import BOM, FEW_ROWS, Batch, TextSource
from protosieve.io._guess_types import HEAD_BYTES, HEAD_ROWS, as_field, date_type
from protosieve.io._json_rows import as_read, table_of
from protosieve.io._locations import Location, Opened, first_lines
from protosieve.io._source import PIECE_BYTES

_BLOCK = 1 << 22
_LONGEST = 1 << 26  # a line beyond that is no row
_SHOWN = 8  # keys that are named


@final
class JsonLinesSource(TextSource):
    """One JSON object per line; blank lines are no rows. The columns are the keys of the first rows.

    Text stays text, also where `schema` says that it spells dates.
    """

    format = "jsonl"
    title = "JSON lines"
    endings = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
    magic = (b"{", b"[")  # an array has a message of its own

    def __init__(self, location: Location):
        super().__init__(location)
        self._has_told = False

    def _head(self) -> pa.Schema:
        with self.location.peek().unpacked() as opened:
            lines = _lines(first_lines(opened.file, HEAD_ROWS, HEAD_BYTES, _LONGEST).removeprefix(BOM))
        if lines and lines[0].startswith(b"["):
            raise InputError(
                f"{self.name}: begins with '[': one JSON array is not JSON lines; "
                "write one object per line, e.g. with jq -c '.[]'"
            )
        table, problems, _ = table_of(lines, None)
        if problems and not table.num_rows:
            number = min(problems)
            raise InputError(f"{self.name}, row {number}: {problems[number]}; JSON lines hold one object per line")
        return pa.schema([_meaning(name, table[name]) for name in table.column_names])

    def _batches(self, opened: Opened, start: int) -> Iterator[Batch]:
        known = pa.schema([(field.name, as_read(field.type)) for field in self.schema()])
        first, ignored = 0, Counter[str]()
        for lines in _blocks(opened, _BLOCK):
            numbers = np.arange(first, first + len(lines))
            first += len(lines)
            if first > start:
                table, problems, others = table_of(lines, known)
                ignored += others
                yield np.delete(numbers, list(problems)), table, {int(numbers[i]): problems[i] for i in problems}
        self._tell(ignored)

    def _tell(self, ignored: Counter[str]) -> None:
        """Warn of keys that are not read, once for each file."""
        if ignored and not self._has_told:
            self._has_told = True
            named = ", ".join(
                f"{name!r} (in {rows:,} row{'s' * (rows > 1)})" for name, rows in ignored.most_common(_SHOWN)
            )
            more = f" and {len(ignored) - _SHOWN:,} more" if len(ignored) > _SHOWN else ""
            warnings.warn(
                f"{self.name}: keys that the first rows do not have are ignored: {named}{more}; to read such a key, "
                "give it to one of the first rows, with null",
                ProtosieveWarning,
                stacklevel=2,
            )


def _meaning(name: str, column: pa.ChunkedArray) -> pa.Field:
    """A column with its type, where text that spells dates counts as dates."""
    if not pa.types.is_string(column.type) or column.null_count == len(column):
        return pa.field(name, column.type)
    cells = column.drop_null()
    return as_field(name, date_type(cells) or column.type, cells)


def _blocks(opened: Opened, size: int) -> Iterator[list[bytes]]:
    """Lines that are not blank, about ``size`` bytes at a time; more where these are only a few long lines. A slow
    pipe gives the lines it has.
    """
    lines, weight = list[bytes](), 0
    data = opened.arriving(size).removeprefix(BOM)
    while data:
        is_slow = len(data) < size
        data += b"" if data.endswith(b"\n") else opened.file.readline(_LONGEST)
        lines += _lines(data)
        weight += len(data)
        if lines and (is_slow or len(lines) >= FEW_ROWS or weight >= PIECE_BYTES):
            yield lines
            lines, weight = [], 0
        data = opened.arriving(size)
    if lines:
        yield lines


def _lines(data: bytes) -> list[bytes]:
    if len(data) >= _LONGEST and not data.endswith(b"\n"):
        raise ValueError(f"a line is longer than {_LONGEST >> 20} MB")
    return [line for line in map(bytes.strip, data.split(b"\n")) if line]
