"""Tables as raw matrices, against a twin that looks at one cell at a time."""

import datetime as dt
import itertools
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protosieve import _state
from protosieve.errors import InputError
from protosieve.preprocess import Layout, Survey
from protosieve.preprocess._categories import UNKNOWN

EPOCH = dt.datetime(1970, 1, 1)
SCHEMA = pa.schema(
    [
        ("whole", pa.int64()),
        ("real", pa.float64()),
        ("day", pa.date32()),
        ("moment", pa.timestamp("us")),
        ("flag", pa.bool_()),
        ("word", pa.string()),
        ("group", pa.int32()),
        ("vec", pa.list_(pa.float64())),
    ]
)
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
CELLS = {
    "whole": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(),
    "day": st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1)),
    "moment": MOMENTS,
    "flag": st.booleans(),
    "word": st.sampled_from(["red", "green", "blue", "", "NaN", "7", "é"]),
    "group": st.integers(-2, 2),
    "vec": st.lists(st.floats(-10, 10), min_size=2, max_size=2) | st.lists(st.just(1.0), max_size=3),
}
ROWS = st.lists(st.fixed_dictionaries({name: cells | st.none() for name, cells in CELLS.items()}), max_size=25)


def table_of(rows):
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def new_layout():
    return Layout.of(SCHEMA, features=SCHEMA.names, categorical="group")


def seconds(value):
    """Since 1970, from integers only until the last division."""
    moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    since = moment - EPOCH
    return since.days * 86400 + since.seconds + since.microseconds / 10**6


def spelt(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def twin(rows):
    """Rows, and which cannot be used, one cell after the other."""
    length = next((len(row["vec"]) for row in rows if row["vec"]), 0)
    bad = {
        i
        for i, row in enumerate(rows)
        if (row["real"] is not None and not math.isfinite(row["real"]))
        or row["vec"] is None
        or len(row["vec"]) != length
        or not length
    }
    codes = {name: {} for name in ("flag", "word", "group")}
    out = np.zeros((len(rows), 7 + length))
    for i, row in enumerate(rows):
        if i in bad:
            continue
        for name, known in codes.items():
            if row[name] is not None:
                known.setdefault(spelt(row[name]), len(known))
        out[i] = [
            *(math.nan if row[name] is None else float(row[name]) for name in ("whole", "real")),
            *(math.nan if row[name] is None else seconds(row[name]) for name in ("day", "moment")),
            *(-1 if row[name] is None else known[spelt(row[name])] for name, known in codes.items()),
            *row["vec"],
        ]
    return out, bad, {name: list(known) for name, known in codes.items()}


def vocabularies(layout):
    return {column.name: column.values for column in layout.items if column.kind == "category"}


def in_pieces(layout, table, cuts):
    """Usable rows of the pieces one after the other, and the problems with their rows in the whole table."""
    bounds = [0, *sorted(cuts), table.num_rows]
    parts, problems = [], []
    for start, stop in itertools.pairwise(bounds):
        raw, found = layout.raw(table.slice(start, stop - start), grow=True)
        usable = np.ones(len(raw), bool)
        usable[[row for row, _ in found]] = False
        parts += [raw[usable]] if usable.any() else []
        problems += [(start + row, problem) for row, problem in found]
    return np.concatenate([np.zeros((0, layout.width)), *parts]), problems


def as_text(row):
    """What a CSV file would hold."""
    return {name: value if value is None or name == "vec" else str(value) for name, value in row.items()}


@given(rows=ROWS)
def test_a_table_is_what_a_look_at_every_cell_gives(rows):
    layout = new_layout()
    raw, problems = layout.raw(table_of(rows), grow=True)
    expected, bad, known = twin(rows)
    assert {row for row, _ in problems} == bad
    np.testing.assert_array_equal(raw, expected)
    assert vocabularies(layout) == known
    assert raw.dtype == np.float64
    assert raw.flags.c_contiguous


@given(rows=ROWS, data=st.data())
def test_any_cut_gives_the_same_rows_codes_and_problems(rows, data):
    table = table_of(rows)
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=4))
    whole, cut = new_layout(), new_layout()
    raw, problems = in_pieces(whole, table, [])
    pieces, found = in_pieces(cut, table, cuts)
    np.testing.assert_array_equal(pieces, raw)
    assert found == problems
    assert vocabularies(cut) == vocabularies(whole)


