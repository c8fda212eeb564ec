"""Runs on Spark: what tasks do, without it; then, where there is Java, the answer of the same passes in one loop."""

import io
import os
import pickle
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import protosieve.spark
from oracles import select_in_turn
from protosieve import InputError, OutputError, ParameterError, ProtoSwap, _state
from protosieve.io import BatchSource, RowRange
from protosieve.kernels import MultiScale
from protosieve.passes import METHODS, Options, Partition, job_of, kernel_of, key_of, settle
from protosieve.preprocess import model_named
from protosieve.run import choose
from protosieve.spark._digest import Digest
from protosieve.spark._frame import Frame
from protosieve.spark._returned import Returned
from protosieve.spark._tasks import CELLS, PartitionTask, sent

pytestmark = [
    pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


def options(m=20, *, width=None, **others):
    return Options(inputs=["DataFrame"], n_prototypes=m, kernel=kernel_of("multiscale", width), **others)


def people(n, seed=0):
    """Numbers with nulls, categories, an embedding, and columns that must survive; sorted by town."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(4, size=n))
    vectors = rng.normal(size=(n, 6)).astype(np.float32) + group[:, None].astype(np.float32)
    return pa.table(
        {
            "height": pa.array(rng.normal(size=n) + group, mask=rng.random(n) < 0.05),
            "first.born": rng.integers(10, size=n),  # Spark would take this for a field of a column `first`
            "town": pa.array([["Ulm", "Bonn", "Kiel", None][i] for i in group]),
            "vector": pa.array(list(vectors), pa.list_(pa.float32())),
            "name": [f"row {seed} {i}" for i in range(n)],
        }
    )


SLICES = [people(rows, seed) for seed, rows in enumerate([700, 1300, 900])]
PLAIN = {"exclude": ["vector", "name"], "label": "town", "id": ["name"], "features": ["height", "first.born", "town"]}
TEXT = {"text": "name", "features": ["name", "height"], "id": ["town"]}
VECTOR = {"embedding": "vector", "id": ["name"]}
MODEL = TEXT | {"embed": "embedding_models:lengths"}
FEW = {"sample": 500}  # fewer than there are rows, so that all of these are summed up in a second pass


COVER = {"goal": "cover"}
GROUPS = VECTOR | {"per": "town", "sample": 200}
ENDS = np.cumsum([table.num_rows for table in SLICES])


def sources(slices, title="partition"):
    """In batches of 300 rows: the bytes that rows weigh, of which a sample takes note, are those of batches."""
    return [
        BatchSource(f"{title} {i}", table.schema, table.to_batches(max_chunksize=300)) for i, table in enumerate(slices)
    ]


def partitions(found):
    """As Spark's tasks have them: what a row is known by follows from its partition alone."""
    return [Partition(i, i, [RowRange(one)], one.groups()[0], key_of(i, None)) for i, one in enumerate(found)]


def job_over(options, slices, targets=()):
    inputs, target = sources(slices), sources(targets, "target partition")
    return replace(job_of(options, inputs, target), inputs=partitions(inputs), targets=partitions(target))


def in_process(options, slices=SLICES, targets=()):
    return select_in_turn(job_over(options, slices, targets))


def same(one, other):
    return (
        one.indices.tolist() == other.indices.tolist()
        and one.weights.tolist() == other.weights.tolist()
        and one.table.to_pylist() == other.table.to_pylist()
        and one.shares.tolist() == other.shares.tolist()
    )


# -- without Spark


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """What models gave."""
    monkeypatch.setenv("PROTOSIEVE_CACHE", str(tmp_path / "kept"))


cells = st.one_of(
    st.lists(st.none() | st.floats(width=32, allow_nan=False)).map(lambda x: pa.array(x, pa.float32())),
    st.lists(st.none() | st.text(max_size=3)).map(lambda x: pa.array(x, pa.string())),
    st.lists(st.none() | st.booleans()).map(lambda x: pa.array(x, pa.bool_())),
    st.lists(st.none() | st.dates()).map(lambda x: pa.array(x, pa.date32())),
    st.lists(st.none() | st.decimals(-9, 9, places=2)).map(lambda x: pa.array(x, pa.decimal128(5, 2))),
    st.lists(st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3)).map(
        lambda x: pa.array(x, pa.list_(pa.int64()))
    ),
    st.lists(
        st.none() | st.fixed_dictionaries({"bytes": st.none() | st.binary(max_size=3), "n": st.integers(0, 9)})
    ).map(lambda x: pa.array(x, pa.struct({"bytes": pa.binary(), "n": pa.int64()}))),
)


