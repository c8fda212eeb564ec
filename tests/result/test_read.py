"""Results read back from their files."""

import datetime
import decimal
import io
import json
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from protosieve import InputError, Prototypes, select
from protosieve.cli._summary import summarise
from protosieve.insight import describe
from protosieve.kernels import Cosine, Gaussian, Laplacian, Linear, MultiScale, Polynomial
from protosieve.kernels._stored import as_plain, from_plain
from protosieve.report import page_data, render
from protosieve.result.files import write_table
from protosieve.result.files._read import read_result
from protosieve.run import draw_sample
from volumes import volume

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

FORMATS = (".parquet", ".arrow")
DAY = datetime.datetime(2024, 2, 29, 12, 30)


def now_and_then(values, every=7):
    return [None if i % every == 3 else value for i, value in enumerate(values)]


def table(n=600, seed=0):
    """Columns of every kind, nulls among them, two of which are called like columns of ours."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(4)
    return pa.table({
        "name": pa.array(now_and_then([f"row {i}" for i in range(n)])),
        "photo": pa.array(now_and_then([bytes([i % 256, 0, 255]) for i in range(n)], 11)),
        "row": pa.array(rng.normal(size=n)),
        "weight": pa.array(now_and_then(rng.integers(50, size=n).tolist())),
        "narrow": pa.array(x.astype(np.float32)),
        "price": pa.array([decimal.Decimal(int(100 * v)) / 100 for v in x], pa.decimal128(9, 2)),
        "when": pa.array(now_and_then([DAY + datetime.timedelta(float(v)) for v in x]), pa.timestamp("us", "UTC")),
        "day": pa.array([DAY.date() + datetime.timedelta(days=int(9 * v)) for v in x]),
        "span": pa.array(now_and_then([datetime.timedelta(seconds=float(v)) for v in x]), pa.duration("ms")),
        "clock": pa.array([datetime.time(int(abs(v) * 5) % 24, 15) for v in x], pa.time64("us")),
        "flag": pa.array(now_and_then((x > 0).tolist())),
        "colour": pa.array(now_and_then(rng.choice(list("abcdef"), n).tolist())),
        "code": pa.array(now_and_then(rng.integers(4, size=n).tolist(), 9)),
        "kind": pa.array(rng.choice(["u", "v"], n)).dictionary_encode(),
        "tags": pa.array([["a", None], None, []] * (n // 3), pa.list_(pa.string())),
        "where": pa.array([{"x": 1.5, "y": ["q"]}, None] * (n // 2)),
        "vec": pa.array(rng.normal(size=(n, 3)).tolist(), pa.list_(pa.float32())),
    })  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "x.parquet"
    pq.write_table(table(), path)
    return path


FEATURES = [
    "row", "weight", "narrow", "price", "when", "day", "span", "clock", "flag", "colour", "code", "kind", "vec",
]  # fmt: skip
OPTIONS = {"id": "name", "image": "photo", "categorical": "code", "features": FEATURES, "max_categories": 4}


@pytest.mark.parametrize("sample", [16384, 100])
@pytest.mark.parametrize("ending", FORMATS)
def test_what_was_written_is_read_back(source, tmp_path, ending, sample):
    path = tmp_path / f"chosen{ending}"
    result = select(source, 25, output=path, sample=sample, **OPTIONS)
    again = Prototypes.read(path)
    for name in ("indices", "weights", "shares", "rows"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert again.table.schema == result.table.schema
    assert again.table.to_pylist() == result.table.to_pylist()
    for name in (
        "objective",
        "residual",
        "mmd",
        "certificate",
        "kernel",
        "selector",
        "n_seen",
        "version",
        "feature_names",
    ):
        assert getattr(again, name) == getattr(result, name), name
    assert again.certificate.mmd_bound(0.9) == result.certificate.mmd_bound(0.9)
    for name, points in vars(result.trace).items():
        np.testing.assert_array_equal(getattr(again.trace, name), points)
    assert again.provenance == json.loads(json.dumps(result.provenance))
    assert again.parameters["n_prototypes"] == 25
    np.testing.assert_array_equal(again.encoding.encode(table(90, seed=5)), result.encoding.encode(table(90, seed=5)))
    np.testing.assert_allclose(again.kernel(again.rows), result.kernel(result.rows), rtol=1e-12)


HARD = {
    "integers": pa.array([2**53 + 1, None, -(2**63), 2**63 - 1]),
    "unsigned": pa.array([2**64 - 1, None, 0, 2**53 + 1], pa.uint64()),
    "small unsigned": pa.array([7, None, 0, 1], pa.uint64()),
    "codes": pa.array([2**53 + 1, None, 5, 2**53 + 1]).dictionary_encode(),
    "nul": pa.array(["a\0", None, "", '"']),
    "nul codes": pa.array(["a\0", None, "", "a\0"]).dictionary_encode(),
    "map": pa.array([[("k", DAY), ("l", None)], None, [], [("", DAY)]], pa.map_(pa.string(), pa.timestamp("us"))),
    "list view": pa.array([[1], None, [], [2, None]], pa.list_view(pa.int64())),
    "even list view": pa.array([[1], [2], [3], [4]], pa.large_list_view(pa.int64())),
    "text view": pa.array(["a", None, "", "d\0"], pa.string_view()),
    "bytes view": pa.array([b"a", None, b"", b"\0"], pa.binary_view()),
    "days": pa.array([2**31 - 1, None, -(2**31), -719529], pa.date32()),
    "moments": pa.array([2**62, None, -(2**62), 5], pa.timestamp("ms")),
    "zoned": pa.array([2**62, None, -(2**62), 5], pa.timestamp("s", "Europe/Berlin")),
    "date64": pa.array([10**7, None, -(10**6), 0], pa.date32()).cast(pa.date64()),
    "dates in maps": pa.array([[(1, 10**7)], None, [], []], pa.map_(pa.int64(), pa.date32())),
}


def _decoded(column):
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("ending", [".arrow"])  # Parquet has types of its own
def test_values_that_formats_have_no_place_for_come_back_as_they_were(tmp_path, name, ending):
    known = {"command": "", "version": "", "encoding": {}}
    for column in (HARD[name], HARD[name].slice(1)):
        write_table(pa.table({"v": column}), tmp_path / f"x{ending}", known)
        found, provenance = read_result(tmp_path / f"x{ending}")
        again = found.column("v").combine_chunks()
        assert again.type == column.type
        assert _decoded(again).equals(_decoded(column))
        assert provenance == known


@pytest.mark.parametrize("method", ["basic", "stream", "sieve"])
def test_every_method_is_read_back(source, tmp_path, method):
    result = select(source, 10, method=method, output=tmp_path / "x.arrow", kernel=Laplacian(3.0), **OPTIONS)
    again = Prototypes.read(tmp_path / "x.arrow")
    assert again.kernel == Laplacian(3.0)
    assert again.selector == result.selector
    assert (again.trace.accepted is None) == (method == "basic")
    assert again.trace.exchanged is None


def test_arrays_are_read_back(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 6))
    X[5, 2] = 0
    np.save(tmp_path / "x.npy", X)
    for ending in FORMATS:
        result = select(tmp_path / "x.npy", 9, output=tmp_path / f"c{ending}")
        np.testing.assert_array_equal(Prototypes.read(tmp_path / f"c{ending}").rows, result.rows)


def test_a_function_as_a_kernel_is_not_read_back_but_the_rest_is(source, tmp_path):
    def product(X, Y):
        return X @ Y.T

    result = select(source, 5, kernel=product, output=tmp_path / "x.parquet", **OPTIONS)
    again = Prototypes.read(tmp_path / "x.parquet")
    assert again.kernel is None
    assert again.residual == result.residual


@pytest.mark.parametrize(
    "kernel",
    [
        Cosine(),
        Gaussian(),
        Gaussian(2.5, np.array([1.0, 0.1])),
        Laplacian(1e-3),
        Linear(),
        MultiScale(2.0, 4),
        Polynomial(3, 0.5, 2.0),
    ],
)
def test_kernels_as_plain_values(kernel):
    again = from_plain(json.loads(json.dumps(as_plain(kernel))))
    assert again == kernel
    if isinstance(kernel, Gaussian) and kernel.shift is not None:
        np.testing.assert_array_equal(again.shift, kernel.shift)


@pytest.mark.parametrize(
    "stored",
    ["Gaussian", {}, {"name": "eval"}, {"name": ["x"]}, 7, {"name": "Gaussian", "width": -1},
     {"name": "Linear", "a": 1},
     {"name": "Gaussian", "width": 1, "shift": [[1]]}, {"name": "Gaussian", "width": 1, "shift": "x"}],
)  # fmt: skip
def test_what_is_no_kernel_is_refused(stored):
    with pytest.raises(InputError, match="kernel"):
        from_plain(stored)


def test_files_that_do_not_say_how_they_were_made_are_refused(source, tmp_path):
    for name in ("x.csv", "x.jsonl", "x.tsv", "x.json", "x.npz", "x"):
        with pytest.raises(
            InputError, match=r"does not say how a result was made; write the result to a file that ends"
        ):
            Prototypes.read(tmp_path / name)
    with pytest.raises(
        InputError, match=r"none\.parquet: cannot be read: No such file or directory; give a result file"
    ):
        Prototypes.read(tmp_path / "none.parquet")
    with pytest.raises(
        InputError, match=r"not a result of protosieve, or a damaged one \(.*it does not say how it was"
    ):
        Prototypes.read(source)
    for ending in FORMATS:
        (tmp_path / f"x{ending}").write_bytes(b"nothing of the kind")
        with pytest.raises(InputError, match="not a result of protosieve, or a damaged one"):
            read_result(tmp_path / f"x{ending}")


def test_a_result_of_an_older_version_is_refused_with_a_remedy(source, tmp_path):
    result = select(source, 5, **OPTIONS)
    old = {name: value for name, value in result.provenance.items() if name != "trace"}
    write_table(result.table, tmp_path / "old.parquet", old)
    with pytest.raises(
        InputError,
        match=r"old\.parquet: is damaged, was changed or is of another version \(it does not say 'trace'\); write",
    ):
        Prototypes.read(tmp_path / "old.parquet")


def test_a_result_that_no_command_line_has_made_is_read(source, tmp_path):
    result = select(source, 5, **OPTIONS)
    write_table(result.table, tmp_path / "spark.parquet", {**result.provenance, "command": None})
    again = Prototypes.read(tmp_path / "spark.parquet")
    assert again.residual == result.residual
    render(page_data(describe(again)))
    summarise(again, None, Console(file=io.StringIO()))


VALUES = st.sampled_from([None, -1, 0, 3.5, "x", [], {}, True, [1], {"a": 1}, "x" * 50, 1e308, [[1]], 10**30])


def places(value, path=()):
    """Where something can be wrong."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=volume(20, 80))
