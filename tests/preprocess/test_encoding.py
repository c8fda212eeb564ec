"""Surveys and encodings, against scikit-learn and pandas."""

import datetime
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from protosieve import _state
from protosieve.errors import InputError, ParameterError
from protosieve.preprocess import Encoding, Layout, Survey

MOSTLY = st.sampled_from(["red", "red", "red", "green", "blue", "black", "white"])


def survey_of(table, block=7, **words):
    """A survey by blocks of one size."""
    layout = Layout.of(table.schema, **words)
    survey = Survey.of(layout)
    raw, problems = layout.raw(table, grow=True)
    assert problems == []
    for start in range(0, len(raw), block):
        survey.update(raw[start : start + block])
        survey._check()
    return survey, raw


def encoding_of(table, scale="standard", max_categories=32, **words):
    survey, raw = survey_of(table, **words)
    return survey.settle(scale, max_categories), raw


def numbers(rows=60, columns=5, seed=0, offset=0.0):
    return np.random.default_rng(seed).normal(size=(rows, columns)) * 3 + offset


def table_of(X):
    return pa.table({f"c{i}": X[:, i] for i in range(X.shape[1])})


@pytest.mark.parametrize(("scale", "peer"), [("standard", StandardScaler), ("minmax", MinMaxScaler)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_are_scaled_as_scikit_learn_does(scale, peer, dtype):
    X = numbers(offset=100.0).astype(dtype)
    encoding, raw = encoding_of(table_of(X), scale)
    assert raw.dtype == dtype
    expected = peer().fit_transform(X.astype(np.float64))
    found = encoding.transform(raw)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert encoding.names == [f"c{i}" for i in range(5)]


def test_numbers_may_stay_as_they_are():
    X = numbers()
    encoding, raw = encoding_of(table_of(X), "none")
    np.testing.assert_array_equal(encoding.transform(raw), X.astype(np.float32))


@pytest.mark.parametrize("offset", [1e9, 1e12])
@pytest.mark.parametrize("block", [1, 7, 5000])
def test_a_large_offset_does_not_hide_the_spread(offset, block):
    X = np.round(numbers(5000, 70) * 2**10) / 2**10 + offset  # more than is looked at together
    survey, _ = survey_of(table_of(X), block)
    np.testing.assert_allclose(survey.moments.deviation, (X - offset).std(axis=0), rtol=1e-11)
    np.testing.assert_allclose(survey.moments.mean - offset, (X - offset).mean(axis=0), rtol=0, atol=offset * 2**-53)


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6) | st.none(), st.integers(-5, 5) | st.none()), min_size=1, max_size=60),
    st.integers(1, 20),
)
def test_statistics_are_those_of_all_rows_at_once(rows, block):
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.float64()), "b": pa.array([b for _, b in rows], pa.int8())}
    )
    survey, _ = survey_of(table, block)
    moments = survey.moments
    assert survey.rows == len(rows)
    for i, values in enumerate([[a for a, _ in rows if a is not None], [b for _, b in rows if b is not None]]):
        assert moments.count[i] == len(values)
        if values:
            assert (moments.low[i], moments.high[i]) == (min(values), max(values))
            np.testing.assert_allclose(moments.mean[i], np.mean(values), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(moments.deviation[i], np.std(values), rtol=1e-7, atol=1e-9)


def one_hot_twin(values, most):
    """Columns of 0 and 1 by scikit-learn, in order of frequency and then of first appearance."""
    seen = [value for value in values if value is not None]
    order = sorted(dict.fromkeys(seen), key=lambda value: -seen.count(value))  # sorted is stable
    kept = order[:most]
    shown = [value if value in kept else "other" if value is not None else "missing" for value in values]
    wanted = kept + ["other"] * (len(order) > most) + ["missing"] * (None in values)
    return wanted, OneHotEncoder(categories=[wanted], sparse_output=False).fit_transform(np.array([shown]).T)


@given(
    st.lists(MOSTLY | st.none(), min_size=2, max_size=40).filter(lambda values: len(set(values)) > 1), st.integers(1, 6)
)
def test_categories_are_encoded_as_scikit_learn_does(values, most):
    table = pa.table({"c": pa.array(values, pa.string()), "n": np.arange(len(values))})
    encoding, raw = encoding_of(table, max_categories=most)
    names, expected = one_hot_twin(values, most)
    assert encoding.names[:-1] == [f"c={name}" for name in names]
    np.testing.assert_array_equal(encoding.transform(raw)[:, :-1], expected)


def test_two_random_rows_differ_by_two_per_number_and_by_two_per_mismatch():
    rng = np.random.default_rng(0)
    table = pa.table({"n": rng.exponential(size=400), "c": rng.choice(list("abc"), 400)})
    encoding, raw = encoding_of(table)
    Z = encoding.transform(raw).astype(np.float64)
    squared = ((Z[:, None] - Z) ** 2).transpose(2, 0, 1)
    np.testing.assert_allclose(squared[0].mean(), 2, rtol=1e-5)
    mismatch = raw[:, 1, None] != raw[:, 1]
    np.testing.assert_array_equal(squared[1:].sum(axis=0), 2 * mismatch)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "n": st.integers(-9, 9) | st.none(),
                "c": MOSTLY | st.none(),
                "f": st.integers(-999, 999).map(lambda x: x / 64),
                "b": st.booleans(),
            }
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(["standard", "minmax", "none"]),
)
def test_mixed_tables_are_what_pandas_makes_of_them(rows, scale):
    schema = pa.schema([("n", pa.int64()), ("c", pa.string()), ("f", pa.float64()), ("b", pa.bool_())])
    table = pa.Table.from_pylist(rows, schema=schema)
    frame = pd.DataFrame(rows, columns=schema.names)
    expected = {}
    for name in ("n", "f"):
        values = frame[name].astype(float)
        centre, width = {
            "standard": (values.mean(), values.std(ddof=0)),
            "minmax": (values.min(), values.max() - values.min()),
            "none": (0, 1),
        }[scale]
        if values.nunique() > 1:
            expected[name] = (values.fillna(values.mean()) - centre) / width
            if values.isna().mean() >= 0.1:
                expected[f"{name}=missing"] = values.isna() * values.std(ddof=0) / width
    for name in ("c", "b"):
        values = [None if row[name] is None else str(row[name]).lower() for row in rows]
        if len(set(values)) > 1:
            names, columns = one_hot_twin(values, 32)
            expected |= {f"{name}={word}": columns[:, i] for i, word in enumerate(names)}
    survey, raw = survey_of(table)
    if not expected:
        with pytest.raises(InputError, match="no column is left to compare rows by"):
            survey.settle(scale)
        return
    encoding = survey.settle(scale)
    assert sorted(encoding.names) == sorted(expected)
    found = dict(zip(encoding.names, encoding.transform(raw).T, strict=True))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-4)


