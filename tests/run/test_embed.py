"""Columns of text by what a model makes of them: from files, tables and streams, wherever the work is done."""

import io
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from embedding_models import Module
from problems import TOPICS, texts_of_topics
from protosieve import InputError, ParameterError, Prototypes, cli, select
from protosieve.passes import options_of
from protosieve.preprocess import _embed
from protosieve.run import LocalWorkers, begin, draw_sample, estimate, survey
from table_files import assert_same

pytestmark = [
    pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning"), pytest.mark.usefixtures("place")
]  # fmt: skip

ROWS = 900
ONLY = {"features": "text", "text": "text", "id": "id"}
ALONE = {"features": "text", "text": "text"}
BESIDE = {"text": "text", "label": "topic", "id": "id"}


def frame(rows=ROWS, seed=0):
    """Texts of four topics, which begin with that, beside a number that says nothing of these."""
    texts, topics = zip(*texts_of_topics(rows, seed), strict=True)
    made = pd.DataFrame({"id": [f"row {i}" for i in range(rows)], "topic": topics})
    made["text"] = [f"{topic} {text}" for text, topic in zip(texts, topics, strict=True)]
    made["size"] = np.random.default_rng([seed, 1]).normal(size=rows).round(3)
    return made


@pytest.fixture
def module(place):
    return Module(place)


@pytest.fixture
def folder(place):
    """Three files, sorted by topic."""
    folder = place / "texts"
    folder.mkdir()
    table = frame().sort_values("topic", kind="stable")
    for i, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        table.iloc[part].to_parquet(folder / f"{i}.parquet", row_group_size=100, index=False)
    return folder


