"""Which columns are features, and of what kind."""

import pyarrow as pa
import pytest

from protosieve.errors import InputError, ParameterError
from protosieve.preprocess import Layout

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("age", pa.int32()),
        ("height", pa.float32()),
        ("price", pa.decimal128(9, 2)),
        ("born", pa.date32()),
        ("seen", pa.timestamp("us", "Europe/Paris")),
        ("at", pa.time64("ns")),
        ("took", pa.duration("ms")),
        ("smoker", pa.bool_()),
        ("colour", pa.dictionary(pa.int8(), pa.string())),
        ("note", pa.large_string()),
        ("vec", pa.list_(pa.float32(), 4)),
        ("tags", pa.list_(pa.string())),
        ("photo", pa.binary()),
        ("nested", pa.struct([("a", pa.int8())])),
        ("pairs", pa.map_(pa.string(), pa.int8())),
        ("nothing", pa.null()),
    ]
)
ARRAYS = pa.field("x", pa.list_(pa.float32(), 3), metadata={b"protosieve": b"numbers"})


def kinds(layout):
    return {column.name: column.kind for column in layout.items}


def test_every_usable_column_is_a_feature_of_its_kind():
    assert kinds(Layout.of(SCHEMA, exclude="vec")) == {
        "name": "category", "age": "number", "height": "number", "price": "number", "born": "date", "seen": "date",
        "at": "date", "took": "date", "smoker": "category", "colour": "category", "note": "category",
    }  # fmt: skip


def test_columns_that_cannot_be_features_are_left_out_with_a_word():
    assert Layout.of(SCHEMA, exclude="vec").left_out == {
        "tags": "a list of string, not of numbers",
        "photo": "binary, neither numbers nor text",
        "nested": "struct<a: int8>, neither numbers nor text",
        "pairs": "map<string, int8>, neither numbers nor text",
        "nothing": "without a value in its first rows",
    }


def test_lists_of_numbers_are_used_or_excluded_but_not_overlooked():
    schema = pa.schema([("my vec", pa.list_(pa.float64())), ("a", pa.int8())])
    with pytest.raises(
        InputError,
        match=r"^column 'my vec' holds lists of numbers: choose by them with embedding='my vec', or leave them out "
        r"with exclude='my vec'$",
    ):
        Layout.of(schema)
    assert Layout.of(schema, exclude="my vec").columns == ["a"]
    assert Layout.of(schema, features="a").columns == ["a"]
    assert Layout.of(schema, id="my vec").columns == ["a"]


def test_a_column_without_a_name_is_left_out():
    schema = pa.schema([("(index)", pa.int64()), ("a", pa.int8())])
    assert Layout.of(schema).left_out == {"(index)": "it has no name in the file"}
    assert Layout.of(schema, features=["(index)"]).columns == ["(index)"]


def test_columns_named_otherwise_are_not_features_and_need_no_word():
    layout = Layout.of(SCHEMA, id="name", label="smoker", exclude=["photo", "note", "vec"])
    assert not {"name", "smoker", "note"} & set(layout.columns)
    assert "photo" not in layout.left_out


def test_features_are_exactly_those_named_in_the_order_of_the_schema():
    layout = Layout.of(SCHEMA, features=["colour", "vec", "age"], id="age")
    assert kinds(layout) == {"age": "number", "colour": "category", "vec": "embedding"}
    assert layout.columns == ["age", "colour", "vec"]
    assert layout.left_out == {}


def test_an_embedding_stands_alone_unless_features_are_named():
    assert Layout.of(SCHEMA, embedding="vec").columns == ["vec"]
    assert Layout.of(SCHEMA, embedding="vec", features="age").columns == ["age", "vec"]


def test_numbers_and_dates_may_be_categories():
    layout = Layout.of(SCHEMA, features=["age", "born", "name", "nothing"], categorical=["age", "born", "nothing"])
    assert set(kinds(layout).values()) == {"category"}


def test_the_lists_of_array_files_are_number_columns_unless_named_as_embedding():
    schema = pa.schema([ARRAYS])
    assert kinds(Layout.of(schema)) == {"x": "matrix"}
    assert kinds(Layout.of(schema, features="x")) == {"x": "matrix"}
    assert kinds(Layout.of(schema, embedding="x")) == {"x": "embedding"}