def test_output_columns_keep_the_order_of_the_source_with_gaps_where_some_are_dropped():
    table = pa.table(
        {
            "a": [1.0, 2.0],
            "same": [5.0, 5.0],
            "b": [4.0, 3.0],
            "c": ["x", "y"],
            "v": pa.array([[9.0, 8.0], [7.0, 6.0]]),
            "d": [None, 1.0],
            "e": [0.0, 1.0],
        }
    )
    encoding, raw = encoding_of(table, "none", features=table.column_names)
    assert encoding.names == ["a", "b", "c=x", "c=y", "v[0]", "v[1]", "e"]
    np.testing.assert_array_equal(encoding.transform(raw), [[1, 4, 1, 0, 9, 8, 0], [2, 3, 0, 1, 7, 6, 1]])
    assert encoding.dropped == {"same": "the same in every row", "d": "the same in every row that is not null"}


def test_an_embedding_is_not_touched_even_where_constant():
    vectors = numbers(20, 6).astype(np.float32)
    vectors[:, 2] = 1
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 6)})
    encoding, raw = encoding_of(table, embedding="v")
    np.testing.assert_array_equal(encoding.transform(raw), vectors)
    assert encoding.names[2] == "v[2]"


def test_the_columns_of_an_array_are_scaled_and_dropped_one_by_one():
    X = numbers(50, 4)
    X[:, 1] = 7
    field = pa.field("x", pa.list_(pa.float64(), 4), metadata={b"protosieve": b"numbers"})
    table = pa.table([pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 4)], pa.schema([field]))
    encoding, raw = encoding_of(table)
    assert encoding.names == ["x0", "x2", "x3"]
    np.testing.assert_allclose(encoding.transform(raw), StandardScaler().fit_transform(X)[:, [0, 2, 3]], rtol=1e-5)
    assert encoding.describe() == ["x: 3 of 4 columns standardised", "dropped: x1, the same in every row"]


