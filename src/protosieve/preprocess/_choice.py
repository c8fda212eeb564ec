"""Which columns are features, and of what kind: the schema and the user's words decide."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from protosieve.errors import InputError, arg
from protosieve.preprocess._categories import CategoryColumn
from protosieve.preprocess._cells import is_list, is_number, is_text, is_time
from protosieve.preprocess._columns import Column, DateColumn, NumberColumn
from protosieve.preprocess._lists import EmbeddingColumn, MatrixColumn
from protosieve.preprocess._words import listing, meant

__all__ = ["SHOWN", "choose", "dtype_of"]

_MATRIX = (b"protosieve", b"numbers")  # metadata of a list whose values are number columns, as array files give
_EMPTY = "without any value"
_UNNAMED = "(index)"  # what readers call a first column whose header is empty
_NARROW = (pa.float16(), pa.float32())

SHOWN = ("image", "text", "coordinates")  # options of columns that a report shows

Words = Mapping[str, Collection[str]]  # option -> column names the user gave with it: a look-up must not search them


def choose(schema: pa.Schema, words: Words) -> tuple[list[Column], dict[str, str]]:
    """The features in the order of the schema, and why columns were left out that nobody spoke of."""
    words = {option: dict.fromkeys(names) for option, names in words.items()}
    _check_words(schema, words)
    named = dict.fromkeys([*words["features"], *words["embedding"]])
    chosen, why = _sorted_out(schema, words, named)
    if named:
        _check_named(named, why)
    _check_lists(schema, words, named)
    _check_some(chosen, why)
    _check_categorical(chosen, words)
    spoken = {name for names in words.values() for name in names}
    return list(chosen.values()), {} if named else {name: word for name, word in why.items() if name not in spoken}


def dtype_of(schema: pa.Schema, columns: Sequence[Column]) -> str:
    """float32 where no column needs more: the code of a category is exact in both."""
    kinds = [_plain(schema.field(column.name).type) for column in columns if column.kind != "category"]
    narrow = all((kind.value_type if is_list(kind) else kind) in _NARROW for kind in kinds)
    return "float32" if narrow else "float64"


def _sorted_out(schema: pa.Schema, words: Words, named: Collection[str]) -> tuple[dict[str, Column], dict[str, str]]:
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    chosen: dict[str, Column] = {}
    why: dict[str, str] = dict.fromkeys(twice, "several columns have this name; rename them")
    for field in schema:
        if field.name in why:
            continue
        found = _unwanted(field.name, words, named) or _column(field, words)
        if isinstance(found, str):
            why[field.name] = found
        else:
            chosen[field.name] = found
    return chosen, why


def _unwanted(name: str, words: Words, named: Collection[str]) -> str | None:
    if named:
        return None if name in named else "not among the features named"
    for option in ("exclude", "id", "label", *SHOWN):
        if name in words[option]:
            return f"named with {arg(option)}"
    return "it has no name in the file" if name == _UNNAMED else None


def _column(field: pa.Field, words: Words) -> Column | str:
    """The column as a feature, or why it cannot be one."""
    name, kind = field.name, _plain(field.type)
    if is_list(kind):
        return _list_column(field, kind, words)
    if pa.types.is_boolean(kind) or (name in words["categorical"] and _can_be_category(kind)):
        return CategoryColumn(name, typed=pa.types.is_boolean(kind) or is_number(kind))
    if is_text(kind) or pa.types.is_dictionary(kind):
        return CategoryColumn(name)
    if is_number(kind):
        return NumberColumn(name)
    if is_time(kind):
        return DateColumn(name)
    return _EMPTY if pa.types.is_null(kind) else f"{kind}, neither numbers nor text"


def _list_column(field: pa.Field, kind: pa.DataType, words: Words) -> Column | str:
    name, length = field.name, kind.list_size if pa.types.is_fixed_size_list(kind) else 0
    if not is_number(kind.value_type):
        return f"a list of {kind.value_type}, not of numbers"
    if name in words["embedding"]:
        return EmbeddingColumn(name, length)
    if _MATRIX in (field.metadata or {}).items():
        return MatrixColumn(name, length)
    if name in words["features"]:
        return EmbeddingColumn(name, length)
    return "a list that nobody spoke of"


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _can_be_category(kind: pa.DataType) -> bool:
    named = is_text(kind) or pa.types.is_dictionary(kind) or pa.types.is_null(kind)
    return bool(named or is_number(kind) or is_time(kind))


def _check_words(schema: pa.Schema, words: Words) -> None:
    there = dict.fromkeys(schema.names)
    for option, names in words.items():
        for name in names:
            if name not in there:
                raise InputError(
                    f"{arg(option)}: there is no column {name!r}{meant(name, schema.names)} "
                    f"(the columns are {listing(schema.names)})"
                )
            if option in ("features", "embedding") and name in words["exclude"]:
                raise InputError(
                    f"{arg(option)}: column {name!r} is named with {arg('exclude')} too; name it in one of them"
                )
    for name in words["embedding"]:
        kind = _plain(schema.field(schema.names.index(name)).type)
        if not is_list(kind):
            raise InputError(
                f"{arg('embedding')}: column {name!r} is {kind}, not a list of numbers; name a column of lists"
            )


def _check_named(named: Collection[str], why: Mapping[str, str]) -> None:
    for name in named:
        if name in why:
            raise InputError(f"{arg('features')}: column {name!r} cannot be used: {why[name]}")


def _check_some(chosen: Mapping[str, Column], why: Mapping[str, str]) -> None:
    if not chosen and why and set(why.values()) == {_EMPTY}:
        raise InputError(
            f"there is no value to compare rows by in {listing(list(map(repr, why)))}; give rows that have some"
        )
    if not chosen:
        reasons = listing([f"{name!r} ({word})" for name, word in why.items()]) or "there are none"
        raise InputError(
            f"no column can be used as a feature: {reasons}; give numbers, dates or text, or name a column of lists "
            f"with {arg('embedding')}"
        )


def _check_lists(schema: pa.Schema, words: Words, named: Collection[str]) -> None:
    """Lists of numbers are mostly what matters: whoever has some should say so, or say that they do not matter."""
    for field in () if named else schema:
        kind = _plain(field.type)
        unused = not _unwanted(field.name, words, named) and isinstance(_column(field, words), str)
        if unused and is_list(kind) and is_number(kind.value_type):
            raise InputError(
                f"column {field.name!r} holds lists of numbers: choose by them with "
                f"{arg('embedding', field.name)}, or leave them out with {arg('exclude', field.name)}"
            )


def _check_categorical(chosen: Mapping[str, Column], words: Words) -> None:
    for name in words["categorical"]:
        if name not in chosen:
            raise InputError(
                f"{arg('categorical')}: column {name!r} is not among the features ({listing(list(chosen))})"
            )
        if chosen[name].kind != "category":
            raise InputError(f"{arg('categorical')}: column {name!r} holds lists, which cannot be categories")