def test_an_extension_type_is_what_it_is_stored_as():
    schema = pa.schema([("t", pa.fixed_shape_tensor(pa.float32(), [2, 3]))])
    layout = Layout.of(schema, embedding="t")
    assert kinds(layout) == {"t": "embedding"}
    assert layout.width == 6


@pytest.mark.parametrize(
    ("types", "dtype"),
    [
        ([pa.float32(), pa.float16()], "float32"),
        ([pa.float32(), pa.list_(pa.float16())], "float32"),
        ([pa.float32(), pa.string()], "float32"),
        ([pa.float32(), pa.float64()], "float64"),
        ([pa.float32(), pa.int8()], "float64"),
        ([pa.float32(), pa.date32()], "float64"),
        ([pa.list_(pa.float64())], "float64"),
    ],
)
def test_the_matrix_is_float32_where_no_column_needs_more(types, dtype):
    schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(types)])
    assert Layout.of(schema, features=schema.names).dtype == dtype


def test_two_columns_of_one_name_are_left_out():
    schema = pa.schema([("a", pa.int8()), ("a", pa.int8()), ("b", pa.int8())])
    layout = Layout.of(schema)
    assert layout.columns == ["b"]
    assert layout.left_out == {"a": "several columns have this name; rename them"}


@pytest.mark.parametrize("option", ["features", "exclude", "id", "label", "embedding", "categorical"])
def test_an_unknown_name_is_an_error_that_names_the_option_and_what_was_meant(option):
    with pytest.raises(InputError, match=rf"^{option}: there is no column 'Hieght'; did you mean 'height'\? \(the col"):
        Layout.of(SCHEMA, **{option: "Hieght"})


def test_an_unknown_name_that_resembles_none_lists_the_columns():
    with pytest.raises(InputError, match=r"no column 'zzz' \(the columns are name, age, .* and 10 more\)$"):
        Layout.of(SCHEMA, features=["zzz"])


@pytest.mark.parametrize("given", [3, [3], ["age", None]])
def test_names_are_text(given):
    with pytest.raises(ParameterError, match=r"features must be a column's name or a list of names, got"):
        Layout.of(SCHEMA, features=given)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"features": "age", "exclude": "age"}, "features: column 'age' is named with exclude too; name it in one"),
        ({"embedding": "age"}, "embedding: column 'age' is int32, not a list of numbers; name a column of lists"),
        ({"embedding": "tags"}, "column 'tags' cannot be used: a list of string, not of numbers"),
        ({"features": "photo"}, "features: column 'photo' cannot be used: binary, neither numbers nor text"),
        ({"categorical": "age", "exclude": ["age", "vec"]}, "categorical: column 'age' is not among the features"),
        (
            {"categorical": "vec", "features": "vec"},
            "categorical: column 'vec' holds lists, which cannot be categories",
        ),
    ],
)
def test_contradictions_are_errors(words, message):
    with pytest.raises(InputError, match=message):
        Layout.of(SCHEMA, **words)


def test_no_usable_column_is_one_error_with_every_reason():
    schema = pa.schema([("tags", pa.list_(pa.string())), ("photo", pa.binary()), ("key", pa.int64())])
    with pytest.raises(
        InputError,
        match=r"^no column can be used as a feature: 'tags' \(a list of string, not of numbers\), "
        r"'photo' \(binary, neither numbers nor text\), 'key' \(named with id\); give numbers, dates or text, or "
        r"name a column of lists with embedding or one of images with image$",
    ):
        Layout.of(schema, id="key")


def test_the_index_that_pandas_writes_is_no_feature_unless_it_is_named():
    schema = pa.schema({"x": pa.float64(), "__index_level_0__": pa.int64()})
    layout = Layout.of(schema)
    assert (layout.columns, layout.left_out) == (["x"], {"__index_level_0__": "the index of a pandas DataFrame"})
    assert Layout.of(schema, features=["__index_level_0__"]).columns == ["__index_level_0__"]


def test_a_table_without_columns_has_none():
    with pytest.raises(InputError, match=r"^there is no value to compare rows by in 'a', 'b'; give rows"):
        Layout.of(pa.schema({"a": pa.null(), "b": pa.null()}))
    with pytest.raises(InputError, match="no column can be used as a feature: there are none; give numbers"):
        Layout.of(pa.schema([]))
