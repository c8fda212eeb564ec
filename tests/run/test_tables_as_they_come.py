"""Files as they come: dates in usual forms, and words among numbers."""

import io
import json
import sys
import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protosieve import InputError, ParameterError, ProtosieveWarning, select
from protosieve.insight import ResultWithData, describe, feature_matches, quality_sentences
from protosieve.report._page import page_data
from protosieve.result.files import read_prototypes

DAYS = [f"{1 + i % 12}/{1 + i % 11}/{2000 + i % 20}" for i in range(60)]


def csv(path, **columns):
    names, rows = list(columns), zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def numbers(n, seed=0):
    return np.random.default_rng(seed).normal(size=n).round(3).tolist()


def said(result):
    return "\n".join(result.encoding.describe())


@pytest.mark.parametrize("day", ["{y}/{m}/{d}", "{d}.{m}.{y}", "{m}/{d}/{y}", "{M} {d} {y}", "{d} {M} {y} 12:30"])
def test_dates_are_compared_in_any_usual_form(tmp_path, day):
    months = ["Jan", "Feb", "Mar", "Apr", "May", "June", "July"]
    texts = [day.format(y=2000 + i % 9, m=1 + i % 7, M=months[i % 7], d=1 + i % 28) for i in range(60)]
    result = select(csv(tmp_path / "t.csv", day=texts, x=numbers(60)), 5)
    assert result.encoding.names == ["day", "x"]
    assert result.encoding.as_dict()["columns"]["day"] == "date"
    assert "month/day/year" not in said(result)
    [match] = [item for item in feature_matches(ResultWithData.of(result)).items if item.name == "day"]
    assert match.shown["data"][0].startswith("2000-")


def test_dates_that_could_be_either_are_month_first_and_an_option_changes_that(tmp_path):
    path = csv(tmp_path / "t.csv", day=DAYS, x=numbers(60))
    month, day = select(path, 5), select(path, 5, day_first=True)
    assert "day: dates read as month/day/year (day_first reads them as day/month/year)" in said(month)
    assert "month/day/year" not in said(day)
    other = {"day": ["1/2/2001", "2/1/2001"], "x": [0.0, 0.0]}
    (january, february), (second, first) = month.encoding.encode(other)[:, 0], day.encoding.encode(other)[:, 0]
    assert january < february
    assert first < second
    again = type(day.encoding).from_dict(json.loads(json.dumps(day.encoding.as_dict())))
    np.testing.assert_array_equal(again.encode(other), day.encoding.encode(other))


def test_another_file_may_tell_the_order_of_day_and_month(tmp_path):
    either = csv(tmp_path / "a.csv", day=DAYS, x=numbers(60))
    first = csv(tmp_path / "b.csv", day=["25/1/2001", "1/2/2001"] * 30, x=numbers(60, 1))
    for paths in ([either, first], [first, either]):
        assert select(paths, 5).encoding.as_dict()["order_of_dates"] == {"day": "day-first"}


def test_a_date_that_does_not_fit_is_a_bad_row(tmp_path):
    path = csv(tmp_path / "t.csv", day=[*DAYS * 170, "25/1/2001"], x=numbers(10201))
    with pytest.raises(InputError, match=r"t\.csv, row 10200: column 'day' holds '25/1/2001', not a date; fix the row"):
        select(path, 5)


@pytest.mark.parametrize("word", ["-", "n/a", "?", "Unknown"])
def test_words_among_numbers_are_nulls_and_named(tmp_path, word):
    x = numbers(100)
    rows = [{"x": value, "y": i % 7} for i, value in enumerate(x)]
    for i in (0, 40, 99):
        x[i] = rows[i]["x"] = word
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = csv(tmp_path / "t.csv", x=x, y=[i % 7 for i in range(100)])
    for result in (select(path, 5), select(tmp_path / "t.jsonl", 5), select([path, tmp_path / "t.jsonl"], 5)):
        assert result.encoding.names == ["x", "y"]
        if word != "n/a" or result.n_seen == 200:  # CSV files have words of their own for null
            assert f"{word!r} in x taken as null" in said(result) or word == "n/a"
        assert result.encoding.filled == {"x": 3 * result.n_seen // 100}


def test_words_are_told_of_whatever_partition_has_them(tmp_path):
    words = ["-", "?", "unknown", "missing", "*", "tbd"]
    paths = [csv(tmp_path / f"{i}.csv", x=[*numbers(40, i), word], y=[*[0, 1] * 20, 0]) for i, word in enumerate(words)]
    result = select(paths, 5, partition_rows=41)
    assert "'-', '?', 'unknown', 'missing', '*' in x taken as null" in said(result)


def test_text_that_is_no_word_for_missing_is_a_bad_row(tmp_path):
    rows = [{"x": value} for value in ["tall", *numbers(99)]]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"t\.jsonl, row 0: column 'x' holds 'tall', not a number; fix the row"):
        select(tmp_path / "t.jsonl", 5)