def test_blocks_decide_the_bits_and_pieces_do_not():
    table = table_of(numbers(100))
    one, raw = survey_of(table, 16)
    layout = Layout.of(table.schema)
    pieces = np.concatenate([layout.raw(table.slice(start, 9), grow=True)[0] for start in range(0, 100, 9)])
    np.testing.assert_array_equal(pieces, raw)
    other = Survey.of(layout)
    for start in range(0, 100, 16):
        other.update(pieces[start : start + 16])
    assert one.settle().as_dict() == other.settle().as_dict()


def test_transforming_one_row_or_many_gives_the_same_bits():
    encoding, raw = encoding_of(table_of(numbers(5000, 120)))  # more than is encoded at once
    whole = encoding.transform(raw)
    for row in (0, 2184, 2185, 4999):
        np.testing.assert_array_equal(encoding.transform(raw[row : row + 1]), whole[row : row + 1])
    assert encoding.transform(raw[:0]).shape == (0, 120)


def test_a_survey_resumed_from_a_state_file_ends_the_same(tmp_path):
    table = pa.table({"n": numbers(40, 1)[:, 0], "c": [f"v{i % 7}" for i in range(40)]})
    whole, _ = survey_of(table, 10)
    layout = Layout.of(table.schema)
    survey = Survey.of(layout)
    for start in (0, 10):
        survey.update(layout.raw(table.slice(start, 10), grow=True)[0])
    _state.write(tmp_path / "survey.npz", survey)
    survey = _state.read(tmp_path / "survey.npz")
    for start in (20, 30):
        survey.update(survey.layout.raw(table.slice(start, 10), grow=True)[0])
    assert survey.settle().as_dict() == whole.settle().as_dict()


def test_a_survey_of_nothing_can_be_saved(tmp_path):
    survey = Survey.of(Layout.of(pa.schema([("c", pa.string()), ("n", pa.int8())])))
    survey.update(np.zeros((0, 2)))
    _state.write(tmp_path / "survey.npz", survey)
    assert _state.read(tmp_path / "survey.npz").rows == 0


def mixed():
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "age": pa.array(rng.integers(1, 90, 50), mask=rng.random(50) < 0.2),
            "colour": rng.choice(["red", "blue", "green", "black"], 50),
            "day": pa.array(np.arange(50), pa.int32()).cast(pa.date32()),
            "vec": pa.array(rng.normal(size=(50, 3)).tolist(), pa.list_(pa.float64())),
            "flag": pa.array([True, None] * 25),
        }
    )


def test_an_encoding_read_from_a_state_file_is_the_same(tmp_path):
    table = mixed()
    encoding, raw = encoding_of(table, features=table.column_names, max_categories=2)
    _state.write(tmp_path / "encoding.npz", encoding)
    read = _state.read(tmp_path / "encoding.npz")
    np.testing.assert_array_equal(read.transform(raw), encoding.transform(raw))
    np.testing.assert_array_equal(read.encode(table), encoding.transform(raw))
    assert read.as_dict() == encoding.as_dict()
    assert read.describe() == encoding.describe()