@given(rows=ROWS, data=st.data())
def test_chunks_within_a_table_do_not_matter(rows, data):
    table = table_of(rows)
    cut = data.draw(st.integers(0, len(rows)))
    chunked = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    one, other = new_layout().raw(table, grow=True), new_layout().raw(chunked, grow=True)
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] == other[1]


@given(rows=ROWS)
def test_cells_that_are_text_are_read_as_the_schema_says(rows):
    text = pa.schema([field if field.name == "vec" else pa.field(field.name, pa.string()) for field in SCHEMA])
    typed, written = new_layout(), new_layout()
    expected = typed.raw(table_of(rows), grow=True)
    table = pa.Table.from_pylist([as_text(row) for row in rows], schema=text)
    found = written.raw(table, grow=True)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]
    assert vocabularies(written) == vocabularies(typed)


@given(rows=ROWS)
def test_a_layout_read_from_a_state_file_goes_on_where_it_was(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("state") / "layout.npz"
    layout = new_layout()
    layout.raw(table_of(rows), grow=True)
    _state.write(path, layout)
    resumed = _state.read(path)
    more = table_of([*rows, {"word": "new", "vec": [1.0, 2.0]}])
    one, other = layout.raw(more, grow=True), resumed.raw(more, grow=True)
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] == other[1]
    assert resumed == layout


def column(values, kind, **words):
    """One column as a raw matrix without problems, and its layout."""
    table = pa.table({"c": pa.array(values, kind)})
    layout = Layout.of(table.schema, **words)
    raw, problems = layout.raw(table, grow=True)
    assert problems == []
    return raw, layout


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()])
def test_numbers_of_any_type_are_numbers(kind):
    one, three = kind.to_pandas_dtype()(1), kind.to_pandas_dtype()(3)
    raw, _ = column([one, None, three], kind)
    np.testing.assert_array_equal(raw[:, 0], [1, np.nan, 3])
    assert raw.dtype == (np.float32 if kind in (pa.float16(), pa.float32()) else np.float64)


@pytest.mark.parametrize("kind", [pa.decimal128(20, 3), pa.decimal256(50, 3)])
def test_decimals_are_numbers(kind):
    raw, _ = column([Decimal("0.125"), None, Decimal("-12345.678")], kind)
    np.testing.assert_allclose(raw[:, 0], [0.125, np.nan, -12345.678], rtol=1e-15)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_one_moment_has_the_same_bits_in_every_unit_and_zone(unit):
    moment = dt.datetime(2024, 2, 29, 12, 34, 56)
    naive, _ = column([moment, None], pa.timestamp(unit))
    paris, _ = column([moment.replace(tzinfo=dt.UTC), None], pa.timestamp(unit, "Europe/Paris"))
    expected = (moment - EPOCH).total_seconds()
    np.testing.assert_array_equal(naive[:, 0], [expected, np.nan])
    np.testing.assert_array_equal(paris[:, 0], [expected, np.nan])


@given(moment=MOMENTS)
def test_microseconds_have_the_same_bits_as_nanoseconds(moment):
    assert column([moment], pa.timestamp("us"))[0] == column([moment], pa.timestamp("ns"))[0]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (dt.date(1969, 12, 31), pa.date32(), -86400),
        (dt.date(1970, 1, 2), pa.date64(), 86400),
        (dt.time(1, 2, 3), pa.time32("s"), 3723),
        (dt.time(1, 2, 3, 500_000), pa.time64("us"), 3723.5),
        (dt.timedelta(days=1, milliseconds=5), pa.duration("ms"), 86400.005),
        (dt.timedelta(seconds=-1.5), pa.duration("us"), -1.5),
    ],
)
def test_dates_times_and_durations_are_seconds(value, kind, expected):
    assert column([value], kind)[0].tolist() == [[expected]]


