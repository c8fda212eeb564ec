"""Runs beside rows that were chosen before, and rows never to choose."""

import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partition_jobs import people, same, selected
from protosieve import InputError, ParameterError, ProtosieveError, ProtosieveWarning, ProtoSwap, Prototypes, select
from protosieve.objectives import Coverage
from volumes import volume

goals = pytest.mark.parametrize("goal", ["match", "cover"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """3,000 people in three files."""
    place = tmp_path_factory.mktemp("people")
    for part in range(3):
        pq.write_table(people(1000, part, 1000 * part), place / f"{part}.parquet", row_group_size=250)
    return place


def names(table):
    return set(table["name"].to_pylist())


@goals
@pytest.mark.parametrize("sample", [500, 4000], ids=["of some rows", "of all rows"])
def test_a_second_round_goes_on_from_the_file_of_the_first(folder, goal, sample, tmp_path):
    """By id, so also where digits of the file are fewer; and the result can be the file of the next round."""
    first = selected(folder, 12, goal=goal, sample=sample, output=tmp_path / "first.csv")
    barred = people(40, 1, 1000)
    second = selected(folder, 12, goal=goal, sample=sample, keep=tmp_path / "first.csv", exclude_rows=barred,
                      output=tmp_path / "second.parquet")  # fmt: skip
    new = second.is_new
    assert new.sum() == 12
    assert not names(second.table.filter(pa.array(new))) & (names(first.table) | names(barred))
    assert names(second.table.filter(pa.array(~new))) == names(first.table)
    assert new.tolist() == sorted(new, reverse=True)
    np.testing.assert_array_equal(second.table["row"], second.indices)
    assert set(second.table["file"].to_pylist()[12:]) == {str(tmp_path / "first.csv")}
    kept = second.rows[~new][np.argsort(-second.indices[~new])]
    np.testing.assert_allclose(kept, second.encoding.encode(first.table), atol=1e-5)
    assert second.residual < first.residual
    assert second.provenance["residual_of_random_rows"] < first.provenance["residual_of_random_rows"]
    again = Prototypes.read(tmp_path / "second.parquet")
    np.testing.assert_array_equal(again.is_new, new)
    third = selected(folder, 12, goal=goal, sample=sample, keep=[tmp_path / "second.parquet"])
    assert len(third) == 36
    assert len(names(third.table)) == 36


@goals
def test_the_engine_does_not_matter(folder, goal, tmp_path):
    asked = {"goal": goal, "keep": people(30, 0), "exclude_rows": people(500, 2, 2000)}
    alone = selected(folder, **asked)
    assert (~alone.is_new).sum() == 30
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        assert same(alone, selected(folder, executor=threads, **asked))
        assert same(alone, selected(folder, executor=processes, **asked))


@goals
def test_all_rows_in_memory_are_chosen_from_as_by_fit(folder, goal):
    keep, exclude = people(30, 0), people(100, 1, 1000)
    found = select(folder, 9, goal=goal, keep=keep, exclude_rows=exclude, exclude="name")
    rows = found.encoding.encode(pa.concat_tables([people(1000, part, 1000 * part) for part in range(3)]))
    objective = {} if goal == "match" else {"objective": Coverage()}
    fitted = ProtoSwap(9, random_state=0, **objective).fit(
        rows, keep=found.encoding.encode(keep), exclude=found.encoding.encode(exclude)
    )
    np.testing.assert_array_equal(found.indices, fitted.result_.indices)
    np.testing.assert_array_equal(found.weights, fitted.result_.weights)


@goals
def test_a_stream_has_rows_beside_it_too(goal):
    batches = [people(700, part, 700 * part) for part in range(20)]  # more than settle the encoding
    keep, exclude = people(25, 0), people(400, 1, 700)
    found = select(iter(batches), 10, goal=goal, keep=keep, exclude_rows=exclude, exclude="name")
    assert (~found.is_new).sum() == 25
    assert found.is_new.sum() == 10
    barred = {tuple(row.values()) for row in [*keep.to_pylist(), *exclude.to_pylist()]}
    chosen = found.table.filter(pa.array(found.is_new)).select(keep.column_names)
    assert not barred & {tuple(row.values()) for row in chosen.to_pylist()}
    assert found.residual < select(iter(batches), 10, goal=goal, exclude="name").residual


@settings(max_examples=volume(5, 60))
@given(
    st.integers(0, 10_000), st.integers(1, 20), st.integers(0, 30), st.sampled_from(["match", "cover"]), st.booleans()
)
def test_counts_are_right_and_nothing_barred_is_chosen(seed, m, kept, goal, small):
    table = people(400, seed)
    rng = np.random.default_rng(seed)
    keep, exclude = table.take(rng.choice(400, kept, replace=False)), table.take(rng.choice(400, 100))
    found = select(table, m, id="name", goal=goal, keep=keep, exclude_rows=exclude, sample=100 if small else None)
    assert (~found.is_new).sum() == kept
    assert found.is_new.sum() <= m
    assert not names(found.table.filter(pa.array(found.is_new))) & (names(keep) | names(exclude))
    assert (found.weights >= 0).all()


@goals
def test_rows_that_are_kept_twice_are_in_the_result_twice_and_one_has_the_weight(goal):
    """The file of a second round has the rows of the first, which is told of where rows have ids."""
    table = people(300)
    once = select(table, 5, goal=goal, id="name", keep=table.slice(0, 6))
    with pytest.warns(ProtosieveWarning, match="keep: 3 rows have the id of another, and each is in the result; whe"):
        found = select(table, 5, goal=goal, id="name", keep=[table.slice(0, 6), table.slice(3, 3)])
    assert sorted(found.indices[~found.is_new].tolist()) == list(range(-9, 0))
    np.testing.assert_array_equal(found.indices[found.is_new], once.indices[once.is_new])
    weights, alone = (dict(zip(one.indices, one.weights, strict=True)) for one in (found, once))
    for place in (4, 5, 6):
        assert 0.0 in (weights[-place], weights[-place - 3])
        assert weights[-place] + weights[-place - 3] == pytest.approx(alone[-place], abs=1e-6)


@pytest.mark.parametrize("used", ["embedding", "exclude"])
@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float32(), 3), pa.large_list(pa.int8())], ids=str)
def test_lists_in_a_csv_file_are_those_of_the_rows(used, kind, tmp_path):
    """Compared or not: a file to label has them as text."""
    vectors = pa.array(np.random.default_rng(0).integers(-99, 99, (300, 3)).tolist(), kind)
    table, asked = people(300).append_column("vector", vectors), {"goal": "cover", "id": "name", used: "vector"}
    first = select(table, 8, **asked)
    first.save(tmp_path / "first.csv", label_column="digit")
    found, known = (select(table, 8, keep=keep, **asked) for keep in (tmp_path / "first.csv", first.table))
    np.testing.assert_array_equal(found.indices, known.indices)
    assert found.table["vector"].equals(known.table["vector"])
    broken = pa.table({**{name: first.table[name] for name in table.column_names}, "vector": ["[1, 2"] * 8})
    if used == "embedding":
        with pytest.raises(InputError, match=r"keep: row 0: column 'vector' holds '\[1, 2', not a list of numbers"):
            select(table, 8, keep=broken, **asked)