def digest_of(table, step=None):
    digest = Digest(table.column_names)
    for _ in digest.watch(table.to_batches(max_chunksize=step)):
        pass
    return digest.result()


@given(cells, st.integers(1, 5))
def test_a_digest_does_not_mind_how_rows_are_cut(column, step):
    table = pa.table({"x": column})
    assert digest_of(table, step) == digest_of(table)


@given(cells, st.data())
def test_a_digest_tells_rows_in_another_order(column, data):
    order = data.draw(st.permutations(range(len(column))))
    moved = column.take(pa.array(order, pa.int64()))
    is_same = digest_of(pa.table({"x": moved})) == digest_of(pa.table({"x": column}))
    assert is_same == (_shown(moved) == _shown(column))


def _shown(column):
    return [repr(one) for one in column.to_pylist()]  # 0.0 and -0.0 are equal, and differ


def test_a_digest_does_not_mind_what_lies_in_the_slots_of_nulls():
    values = [pa.py_buffer(np.array([1, hidden, 3], np.int64).tobytes()) for hidden in (0, 7)]
    columns = [pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), data]) for data in values]
    assert digest_of(pa.table({"x": columns[0]})) == digest_of(pa.table({"x": columns[1]}))
    assert digest_of(pa.table({"x": columns[0]})) != digest_of(pa.table({"x": [1, 0, 3]}))


def ran(work, slices, known=None, features=("height", "first.born", "town")):
    """A pass as Spark would do it: the task pickled, columns under other names, batches of 300 rows."""
    names = [f"c{i}" for i in range(len(slices[0].column_names))]
    task = pickle.loads(pickle.dumps(PartitionTask(work, slices[0].schema, list(features), "partition", known)))
    batches = [
        cell
        for number, table in reversed(list(enumerate(slices)))
        for cell in task.on(number, iter(table.rename_columns(names).to_batches(max_chunksize=300)))
    ]
    return Returned("partition", pa.Table.from_batches(batches, CELLS))


def planned(slices=SLICES, **others):
    job = job_over(options(**PLAIN, **FEW, **others), slices)
    seen = ran(job.survey(), slices)
    return seen, settle(job, job.survey().merged(value for _, value in seen.values()))


def summed(plan):
    return plan.sums("sums", plan.estimate, of_target=True, of_input=True)


def test_tasks_return_what_partitions_in_process_do():
    job = job_over(options(**PLAIN, **FEW), SLICES)
    seen, plan = planned()
    again = ran(summed(plan), SLICES, seen.digests)
    for work, found in ((job.survey(), seen), (summed(plan), again)):
        assert [number for number, _ in found.values()] == [0, 1, 2]
        for partition, (_, value) in zip(job.inputs, found.values(), strict=True):
            assert _state.digest(value) == _state.digest(work.over(partition))


def test_groups_are_surveyed_and_summed_up_by_tasks():
    read = {"survey": SLICES, "sum": [table.select(["vector", "town"]) for table in SLICES]}

    class Sent:
        def gather(self, work, partitions):
            return work.merged(value for _, value in ran(work, read[work.label], features=["vector", "town"]).values())

    asked = options(5, **GROUPS)
    assert same(choose(job_over(asked, SLICES), Sent()), in_process(asked))


@pytest.mark.parametrize("dicts", [False, True])
def test_images_are_compared_by_tasks(dicts):
    """Columns of bytes, or of bytes and paths."""
    rng, cells = np.random.default_rng(0), []
    for _ in range(90):
        sink = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)).resize((20, 20)).save(sink, "PNG")
        cells.append({"bytes": sink.getvalue(), "path": None} if dicts else sink.getvalue())
    slices = [pa.table({"photo": cells[:40]}), pa.table({"photo": cells[40:]})]

    class Sent:
        def gather(self, work, partitions):
            return work.merged(value for _, value in ran(work, slices, features=["photo"]).values())

    asked = options(5, image="photo", sample=30)
    assert same(choose(job_over(asked, slices), Sent()), in_process(asked, slices))


def test_a_model_that_fails_in_a_task_is_told_of():
    for name, why in {"none": "cannot be loaded: AttributeError", "fails": "failed: OSError: no weights"}.items():
        model = model_named(f"embedding_models:{name}")
        job = job_over(options(**MODEL | {"embed": model}), SLICES)
        with pytest.raises(InputError, match=why):
            ran(job.survey(), SLICES)
    with pytest.raises(ParameterError, match=r"embed is a function that .* cannot import, .*, and df needs one that"):
        protosieve.spark.select(None, 5, **MODEL | {"embed": lambda texts: None})