@pytest.mark.parametrize(
    "text",
    ["2024-02-29T12:00:00", "2024-02-29 12:00", "2024-02-29T12:00:00Z", "2024-02-29T14:00+02:00", " 2024-02-29T12 "],
)
def test_dates_as_text_may_have_zones_and_blanks(text):
    layout = Layout.of(pa.schema([("c", pa.timestamp("us"))]))
    raw, problems = layout.raw(pa.table({"c": [text, "1500-01-01", None, "2500-01-01"]}), grow=True)
    assert problems == []
    days = [(dt.datetime(year, 1, 1) - EPOCH).total_seconds() for year in (1500, 2500)]
    expected = (dt.datetime(2024, 2, 29, 12) - EPOCH).total_seconds()
    np.testing.assert_array_equal(raw[:, 0], [expected, days[0], np.nan, days[1]])


def test_a_long_fraction_does_not_keep_others_from_being_old_or_far():
    layout = Layout.of(pa.schema([("c", pa.timestamp("us"))]))
    cells = ["2024-02-29T12:00:00.123456789", "1500-01-01", "2500-01-01T00:00:00Z", "1500-01-01T00:00:00.123456789"]
    raw, problems = layout.raw(pa.table({"c": cells}), grow=True)
    expected = [
        (moment - EPOCH).total_seconds() for moment in map(dt.datetime, (2024, 1500, 2500), (2, 1, 1), (29, 1, 1))
    ]
    expected[0] += 12 * 3600 + 0.123456789
    np.testing.assert_allclose(raw[:3, 0], expected, rtol=1e-16)
    assert problems == [(3, "column 'c' holds '1500-01-01T00:00:00.123456789', not a date")]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_of_any_type_is_coded_in_order_of_first_appearance(kind):
    values = pa.array(["b", "a", None, "b", "c"]).cast(kind)
    table = pa.table({"c": values})
    layout = Layout.of(table.schema)
    assert layout.raw(table, grow=True)[0][:, 0].tolist() == [0, 1, -1, 0, 2]
    assert layout.raw(table[2:], grow=True)[0][:, 0].tolist() == [-1, 0, 2]
    assert layout.items[0].values == ["b", "a", "c"]


def test_the_order_of_a_dictionary_and_its_unused_values_do_not_matter():
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.int8()), ["x", "never", "y"]),
        pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), ["z", "x"]),
    ]
    table = pa.table({"c": pa.chunked_array(chunks)})
    layout = Layout.of(table.schema)
    assert layout.raw(table, grow=True)[0][:, 0].tolist() == [0, -1, 1, 1, 2]
    assert layout.items[0].values == ["y", "x", "z"]


def test_unknown_categories_are_coded_apart_where_the_vocabulary_may_not_grow():
    layout = Layout.of(pa.schema([("c", pa.string())]))
    layout.raw(pa.table({"c": ["a", "b"]}), grow=True)
    raw, problems = layout.raw(pa.table({"c": ["b", "new", None]}), grow=False)
    assert raw[:, 0].tolist() == [1, -2, -1]
    assert problems == []
    assert layout.items[0].values == ["a", "b"]


@pytest.mark.parametrize(
    ("pieces", "values"),
    [
        ([pa.array([1, 2]), pa.array([2.0, 2.5]), pa.array(["1.0", "007", " 2.50 ", "x"])],
         ["1", "2", "2.5", "007", "x"]),
        ([pa.array([0.1], pa.float32()), pa.array([0.1]), pa.array(["0.10"])], ["0.1"]),
        ([pa.array([Decimal("1.50"), Decimal("2.00")]), pa.array([2, 12345678901234567]), pa.array([1.5])],
         ["1.5", "2", "12345678901234567"]),
        ([pa.array([np.nan, -0.0, 1e300, np.inf]), pa.array(["NaN", "0", "1e300", "-0", "inf"])],
         ["NaN", "0", "1e+300", "inf"]),
    ],
)  # fmt: skip
def test_numbers_that_are_categories_are_spelt_alike_in_every_type(pieces, values):
    layout = Layout.of(pa.schema([("c", pa.float64())]), categorical="c")
    for piece in pieces:
        assert layout.raw(pa.table({"c": piece}), grow=True)[1] == []
    assert layout.items[0].values == values