@goals
@pytest.mark.parametrize("beside", ["keep", "exclude_rows"])
@pytest.mark.parametrize("of", ["columns", "embedding"])
def test_tasks_for_label_studio_are_rows_to_keep_or_exclude(goal, beside, of, tmp_path):
    """As they were written, and as they are exported: `data` is a row, whatever stands beside it."""
    table = people(300)
    vectors = np.random.default_rng(0).normal(size=(300, 3)).tolist()
    table = table.append_column("vector", pa.array(vectors)) if of == "embedding" else table
    asked = {"goal": goal, "id": "name", **({"embedding": "vector"} if of == "embedding" else {})}
    first = select(table, 8, **asked)
    first.save(tmp_path / "tasks.json", output_format="label-studio")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    choice = [{"value": {"choices": ["yes"]}, "from_name": "label", "type": "choices"}]
    exported = [{"id": i, "annotations": [{"result": choice}], "meta": {}, **task} for i, task in enumerate(tasks)]
    (tmp_path / "exported.json").write_text(json.dumps(exported))
    known = select(table, 8, **asked, **{beside: first.table})
    for name in ("tasks.json", "exported.json"):
        found = select(table, 8, **asked, **{beside: tmp_path / name})
        np.testing.assert_array_equal(found.indices, known.indices)
        np.testing.assert_array_equal(found.weights, known.weights)
        assert found.table["name"].equals(known.table["name"])