def test_a_state_is_cut_into_rows_and_comes_back_whole(monkeypatch):
    monkeypatch.setattr("protosieve.spark._tasks._PIECE", 1000)
    job = job_over(options(**PLAIN), SLICES)
    task = PartitionTask(job.survey(), SLICES[0].schema, ["height"], "partition")
    found = list(task.on(4, SLICES[0].to_batches()))
    assert len(found) > 10
    assert max(len(cell.column("state")[0].as_py()) for cell in found) == 1000
    back = Returned("partition", pa.Table.from_batches(found[::-1], CELLS))
    assert [number for number, _ in back.values()] == [4]


def test_what_was_sent_is_let_go_when_it_is_taken_in():
    before = pa.total_allocated_bytes()
    found = Returned("partition", pa.Table.from_batches(sent(3, b"digest", np.zeros(1 << 20)), CELLS))
    assert pa.total_allocated_bytes() > before + (1 << 22)
    values, digests = list(found.values()), found.digests
    del found
    assert pa.total_allocated_bytes() < before + (1 << 20)
    assert (digests, len(values[0][1])) == ({3: b"digest"}, 1 << 20)


def test_what_is_wrong_with_a_row_is_returned_and_raised_here():
    broken = SLICES[1].set_column(0, "height", pa.array([np.inf] + [1.0] * 1299))
    job = job_over(options(**PLAIN), SLICES)
    with pytest.raises(InputError, match=r"^partition 1, row 0: column 'height' is inf"):
        ran(job.survey(), [SLICES[0], broken, broken])


def test_rows_that_change_between_passes_are_an_error():
    seen, plan = planned()
    again = partial(ran, summed(plan), known=seen.digests)
    assert [number for number, _ in again(SLICES).values()] == [0, 1, 2]
    other = SLICES[1].take(pa.array(np.roll(np.arange(1300), 1)))
    for changed, how in [
        (
            [SLICES[0], other, SLICES[2]],
            "partition 1: gave other rows .*others or in another order.*: cache the Da",
        ),
        ([SLICES[0], SLICES[1], SLICES[2][:-1]], "partition 2: .*had 900 usable rows when read first and 899 now"),
        ([*SLICES, SLICES[0]], "partition 3: .*there was no such partition before"),
    ]:
        with pytest.raises(InputError, match=how):
            again(changed)
    with pytest.raises(InputError, match=r"partition 2: gave other rows .*it is not there any more"):
        again(SLICES[:2]).check_all(seen.digests)


def test_a_row_that_cannot_be_used_any_more_is_a_row_that_has_changed():
    seen, plan = planned()
    broken = SLICES[1].set_column(0, "height", pa.array([np.inf] + [1.0] * 1299))
    with pytest.raises(InputError, match=r"^partition 1: gave other rows .*row 0: column 'height' is inf.*cache the"):
        ran(summed(plan), [SLICES[0], broken, SLICES[2]], seen.digests)


def test_a_second_pass_sums_up_the_same_rows():
    seen, plan = planned()
    found = ran(summed(plan), SLICES, seen.digests)
    assert [value.rows for _, value in found.values()] == [700, 1300, 900]


def test_what_tasks_are_sent_does_not_grow_with_the_rows():
    few, many = (planned([people(rows)] * 3)[1] for rows in (500, 5000))
    assert len(pickle.dumps(summed(many))) < 1.5 * len(pickle.dumps(summed(few)))


def test_parameters_are_checked_before_spark_is_asked(tmp_path):
    with pytest.raises(ParameterError, match="method must be one of"):
        protosieve.spark.select(None, 5, method="best")
    for method in METHODS.keys() - {"swap"}:
        with pytest.raises(ParameterError, match=f"method='{method}' judges rows one .*use method='swap', or write"):
            protosieve.spark.select(None, 5, method=method)
    with pytest.raises(OutputError):
        protosieve.spark.select(None, 5, output=tmp_path / "x.docx")


def test_without_pyspark_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ParameterError, match=r"needs pyspark.*pip install 'protosieve\[spark\]'"):
        protosieve.spark.select(None, 5)


# -- with Spark