def test_dates_that_are_categories_are_spelt_alike_in_every_unit():
    day, moment = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 1, 2, 3, 500_000)
    layout = Layout.of(pa.schema([("c", pa.date32())]), categorical="c")
    for kind in (pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC")):
        layout.raw(pa.table({"c": pa.array([day], pa.date32()).cast(kind)}), grow=True)
    for kind in (pa.timestamp("ms"), pa.timestamp("ns"), pa.timestamp("us", "Asia/Tokyo")):
        layout.raw(pa.table({"c": pa.array([moment], pa.timestamp("us")).cast(kind)}), grow=True)
    for kind in (pa.duration("s"), pa.duration("ns")):
        layout.raw(pa.table({"c": pa.array([90], pa.int64()).cast(pa.duration("s")).cast(kind)}), grow=True)
    assert layout.items[0].values == ["2024-02-29", "2024-02-29 01:02:03.5", "90"]


def test_booleans_are_the_categories_false_and_true_however_written():
    layout = Layout.of(pa.schema([("c", pa.bool_())]))
    assert layout.raw(pa.table({"c": [True, None, False]}), grow=True)[0][:, 0].tolist() == [0, -1, 1]
    assert layout.raw(pa.table({"c": ["FALSE", "True", "false"]}), grow=True)[0][:, 0].tolist() == [1, 0, 1]
    assert layout.items[0].values == ["true", "false"]


def test_text_that_is_not_utf8_is_a_category_like_any_other():
    cells = pa.array([b"caf\xe9", b"tea", b"caf\xe9"]).view(pa.string())
    layout = Layout.of(pa.schema([("c", pa.string())]))
    assert layout.raw(pa.table({"c": cells}), grow=True)[0][:, 0].tolist() == [0, 1, 0]
    assert layout.items[0].values == ["caf\\xe9", "tea"]
    for kind, word in [(pa.float64(), "a number"), (pa.date32(), "a date")]:
        problems = Layout.of(pa.schema([("c", kind)])).raw(pa.table({"c": cells}), grow=True)[1]
        assert problems[0] == (0, rf"column 'c' holds 'caf\\xe9', not {word}")


def test_columns_of_more_than_ten_thousand_categories_are_dropped_with_a_note_all_at_once():
    names = ["url", "my id", "kind"]
    tables = [
        pa.table([[f"u{i}" for i in rows], [f"{i}" for i in rows], ["ab"[i % 2] for i in rows]], names=names)
        for rows in (range(10_000), range(2, 10_000), range(9_000, 30_000))
    ]
    layout = Layout.of(tables[0].schema)
    survey = Survey.of(layout)
    for table in tables[:2]:
        survey.update(layout.raw(table, grow=True)[0])
    assert [column.full for column in layout.items] == [False, False, False]
    assert layout.raw(tables[2], grow=False)[0][-1, 0] == UNKNOWN
    survey.update(layout.raw(tables[2], grow=True)[0])
    survey._check()
    assert [column.full for column in layout.items] == [True, True, False]
    encoding = survey.settle()
    assert encoding.names == ["kind=a", "kind=b"]
    assert encoding.describe()[-1] == (
        "dropped: url, my id, more than 10,000 values: it names rows rather than describing them; "
        "text compares the columns it names"
    )
    assert encoding.encode(tables[0]).sum() == 10_000
    assert _state.loads(_state.dumps(survey)).tallies[0].tolist() == [0, survey.rows]
    assert (layout.raw(tables[0], grow=False)[0][:, 0] == UNKNOWN).all()
    assert sum(len(column.values) for column in layout.items) == 2  # no more memory for what is dropped


def test_rows_that_are_dropped_leave_no_category_behind():
    table = pa.table({"c": ["a", "bad", "b"], "x": [1.0, np.nan, 2.0]})
    layout = Layout.of(table.schema)
    raw, problems = layout.raw(table, grow=True)
    assert layout.items[0].values == ["a", "b"]
    assert problems == [(1, "column 'x' is NaN")]
    assert np.isfinite(raw).all()


def problem_of(cells, kind, **words):
    layout = Layout.of(pa.schema([("c", kind), ("other", pa.int8())]), **words)
    table = pa.table({"c": cells, "other": pa.nulls(len(cells), pa.int8())})
    raw, problems = layout.raw(table, grow=True)
    assert not raw[[row for row, _ in problems]].any()
    return dict(problems)


@pytest.mark.parametrize(
    ("cells", "kind", "problem"),
    [
        (pa.array([1, np.nan, 2]), pa.float64(), "column 'c' is NaN"),
        (pa.array([1, np.inf, None]), pa.float64(), "column 'c' is infinite, or too large for double precision"),
        (
            pa.array([1, -np.inf, 2], pa.float32()),
            pa.float32(),
            "column 'c' is infinite, or too large for double precision",
        ),
        (pa.array(["1", "NaN", "2"]), pa.float64(), "column 'c' is NaN"),
        (pa.array(["1", "abc", " 2"]), pa.float64(), "column 'c' holds 'abc', not a number"),
        (pa.array(["1", "1_000", None]), pa.int64(), "column 'c' holds '1_000', not a number"),
        (pa.array(["1", "", "2"]), pa.int64(), "column 'c' holds '', not a number"),
        (pa.array(["1", "x" * 99, "2"]), pa.int64(), f"column 'c' holds '{'x' * 37}...', not a number"),
        (pa.array([None, True, None]), pa.int64(), "column 'c' holds bool, not a number"),
        (pa.array([None, [1], None]), pa.int64(), "column 'c' holds list<item: int64>, not a number"),
        (pa.array(["2020-01-01", "soon", None]), pa.date32(), "column 'c' holds 'soon', not a date"),
        (pa.array([None, 5, None]), pa.date32(), "column 'c' holds int64, not a date"),
        (pa.array([None, [1], None]), pa.string(), "column 'c' holds list<item: int64>, not a category"),
        (
            pa.array([None, (1, 2, 3), None], pa.month_day_nano_interval()),
            pa.string(),
            "column 'c' holds month_day_nano_interval, not a category",
        ),
    ],
)
def test_a_row_that_cannot_be_used_says_why(cells, kind, problem):
    assert problem_of(cells, kind) == {1: problem}


def test_a_number_too_large_for_a_float32_matrix_is_a_problem():
    layout = Layout.of(pa.schema([("c", pa.float32())]))
    raw, problems = layout.raw(pa.table({"c": [1.0, -1e300, None]}), grow=True)
    assert problems == [(1, "column 'c' holds -1e+300, beyond single precision")]
    np.testing.assert_array_equal(raw[:, 0], [1, 0, np.nan])


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (pa.array([[1.0, 2], None, [3, 4]]), "column 'c' is null"),
        (pa.array([[1.0, 2], [3, 4, 5], [3, 4]]), "column 'c' has 3 values here and 2 in the first row"),
        (pa.array([[1.0, 2], [], [3, 4]]), "column 'c' is an empty list"),
        (pa.array([[1.0, 2], [3, None], [3, 4]]), "column 'c[1]' is null"),
        (pa.array([[1.0, 2], [np.nan, 0], [3, 4]]), "column 'c[0]' is NaN"),
        (pa.array(list(np.float16([[1, 2], [0, np.inf], [3, 4]])), pa.large_list(pa.float16())),
         "column 'c[1]' is infinite, or too large for double precision"),
        (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)), "column 'c' is null"),
        (pa.array([[1, 2], [3], [3, 4]]), "column 'c' has 1 values here and 2 in the first row"),
    ],
)  # fmt: skip
def test_an_embedding_that_cannot_be_used_says_why(cells, problem):
    assert problem_of(cells, cells.type, features=["c", "other"]) == {1: problem}


