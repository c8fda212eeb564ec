"""JSON lines: one object a line."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, final

import numpy as np
import pyarrow as pa

from protosieve._formatting import counted
from protosieve.errors import InputError, warn
from protosieve.io._file_source import BOM, FEW_ROWS, Batch, TextSource
from protosieve.io._guess_types import HEAD_BYTES, HEAD_ROWS, as_field, date_type
from protosieve.io._json_rows import as_read, table_of
from protosieve.io._locations import Changed, Location, Opened, first_lines
from protosieve.io._source import PIECE_BYTES

_BLOCK = 1 << 22
_LONGEST = 1 << 26  # a line beyond that is no row
_SPACE = 64  # bytes before the first bracket, at most
_DECODER = json.JSONDecoder()
_FIRST, _NEXT = re.compile(r"\s*\[\s*(\])?"), re.compile(r"\s*(?:,\s*|(\]))")  # what stands before a value
_BREAKS = re.compile(r"[\r\n]+")  # between tokens: strings have none that are not escaped
_SHOWN = 8  # keys that are named


@final
class JsonLinesSource(TextSource):
    """One JSON object per line, or one array of objects; blank lines are no rows. The columns are the keys of the first
    rows.

    Text stays text, also where `schema` says that it spells dates.
    """

    format = "jsonl"
    title = "JSON lines"
    endings = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
    magic = (b"{", b"[")

    def __init__(self, location: Location):
        super().__init__(location)
        self._has_told = False

    def _head(self) -> pa.Schema:
        with self.location.peek() as stored, self._text(stored) as opened:
            lines = _lines(first_lines(opened.file, HEAD_ROWS, HEAD_BYTES, _LONGEST).removeprefix(BOM))
        table, problems, _ = table_of(lines, None)
        if problems and not table.num_rows:
            number = min(problems)
            raise InputError(
                f"{self.name}, row {number}: {problems[number]}; give an object per line, or an array of objects"
            )
        return pa.schema([_meaning(name, table[name]) for name in table.column_names])

    def _text(self, opened: Opened) -> Opened:
        unpacked = opened.unpacked()
        head = unpacked.file.peek(_SPACE)[:_SPACE].removeprefix(BOM).lstrip()
        return unpacked.through(_ArrayLines(unpacked.file)) if head.startswith(b"[") else unpacked

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
            named = ", ".join(f"{name!r} (in {counted(rows, 'row')})" for name, rows in ignored.most_common(_SHOWN))
            more = f" and {len(ignored) - _SHOWN:,} more" if len(ignored) > _SHOWN else ""
            warn(
                f"{self.name}: keys that the first rows do not have are ignored: {named}{more}; to read such a key, "
                "give it to one of the first rows, with null"
            )


@final
class _ArrayLines(Changed):
    """The values of one JSON array, a line each. Memory is that of the largest, and of a few pieces."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")  # each row tells what is wrong
        self._text, self._before, self._rows, self._is_open = "", _FIRST, 0, True

    def _more(self) -> bytes:
        lines = list[str]()
        while self._is_open and not lines:
            data = self._file.read1(max(_BLOCK, len(self._text)))  # twice as much where a value is not complete
            self._text += self._decoder.decode(data, final=not data)
            lines = list(self._values(is_last=not data))
        return "".join(lines).encode("utf-8", "surrogateescape")

    def _values(self, is_last: bool) -> Iterator[str]:
        """Those that are complete; the rest waits for more text."""
        text, at = self._text, 0
        while found := self._before.match(text, at):
            if found[1]:
                self._is_open, at = False, found.end()
                break
            try:
                _, end = _DECODER.raw_decode(text, found.end())
            except json.JSONDecodeError:
                break
            if end == len(text) and not is_last:  # of a number there may be more
                break
            yield _BREAKS.sub(" ", text[found.end() : end]) + "\n"
            at, self._before, self._rows = end, _NEXT, self._rows + 1
        self._text = text[at:]
        if (is_last or len(self._text) > _LONGEST) if self._is_open else self._text.strip():
            raise ValueError(f"after {counted(self._rows, 'row')} the array is broken off, or no JSON")


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