on_spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: make test-spark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        _, tests, root, *_ = Path(__file__).parents
        patch.setenv("PYTHONPATH", f"{root}{os.pathsep}{tests}")  # tasks of these tests are functions of this file
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PROTOSIEVE_CACHE", str(tmp_path_factory.mktemp("kept")))
        builder = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", 2)
        session = builder.config("spark.sql.session.timeZone", "Europe/Berlin").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def frame(spark, tmp_path_factory):
    """A DataFrame whose partitions are these tables, from Parquet: such a one can be read again."""

    def made(slices):
        folder = tmp_path_factory.mktemp("slices")
        parts = []
        for i, table in enumerate(slices):
            pq.write_table(table, folder / f"{i}.parquet")
            parts.append(spark.read.parquet(str(folder / f"{i}.parquet")))
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part)
        counts = whole.select("name").mapInArrow(_counted, "rows bigint").toArrow()["rows"].to_pylist()
        assert counts == [table.num_rows for table in slices]
        return whole

    return made


def _counted(batches):
    yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})


@pytest.fixture(scope="module")
def df(frame):
    return frame(SLICES)


@pytest.fixture
def passes(monkeypatch):
    """The labels of those that are made."""
    made, over = [], Frame.over

    def noted(self, work, *others):
        made.append(work.label)
        return over(self, work, *others)

    monkeypatch.setattr(Frame, "over", noted)
    return made