def test_a_column_of_text_with_some_numbers_stays_text(tmp_path):
    rows = [{"x": value} for value in [*["a", "b"] * 20, *range(60)]]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert select(tmp_path / "t.jsonl", 5, categorical="x").encoding.as_dict()["columns"] == {"x": "category"}


def test_ids_are_left_out_of_files_and_partitions_and_streams(tmp_path):
    for name, rows in (("a.csv", 300), ("b.csv", 200)):
        csv(tmp_path / name, nth=range(rows) if name == "a.csv" else range(300, 500), x=numbers(rows))
    result = select([tmp_path / "a.csv", tmp_path / "b.csv"], 5, partition_rows=100)
    assert result.encoding.names == ["x"]
    assert "dropped: nth, whole numbers that differ from row to row" in said(result)
    assert select(tmp_path / "a.csv", 5, features=["nth", "x"]).encoding.names == ["nth", "x"]


def test_the_features_of_a_ranked_column_are_shown_in_its_own_units(tmp_path):
    income = np.exp(2 * np.random.default_rng(0).normal(size=2000)).round(4)
    result = select(csv(tmp_path / "t.csv", income=income, x=numbers(2000)), 100)
    [match] = [item for item in feature_matches(ResultWithData.of(result)).items if item.name == "income"]
    np.testing.assert_allclose(match.data, np.quantile(income, [0.05, 0.25, 0.5, 0.75, 0.95]), rtol=0.05)
    assert match.distance < 0.1


def test_what_only_the_target_has_is_told(tmp_path):
    inputs = csv(tmp_path / "in.csv", x=np.arange(200) % 17 / 4, colour=["red", "blue"] * 100, same=[1] * 200)
    target = csv(tmp_path / "to.csv", x=[*numbers(18), 9.5, 8.5], colour=["red"] * 15 + ["green"] * 5, same=[1] * 20)
    result = select(inputs, 5, target=target)
    below = sum(x < 0 for x in numbers(18)) + 2
    told = [f"x is outside its range here in {5 * below} % of its rows", "colour is 'green' in 25 % of its rows"]
    assert result.provenance["beyond_input"] == told
    [fact] = [fact for fact in describe(result).summary if fact.name == "Target"]
    assert fact.note.endswith(f"No prototype can match what only the target has: {'; '.join(told)}")
    within = csv(tmp_path / "within.csv", x=[1, 2], colour=["red", "blue"], same=[1, 1])
    assert select(inputs, 5, target=within).provenance["beyond_input"] == []


def test_values_without_a_prototype_are_named_and_say_why_a_category_is_off(tmp_path):
    rng = np.random.default_rng(0)
    towns = [f"town {i}" for i in rng.integers(30, size=600)]
    result = select(csv(tmp_path / "t.csv", town=towns, x=numbers(600)), 6)
    subject = ResultWithData.of(result)
    matches = feature_matches(subject)
    [town] = [item for item in matches.items if item.name == "town"]
    chosen = set(result.table["town"].to_pylist())
    assert {value.value for value in town.without} == set(towns) - chosen
    share = 100 * np.mean([one not in chosen for one in towns])
    assert f"{len(town.without)} of its values, {share:.2g} % of the data, have no prototype" in matches.sentence
    said = quality_sentences(subject, matches)
    [line] = [line for line in said if line.startswith("No prototype has town=")]
    assert line.endswith(f"and {len(town.without) - 6} more values.")
    missing = [item for item in page_data(describe(result))["coverage"]["features"]["items"] if item["name"] == "town"]
    assert len(missing[0]["without"]) == len(town.without)


def test_ids_of_other_things_are_compared_with_a_note(tmp_path):
    path = csv(tmp_path / "t.csv", shop_id=[i % 20 for i in range(100)], year=[2000 + i % 9 for i in range(100)])
    words = (
        "compared by column 'shop_id', whole numbers that are named like an id; .* categorical='shop_id' or exclude="
    )
    with pytest.warns(ProtosieveWarning, match=words) as caught:
        select(path, 5)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(path, 5, categorical="shop_id")
        select(path, 5, features=["shop_id", "year"])


def test_a_stream_whose_tail_comes_late_is_encoded_again(tmp_path, monkeypatch):
    """The first rows of a stream know nothing of the tail; in the end ranks are those of all rows."""
    rng = np.random.default_rng(0)
    sales = np.r_[rng.normal(size=12_000), np.exp(3 * rng.normal(size=12_000))].round(4)
    path = csv(tmp_path / "t.csv", sales=sales, x=rng.normal(size=24_000).round(3))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    result = select("-", 20)
    assert "sales has another range" in result.provenance["unlike_head"]["differences"]
    assert "1 heavy-tailed column compared by ranks, made normal: sales" in said(result)
    [match] = [item for item in feature_matches(ResultWithData.of(result)).items if item.name == "sales"]
    assert match.distance < 0.15