def test_everything_about_an_encoding_fits_in_json():
    table = mixed()
    encoding, _ = encoding_of(table, features=table.column_names, max_categories=2)
    told = encoding.as_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["rows_surveyed"] == 50
    assert told["columns"] == {
        "age": "number", "colour": "category", "day": "date", "vec": "embedding", "flag": "category"
    }  # fmt: skip
    assert [step["step"] for step in told["steps"]] == [
        "scaled", "missing", "one-hot", "scaled", "copied", "one-hot"
    ]  # fmt: skip


def test_new_rows_may_come_as_table_frame_or_dict_with_columns_in_any_order():
    table = mixed().drop_columns("vec")
    encoding, raw = encoding_of(table)
    expected = encoding.transform(raw)
    turned = table.select(table.column_names[::-1]).append_column("more", pa.array([object.__name__] * 50))
    frame = turned.to_pandas()
    frame["odd"] = [{1}, 2] * 25  # Arrow has no type for this column, and need not
    for rows in (turned, frame, table.to_pydict(), frame.set_index("more")):
        np.testing.assert_array_equal(encoding.encode(rows), expected)


def test_categories_of_pandas_and_arrays_of_vectors_can_be_encoded():
    vectors = numbers(10, 3)
    table = pa.table({"v": pa.array(vectors.tolist()), "c": ["a", "b"] * 5})
    encoding, raw = encoding_of(table, features=["v", "c"])
    expected = encoding.transform(raw)
    np.testing.assert_array_equal(encoding.encode({"v": vectors, "c": pd.Categorical(["a", "b"] * 5)}), expected)
    frame = pd.DataFrame({"v": list(vectors), "c": pd.Categorical(["a", "b"] * 5)})
    np.testing.assert_array_equal(encoding.encode(frame), expected)


def test_a_column_whose_name_is_a_number_is_found_in_a_frame():
    frame = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 5.0]})
    table = pa.table({"0": [1.0, 2.0], "1": [3.0, 5.0]})
    encoding, raw = encoding_of(table)
    np.testing.assert_array_equal(encoding.encode(frame), encoding.transform(raw))


def test_columns_that_were_dropped_are_not_asked_for_nor_looked_at():
    encoding, raw = encoding_of(pa.table({"a": [1.0, 2.0], "x0": [5, 5], "w": ["same", "same"]}))
    expected = encoding.transform(raw)
    np.testing.assert_array_equal(encoding.encode({"a": [1, 2]}), expected)
    np.testing.assert_array_equal(encoding.encode({"a": [1, 2], "x0": ["odd", np.nan], "w": [[1], [2]]}), expected)


def test_a_dropped_column_of_an_array_does_not_hide_a_column_of_its_name():
    field = pa.field("x", pa.list_(pa.float64(), 2), metadata={b"protosieve": b"numbers"})
    table = pa.table([pa.array([[1, 2], [1, 3]], field.type), [4, 6]], pa.schema([field, ("x0", pa.int64())]))
    encoding, _ = encoding_of(table, "none")
    assert encoding.names == ["x1", "x0"]
    np.testing.assert_array_equal(encoding.encode(table), [[2, 4], [3, 6]])


def test_nan_is_null_in_a_frame_and_a_fault_elsewhere():
    encoding, _ = encoding_of(pa.table({"a": [1.0, 2.0, 3.0]}))
    assert encoding.encode(pd.DataFrame({"a": [np.nan]})).tolist() == [[0]]
    with pytest.raises(InputError, match=r"^row 1: column 'a' is NaN; fix the row, or leave it out$"):
        encoding.encode({"a": np.array([1, np.nan])})