@given(data=st.data())
def test_a_changed_provenance_is_one_error_or_harmless(source, tmp_path, data):
    if not (tmp_path / "known.parquet").exists():
        select(source, 6, output=tmp_path / "known.parquet", **OPTIONS)
    chosen, known = read_result(tmp_path / "known.parquet")
    *path, last = data.draw(st.sampled_from([path for path in places(known) if path]))
    inner = known
    for key in path:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[last] = data.draw(VALUES)
    else:
        del inner[last]
    write_table(chosen, tmp_path / "changed.parquet", known)
    with suppress(InputError):  # nothing else
        again = Prototypes.read(tmp_path / "changed.parquet")
        render(page_data(describe(again)))
        summarise(again, None, Console(file=io.StringIO()))


WRONG = [
    ("files", None), ("files", [{}]), ("rows_left_out", "x"), ("residual_of_random_rows", []), ("residual", None),
    ("seed", "x"), ("renamed", []), ("parameters", []), ("target_files", [{"name": 7, "size": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_run_that_is_told_wrongly_is_one_error_on_reading(source, tmp_path, name, value):
    result = select(source, 5, **OPTIONS)
    write_table(result.table, tmp_path / "x.parquet", {**result.provenance, name: value})
    with pytest.raises(
        InputError, match=r"x\.parquet: is damaged, was changed or is of another version \((it does not say )?'?\w+"
    ):
        Prototypes.read(tmp_path / "x.parquet")


def test_an_encoding_that_scales_in_no_known_way_is_refused(source, tmp_path):
    result = select(source, 5, **OPTIONS)
    for name, value in (("scale", None), ("dropped", {"a": 1}), ("nulls_replaced", {"weight": "x"})):
        changed = {**result.provenance, "encoding": {**result.provenance["encoding"], name: value}}
        write_table(result.table, tmp_path / "x.parquet", changed)
        with pytest.raises(
            InputError, match=r"not how columns were encoded \(ValueError: Encoding\.(scale|dropped|filled) is"
        ):
            Prototypes.read(tmp_path / "x.parquet")


def test_a_result_without_prototypes_is_refused(source, tmp_path):
    result = select(source, 5, **OPTIONS)
    write_table(result.table.slice(5), tmp_path / "x.parquet", dict(result.provenance))
    with pytest.raises(
        InputError, match=r"is damaged, was changed or is of another version \(it holds no prototypes\)"
    ):
        Prototypes.read(tmp_path / "x.parquet")


def test_a_summary_shows_dates_beyond_those_of_python(tmp_path):
    days = pa.array([10**7, None, 0], pa.date32())
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.5], "day": days}), tmp_path / "rows.parquet")
    shown = io.StringIO()
    summarise(select(tmp_path / "rows.parquet", 3, features="x", label="day"), None, Console(file=shown, width=200))
    assert shown.getvalue().count("29349-01-26") == 2