def test_a_stream_of_ids_leaves_them_out(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    path = csv(tmp_path / "t.csv", id=range(24_000), x=rng.normal(size=24_000).round(3))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    result = select("-", 20)
    assert result.encoding.names == ["x"]
    assert result.provenance["unlike_head"] is None


def test_ranks_do_not_depend_on_partitions(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"sales": np.exp(2 * rng.normal(size=3000)).round(4), "x": rng.normal(size=3000).round(3)}
    paths = [csv(tmp_path / f"{i}.csv", **{name: of[i::3] for name, of in columns.items()}) for i in range(3)]
    whole, parts = select(paths, 20), select(paths, 20, partition_rows=500)
    assert whole.encoding.steps[0].kind == "ranked"
    np.testing.assert_array_equal(whole.encoding.steps[0].knots, parts.encoding.steps[0].knots)
    np.testing.assert_array_equal(whole.indices, parts.indices)


def test_an_option_for_csv_files_is_refused_without_any(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5, 2)))
    with pytest.raises(ParameterError, match=r"delimiter is for CSV files, and .*x\.npy is none; leave it out"):
        select(tmp_path / "x.npy", 2, delimiter=";")
    with pytest.raises(ParameterError, match="decimal is for CSV files, and inputs is none; leave it out"):
        select(np.zeros((5, 2)), 2, decimal=",")


def test_what_is_said_of_csv_files_holds_for_those_among_others(tmp_path):
    """Beside tables, and where rows to keep or to look at are of other formats."""
    frame = pa.table({"x": np.arange(30.0) % 7, "y": np.arange(30.0) % 5})
    path, stored = tmp_path / "rows.csv", str(tmp_path / "rows.parquet")
    path.write_text("\n".join(["x/y", *(f"{x % 7}/{y % 5}" for x, y in zip(range(30), range(30), strict=True))]))
    pq.write_table(frame.slice(0, 5), stored)
    for inputs, aside in ((path, {"keep": stored}), ([frame, path], {}), (frame, {"target": str(path)})):
        result = select(inputs, 3, delimiter="/", **aside)
        assert result.encoding.names == ["x", "y"]
        assert len(result.sample_of(stored).rows) == 5


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_dates_are_compared_by_cycles_where_these_are_named(tmp_path, cut):
    at = [datetime(2024, 1, 1) + timedelta(hours=hours) for hours in range(0, 24 * 28, 6)]
    frame = pd.DataFrame({"at": at, "day": [one.date() for one in at]})
    found = select(frame, 4, cycles=["day", "week"])
    names = [f"at in the {cycle}, {axis}" for cycle in ("day", "week") for axis in "xy"]
    week = [f"day in the week, {axis}" for axis in "xy"]
    assert [name for name in found.encoding.names if " in the " in name] == [*names, *week]
    assert "at, day: compared by where in the week it is, too" in found.encoding.describe()
    assert "dropped: day in the day, the same in every row that was sampled" in found.encoding.describe()
    times = [frame[:1].assign(at=pd.Timestamp(f"2024-01-03 {time}")) for time in ("23:59", "00:01", "12:00")]
    places = [found.encoding.names.index(name) for name in names[:2]]
    late, early, noon = (found.encoding.encode(time)[0, places] for time in times)
    assert ((late - early) ** 2).sum() < 1e-3 < 3.9 < ((noon - early) ** 2).sum()
    whole = select(iter([frame]), 4, cycles=["day", "week"])
    cuts = (frame.iloc[start : start + cut] for start in range(0, len(frame), cut))
    np.testing.assert_array_equal(select(cuts, 4, cycles=["day", "week"]).indices, whole.indices)
    select(frame, 4, cycles="day", output=tmp_path / "out.parquet", report=tmp_path / "page.html")
    assert read_prototypes(tmp_path / "out.parquet").encoding.names == select(frame, 4, cycles="day").encoding.names


def test_cycles_without_dates_are_told_of():
    with pytest.raises(InputError, match="cycles='day': rows are compared by no column of dates; leave it out"):
        select(pd.DataFrame({"x": range(10)}), 2, cycles="day")
    with pytest.raises(ParameterError, match="cycles must be among day, week, year, got 'month'"):
        select(pd.DataFrame({"x": range(10)}), 2, cycles=["day", "month"])


def test_durations_do_not_go_round_and_times_go_round_the_day_once():
    hours = [timedelta(hours=i) for i in range(20)]
    table = pa.table({"length": hours, "start": [(datetime(2024, 1, 1) + hour).time() for hour in hours]})
    names = select(table, 3, cycles=["day", "week", "day"]).encoding.names
    assert names == ["length", "start", "start in the day, x", "start in the day, y"]
    with pytest.raises(InputError, match="cycles='week': rows are compared by no column of dates"):
        select(table, 3, cycles="week")
    page = describe(select(pd.DataFrame({"day": pd.date_range("2024-01-01", periods=30)}), 3, cycles=["day", "week"]))
    assert "not compared" not in str(page.quality)