def test_unseen_categories_are_other_where_there_is_one_else_zeros():
    table = pa.table({"c": ["a", "a", "b", "c"], "d": ["x", "y", "x", "y"]})
    encoding, _ = encoding_of(table, max_categories=2)
    assert encoding.names == ["c=a", "c=b", "c=other", "d=x", "d=y"]
    found = encoding.encode({"c": ["new", None, "c"], "d": ["new", None, "y"]})
    assert found.tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 1]]


def test_a_vocabulary_that_grows_later_does_not_change_an_encoding():
    table = pa.table({"c": ["a", "b", "a", "c"]})
    survey, _ = survey_of(table)
    encoding = survey.settle(max_categories=2)
    more, _ = survey.layout.raw(pa.table({"c": ["new", "newer", "a"]}), grow=True)
    assert encoding.transform(more).tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 0]]
    assert encoding.encode({"c": ["new"]}).tolist() == [[0, 0, 1]]


def test_categories_that_are_called_other_or_missing_are_told_apart():
    table = pa.table({"c": ["other", "other", "missing", "missing", "x", None]})
    assert encoding_of(table, max_categories=2)[0].names == ["c=other", "c=missing", "c=(other)", "c=(missing)"]


def test_the_lines_say_what_was_done_and_what_was_not():
    rows = 40
    table = pa.table(
        {
            "age": pa.array([None] * 12 + list(range(28)), pa.int64()),
            "height": np.arange(rows) * 1.0,
            "weight": np.arange(rows) ** 2,
            "born": pa.array(np.arange(rows), pa.int32()).cast(pa.date32()),
            "colour": [f"colour {i % 5}" for i in range(rows)],
            "sex": ["f", None] * 20,
            "year": [2024] * rows,
            "empty": pa.nulls(rows, pa.float64()),
            "word": ["same"] * rows,
            "void": pa.nulls(rows, pa.string()),
            "photo": [b""] * rows,
        }
    )
    assert encoding_of(table, max_categories=3)[0].describe() == [
        "3 number columns standardised: age, height, weight",
        "1 date column standardised, as seconds: born",
        "colour: 3 of 5 categories, the rest as 'other'",
        "sex: 1 category, nulls as 'missing'",
        "12 nulls in age replaced by its mean, and compared as missing",
        "dropped: year, word, the same in every row",
        "dropped: empty, void, null in every row",
        "left out: photo, binary, neither numbers nor text",
    ]


def test_long_lists_in_the_lines_are_shortened():
    X = numbers(20, 30)
    table = pa.table({f"c{i}": pa.array(X[:, i], mask=X[:, i] < -3) for i in range(30)})
    encoding, _ = encoding_of(table, "minmax")
    lines = encoding.describe()
    assert lines[0] == "30 number columns scaled to 0..1: c0, c1, c2, c3, c4, c5, c6 and 23 more"
    assert lines[-1].endswith("more columns replaced by their means")
    nulls = sum(int(line.split()[0]) for line in lines[1:])
    assert nulls == (X < -3).sum()


def test_an_embedding_has_a_line():
    table = pa.table({"v": [[1.0, 2.0], [2.0, 2.0]], "n": [1, 2]})
    encoding, _ = encoding_of(table, "none", features=["v", "n"])
    assert encoding.describe() == [
        "1 number column taken as it is: n",
        "v: an embedding of 2 numbers, taken as it is",
    ]


def test_nothing_left_is_an_error_that_says_why():
    survey, _ = survey_of(pa.table({"a": [1, 1], "c": ["x", "x"], "n": pa.nulls(2, pa.int8())}))
    with pytest.raises(
        InputError,
        match=r"^no column is left to compare rows by: 'a' \(the same in every row\), 'c' \(the same in every row\), "
        r"'n' \(null in every row\); add a column of numbers, dates or categories whose values differ$",
    ):
        survey.settle()