def test_embeddings_that_are_not_lists_of_numbers_are_problems():
    layout = Layout.of(pa.schema([("v", pa.list_(pa.float32(), 2))]), embedding="v")
    for cells, problem in [
        (pa.array(["abc"]), "column 'v' holds 'abc', not a list of numbers"),
        (pa.nulls(1), "column 'v' is null"),
        (pa.array([["a"]]), "column 'v' holds list<item: string>, not a list of numbers"),
        (pa.array([[None, None]]), "column 'v[0]' is null"),
    ]:
        assert layout.raw(pa.table({"v": cells}), grow=True)[1] == [(0, problem)]


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float64())])
def test_an_embedding_is_its_values_in_slices_too(kind):
    vectors = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    table = pa.table({"v": pa.array([None, *vectors.tolist()], kind)})
    layout = Layout.of(table.schema, embedding="v")
    np.testing.assert_array_equal(layout.raw(table[1:], grow=True)[0], vectors)
    np.testing.assert_array_equal(layout.raw(table[5:9], grow=True)[0], vectors[4:8])
    raw, problems = layout.raw(table, grow=True)
    np.testing.assert_array_equal(raw[1:], vectors)
    assert problems == [(0, "column 'v' is null")]


def test_the_first_list_settles_the_length_and_comes_when_it_comes():
    layout = Layout.of(pa.schema([("v", pa.list_(pa.float64()))]), embedding="v")
    assert layout.raw(pa.table({"v": pa.array([None, []], pa.list_(pa.float64()))}), grow=True)[1] == [
        (0, "column 'v' is null"),
        (1, "column 'v' is an empty list"),
    ]
    assert layout.raw(pa.table({"v": pa.array([[1, 2, 3]])}), grow=True)[0].tolist() == [[1, 2, 3]]
    assert layout.width == 3


