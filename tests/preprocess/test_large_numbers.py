"""Whole numbers that no float64 holds, and numbers that are too large for it: told, never changed without a word."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protosieve import InputError, ProtosieveWarning, ProtoSwap, select
from protosieve.kernels import Gaussian
from protosieve.preprocess import Encoding, Layout, Survey

NOTE = (
    "id: some whole numbers are beyond 2^53 and rounded to 16 digits; if they name rows, leave the column out with "
    "exclude='id', or keep it beside the result with id='id'"
)
N = 60
X = np.random.default_rng(0).normal(size=N).round(3).tolist()
LIMIT = 2**53


def ids(first):
    return [first + i for i in range(N)]


def written(folder, ending, values):
    path = folder / f"rows{ending}"
    if ending == ".csv":
        path.write_text("id,x\n" + "".join(f"{i},{x}\n" for i, x in zip(values, X, strict=True)))
    elif ending == ".jsonl":
        path.write_text("".join(json.dumps({"id": i, "x": x}) + "\n" for i, x in zip(values, X, strict=True)))
    else:
        kind = {".uint64": pa.uint64(), ".decimal": pa.decimal128(30)}[ending]
        path = folder / "rows.parquet"
        pq.write_table(
            pa.table({"id": pa.array([Decimal(i) for i in values], pa.decimal128(30)).cast(kind), "x": X}), path
        )
    return path


@pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".uint64", ".decimal"])
@pytest.mark.parametrize("first", [2**60 - 1, 2**63, 2**70])
def test_ids_that_no_double_holds_are_noted_and_keep_their_digits(tmp_path, ending, first):
    if ending == ".uint64" and first >= 2**64:
        pytest.skip("beyond the type")
    result = select(written(tmp_path, ending, ids(first)), 3, output=tmp_path / "chosen.parquet")
    assert NOTE in result.encoding.describe()
    assert NOTE in Encoding.from_dict(json.loads(json.dumps(result.encoding.as_dict()))).describe()
    chosen = [int(value) for value in pq.read_table(tmp_path / "chosen.parquet")["id"].to_pylist()]
    assert chosen == [first + row for row in result.indices.tolist()]


@pytest.mark.parametrize("kind", ["<u8", ">i8"])
def test_long_integers_of_an_array_are_noted_and_keep_their_digits(tmp_path, kind):
    rows = np.column_stack([2**60 + np.arange(N), np.arange(N) % 7]).astype(kind)
    np.save(tmp_path / "rows.npy", rows)
    np.savez(tmp_path / "rows.npz", x=rows)
    for name in ("rows.npy", "rows.npz"):
        result = select(tmp_path / name, 3)
        assert any("x: some whole numbers are beyond 2^53" in line for line in result.encoding.describe())
        assert result.table["x"].to_pylist() == rows[result.indices].tolist()


def test_what_differs_in_digits_that_are_lost_is_not_said_to_be_the_same(tmp_path):
    result = select(written(tmp_path, ".uint64", ids(2**63)), 3)
    assert "dropped: id, the same to 16 digits in every row" in result.encoding.describe()


def rounded(cells, schema=None):
    layout = Layout.of(
        pa.schema([("c", schema or cells.type)]), embedding="c" if pa.types.is_list(cells.type) else None
    )
    layout.raw(pa.table({"c": cells}), grow=True)
    return list(layout.rounded)


@pytest.mark.parametrize("value", [0, 7, LIMIT, -LIMIT, 2**62, -(2**63), 3 * 2**60])
def test_whole_numbers_that_a_double_holds_need_no_word(value):
    assert float(value) == value
    assert rounded(pa.array([value])) == []
    assert rounded(pa.array([str(value)]), pa.float64()) == []
    assert rounded(pa.array([Decimal(value)], pa.decimal128(30))) == []


@pytest.mark.parametrize("value", [LIMIT + 1, -LIMIT - 1, 2**63 - 1, 2**62 + 1])
def test_one_that_it_does_not_hold_is_enough(value):
    assert int(float(value)) != value
    assert rounded(pa.array([1, None, value])) == ["c"]
    assert rounded(pa.array(["1", None, f" {value}"]), pa.float64()) == ["c"]
    assert rounded(pa.array([Decimal(1), None, Decimal(value)], pa.decimal128(30))) == ["c"]
    assert rounded(pa.array([[1, value]])) == ["c"]


def test_the_largest_of_64_bits_is_rounded():
    assert rounded(pa.array([2**64 - 1], pa.uint64())) == ["c"]


def test_fractions_and_large_floats_need_no_word():
    assert rounded(pa.array([0.1, 1e300])) == []
    assert rounded(pa.array(["0.1", "1e300", "1.5e20"]), pa.float64()) == []
    assert rounded(pa.array([Decimal("0.1")], pa.decimal128(38, 20))) == []


def test_surveys_that_are_merged_know_of_both_parts():
    def surveyed(values):
        table = pa.table({"id": pa.array(values, pa.int64()), "x": [1.0, 2.0]})
        survey = Survey.of(Layout.of(table.schema))
        survey.update(survey.layout.raw(table, grow=True)[0])
        return survey

    survey = surveyed([1, 2])
    survey.merge(surveyed([LIMIT, LIMIT + 1]))
    assert NOTE in survey.settle().describe()


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_number_of_400_digits_is_an_error_that_names_its_row(tmp_path, ending):
    values = [*ids(0)[:-1], 10**400]
    message = rf"rows\{ending}, row {N - 1}: column 'id' is infinite, or too large for double precision"
    with pytest.raises(InputError, match=message):
        select(written(tmp_path, ending, values), 3)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("give", [list, np.array, pd.DataFrame])
def test_such_a_number_among_objects_is_an_error_that_names_its_cell(digits, give):
    rows = [[1, 2], [3, 10**digits]]
    with pytest.raises(
        InputError, match=r"X: row 1, column 1 holds a number beyond 1e308, too large for float64; leave"
    ):
        ProtoSwap(1).fit(give(rows))


@pytest.mark.parametrize("give", [list, np.array, pd.DataFrame])
def test_fit_warns_of_whole_numbers_that_are_rounded(give):
    with pytest.warns(
        ProtosieveWarning, match=r"X: column 1 holds whole numbers beyond 2\*\*53, which are rounded to 16"
    ):
        ProtoSwap(1).fit(give([[1, LIMIT + 1], [2, LIMIT]]))


@pytest.mark.filterwarnings("error::protosieve.ProtosieveWarning")
@pytest.mark.parametrize("rows", [[[1, LIMIT], [2, 0]], [[1.5, 1e30], [2.0, 0.0]]])
def test_fit_does_not_warn_of_those_that_are_not(rows):
    ProtoSwap(1, kernel=Gaussian(1.0)).fit(np.array(rows))


@pytest.mark.parametrize(
    "table",
    [
        lambda ids: pa.table({"id": ids, "x": X}),
        lambda ids: [[i, x] for i, x in zip(ids, X, strict=True)],
        lambda ids: np.array([[i, x] for i, x in zip(ids, X, strict=True)], object),
        lambda ids: pd.DataFrame({"id": ids, "x": X}),
    ],
    ids=["arrow", "lists", "objects", "frame"],
)
def test_a_selector_warns_whatever_the_ids_come_in(table):
    with pytest.warns(ProtosieveWarning, match=r"holds whole numbers beyond 2\*\*53, which are rounded to 16 digits"):
        ProtoSwap(3, kernel=Gaussian(1.0)).fit(table(ids(2**60 - 1)))