def test_no_rows_are_an_error():
    survey = Survey.of(Layout.of(pa.schema([("a", pa.int8())])))
    with pytest.raises(InputError, match="there are no rows to learn scales and categories from; give at least one"):
        survey.settle()


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([0.0, 1e39], "none"),
        ([-1e300, 1e300], "standard"),
        ([-1e308, 1e308], "minmax"),
        ([0.0, 1e-200], "standard"),
        ([0.0, 5e-324], "minmax"),
    ],
)
def test_a_range_that_cannot_be_held_is_an_error(values, scale):
    survey, _ = survey_of(pa.table({"my x": values}))
    with pytest.raises(
        InputError,
        match=rf"^column 'my x' goes from .* to .*, too extreme a range for scale='{scale}' in single precision; bring "
        r"it to a usual one, or leave it out with exclude='my x'$",
    ):
        survey.settle(scale)


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_a_new_value_that_overflows_is_an_error_that_names_it(scale):
    encoding, _ = encoding_of(pa.table({"c": ["a", "b"], "x": [0.0, 1.0], "y": [0.0, 1.0]}), scale)
    with pytest.raises(
        InputError,
        match=rf"^row 1 of these: column 'y' holds -1e\+300, which single precision cannot hold with scale='{scale}'; "
        "fix the value, or leave the row out$",
    ):
        encoding.encode({"c": ["a", "a"], "x": [1e10, 0], "y": [1, -1e300]})


def test_an_embedding_that_overflows_is_an_error_that_names_it():
    encoding, raw = encoding_of(pa.table({"v": [[0.0, 1e39]]}), embedding="v")
    with pytest.raises(InputError, match=r"row 0 of these: column 'v\[1\]' holds 1e\+39, which single precision"):
        encoding.transform(raw)


def test_large_float32_values_whose_sum_overflows_are_no_error():
    encoding, raw = encoding_of(pa.table({"x": [3e38, 3e38, 1e38]}), "none")
    np.testing.assert_array_equal(encoding.transform(raw)[:, 0], np.array([3e38, 3e38, 1e38], np.float32))


@pytest.mark.parametrize("scale", ["Standard", "", None, 3])
def test_scale_is_one_of_four(scale):
    survey, _ = survey_of(pa.table({"a": [1, 2]}))
    with pytest.raises(ParameterError, match=r"^scale must be one of 'auto', 'standard', 'minmax', 'none', got "):
        survey.settle(scale)


@pytest.mark.parametrize("most", [0, -1, 2.5, True, None])
def test_max_categories_is_a_positive_number(most):
    survey, _ = survey_of(pa.table({"a": [1, 2]}))
    with pytest.raises(ParameterError, match=r"^max_categories must be a whole number of at least 1, got "):
        survey.settle(max_categories=most)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (3, "^a int cannot be read as a table"),
        ([[1, 2]], "^a list cannot be read as a table"),
        ({"a": [1, "x"], "b": [1, 2]}, "^a dict cannot be read as a table"),
        ({"a": [1], "b": [1, 2]}, r"give a pyarrow Table, a DataFrame, or a dict of columns of one length$"),
        (pd.DataFrame({"a": [1, "x"], "b": [1, 2]}), "^a DataFrame cannot be read as a table"),
        ({"a": [1]}, r"^the table has no column 'b' \(it has a\)"),
        ({"a": [1, 2], "b": ["1", "x"]}, "^row 1: column 'b' holds 'x', not a number; fix the row, or leave it out$"),
    ],
)
def test_what_cannot_be_encoded_is_one_line_that_says_why(rows, message):
    encoding, _ = encoding_of(pa.table({"a": [1, 2], "b": [1, 2]}))
    with pytest.raises(InputError, match=message) as caught:
        encoding.encode(rows)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("raw", [np.zeros((2, 3)), np.zeros(2)])
