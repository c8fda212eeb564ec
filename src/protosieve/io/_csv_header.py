"""The first line of a CSV or TSV file: the names of its columns, their delimiter, and what may be wrong."""

import csv
import io
import re
from typing import Any

from protosieve.errors import InputError
from protosieve.io._file_source import BOM, not_utf8
from protosieve.io._guess_types import NUMBER

__all__ = ["read_header"]

_UNNAMED = "(index)"  # a first column without a name is the index that pandas writes
_LONGEST = 1 << 22
_DELIMITERS = ",\t;|"
_NUMBER = re.compile(NUMBER, re.ASCII)


def read_header(stream: Any, delimiter: str, file: str) -> tuple[list[str], str]:
    r"""The names and what separates them; the stream then stands at the first row. ``file`` is for messages.

    A header that does not have the ``delimiter`` may have another: the most frequent of comma, tab, ``;`` and ``|``.

    >>> read_header(io.BytesIO(b"id;height;weight\n"), ",", "rows.csv")
    (['id', 'height', 'weight'], ';')
    """
    try:
        text = _record(stream, file).decode("utf-8")
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
    _check(names, file)
    return names, delimiter


def _split(text: str, delimiter: str) -> list[str]:
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])


def _record(stream: Any, file: str) -> bytes:
    """The first line that is not blank, and more lines where a quoted name holds a line break."""
    record: bytes = stream.readline(_LONGEST).removeprefix(BOM)
    while record and not record.strip():
        record = stream.readline(_LONGEST)
    while record.count(b'"') % 2 and len(record) < _LONGEST and (line := stream.readline(_LONGEST)):
        record += line
    if not record:
        raise InputError(f"{file}: is empty; a header line with the names of the columns is needed")
    return record


def _check(names: list[str], file: str) -> None:
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


def _is_number(name: str) -> bool:
    return _NUMBER.fullmatch(name.strip()) is not None