@pytest.mark.parametrize("goal", ["match", "cover"])
@pytest.mark.parametrize("sample", [None, 200])
def test_it_is_as_if_the_vectors_stood_in_a_column(module, goal, sample):
    table = frame()
    found = select(table, 12, embed=module("embed"), goal=goal, sample=sample, **ONLY)
    name = module("embed")
    vectors = _embed.vectors(name, _embed.version_of(name), [text.encode() for text in table["text"]])
    stored = pa.table({"vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 6)})
    assert_same(found, select(stored, 12, embedding="vector", goal=goal, sample=sample))
    assert set(table["topic"].iloc[found.indices]) == set(TOPICS)
    assert found.to_pandas()["text"].tolist() == table["text"].iloc[found.indices].tolist()
    assert sorted(module.texts) == sorted(set(table["text"]))  # once each, in two passes


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("options", [ONLY, BESIDE], ids=["alone", "beside"])
def test_files_and_tables_are_alike(module, place, ending, options):
    table, path = frame(), place / f"rows.{ending}"
    write = {"csv": table.to_csv, "jsonl": table.to_json, "parquet": table.to_parquet}[ending]
    write(path, **{"csv": {"index": False}, "jsonl": {"orient": "records", "lines": True}}.get(ending, {}))
    asked = {"embed": module("embed"), **options}
    assert_same(select(path, 10, **asked), select(table, 10, **asked))


@pytest.mark.parametrize("function", ["embed", "uneven"])
@pytest.mark.parametrize("rows", [500, 3000])
def test_a_stream_of_tables_is_the_same_however_it_is_cut(module, function, rows):
    """Even if a vector depends on the batch: the first that was kept counts."""
    table = pa.Table.from_pandas(frame(rows), preserve_index=False)
    whole = select(iter([table]), 8, embed=module(function), **BESIDE)
    for size in (101, 1400):
        pieces = [table.slice(start, size) for start in range(0, rows, size)]
        assert_same(select(iter(pieces), 8, embed=module(function), **BESIDE), whole)


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_any_number_of_workers_gives_the_same_answer(module, folder, goal):
    """Each with nothing kept, by a model whose vectors depend on their texts alone."""
    asked = {"partition_rows": 150, "sample": 200, "goal": goal, "embed": module("embed"), **BESIDE}
    found = []
    for pool in (None, ThreadPoolExecutor(3), ProcessPoolExecutor(2)):
        for file in (folder.parent / "kept").glob("*"):
            file.unlink()
        found.append(select(folder, 10, executor=pool, **asked))
        if pool is not None:
            pool.shutdown()
    for one in found[1:]:
        assert_same(one, found[0])


def test_where_vectors_depend_on_their_batch_those_that_are_kept_make_all_runs_alike(module, folder):
    asked = {"sample": 200, "embed": module("uneven"), **BESIDE}
    whole = select(folder, 10, partition_rows=150, **asked)
    calls = len(module.calls)
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2) as processes:
        for pool in (processes, threads):
            assert_same(select(folder, 10, partition_rows=150, executor=pool, **asked), whole)
    assert len(module.calls) == calls


@pytest.mark.thorough
def test_workers_of_our_own_find_the_module(module, folder):
    pytest.importorskip("dask")
    asked = {"partition_rows": 150, "embed": module("embed"), **BESIDE}
    with LocalWorkers(2) as workers:
        apart = select(folder, 10, executor=workers, **asked)
    assert not module.is_imported
    assert_same(apart, select(folder, 10, **asked))


def words(module, folder, out, *more, function="slow"):
    asked = ["--text", "text", "--embed", module(function), "--id", "id", "--label", "topic", "--quiet"]
    return ["select", str(folder), "-m", "10", "--partition-rows", "150", *asked, "-o", str(out), *more]


@pytest.mark.parametrize(
    "more", [[], pytest.param(["--work", "work"], marks=pytest.mark.thorough)], ids=["anew", "gone on with"]
)
def test_a_killed_run_does_not_embed_twice(module, folder, place, more):
    """Killed while the model works; what it had given before is not asked for again."""
    command = [sys.executable, "-m", "protosieve", *words(module, folder, place / "out.csv", *more)]
    process = subprocess.Popen(command, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    while len(module.calls) < 3 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    before = module.calls
    assert cli.main(words(module, folder, place / "out.csv", *more)) == 0
    again = {text for call in module.calls[len(before) :] for text in call}
    lost = [i for i, call in enumerate(before) if again & set(call)]
    assert set(lost) <= {len(before) - 1}  # the batch it was at
    assert set(module.texts) == set(frame()["text"])
    (place / "kept").rename(place / "other")
    assert cli.main(words(module, folder, place / "whole.csv")) == 0
    assert (place / "whole.csv").read_bytes() == (place / "out.csv").read_bytes()


def test_a_run_does_not_go_on_with_vectors_of_another_version(module, folder, place):
    """Its partitions are done again."""
    asked = {"work": place / "work", "partition_rows": 150, **BESIDE}

    def stop(tick):
        if tick.rows >= 300:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        select(folder, 10, embed=module("embed"), progress=stop, **asked)
    assert list((place / "work").glob("survey-*.npz"))
    module.path.write_text(module.path.read_text().replace("0.3 *", "0.7 *"))
    program = (
        "import protosieve\n"
        f"protosieve.select({str(folder)!r}, 10, text='text', label='topic', id='id', partition_rows=150,"
        f" embed={module('embed')!r}, work={str(place / 'work')!r})"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "belongs to another run or to other earlier results; such partitions are done again" in ended.stderr
    assert len(module.texts) >= len(set(frame()["text"]))


def test_who_waits_for_a_model_is_told_and_can_stop_in_between(module, place):
    table = frame(2000)
    table.to_csv(place / "rows.csv", index=False)

    def stop(tick):
        if len(module.calls) >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(place / "rows.csv", 10, embed=module("slow"), progress=stop, **ONLY)
    assert len(module.calls) <= 6


def test_standard_input_is_embedded_as_it_comes(module, monkeypatch):
    table = frame()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.to_csv(index=False).encode())))
    found = select("-", 12, embed=module("embed"), **ONLY)
    assert found.n_seen == ROWS
    assert set(table["topic"].iloc[found.indices]) == set(TOPICS)


