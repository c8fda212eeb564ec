"""The first line of a CSV or TSV file: the names of its columns, and what may be wrong with them."""

import csv
import io
import re
from typing import Any

from protosieve.errors import InputError, arg
from protosieve.io._file import not_utf8
from protosieve.io._guess import NUMBER

__all__ = ["header_names"]

_UNNAMED = "(index)"  # a first column without a name is the index that pandas writes
_LONGEST = 1 << 22
_BOM = b"\xef\xbb\xbf"
_SEPARATORS = {",": "a comma", "\t": "a tab", ";": "';'", "|": "'|'"}
_NUMBER = re.compile(NUMBER, re.ASCII)
_REMEDIES = {separator: f"read it with {arg('format', name)}" for separator, name in ((",", "csv"), ("\t", "tsv"))}


def header_names(stream: Any, separator: str, file: str) -> list[str]:
    """The names; the stream then stands at the first row. ``file`` is its name, for messages."""
    try:
        text = _record(stream, file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: the header line {not_utf8(error.object[error.start])}; save the file as UTF-8"
        ) from error
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    if len(names) > 1 and not names[0].strip():
        names[0] = _UNNAMED
    _check(names, separator, file)
    return names


def _record(stream: Any, file: str) -> bytes:
    """The first line that is not blank, and more lines where a quoted name holds a line break."""
    record: bytes = stream.readline(_LONGEST).removeprefix(_BOM)
    while record and not record.strip():
        record = stream.readline(_LONGEST)
    while record.count(b'"') % 2 and len(record) < _LONGEST and (line := stream.readline(_LONGEST)):
        record += line
    if not record:
        raise InputError(f"{file}: is empty; a header line with the names of the columns is needed")
    return record


def _check(names: list[str], separator: str, file: str) -> None:
    if len(names) == 1:
        _check_separator(names[0], separator, file)
    numbers = [name for name in names if _is_number(name)]
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


def _check_separator(name: str, separator: str, file: str) -> None:
    other = max(_SEPARATORS, key=name.count)
    if other != separator and other in name:
        raise InputError(
            f"{file}: the header is one cell, {name[:60]!r}: cells seem to be separated by {_SEPARATORS[other]}, not "
            f"by {_SEPARATORS[separator]}; {_REMEDIES.get(other, 'save it with commas or tabs')}"
        )


def _is_number(name: str) -> bool:
    return _NUMBER.fullmatch(name.strip()) is not None