def test_a_sample_is_of_the_target_where_its_files_are(source, tmp_path, monkeypatch):
    pq.write_table(table(90, seed=4), tmp_path / "target.parquet")
    result = select(source, 5, target=tmp_path / "target.parquet", **OPTIONS)
    assert draw_sample(result, tmp_path / "target.parquet").is_target
    assert not draw_sample(result, source).is_target
    assert not draw_sample(result, [tmp_path / "target.parquet", source]).is_target
    monkeypatch.chdir(tmp_path)
    assert draw_sample(result, "target.parquet").is_target


def test_a_sample_drawn_for_a_result_that_was_read_is_the_runs_own(source, tmp_path):
    result = select(source, 10, output=tmp_path / "c.parquet", **OPTIONS)
    again = draw_sample(Prototypes.read(tmp_path / "c.parquet"), source)
    np.testing.assert_array_equal(again.indices, result.sample.indices)
    np.testing.assert_array_equal(again.rows, result.sample.rows)
    assert again.table.equals(result.sample.table)
    assert (again.n_rows, again.is_target) == (600, False)


def test_a_sample_drawn_from_several_files_has_the_row_numbers_of_the_whole(tmp_path):
    X = np.random.default_rng(0).normal(size=(1200, 3)).round(3)
    for i, part in enumerate(np.split(X, 3)):
        text = "\n".join(",".join(map(str, row)) for row in part.tolist())
        (tmp_path / f"{i}.csv").write_text(f"a,b,c\n{text}\n")
    result = select(tmp_path, 5, partition_rows=400)
    found = draw_sample(result, tmp_path)
    np.testing.assert_array_equal(found.indices, result.sample.indices)
    np.testing.assert_array_equal(X[found.indices, 0], found.table["a"].to_numpy())


def test_a_sample_of_other_files_is_encoded_as_the_result_is(source, tmp_path):
    result = select(source, 10, **OPTIONS)
    pq.write_table(table(84, seed=3), tmp_path / "other.parquet")
    found = draw_sample(result, [tmp_path / "other.parquet"])
    np.testing.assert_array_equal(found.rows, result.encoding.encode(table(84, seed=3)))
    pq.write_table(table(84).drop_columns(["flag"]), tmp_path / "short.parquet")
    with pytest.raises(InputError, match="the table has no column 'flag'"):
        draw_sample(result, tmp_path / "short.parquet")


def test_rows_in_memory_have_no_files_to_draw_from(source):
    from protosieve import ProtoSwap

    result = ProtoSwap(3).fit(np.random.default_rng(0).normal(size=(50, 2))).result_
    with pytest.raises(InputError, match="only the result of a run over files knows how rows of files are encoded"):
        draw_sample(result, source)
