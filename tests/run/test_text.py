"""Columns of text, compared by their words: from files, tables and streams, wherever the work is done."""

import io
import signal
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from killed_processes import command_until_a_tick, ended
from problems import TOPICS, texts_of_topics
from protosieve import InputError, ParameterError, ProtosieveWarning, cli, select
from protosieve.insight import ResultWithData, words_of
from protosieve.passes import _row_sample
from protosieve.preprocess import LEARNT_FROM
from protosieve.result.files import read_prototypes
from table_files import assert_same

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")

ROWS = 900


def frame(rows=ROWS, seed=0):
    """Texts of four topics beside a number and a colour that say nothing of these."""
    rng = np.random.default_rng([seed, 1])
    texts, topics = zip(*texts_of_topics(rows, seed), strict=True)
    made = pd.DataFrame({"id": [f"row {i}" for i in range(rows)], "text": texts, "topic": topics})
    made["size"] = rng.normal(size=rows).round(3)
    made["colour"] = rng.choice(["red", "blue"], rows)
    made.loc[rng.integers(rows, size=3), "text"] = None
    return made


ONLY = {"features": "text", "text": "text", "id": "id"}
BESIDE = {"text": "text", "label": "topic", "id": "id"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files, sorted by topic."""
    folder = tmp_path_factory.mktemp("texts")
    table = frame().sort_values("topic", kind="stable")
    for i, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        table.iloc[part].to_parquet(folder / f"{i}.parquet", row_group_size=100, index=False)
    return folder


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_texts_are_compared_by_their_words(goal):
    """Of each topic there are some among the few that are chosen, and next to nothing is left of rows like them."""
    found = select(frame(), 12, goal=goal, **ONLY)
    assert set(frame()["topic"].iloc[found.indices]) == set(TOPICS)
    assert found.residual < found.provenance["residual_of_random_rows"]
    assert "text: text, compared by its words" in found.encoding.describe()[0]
    assert found.to_pandas()["text"].tolist() == frame()["text"].iloc[found.indices].tolist()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("options", [ONLY, BESIDE], ids=["alone", "beside"])
def test_files_and_tables_are_alike(tmp_path, ending, options):
    table, path = frame(), tmp_path / f"rows.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path)
    assert_same(select(path, 10, **options), select(table, 10, **options))


def test_dictionaries_of_texts_are_texts():
    table = pa.Table.from_pandas(frame())
    coded = table.set_column(1, "text", table["text"].dictionary_encode())
    assert_same(select(coded, 10, **BESIDE), select(table, 10, **BESIDE))


@pytest.mark.parametrize("sample", [None, 200])
@pytest.mark.parametrize("goal", ["match", "cover"])
def test_any_number_of_workers_gives_the_same_answer(folder, sample, goal):
    asked = {"partition_rows": 150, "sample": sample, "goal": goal, **BESIDE}
    alone = select(folder, 10, **asked)
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2) as processes:
        for executor in (threads, processes):
            assert_same(select(folder, 10, executor=executor, **asked), alone)


def test_how_texts_become_numbers_does_not_depend_on_the_order_of_files_in_a_sample(folder, monkeypatch):
    """All texts, or some of them drawn by their row numbers, wherever partitions are cut."""
    whole = select(folder, 10, partition_rows=10_000, **ONLY).encoding
    monkeypatch.setattr("protosieve.passes._texts.LEARNT_FROM", 250)
    few = [select(folder, 10, partition_rows=rows, **ONLY).encoding for rows in (150, 150)]
    learnt = [one.layout.items[0].features for one in (whole, *few)]
    assert len(learnt[0].hashes) > len(learnt[1].hashes)
    np.testing.assert_array_equal(learnt[1].steps, learnt[2].steps)


def unnamed(**more):
    """Texts, and columns that only name rows."""
    made = frame()[["text"]].assign(number=np.arange(ROWS), key=[f"k{i:x}" for i in range(ROWS)], **more)
    return made[["number", "key", *more, "text"]]


@pytest.mark.parametrize("goal", ["match", "cover"])
@pytest.mark.parametrize("sample", [None, 200])
def test_texts_that_no_option_names_are_compared_where_rows_differ_by_nothing_else(tmp_path, goal, sample):
    """Row numbers and keys, which have no words, are not."""
    asked = {"goal": goal, "sample": sample, "partition_rows": 300}
    unnamed().to_parquet(tmp_path / "rows.parquet", row_group_size=150)
    with pytest.warns(ProtosieveWarning, match="rows differ by nothing but text, so 'text' is compared by words"):
        found = select(tmp_path / "rows.parquet", 10, **asked)
    assert_same(found, select(tmp_path / "rows.parquet", 10, text="text", exclude=["number", "key"], **asked))
    with ThreadPoolExecutor(3) as threads:
        assert_same(select(tmp_path / "rows.parquet", 10, executor=threads, **asked), found)
    assert any("key, nearly every value differs" in line for line in found.encoding.describe())


def test_texts_that_no_option_names_are_not_compared_beside_others():
    beside = select(unnamed(size=frame()["size"]), 10)
    assert beside.encoding.names == ["size"]
    assert beside.encoding.dropped.keys() == {"number", "key", "text"}


def test_names_without_words_are_compared_by_their_pieces_where_there_is_nothing_else():
    with pytest.warns(ProtosieveWarning, match="so 'key' is compared by words"):
        found = select(unnamed()[["key"]], 10)
    assert "key: text, compared by its words" in found.encoding.describe()[0]


def test_texts_of_a_target_are_compared_alike():
    names = {"text": "text", "exclude": ["number", "key"]}
    target = unnamed()[frame()["topic"] == next(iter(TOPICS))]
    assert_same(select(unnamed(), 10, target=target), select(unnamed(), 10, target=target, **names))


def test_a_stream_has_to_be_told_which_columns_are_texts():
    with pytest.raises(InputError, match=r"no column is left to compare .*compare the texts by their words with text"):
        select(iter([unnamed()]), 10)


ALONE = ["--exclude", "size", "--exclude", "colour"]


@pytest.mark.parametrize(("named", "life"), [(["--text", "text"], 2), (["--text", "text"], 9), (ALONE, 16)])
def test_killed_and_gone_on_with_it_is_the_same_byte_for_byte(folder, tmp_path, named, life):
    """In the pass over texts, in the survey, and in the survey by words."""

    def words(name, *more):
        asked = [*named, "--id", "id", "--label", "topic", "--partition-rows", "150", "--quiet"]
        return ["select", str(folder), "-m", "10", *asked, "-o", str(tmp_path / f"{name}.csv"), *more]

    assert ended(command_until_a_tick, 0, 512, words("whole")) == 0
    given = words("killed", "--work", str(tmp_path / "work"))
    assert ended(command_until_a_tick, life, 512, given) == -signal.SIGKILL
    assert ended(command_until_a_tick, 0, 512, given) == 0
    assert (tmp_path / "killed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.fixture
def stdin(monkeypatch):
    def feed(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return feed


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_standard_input_learns_from_its_first_rows(stdin, goal):
    table = frame(LEARNT_FROM + 3000)
    stdin(table.to_csv(index=False).encode())
    found = select("-", 12, goal=goal, **ONLY)
    assert found.n_seen == len(table)
    assert set(table["topic"].iloc[found.indices]) == set(TOPICS)
    assert found.residual < found.provenance["residual_of_random_rows"]


@pytest.mark.parametrize("rows", [120, LEARNT_FROM + 700])
def test_a_stream_of_tables_is_the_same_however_it_is_cut(rows):
    table = pa.Table.from_pandas(frame(rows), preserve_index=False)
    whole = select(iter([table]), 8, **BESIDE)
    for size in (501, 4000):
        pieces = [table.slice(start, size) for start in range(0, rows, size)]
        assert_same(select(iter(pieces), 8, **BESIDE), whole)


def test_prototypes_of_texts_stand_for_those_of_a_target():
    """The target is of one topic, and so are they."""
    table = frame()
    found = select(table, 8, target=table[table["topic"] == "food"], **ONLY)
    topics = table["topic"].iloc[found.indices]
    assert found.weights[(topics == "food").to_numpy()].sum() > 0.9 * found.weights.sum()


def test_texts_that_were_kept_are_not_chosen_again_and_cover():
    table = frame()
    kept = table[table["topic"].isin(["food", "money"])].iloc[:40]
    found = select(table, 8, keep=kept, goal="cover", **ONLY)
    assert found.is_new.sum() == 8
    assert not set(found.to_pandas()["id"][found.is_new]) & set(kept["id"])
    assert set(table["topic"].iloc[found.indices[found.is_new]]) >= {"sport", "space"}


def test_prototypes_of_texts_for_each_value_of_a_column():
    found = select(frame(), 3, per="topic", text="text", features="text", goal="cover").to_pandas()
    assert found["topic"].value_counts().to_dict() == dict.fromkeys(TOPICS, 3)


def spread(result, name):
    """Of the encoded columns of a column of the table."""
    names = [one.partition("[")[0].partition("=")[0] for one in result.encoding.names]
    encoded = result.encoding.encode(frame())
    return float(encoded[:, [one == name for one in names]].var(axis=0, dtype=np.float64).sum())


def test_texts_weigh_as_much_as_all_other_columns_or_as_one():
    kinds = select(frame(), 10, text="text", exclude="topic", id="id")
    others = spread(kinds, "size") + spread(kinds, "colour")
    assert spread(kinds, "text") == pytest.approx(others, rel=1e-3)
    columns = select(frame(), 10, text="text", exclude="topic", id="id", balance="columns")
    assert spread(columns, "text") == pytest.approx(1, rel=1e-3)
    assert spread(columns, "size") == pytest.approx(1, rel=1e-3)


def test_two_columns_of_texts_share_what_texts_weigh():
    table = frame().assign(title=[text for text, _ in texts_of_topics(ROWS, seed=8)])
    found = select(table, 10, text=["text", "title"], exclude=["topic", "colour"], id="id")
    encoded = found.encoding.encode(table).var(axis=0, dtype=np.float64)
    is_text = np.array([name.startswith(("text[", "title[")) for name in found.encoding.names])
    assert encoded[is_text].sum() == pytest.approx(encoded[~is_text].sum(), rel=1e-3)


def test_a_result_file_knows_how_texts_became_numbers(tmp_path):
    found = select(frame(), 10, output=tmp_path / "out.parquet", **BESIDE)
    again = read_prototypes(tmp_path / "out.parquet")
    np.testing.assert_array_equal(again.encoding.encode(frame(50, 7)), found.encoding.encode(frame(50, 7)))


def test_where_other_columns_are_named_to_compare_by_a_text_is_only_shown():
    found = select(frame(), 10, features="size", text="text")
    assert found.encoding.names == ["size"]
    assert "text" in found.table.column_names
    assert select(frame(), 10, text="text", exclude=["text", "topic", "id"]).encoding.names[0] == "size"


def test_the_summary_shows_texts_and_the_words_that_set_each_apart_before_other_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    frame()[["size", "colour", "topic", "id", "text"]].to_csv(tmp_path / "rows.csv", index=False)
    command = ["select", str(tmp_path / "rows.csv"), "-m", "3", "--id", "id"]
    assert cli.main([*command, "--text", "text"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.split()[:1] == ["row"]]
    assert lines[at].split()[4:8] == ["id", "text", "words", "size"]
    words = words_of(ResultWithData.of(select(tmp_path / "rows.csv", 3, id="id", text="text")))
    place = slice(lines[at].index("words"), lines[at].index("size"))
    for line, told in zip(lines[at + 1 :], words, strict=False):
        shown = line[place].rsplit("  ", 1)[0].strip().rstrip("…")
        assert shown
        assert ", ".join(told).startswith(shown)
    assert cli.main([*command, "--text", "text", "--features", "size"]) == 0  # shown, not compared
    assert " words " not in capsys.readouterr().out


def test_numbers_are_no_text():
    with pytest.raises(InputError, match="text: column 'size' holds numbers, not text; name a column of text"):
        select(frame(), 10, text="size")
    for other in ("id", "label", "categorical"):
        with pytest.raises(InputError, match=f"text: column 'text' is named with {other} too; name it in one of them"):
            select(frame(), 10, text="text", **{other: "text"})
    with pytest.raises(ParameterError, match="balance='columns' is for columns of text or images, and none is named"):
        select(frame(), 10, balance="columns")
    with pytest.raises(ParameterError, match="balance must be one of kinds, columns, got 'equal'"):
        select(frame(), 10, text="text", balance="equal")


@pytest.mark.parametrize("texts", [pa.array(["", None, "?!"] * 20), pa.nulls(60)], ids=["of text", "of nothing"])
def test_texts_without_a_word_are_told_of(texts):
    table = pa.table({"text": texts, "size": np.arange(60.0)})
    found = select(table, 5, text="text")
    assert found.encoding.names == ["size"]
    assert "dropped: text, no text in it has a word" in found.encoding.describe()
    with pytest.raises(InputError, match=r"no text in it has a word|there is no value in any column"):
        select(table.select(["text"]), 5, text="text")


def test_text_that_no_option_names_is_told_of_with_the_option():
    (line,) = [one for one in select(frame(), 5, exclude="id").encoding.describe() if "dropped: text" in one]
    assert "text compares" in line
    (line,) = select(frame(), 5, features="text").encoding.describe()
    assert line.endswith("the rest as 'other', nulls as 'missing'; text compares it by its words")


def test_few_rows_of_heavy_texts_are_learnt_from(folder, monkeypatch):
    """Columns weigh too much to keep those of all sampled rows."""
    monkeypatch.setattr(_row_sample, "_HELD", 1 << 14)
    assert set(pq.read_table(folder)["topic"].to_pylist()) == set(TOPICS)
    assert len(select(folder, 12, **ONLY)) == 12


@pytest.mark.parametrize("half_life", [None, 2000])
@pytest.mark.parametrize("goal", ["match", "cover"])
def test_a_stream_whose_later_texts_have_other_words_learns_them_from_its_sample(goal, half_life):
    rng, head = np.random.default_rng(0), [text for text, _ in texts_of_topics(LEARNT_FROM + 3000, 0)]
    letters = "жзикл мнопр стуфх цчшщы эюябв"
    topics = ["".join(rng.permutation(list(letters)))[:24] for _ in range(4)]
    later = [" ".join(rng.permutation(topics[i % 4].split())) for i in range(4000)]
    tables = [pa.table({"text": head}), pa.table({"text": later})]
    found = select(iter(tables), 12, text="text", goal=goal, half_life=half_life)
    assert "texts without a known word" in "".join(found.provenance["unlike_head"]["differences"])
    assert found.n_seen == len(head) + 4000
    chosen = found.table["text"].to_pylist()
    assert [[*head, *later][row] for row in found.indices] == chosen
    assert {frozenset(text.split()) for text in chosen} >= {frozenset(topic.split()) for topic in topics}
    rows = found.encoding.encode({"text": topics})
    assert (rows @ rows.T)[np.triu_indices(4, 1)].max() < 0.9
    pieces = [pa.concat_tables(tables).slice(start, 777) for start in range(0, found.n_seen, 777)]
    assert_same(select(iter(pieces), 12, text="text", goal=goal, half_life=half_life), found)


def test_a_stream_of_texts_that_stay_alike_is_not_chosen_again():
    table = pa.table({"text": [text for text, _ in texts_of_topics(LEARNT_FROM + 9000, 0)]})
    assert select(iter([table]), 12, text="text").provenance["unlike_head"] is None


def test_texts_without_a_known_word_are_counted_in_a_note():
    table = frame().assign(text=["", None, "?!", "..."] * (ROWS // 4))
    table.loc[: ROWS // 2, "text"] = frame()["text"]
    with pytest.warns(ProtosieveWarning, match=r"5\d % of the texts in column 'text' are empty, null or without a"):
        select(table, 5, text="text")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(pa.table({"text": [text for text, _ in texts_of_topics(300, 0)]}), 5, text="text")