def test_a_tensor_is_the_list_of_its_values():
    kind = pa.fixed_shape_tensor(pa.float32(), [2, 2])
    cells = pa.ExtensionArray.from_storage(kind, pa.array([[1, 2, 3, 4]], pa.list_(pa.float32(), 4)))
    table = pa.table({"t": cells})
    assert Layout.of(table.schema, embedding="t").raw(table, grow=True)[0].tolist() == [[1, 2, 3, 4]]


def test_the_columns_of_an_array_file_are_numbers_with_names_of_their_own():
    field = pa.field("x", pa.list_(pa.float64(), 2), metadata={b"protosieve": b"numbers"})
    table = pa.table([pa.array([[1, None], [np.nan, 2], None], field.type)], pa.schema([field]))
    raw, problems = Layout.of(table.schema).raw(table, grow=True)
    np.testing.assert_array_equal(raw, [[1, np.nan], [0, 0], [0, 0]])
    assert problems == [(1, "column 'x0' is NaN"), (2, "column 'x' is null")]


def test_blocks_of_other_types_fit_in():
    layout = Layout.of(pa.schema([("n", pa.int64()), ("t", pa.string()), ("v", pa.list_(pa.int64()))]),
                       features=["n", "t", "v"])  # fmt: skip
    layout.raw(pa.table({"n": [1], "t": ["5"], "v": [[1, 2]]}), grow=True)
    raw, problems = layout.raw(pa.table({"n": [1.5, 2.0], "t": [5, 6], "v": pa.array([[0.5, 1], [1, 1]])}), grow=True)
    assert problems == []
    assert raw.tolist() == [[1.5, 0, 0.5, 1], [2, 1, 1, 1]]
    raw, _ = layout.raw(pa.table({"n": pa.nulls(1), "t": pa.nulls(1), "v": [[1, 1]]}), grow=True)
    np.testing.assert_array_equal(raw, [[np.nan, -1, 1, 1]])


def test_a_row_has_one_problem_that_of_its_first_column():
    table = pa.table({"a": [np.nan, 1.0], "b": ["x", "y"], "c": [np.inf, np.inf]})
    _, problems = Layout.of(pa.schema([("a", pa.float64()), ("b", pa.int8()), ("c", pa.float64())])).raw(
        table, grow=True
    )
    assert problems == [(0, "column 'a' is NaN"), (1, "column 'b' holds 'y', not a number")]


def test_large_values_whose_sum_overflows_are_no_problem():
    raw, _ = column([1e308, 1e308, -1e308], pa.float64())
    assert raw[:, 0].tolist() == [1e308, 1e308, -1e308]


def test_missing_and_doubled_columns_are_errors():
    layout = Layout.of(pa.schema([("a", pa.int8()), ("b", pa.int8())]))
    with pytest.raises(
        InputError, match=r"^the table has no column 'b' \(it has a, z\); give the columns that were surveyed, under"
    ):
        layout.raw(pa.table({"a": [1], "z": [1]}), grow=True)
    doubled = pa.table([[1], [1], [1]], names=["a", "b", "b"])
    with pytest.raises(InputError, match="the table has 2 columns named 'b'; rename them"):
        layout.raw(doubled, grow=True)


def test_an_empty_table_is_an_empty_matrix():
    raw, problems = Layout.of(SCHEMA, exclude="vec").raw(SCHEMA.empty_table(), grow=True)
    assert raw.shape == (0, 7)
    assert problems == []