def test_a_target_rows_to_keep_and_groups_are_embedded_alike(module):
    table, asked = frame(), {"embed": module("embed"), **ONLY}
    of_food = select(table, 8, target=table[table["topic"] == "food"], **asked)
    is_food = (table["topic"].iloc[of_food.indices] == "food").to_numpy()
    assert of_food.weights[is_food].sum() > 0.9 * of_food.weights.sum()
    kept = table[table["topic"].isin(["food", "money"])].iloc[:40]
    beside = select(table, 8, keep=kept, goal="cover", **asked)
    assert set(table["topic"].iloc[beside.indices[beside.is_new]]) >= {"sport", "space"}
    each = select(table, 3, per="topic", goal="cover", **asked).to_pandas()
    assert each["topic"].value_counts().to_dict() == dict.fromkeys(TOPICS, 3)


def test_vectors_weigh_as_much_as_all_other_columns(module):
    found = select(frame(), 10, embed=module("embed"), **BESIDE)
    encoded = found.encoding.encode(frame()).var(axis=0, dtype=np.float64)
    is_text = np.array([name.startswith("text[") for name in found.encoding.names])
    assert encoded[is_text].sum() == pytest.approx(encoded[~is_text].sum(), rel=1e-3)


def test_a_function_of_this_process_will_do_here_and_in_threads(module, folder):
    select(frame(), 10, embed=module("embed"), **ONLY)
    function = sys.modules[module.name].embed
    calls = []

    def embed(texts):
        calls.append(len(texts))
        return function(texts)

    asked = {"partition_rows": 150, "sample": 200, **BESIDE}
    found = select(folder, 10, embed=embed, **asked)
    assert sum(calls) == len(set(frame()["text"]))
    assert_same(found, select(folder, 10, embed=function, **asked))
    with ThreadPoolExecutor(2) as threads:
        assert_same(select(folder, 10, embed=embed, executor=threads, **asked), found)
    np.testing.assert_array_equal(found.encoding.encode(found.to_pandas()), found.rows.astype(np.float32))


def test_a_function_of_this_process_is_refused_where_others_need_it(folder, place):
    asked = {"embed": lambda texts: [[1.0]] * len(texts), **ONLY}
    with pytest.raises(ParameterError, match=r"^embed is a function that .*, and work needs one that they can; put it"):
        select(folder, 10, work=place / "work", **asked)
    with ProcessPoolExecutor(1) as pool, pytest.raises(ParameterError, match=", and executor needs one that they can"):
        select(folder, 10, executor=pool, **asked)


def test_rows_that_a_model_fails_for_are_named(module, place):
    table = frame()
    table.loc[421, "text"] = "this fails"
    table.to_csv(place / "rows.csv", index=False)
    with pytest.raises(
        InputError, match=r"rows.csv, row 421: .*:faulty failed: RuntimeError: no such word; fix that, "
    ):
        select(place / "rows.csv", 10, embed=module("faulty"), **ONLY)
    table["text"] = [f"row {i}" for i in range(ROWS)]
    table.to_csv(place / "rows.csv", index=False)
    with pytest.raises(InputError, match=r"rows.csv, rows 512 to 767: .*:wider gives vectors of 4 numbers, and of 3"):
        select(place / "rows.csv", 10, embed=module("wider"), **ONLY)


def test_rows_without_a_vector_are_bad_rows(module, folder, place):
    table = frame()
    table.loc[[300, 421], "text"] = ["nothing", "nothing more"]
    table.to_csv(place / "rows.csv", index=False)
    with pytest.raises(
        InputError,
        match=r"rows.csv, row 300: column 'text' has no vector: .* gives NaN or infinite values; fix the row",
    ):
        select(place / "rows.csv", 10, embed=module("faulty"), **ONLY)
    found = select(place / "rows.csv", 10, embed=module("faulty"), bad_rows="skip", **ONLY)
    assert found.n_seen == ROWS - 2
    assert found.provenance["rows_left_out"]["count"] == 2


