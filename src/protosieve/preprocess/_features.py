"""Which columns are features, and of what kind: the schema and the user's options decide."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from protosieve._arrow_types import is_binary, is_list, is_number, is_text, is_time
from protosieve._cell_texts import DAY_FIRST, EITHER_FIRST
from protosieve._pictures import check_pillow
from protosieve.errors import InputError, arg
from protosieve.preprocess._categories import CategoryColumn
from protosieve.preprocess._columns import (
    Column,
    DateColumn,
    EmbeddedColumn,
    EmbeddingColumn,
    ImageColumn,
    MatrixColumn,
    NumberColumn,
    TextColumn,
)
from protosieve.preprocess._embed import version_of
from protosieve.preprocess._wording import listing, meant

_MATRIX = (b"protosieve", b"numbers")  # metadata of a list whose values are number columns, as array files give
_EMPTY = "without a value in its first rows"
_LIST = "a list of numbers that no option names"
_PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")
_UNNAMED = "(index)"  # what readers call a first column whose header is empty
_NARROW = (pa.float16(), pa.float32())
_NARROW_KINDS = ("category", "text", "embedded", "image")
_NOT_FEATURES = ("exclude", "label", "coordinates", "per", "id")  # options that name other columns
_NEVER_FEATURES = ("exclude", "per")  # these cannot be made features by name either

Options = Mapping[str, Collection[str]]  # the columns that each option names, for quick look-up


def choose_features(
    schema: pa.Schema, given: Mapping[str, Sequence[str]], day_first: bool, embed: str | None
) -> tuple[list[Column], dict[str, str]]:
    """The features in the order of the schema, and why columns that no option names cannot be used; texts are embedded
    where a model is named.
    """
    options: Options = {option: dict.fromkeys(names) for option, names in given.items()}
    _check_names(schema, options)
    named = dict.fromkeys([*options["features"], *options["embedding"]])
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    reasons = dict.fromkeys(twice, "several columns have this name; rename them")
    chosen: dict[str, Column] = {}
    for field in schema:
        found = reasons.get(field.name) or _unwanted(field.name, options, named) or _column(field, options, day_first)
        if isinstance(found, str):
            reasons[field.name] = found
        else:
            chosen[field.name] = found
    _check_named(named, reasons)
    _check_some(chosen, reasons)
    _check_categorical(chosen, options)
    if embed is not None:
        chosen |= _embedded(chosen, embed)
    mentioned = {name for names in options.values() for name in names}
    left_out = {name: reason for name, reason in reasons.items() if not named and name not in mentioned}
    return list(chosen.values()), left_out


def dtype_of(schema: pa.Schema, columns: Sequence[Column]) -> str:
    """float32 where no column needs more: the code of a category is exact in both, and texts and images are float32."""
    kinds = [_plain(schema.field(column.name).type) for column in columns if column.kind not in _NARROW_KINDS]
    narrow = all((kind.value_type if is_list(kind) else kind) in _NARROW for kind in kinds)
    return "float32" if narrow else "float64"


def _embedded(chosen: Mapping[str, Column], model: str) -> dict[str, Column]:
    """The columns of text, which the model turns into vectors."""
    texts = [name for name, column in chosen.items() if isinstance(column, TextColumn)]
    if not texts:
        raise InputError(
            f"{arg('embed', model)}: no column of text is compared; name one with {arg('text')}, and where "
            f"{arg('features')} names columns to compare, there too"
        )
    return {name: EmbeddedColumn(name, model=model, version=version_of(model)) for name in texts}


def _unwanted(name: str, options: Options, named: Collection[str]) -> str | None:
    if named:
        return None if name in named else "not among the features named"
    for option in _NOT_FEATURES:
        if name in options[option] and not (option == "id" and name in options["image"]):  # a path is a good id
            return f"named with {arg(option)}"
    if _PANDAS_INDEX.fullmatch(name):
        return "the index of a pandas DataFrame"
    return "it has no name in the file" if name == _UNNAMED else None


def _column(field: pa.Field, options: Options, day_first: bool) -> Column | str:
    """The column as a feature, or why it cannot be one."""
    name, kind = field.name, _plain(field.type)
    if is_list(kind):
        return _list_column(field, kind, options)
    if name in options["text"]:
        return TextColumn(name)
    if name in options["image"]:
        check_pillow()
        return ImageColumn(name)
    if pa.types.is_boolean(kind):
        return CategoryColumn(name, typed=True)
    if is_text(kind) or pa.types.is_dictionary(kind):
        return CategoryColumn(name)
    if name in options["categorical"] and (is_number(kind) or is_time(kind) or pa.types.is_null(kind)):
        return CategoryColumn(name, typed=is_number(kind))
    if is_number(kind):
        return NumberColumn(name)
    if is_time(kind):
        order = (field.metadata or {}).get(b"protosieve", b"").decode()
        return DateColumn(name, order=DAY_FIRST if day_first and order == EITHER_FIRST else order)
    return _EMPTY if pa.types.is_null(kind) else f"{kind}, neither numbers nor text"


def _may_be_text(kind: pa.DataType) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _may_be_image(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(field.name in ("bytes", "path") for field in kind)
    return _may_be_text(kind) or is_binary(kind) or pa.types.is_null(kind)


def _list_column(field: pa.Field, kind: pa.DataType, options: Options) -> Column | str:
    name, length = field.name, kind.list_size if pa.types.is_fixed_size_list(kind) else 0
    if not is_number(kind.value_type):
        return f"a list of {kind.value_type}, not of numbers"
    if _MATRIX in (field.metadata or {}).items() and name not in options["embedding"]:
        return MatrixColumn(name, length)
    is_named = name in options["embedding"] or name in options["features"]
    return EmbeddingColumn(name, length) if is_named else _LIST


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _check_names(schema: pa.Schema, options: Options) -> None:
    there = dict.fromkeys(schema.names)
    for option, names in options.items():
        for name in names:
            if name not in there:
                raise InputError(
                    f"{arg(option)}: there is no column {name!r}{meant(name, schema.names)} "
                    f"(the columns are {listing(schema.names)})"
                )
            others = [other for other in _NEVER_FEATURES if name in options[other]]
            if option in ("features", "embedding") and others:
                raise InputError(
                    f"{arg(option)}: column {name!r} is named with {arg(others[0])} too; name it in one of them"
                )
    for name in options["image"]:
        kind = _plain(schema.field(schema.names.index(name)).type)
        if not _may_be_image(kind):
            raise InputError(
                f"{arg('image')}: column {name!r} holds {_held(kind)}, not images; name a column of paths, bytes or "
                "base64"
            )
        if name in options["text"]:
            raise InputError(f"{arg('image')}: column {name!r} is named with {arg('text')} too; name it in one of them")
    for name in options["text"]:
        kind = _plain(schema.field(schema.names.index(name)).type)
        if not (_may_be_text(kind) or pa.types.is_null(kind)):
            raise InputError(f"{arg('text')}: column {name!r} holds {_held(kind)}, not text; name a column of text")
        others = [other for other in ("id", "label", "categorical", "per") if name in options[other]]
        if others:
            raise InputError(
                f"{arg('text')}: column {name!r} is named with {arg(others[0])} too; name it in one of them"
            )
    for name in options["embedding"]:
        kind = _plain(schema.field(schema.names.index(name)).type)
        if not is_list(kind):
            raise InputError(
                f"{arg('embedding')}: column {name!r} is {kind}, not a list of numbers; name a column of lists"
            )


def _held(kind: pa.DataType) -> str:
    return "numbers" if is_number(kind) else "dates or times" if is_time(kind) else str(kind)


def _check_named(named: Collection[str], reasons: Mapping[str, str]) -> None:
    """Columns that are named must be usable; and lists of numbers, which mostly matter, must be named or excluded."""
    for name in named:
        if name in reasons:
            raise InputError(f"{arg('features')}: column {name!r} cannot be used: {reasons[name]}")
    for name, reason in reasons.items():
        if reason == _LIST:
            raise InputError(
                f"column {name!r} holds lists of numbers: choose by them with "
                f"{arg('embedding', name)}, or leave them out with {arg('exclude', name)}"
            )


def _check_some(chosen: Mapping[str, Column], reasons: Mapping[str, str]) -> None:
    if not chosen and reasons and set(reasons.values()) == {_EMPTY}:
        raise InputError(
            f"there is no value to compare rows by in {listing(list(map(repr, reasons)))}; give rows that have some"
        )
    if not chosen:
        listed = listing([f"{name!r} ({reason})" for name, reason in reasons.items()]) or "there are none"
        raise InputError(
            f"no column can be used as a feature: {listed}; give numbers, dates or text, or name a column of lists "
            f"with {arg('embedding')} or one of images with {arg('image')}"
        )


def _check_categorical(chosen: Mapping[str, Column], options: Options) -> None:
    for name in options["categorical"]:
        if name not in chosen:
            raise InputError(
                f"{arg('categorical')}: column {name!r} is not among the features ({listing(list(chosen))})"
            )
        if chosen[name].kind != "category":
            raise InputError(f"{arg('categorical')}: column {name!r} holds lists, which cannot be categories")