class TestOnSpark:
    pytestmark = on_spark

    @pytest.mark.parametrize(
        "words", [PLAIN, VECTOR, PLAIN | FEW, VECTOR | FEW, PLAIN | FEW | COVER, GROUPS, TEXT | FEW, MODEL | FEW]
    )
    def test_the_answer_is_that_of_the_same_partitions_in_one_loop(self, df, words):
        found = protosieve.spark.select(df, 20, **words)
        assert same(found, in_process(options(**words)))
        homes = np.searchsorted(ENDS, found.indices, "right")
        assert found.table["file"].to_pylist() == [f"partition {home}" for home in homes]
        assert found.provenance["rows"] == 2900

    def test_rows_that_all_fit_in_the_sample_are_chosen_as_in_memory_however_they_are_cut(self, df, frame):
        rows = np.vstack([np.vstack(table["vector"].to_pylist()) for table in SLICES]).astype(np.float32)
        inside = ProtoSwap(20, kernel=MultiScale(), random_state=0).fit(rows)
        everything = pa.concat_tables(SLICES)
        for cut in (df, frame([everything]), frame([everything[i : i + 420] for i in range(0, 2900, 420)])):
            found = protosieve.spark.select(cut, 20, **VECTOR)
            assert found.indices.tolist() == inside.prototype_indices_.tolist()
            assert found.weights.tolist() == inside.weights_.tolist()

    def test_many_partitions(self, frame):
        slices = [people(200, seed) for seed in range(7)]
        found = protosieve.spark.select(frame(slices), 20, **VECTOR, sample=300)
        assert same(found, in_process(options(**VECTOR, sample=300), slices))

    def test_passes_are_two_or_one_where_the_sample_holds_all_rows(self, df, passes):
        protosieve.spark.select(df, 20, **VECTOR, **FEW)
        assert passes == ["survey", "sum"]
        protosieve.spark.select(df, 20, **VECTOR)
        assert passes == ["survey", "sum", "survey"]

    @pytest.mark.parametrize(("words", "before"), [(VECTOR | FEW, ["survey", "sum"]), (VECTOR, ["survey"])])
    def test_columns_that_were_too_heavy_to_keep_are_read_again(self, df, passes, words, before, monkeypatch):
        kept = protosieve.spark.select(df, 20, **words)
        assert passes == before
        monkeypatch.setattr("protosieve.passes._row_sample._HELD", 1000)  # on the driver, where samples are merged
        fetched = protosieve.spark.select(df, 20, **words)
        assert passes == [*before, *before, "fetch"]
        assert same(fetched, kept)
        assert same(fetched, in_process(options(**words)))
        assert len(fetched.sample.rows) < len(kept.sample.rows)

    def test_lists_are_as_long_as_the_first_there_is(self, frame):
        """Which Spark's types leave open."""
        bare = pa.table({"vector": pa.array([None, []] * 50, pa.list_(pa.float32())), "name": ["nobody"] * 100})
        odd = pa.table({"vector": pa.array([[1.0] * 6, [1.0] * 5], pa.list_(pa.float32())), "name": ["even", "odd"]})
        slices = [bare, SLICES[0].select(["vector", "name"]), odd]
        df = frame(slices)
        for words in (VECTOR, VECTOR | FEW):
            found = protosieve.spark.select(df, 20, bad_rows="skip", **words)
            assert found.rows.shape == (20, 6)
            assert found.provenance["rows_left_out"]["count"] == 101
            assert same(found, in_process(options(bad_rows="skip", **words), slices))
        with pytest.raises(InputError, match=r"^partition 1, row 1: column 'vector' .*5"):
            protosieve.spark.select(frame(slices[1:]), 20, **VECTOR)

    def test_rows_keep_their_ids_labels_and_columns(self, df):
        found = protosieve.spark.select(df, 10, **PLAIN)
        assert found.table.column_names[4:] == ["name", "town", "height", "first.born", "vector"]
        everything = pa.concat_tables(SLICES)
        for row in found.table.to_pylist():
            original = everything.slice(row["row"], 1).to_pylist()[0]
            assert {name: row[name] for name in original} == original

    def test_a_target_is_another_data_frame(self, df, frame):
        targets = [people(400, 8), people(600, 9)]
        for words in (VECTOR, PLAIN | FEW):
            found = protosieve.spark.select(df, 15, target=frame(targets), **words)
            assert same(found, in_process(options(15, target=["DataFrame"], **words), targets=targets))
            assert found.sample.is_target

    def test_a_killed_worker_changes_nothing(self, df, tmp_path):
        marks = [tmp_path / "first", tmp_path / "second", tmp_path / "third"]

        def deadly(batches):
            """Kills its process once per file: while rows are counted, surveyed and summed up."""
            from pyspark import TaskContext

            for batch in batches:
                left = [mark for mark in marks if not mark.exists()]
                if TaskContext.get().partitionId() == 1 and TaskContext.get().attemptNumber() == 0 and left:
                    left[0].touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch

        found = protosieve.spark.select(mapped(df, deadly), 20, **VECTOR, **FEW)
        assert all(mark.exists() for mark in marks)
        slices = [table.drop("first.born") for table in SLICES]
        assert same(found, in_process(options(**VECTOR, **FEW), slices))

    def test_a_data_frame_that_is_another_every_time_is_an_error(self, df):
        with pytest.raises(
            InputError, match=r"partition 0: gave other rows when it was read again.*write it to Parquet"
        ):
            protosieve.spark.select(mapped(df, _shaken), 20, **VECTOR, **FEW)

    def test_cached_it_is_the_same_every_time(self, df):
        cached = mapped(df, _shaken).cache()
        try:
            assert len(protosieve.spark.select(cached, 20, **VECTOR, **FEW)) == 20
        finally:
            cached.unpersist()

    def test_rows_that_cannot_be_used(self, frame):
        heights = SLICES[1]["height"].to_pylist()
        heights[5:7] = [float("nan"), float("inf")]
        slices = [SLICES[0], SLICES[1].set_column(0, "height", pa.array(heights)), SLICES[2]]
        broken = frame(slices)
        with pytest.raises(InputError, match=r"^partition 1, row 5: column 'height' is NaN"):
            protosieve.spark.select(broken, 20, **PLAIN)
        for words in (PLAIN, PLAIN | FEW):
            found = protosieve.spark.select(broken, 20, bad_rows="skip", **words)
            assert found.provenance["rows_left_out"]["count"] == 2
            assert same(found, in_process(options(bad_rows="skip", **words), slices))

    def test_empty_partitions_are_no_matter(self, df):
        for words in (VECTOR, VECTOR | FEW):
            found = protosieve.spark.select(df.where("name not like 'row 1 %'"), 20, **words)
            assert same(found, in_process(options(**words), [SLICES[0], SLICES[1][:0], SLICES[2]]))

    def test_a_data_frame_without_rows_is_an_error(self, spark, df):
        none = df.where("name = 'nobody'")
        with pytest.raises(InputError, match=r"^df: the DataFrame has no rows; give one that has some"):
            protosieve.spark.select(none, 20, **VECTOR)
        with pytest.raises(InputError, match=r"^df: the DataFrame has no rows"):
            protosieve.spark.select(spark.createDataFrame([], "x double"), 20)  # and no partitions
        with pytest.raises(InputError, match=r"^target: the DataFrame has no rows"):
            protosieve.spark.select(df, 20, target=none, **VECTOR)

    def test_a_page_and_a_file_are_written(self, df, tmp_path):
        found = protosieve.spark.select(df, 8, output=tmp_path / "few.parquet", report=tmp_path / "few.html", **VECTOR)
        assert pq.read_table(tmp_path / "few.parquet").num_rows == len(found)
        assert "</html>" in (tmp_path / "few.html").read_text()

    def test_all_kinds_of_columns(self, spark):
        moments = [datetime(2024, 1, 1 + i % 28, 12, i % 60) for i in range(200)]
        rows = [
            (Decimal(i) / 4, moment, moment.date(), (i, str(i)), {"k": i}, None if i % 3 else i, [i, i + 1], bytes([i]))
            for i, moment in enumerate(moments)
        ]
        kinds = (
            "price decimal(10,2), at timestamp, day date, pair struct<a:int,b:string>, more map<string,int>, few int, "
            "list array<int>, raw binary"
        )
        df = spark.createDataFrame(rows, kinds)
        found = protosieve.spark.select(df, 10, exclude="list", random_state=1)
        assert set(found.encoding.layout.columns) == {"price", "at", "day", "few"}
        assert found.table.schema.field("at").type == pa.timestamp("us", "Europe/Berlin")
        for row in found.table.to_pylist():
            price, at, day, pair, more, few, list_, raw = rows[row["row"]]
            assert (row["price"], row["day"], row["few"], row["list"], row["raw"]) == (price, day, few, list_, raw)
            assert (row["pair"], dict(row["more"])) == ({"a": pair[0], "b": pair[1]}, more)
            assert isinstance(row["day"], date)
            assert row["at"].timestamp() == at.timestamp()

    def test_a_data_frame_that_cannot_be_used_is_one_sentence(self, spark, df):
        from pyspark.ml.linalg import Vectors

        vectors = spark.createDataFrame([(Vectors.dense([1.0, 2.0]),)], ["v"])
        with pytest.raises(InputError, match=r"df: column 'v' is a VectorUDT.*vector_to_array"):
            protosieve.spark.select(vectors, 2, embedding="v")
        twice = df.select("town", "town")
        with pytest.raises(InputError, match="df: 'town' names more than one column"):
            protosieve.spark.select(twice, 2)
        with pytest.raises(ParameterError, match="target must be a DataFrame of Spark, got a str; files are for proto"):
            protosieve.spark.select(df, 2, target="x.parquet", **VECTOR)
        with pytest.raises(InputError, match="there is no column 'vectr'"):
            protosieve.spark.select(df, 2, embedding="vectr")


