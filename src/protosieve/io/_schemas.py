"""Whether files belong together: the same columns, of the same kinds."""

from collections.abc import Sequence

import pyarrow as pa

from protosieve._arrow_types import is_number, is_text
from protosieve._cell_texts import EITHER_FIRST, ORDERS
from protosieve.errors import InputError
from protosieve.io._source import Source

_NUMBERS = {b"protosieve": b"numbers"}


def check_schemas(sources: Sequence[Source]) -> pa.Schema:
    """The columns of all ``sources``, which must have the same names, in any order, and the same kinds of values.

    Kinds are numbers, text, true/false, dates, lists of one length; a column of nulls fits all. The result has the
    order of the first file, and of each column the widest type that is met (of float32 and float64 the latter). A file
    without any columns, such as an empty ``.jsonl``, has no rows either and fits all.
    """
    schemas = [(source.name, source.schema()) for source in sources]
    schemas = [(name, schema) for name, schema in schemas if schema.names]
    if not schemas:
        raise InputError(f"{', '.join(source.name for source in sources[:5])}: no columns and no rows; give some rows")
    fields = {field.name: (schemas[0][0], field) for field in schemas[0][1]}
    for file, schema in schemas[1:]:
        _check_names(file, schema, schemas[0][0], list(fields))
        fields = {name: _joined(name, known, (file, schema.field(name))) for name, known in fields.items()}
    return pa.schema([field for _, field in fields.values()], metadata=schemas[0][1].metadata)


def _check_names(file: str, schema: pa.Schema, first: str, names: list[str]) -> None:
    remedy = "give all the same columns, or correct the name"
    there, wanted = set(schema.names), set(names)
    missing = [name for name in names if name not in there]
    if missing:
        raise InputError(f"{file}: has no column {missing[0]!r}, which {first} has; {remedy}")
    extra = [name for name in schema.names if name not in wanted]
    if extra:
        raise InputError(f"{file}: has a column {extra[0]!r}, which {first} has not; {remedy}")


def _joined(name: str, known: tuple[str, pa.Field], other: tuple[str, pa.Field]) -> tuple[str, pa.Field]:
    """One column of two files, with the file that decided its type."""
    first, then = _kind(known[1]), _kind(other[1])
    if then == "nulls":
        return known
    if first == "nulls":
        return other
    if first != then:
        raise InputError(
            f"{other[0]}: column {name!r} holds {then}, and in {known[0]} it holds {first}; "
            "give the column one kind of values throughout"
        )
    return known[0], _ordered(_wider(known[1], other[1]), other[1])


def _ordered(known: pa.Field, other: pa.Field) -> pa.Field:
    """Where one file does not tell the order of day and month, another may."""
    orders = [(field.metadata or {}).get(b"protosieve", b"").decode() for field in (known, other)]
    return other.with_type(known.type) if orders[0] in ("", EITHER_FIRST) and orders[1] in ORDERS else known


def _wider(known: pa.Field, other: pa.Field) -> pa.Field:
    if known.type == other.type:
        return known
    try:
        both = pa.unify_schemas([pa.schema([known]), pa.schema([other])], promote_options="permissive")
    except pa.ArrowException:
        return known
    return known.with_type(both.field(0).type)


def _kind(field: pa.Field) -> str:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_fixed_size_list(kind):
        rows = "a matrix of" if (field.metadata or {}).items() >= _NUMBERS.items() else "lists of"
        return f"{rows} {kind.list_size} {_kind(kind.value_field)}"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"lists of {_kind(kind.value_field)}"
    return next((name for name, tests in _KINDS.items() if any(test(kind) for test in tests)), str(kind))


_KINDS = {
    "nulls": [pa.types.is_null],
    "numbers": [is_number],
    "text": [is_text],
    "true/false": [pa.types.is_boolean],
    "dates": [pa.types.is_date, pa.types.is_timestamp],
    "times of day": [pa.types.is_time],
    "durations": [pa.types.is_duration],
}