def test_raw_rows_of_another_width_are_an_error(raw):
    encoding, _ = encoding_of(pa.table({"a": [1, 2], "b": [1, 2]}))
    with pytest.raises(InputError, match=r"^raw rows must have 2 columns, got an array of shape "):
        encoding.transform(raw)


def test_a_matrix_that_was_dropped_is_not_asked_for():
    constant = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(6)), 2)
    schema = pa.schema([pa.field("m", constant.type, metadata={b"protosieve": b"numbers"}), ("y", pa.float64())])
    table = pa.table([constant, pa.array([1.0, 2.0, 3.0])], schema=schema)
    layout = Layout.of(schema)
    survey = Survey.of(layout)
    survey.update(layout.raw(table, grow=True)[0])
    encoding = survey.settle(scale="none")
    np.testing.assert_array_equal(encoding.encode({"y": [4.0, 5.0]}), [[4.0], [5.0]])


def test_text_that_names_rows_is_dropped_with_a_word():
    rows = 300
    table = pa.table({"key": [f"u{i}" for i in range(rows)], "x": np.arange(rows, dtype=float)})
    layout = Layout.of(table.schema)
    survey = Survey.of(layout)
    survey.update(layout.raw(table, grow=True)[0])
    encoding = survey.settle()
    assert encoding.names == ["x"]
    assert encoding.dropped == {"key": "nearly every value differs: it names rows rather than describing them"}


CELLS = {
    "number": st.integers(-(10**6), 10**6).map(lambda x: x / 64) | st.none(),
    "date": st.datetimes(min_value=datetime.datetime(1900, 1, 1), max_value=datetime.datetime(2100, 1, 1)) | st.none(),
    "category": MOSTLY | st.none(),
    "typed": st.integers(0, 5) | st.none(),
    "flag": st.booleans() | st.none(),
    "embedding": st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2),
}
TYPES = {
    "number": pa.float64(), "date": pa.timestamp("us"), "category": pa.string(), "typed": pa.int64(),
    "flag": pa.bool_(), "embedding": pa.list_(pa.float32()),
}  # fmt: skip


def cells_of(rows):
    return pa.table({name: pa.array([row[name] for row in rows], TYPES[name]) for name in CELLS})


@given(
    st.lists(st.fixed_dictionaries(CELLS), min_size=2, max_size=20),
    st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=5),
    st.sampled_from(["standard", "minmax", "none"]),
    st.integers(1, 4),
)
def test_an_encoding_from_its_plain_form_encodes_alike(rows, new, scale, most):
    encoding, _ = encoding_of(cells_of(rows), scale, most, features=list(CELLS), categorical="typed")
    again = Encoding.from_dict(json.loads(json.dumps(encoding.as_dict())))
    assert again.names == encoding.names
    assert again.describe() == encoding.describe()
    assert again.as_dict() == encoding.as_dict()
    for table in (cells_of(rows), cells_of(new)):
        try:
            expected = encoding.encode(table)
        except InputError as error:  # beyond single precision
            with pytest.raises(InputError, match=re.escape(str(error))):
                again.encode(table)
        else:
            np.testing.assert_array_equal(again.encode(table), expected)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": []}, {"steps": [{"step": "eval"}]}, {"steps": 3}, {"columns": ["a"]}, {"columns": {"a": "code"}},
        {"dtype": "object"}, {"lengths": {"vec": 10**12}}, {"lengths": {}}, {"typed": None}, {"rows_surveyed": "many"},
    ],
)  # fmt: skip
def test_what_is_no_encoding_is_refused(change):
    table = pa.table({"a": [1.0, 2.0], "vec": [[1.0, 2.0], [3.0, 4.0]], "c": ["x", "y"]})
    stored = encoding_of(table, features=["a", "vec", "c"])[0].as_dict()
    with pytest.raises(InputError, match=r"this is not how columns were encoded \(.*give what Encoding.as_dict"):
        Encoding.from_dict({**stored, **change})