def test_rows_without_an_id_are_not_those_to_keep():
    table = people(60)
    table = table.set_column(3, "name", pa.array([None, *[""] * 29, *table["name"].to_pylist()[30:]]))
    found = select(table, 20, id="name", keep=table.slice(0, 2))
    assert sum(not name for name in found.table.filter(pa.array(found.is_new))["name"].to_pylist()) > 0


def test_rows_beside_that_cannot_be_used_are_refused(folder, tmp_path):
    pyarrow.csv.write_csv(people(5).drop(["depth"]), tmp_path / "narrow.csv")
    with pytest.raises(InputError, match=r"keep: .*narrow.csv: .*has no column 'depth'"):
        selected(folder, keep=tmp_path / "narrow.csv")
    pyarrow.csv.write_csv(people(5).drop(["town"]), tmp_path / "narrow.csv")
    with pytest.raises(InputError, match=r"keep: .*narrow.csv: .*has no column 'town'"):
        selected(folder, keep=tmp_path / "narrow.csv", per="town")
    with pytest.raises(InputError, match=r"^keep: the table has no column 'depth'"):
        selected(folder, keep=people(5).drop(["depth"]))
    with pytest.raises(InputError, match=r"gone\.csv"):
        selected(folder, keep=tmp_path / "gone.csv")
    with pytest.raises(ParameterError, match=r"keep needs a method that chooses from a sample: .*, and not basic"):
        selected(folder, keep=people(5), method="basic")
    with pytest.raises(ParameterError, match="exclude_rows must be files, which standard input is not; got '-'"):
        selected(folder, exclude_rows="-")
    with pytest.raises(ProtosieveError, match="among those to keep or to exclude; give others too"):
        select(people(50), 5, id="name", exclude_rows=people(50))


def test_an_output_may_not_overwrite_the_rows_to_keep(folder, tmp_path):
    selected(folder, 5, output=tmp_path / "first.parquet")
    with pytest.raises(ProtosieveError, match="is one of the files to be read, which would be lost"):
        selected(folder, 5, keep=tmp_path / "first.parquet", output=tmp_path / "first.parquet")


@goals
@pytest.mark.parametrize("sample", [400, 4000], ids=["of some rows", "of all rows"])
def test_groups_keep_rows_of_their_own(folder, goal, sample, tmp_path):
    """And in the next round those of the file that this one wrote; rows of groups that are not there are told of."""
    asked = {"goal": goal, "sample": sample, "per": "town", "features": ["height", "depth"]}
    first = selected(folder, 3, output=tmp_path / "first.parquet", **asked)
    towns = set(first.table["town"].to_pylist())
    assert len(first) == 3 * len(towns)
    second = selected(folder, 3, keep=tmp_path / "first.parquet", exclude_rows=people(300), **asked)
    kept, new = (second.table.filter(pa.array(mask)) for mask in (~second.is_new, second.is_new))
    assert names(kept) == names(first.table)
    assert sorted(map(str, new["town"].to_pylist())) == sorted(map(str, [*towns] * 3))
    assert not names(new) & (names(kept) | names(people(300)))
    assert second.is_new.tolist() == sorted(second.is_new, reverse=True)
    assert first.table["name"].take(pa.array(-1 - second.indices[~second.is_new])).equals(kept["name"])
    assert second.residual < first.residual
    elsewhere = people(2).set_column(2, "town", [["Rom", "Oslo"]])
    with pytest.warns(ProtosieveWarning, match="2 rows to keep have values that get no prototypes, and are left out"):
        assert selected(folder, 3, keep=elsewhere, **asked).is_new.all()