def test_a_result_file_is_read_without_its_model(module, place):
    found = select(frame(), 10, embed=module("embed"), output=place / "out.parquet", **BESIDE)
    program = (
        "import numpy, protosieve\nread = protosieve.Prototypes.read('out.parquet')\nnumpy.save('rows', read.rows)\n"
        "read.encoding.encode(read.to_pandas())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f"by '{module('embed')}', and a name that was read from a file is not run; if you trust it" in ended.stderr
    np.testing.assert_array_equal(np.load("rows.npy"), found.rows.astype(np.float32))
    again = Prototypes.read(place / "out.parquet")
    np.testing.assert_array_equal(again.encoding.encode(frame(50, 7)), found.encoding.encode(frame(50, 7)))
    assert again.provenance["encoding"]["models"] == {
        "text": {"model": module("embed"), "version": _embed.version_of(module("embed"))}
    }


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_result_file_holds_four_bytes_a_number(place, ending):
    """Texts of a user who has a column of the same name as ours for that."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"text": [f"text {i}" for i in range(400)], "encoded": "x"})
    found = select(
        table, 400, embed=lambda texts: rng.normal(size=(len(texts), 2000)), output=place / f"out.{ending}", **ALONE
    )
    numbers = found.rows.size
    assert 4 * numbers < (place / f"out.{ending}").stat().st_size < 4.3 * numbers
    again = Prototypes.read(place / f"out.{ending}")
    np.testing.assert_array_equal(again.rows, found.rows.astype(np.float32))
    assert again.table.equals(found.table)
    assert again.provenance.keys() == found.provenance.keys()
    again.save(place / f"again.{ending}")
    assert (place / f"again.{ending}").read_bytes() == (place / f"out.{ending}").read_bytes()


def test_the_vectors_in_a_result_file_are_checked(place):
    select(frame(), 10, embed=lambda texts: [[len(text), 1.0] for text in texts], output=place / "out.parquet", **ONLY)
    table = pq.read_table(place / "out.parquet")
    wrong = [None] * 10, [b"ab"] * 10, [np.full(2, np.nan, "<f4").tobytes()] * 10, [b"abcd"] * 10, range(10)
    for column in wrong:
        changed = table.drop_columns("encoded").append_column("encoded", pa.array(column))
        pq.write_table(changed.replace_schema_metadata(table.schema.metadata), place / "changed.parquet")
        with pytest.raises(InputError, match=r"changed.parquet: is damaged, was changed or is of another version"):
            Prototypes.read(place / "changed.parquet")


def test_a_result_file_is_input_and_rows_to_keep(module, place):
    asked = {"embed": module("embed"), **ONLY}
    found = select(frame(), 10, output=place / "out.parquet", **asked)
    for named in (ONLY, BESIDE):
        assert len(select(place / "out.parquet", 3, embed=module("embed"), **named)) == 3
    kept = select(frame(), 20, keep=place / "out.parquet", goal="cover", **asked)
    assert sorted(map(tuple, kept.rows[~kept.is_new])) == sorted(map(tuple, found.rows.astype(np.float32)))


def test_the_files_of_a_result_are_looked_at_with_its_model_given_again(module, folder, place, monkeypatch):
    found = select(folder, 10, embed=module("embed"), output=place / "out.parquet", **BESIDE)
    monkeypatch.setattr(_embed, "_NAMES", {})  # as in another process
    again = Prototypes.read(place / "out.parquet")
    with pytest.raises(InputError, match="a name that was read from a file is not run"):
        draw_sample(again, folder)
    sample = draw_sample(again, folder, embed=module("embed"))
    np.testing.assert_array_equal(sample.rows, found.sample.rows)
    monkeypatch.setattr(_embed, "_NAMES", {})
    asked = ["report", "out.parquet", "--data", str(folder), "--quiet"]
    assert cli.main(asked) == 2
    assert cli.main([*asked, "--embed", module("embed")]) == 0


def test_a_model_needs_a_column_of_text_that_is_compared(module):
    for asked in ({}, {"text": "text", "features": "size"}, {"text": "text", "exclude": "text"}):
        with pytest.raises(InputError, match=r"^embed='.*': no column of text is compared; name one with text, and wh"):
            select(frame(), 10, embed=module("embed"), **asked)
    with pytest.raises(ParameterError, match="embed must be a name or a function, got 7"):
        select(frame(), 10, embed=7, **ONLY)


def test_what_a_run_will_need_is_told_without_its_model(module, folder, capsys):
    job, _ = begin(options_of({"inputs": folder, "n_prototypes": 10, "embed": module("embed"), **ONLY}))
    assert estimate(job).columns == 1024
    assert cli.main([*words(module, folder, "out.csv"), "--dry-run"]) == 0
    assert "1,025 columns" in capsys.readouterr().out
    assert not module.is_imported
    assert not module.calls
    assert cli.main([*words(module, folder, "out.csv", function="")[:-2], "--dry-run"]) == 2
    assert "names no model; give one such as" in capsys.readouterr().err


def test_methods_are_compared_by_a_model_too(module, folder, capsys):
    surveyed = survey(folder, embed=module("embed"), sample=100, **ONLY)
    assert surveyed.rows.shape == (100, 6)
    asked = ["compare", str(folder), "-m", "5", "--methods", "swap,random", "--text", "text", "--features", "text"]
    assert cli.main([*asked, "--embed", module("embed")]) == 0
    assert f"text: text, embedded by {module('embed')} in 6 numbers" in " ".join(capsys.readouterr().out.split())


# -- the libraries, with models so small that they are made here

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cats", "dogs", "sit", "run", "stocks", "fall"]
FEW = pd.DataFrame({"text": ["cats sit", "dogs run", "stocks fall", "cats run", "stocks", "dogs sit down"] * 50})


def tokenizer():
    library = pytest.importorskip("tokenizers")
    words = library.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    found = library.Tokenizer(words)
    found.pre_tokenizer = library.pre_tokenizers.Whitespace()
    return found


def assert_chosen_by(name, vectors):
    """Rows are those that the library gives by itself, but for the last digits."""
    found = select(FEW, 4, text="text", embed=name)
    rows = found.encoding.encode(FEW[:6])
    np.testing.assert_allclose(rows, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-5)
    assert len(found) == 4


@pytest.mark.large
def test_a_model_of_model2vec(place):
    model2vec = pytest.importorskip("model2vec")
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)
    model2vec.StaticModel(vectors=rows, tokenizer=tokenizer()).save_pretrained(place / "own")
    assert_chosen_by("model2vec:own", model2vec.StaticModel.from_pretrained("own").encode(FEW["text"][:6].tolist()))


@pytest.mark.large
def test_a_model_of_sentence_transformers(place):
    transformers, library = map(pytest.importorskip, ("transformers", "sentence_transformers"))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer(), **special).save_pretrained(place / "bert")
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    made = transformers.BertModel(transformers.BertConfig(vocab_size=len(WORDS), **shape))
    made.save_pretrained(place / "bert")
    model = library.SentenceTransformer(str(place / "bert"))  # which adds the mean of its words
    model.save(str(place / "own"))
    assert_chosen_by("sentence-transformers:own", model.encode(FEW["text"][:6].tolist()))


@pytest.mark.large
def test_a_model_of_open_clip(place):
    torch, library = map(pytest.importorskip, ("torch", "open_clip"))
    model = library.create_model("RN50").eval()
    torch.save(model.state_dict(), place / "weights.pt")
    with torch.no_grad():
        rows = model.encode_text(library.get_tokenizer("RN50")(FEW["text"][:6].tolist())).numpy()
    assert_chosen_by("open_clip:RN50/weights.pt", rows)