_OTHER_SESSION = """
import sys
import numpy as np
from pyspark.sql import SparkSession
import protosieve.spark

kind, where, place, *paths = sys.argv[1:]
spark = getattr(SparkSession.builder, kind)(where).config("spark.ui.enabled", "false").getOrCreate()
first, *others = map(spark.read.parquet, paths)
for other in others:
    first = first.unionByName(other)
found = protosieve.spark.select(first, 20, embedding="vector", id="name", sample=500)
np.savez(place, indices=found.indices, weights=found.weights)
"""


class TestOtherSessions:
    """In processes of their own: there is one kind of session in each."""

    pytestmark = on_spark

    def test_the_answer_is_the_same_with_one_task_at_a_time(self, spark, tmp_path):
        self.check("master", "local[1]", tmp_path)

    def test_the_answer_is_the_same_without_a_spark_context(self, spark, tmp_path):
        try:
            import pyspark.sql.connect.dataframe  # noqa: F401
        except ImportError:
            pytest.skip("the packages Spark Connect needs are not installed: make test-spark")
        self.check("remote", "local[2,4]", tmp_path)

    def check(self, kind, where, folder):
        paths = [str(folder / f"{i}.parquet") for i in range(len(SLICES))]
        for table, path in zip(SLICES, paths, strict=True):
            pq.write_table(table, path)
        command = [sys.executable, "-c", _OTHER_SESSION, kind, where, str(folder / "found.npz"), *paths]
        subprocess.run(command, check=True, timeout=300)
        found, expected = np.load(folder / "found.npz"), in_process(options(**VECTOR, **FEW))
        assert found["indices"].tolist() == expected.indices.tolist()
        assert found["weights"].tolist() == expected.weights.tolist()


def mapped(df, function):
    """Spark's own functions cannot take a name with a dot."""
    plain = df.drop("first.born")
    return plain.mapInArrow(function, plain.schema)


def _shaken(batches):
    rng = np.random.default_rng()
    for batch in batches:
        yield batch.take(pa.array(rng.permutation(batch.num_rows)))