@goals
@pytest.mark.parametrize("sample", [100, None], ids=["of some rows", "of all rows"])
def test_a_group_of_which_all_rows_are_kept_has_these(goal, sample):
    """A second round goes on where a small class is labelled already."""
    table = people(600)
    ulm = table.filter(pa.compute.equal(table["town"], "Ulm")).slice(0, 8)
    rows = pa.concat_tables([table.filter(pa.compute.not_equal(table["town"], "Ulm")), ulm])
    asked = {"per": "town", "id": "name", "goal": goal, "sample": sample}
    with pytest.warns(ProtosieveWarning, match="'Ulm' of column 'town' has no row left to choose: those to keep stand"):
        found = select(rows, 3, keep=ulm, **asked)
    assert names(found.table.filter(pa.array(~found.is_new))) == names(ulm)
    assert "Ulm" not in found.table.filter(pa.array(found.is_new))["town"].to_pylist()
    weights = np.array(found.table["group_weight"])[~found.is_new]
    assert weights.sum() == pytest.approx(1, abs=0.1)
    with pytest.warns(ProtosieveWarning, match="'Ulm' of column 'town' has no prototypes: all of the rows are exclude"):
        assert "Ulm" not in select(rows, 3, exclude_rows=ulm, **asked).table["town"].to_pylist()
    with pytest.raises(InputError, match="exclude_rows: all rows to choose from are among those to exclude; give othe"):
        select(rows, 3, exclude_rows=rows, **asked)


@goals
@pytest.mark.parametrize("split", ["even", "proportional"])
@pytest.mark.parametrize("of_id", [False, True], ids=["by values", "by ids"])
@pytest.mark.parametrize("kept", [6, 8])
def test_places_of_groups_with_few_rows_left_go_to_others(goal, split, of_id, kept):
    """Those of rows that are kept, excluded or copies; a group without any place has the rows that are kept."""
    rows = np.random.default_rng(0).normal(size=(62, 3))
    rows[48:60] = rows[48]
    made = pa.table({**{f"x{i}": x for i, x in enumerate(rows.T)}, "name": [f"row {i}" for i in range(62)],
                     "kind": ["a"] * 40 + ["b"] * 8 + ["c"] * 14})  # fmt: skip
    table, keep, barred = made.slice(0, 60), made.slice(40, kept - 2), made.slice(38 + kept, 2)
    if of_id:  # and other values
        barred = made.slice(60, 2).set_column(3, "name", barred["name"])
    asked = {"per": "kind", "split": split, "goal": goal, "features": ["x0", "x1", "x2"]}
    found = select(table, 12, keep=keep, exclude_rows=barred, **asked, **({"id": "name"} if of_id else {}))
    new, old = (found.table.filter(pa.array(mask)) for mask in (found.is_new, ~found.is_new))
    assert Counter(new["kind"].to_pylist()) == Counter({"a": 11 - (8 - kept), "b": 8 - kept, "c": 1}) + Counter()
    assert names(old) == names(keep)
    assert found.parameters["n_prototypes"] == 12


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("kind", ["days", "moments", "whole"])
def test_ids_are_alike_in_every_file_and_type(kind, ending, tmp_path):
    """Where the rows of a first round were edited since, so that only their ids tell."""
    ids = {
        "days": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), unit="D"),
        "moments": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60) * 3601.5, unit="s"),
        "whole": np.arange(60.0),
    }[kind]
    rows = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "nr": ids})
    chosen = rows[:20].assign(x=9.5)
    match ending:
        case ".csv":
            chosen.to_csv(tmp_path / "first.csv", index=False)
        case ".parquet":
            chosen.astype({"nr": int} if kind == "whole" else {}).to_parquet(tmp_path / "first.parquet")
        case ".jsonl":
            chosen.to_json(tmp_path / "first.jsonl", orient="records", lines=True, date_format="iso")
    found = select(rows, 60, id="nr", goal="cover", keep=tmp_path / f"first{ending}")
    assert sorted(found.indices[found.is_new]) == list(range(20, 60))
