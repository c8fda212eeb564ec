"""Lines of JSON as a table: quickly by Arrow, and by hand where Arrow gives up or is too lenient."""

import json
import re
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from protosieve._cell_texts import are_missing
from protosieve.io._file_source import not_utf8

# Arrow takes NaN and infinity, which are not JSON. In text this is rare, and then only costs time.
_NOT_JSON = re.compile(rb"[:\[,]\s*-?(?:NaN|Inf(?:inity)?)\s*[,\]}]")
_LONG = 2.0**63
_NESTED = 1000  # brackets in a line: Arrow overflows the stack on 100,000 nested ones
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Objects(NamedTuple):
    """The rows, the problems of unreadable lines by position, and keys that are not columns, counted."""

    table: pa.Table
    problems: dict[int, str]
    others: Counter[str]


def table_of(lines: list[bytes], known: pa.Schema | None) -> Objects:
    """The objects as rows.

    The columns are those of ``known``, or all keys where it is ``None``. Types are those of ``known`` where the values
    allow it; a column that mixes text and other things is text.

    >>> table_of([b'{"a": 1, "b": "x"}', b'{"a": 2.5}', b'{"a": "three"', b'[4]'], None).table.to_pydict()
    {'a': [1.0, 2.5], 'b': ['x', None]}
    """
    return _quick(lines, known) or _by_hand(lines, known)


def as_read(kind: pa.DataType) -> pa.DataType:
    """The type in which values are read: Arrow's guess, except that dates in text stay text."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(as_read(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, as_read(field.type)) for field in kind])
    return kind


def _quick(lines: list[bytes], known: pa.Schema | None) -> Objects | None:
    data = b"\n".join(lines)
    if not lines or not _is_plain(lines, data):
        return None
    found = _parsed(data, known)
    table = _arranged(found, known) if found is not None and found.num_rows == len(lines) else None
    if found is None or table is None:
        return None
    there = set(table.column_names)
    others = [name for name in found.column_names if name not in there]
    return Objects(table, {}, Counter({name: len(lines) - found[name].null_count for name in others}))


def _is_plain(lines: list[bytes], data: bytes) -> bool:
    """Whether Arrow can be trusted with these lines: it neither checks UTF-8 nor where lines end."""
    return (
        all(line[0] == 0x7B and line[-1] == 0x7D for line in lines)  # { and }
        and _is_text(data)
        and not ((b"NaN" in data or b"Inf" in data) and _NOT_JSON.search(data))  # the pattern is slow, the words rare
        and all(line.count(b"[") + line.count(b"{") < _NESTED for line in lines if len(line) > _NESTED)
    )


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parsed(data: bytes, known: pa.Schema | None) -> pa.Table | None:
    """The types of numbers and nulls are left to Arrow: a block may have fractions where the first rows have none."""
    guessed = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    certain = pa.schema([field for field in known or () if not any(test(field.type) for test in guessed)])
    try:
        return pa.json.read_json(
            pa.BufferReader(data),
            read_options=pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pa.json.ParseOptions(explicit_schema=certain, unexpected_field_behavior="infer"),
        )
    except pa.ArrowException:
        return None


def _arranged(found: pa.Table, known: pa.Schema | None) -> pa.Table | None:
    """The columns of ``known`` and no others; ``None`` where Arrow took text for dates, or long integers for floats."""
    there, columns = set(found.column_names), []
    for field in known or found.schema:
        column = found[field.name] if field.name in there else pa.nulls(found.num_rows, field.type)
        if as_read(column.type) != column.type:
            return None
        if (known is None or pa.types.is_integer(field.type)) and _has_long(column):
            return None
        columns.append(column)
    return pa.table(columns, names=(known or found.schema).names)


def _by_hand(lines: list[bytes], known: pa.Schema | None) -> Objects:
    parsed = list(map(_object, lines))
    rows = [value for value in parsed if isinstance(value, dict)]
    problems = {position: value for position, value in enumerate(parsed) if isinstance(value, str)}
    names = list(dict.fromkeys(key for row in rows for key in row)) if known is None else known.names
    texts = set() if known is None else {field.name for field in known if pa.types.is_string(field.type)}
    columns = [[row.get(name) for row in rows] for name in names]
    if known is None:
        columns = list(map(_without_words, columns))
    table = pa.table([_column(values, name in texts) for name, values in zip(names, columns, strict=True)], names=names)
    there = set(names)
    others = (key for row in rows for key, value in row.items() if key not in there and value is not None)
    return Objects(table, problems, Counter(others))


def _object(line: bytes) -> dict[str, Any] | str:
    """The object on a line, or a message why there is none."""
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_refuse, strict=False)
        if _SURROGATE.search(line):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        return not_utf8(line[error.start])
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which is not a character"
    except RecursionError:
        return "is nested too deeply"
    except json.JSONDecodeError as error:
        return f"is not JSON ({error.msg}, character {error.pos})"
    except ValueError as error:
        return f"is not JSON ({error})"
    return value if isinstance(value, dict) else f"is {_kind(value)}, not an object"


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _kind(value: object) -> str:
    kinds = {list: "an array", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _column(values: list[Any], text: bool) -> pa.Array:
    """Values in the narrowest type that holds them all; failing that, or where text is wanted, as text."""
    if text:
        return pa.array(list(map(_spelt, values)), pa.string())
    if all(type(value) in (int, float, type(None)) for value in values):
        return _numbers(values)
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array(list(map(_spelt, values)), pa.string())


def _without_words(values: list[Any]) -> list[Any]:
    """The first values of a column of numbers without the few that are text: as nulls or bad rows these come later."""
    numbers = [type(value) in (int, float) for value in values]
    texts = [value for value in values if isinstance(value, str)]
    others = sum(value is not None for value in values) - sum(numbers)
    strange = len(texts) - (pc.sum(are_missing(pa.array(texts))).as_py() if texts else 0)
    if others != len(texts) or not texts or sum(numbers) < max(9 * strange, 1):
        return values
    return [value if is_number else None for value, is_number in zip(values, numbers, strict=True)]


def _has_long(column: pa.ChunkedArray) -> bool:
    """Whether floats may have been whole numbers beyond 64 bits, which Arrow reads as floats."""
    if not pa.types.is_floating(column.type):
        return False
    ends = pc.min_max(column).as_py()
    return ends["min"] is not None and (ends["min"] < -_LONG or ends["max"] >= _LONG)


def _numbers(values: list[Any]) -> pa.Array:
    kinds = (
        [pa.float64()]
        if any(type(value) is float for value in values)
        else [pa.int64(), pa.uint64(), pa.decimal128(38)]
    )
    for kind in kinds:
        with suppress(pa.ArrowException, OverflowError):  # whole numbers that the type does not hold exactly
            return pa.array(values, kind)
    return pa.array([None if value is None else _float(value) for value in values], pa.float64())


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _spelt(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
