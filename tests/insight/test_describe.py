"""What there is to tell of a result: from files, from memory, alone; of plain data and of odd data."""

import datetime
import decimal
import math
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from sklearn.datasets import load_digits

from protosieve import MMDCritic, ProtoBasic, ProtoDash, ProtoSwap, Streak
from protosieve.errors import InputError, ParameterError
from protosieve.insight import View, describe
from protosieve.kernels import Gaussian, Linear
from protosieve.means import ReservoirMean
from protosieve.objectives import Coverage, LeastSquares, SetFunction
from protosieve.report import page_data
from protosieve.run import draw_sample
from report_runs import people, run, told, with_source


@pytest.fixture(scope="module")
def clerk(tmp_path_factory):
    return run(tmp_path_factory.mktemp("run"), people(), id="name", label="old", exclude="note")


def test_a_run_over_files_tells_everything(clerk):
    found = told(clerk, text="note")
    assert found["title"] == "6 of 200 rows"
    assert [line["name"] for line in found["summary"]] == [
        "Rows", "Columns", "Target", "Method", "Prototypes", "Kernel", "Judged by", "Shown beside"
    ]  # fmt: skip
    beside, features, carried, without = found["quality"]["sentences"]
    assert beside.startswith("6 random rows with the best weights would leave")
    assert features == found["coverage"]["features"]["sentence"]
    assert carried.startswith("The 6 prototypes carry ")
    assert without.startswith("No prototype has colour=")
    assert found["quality"]["curve"]["count"] == [1, 2, 3, 4, 5, 6]
    random = clerk.provenance["residual_of_random_rows"]
    assert found["quality"]["curve"]["random"] == pytest.approx(random, rel=1e-4)
    assert found["rerun"]["command"].startswith("protosieve.select([")
    assert found["rerun"]["files"][0]["name"].endswith("rows.parquet")
    assert {item["name"] for item in found["coverage"]["features"]["items"]} == {"age", "colour", "joined"}


def test_columns_that_were_not_compared_are_told_before_any_share(tmp_path):
    data = people() | {"essay": [f"{i} words" for i in range(200)]}
    found = told(run(tmp_path, data, id="name", label="old"))["quality"]["sentences"]
    assert [sentence for sentence in found if "not compared" in sentence] == [found[0]]  # for notes are on the cards
    assert found[0].endswith(" prototypes. note, essay were not compared: all figures are of the other columns alone.")
    assert "carry" in found[2]
    del data["note"]
    found = told(run(tmp_path, data, id="name", label="old"))["quality"]["sentences"]
    assert found[1] == "essay was not compared: all figures are of the other columns alone."
    assert "carry" in found[3]


def test_cards_show_the_users_own_cells(clerk):
    data = people()
    for card, weight in zip(told(clerk, text="note")["cards"], clerk.weights, strict=True):
        row = card["row"]
        assert card["label"] == data["old"][row]
        assert card["text"] == data["note"][row]
        assert card["fields"][0] == ["name", data["name"][row]]
        assert card["file"] == "rows.parquet"
        assert card["weight"] == pytest.approx(weight, rel=1e-3)
        assert card["differs"] == []
        assert sum(share for _, share in card["around"]) == pytest.approx(1, abs=0.01)


def test_without_text_cards_show_how_a_row_differs_from_the_average(clerk):
    data = people()
    age = np.asarray(data["age"], float)
    without = with_source(clerk, table=clerk.table.drop_columns("note"))
    seen = set()
    for card in told(without)["cards"]:
        for line in card["differs"]:
            seen.add(line["name"])
            if line["name"] == "age":
                assert line["value"] == str(data["age"][card["row"]])
                assert float(line["usual"]) == pytest.approx(age.mean(), rel=1e-3)
                assert line["by"] == pytest.approx((age[card["row"]] - age.mean()) / age.std(), rel=1e-2)
            if line["name"] == "colour":
                assert line["value"] == data["colour"][card["row"]] != "red"
                assert line["usual"] == "red"
            if line["name"] == "joined":
                assert line["usual"].startswith("2021-")
    assert seen == {"age", "colour", "joined"}


def test_a_column_of_sentences_is_found_without_being_named(clerk):
    assert told(clerk)["cards"][0]["text"] == people()["note"][clerk.indices[0]]


def test_shares_of_categories_are_those_of_the_data(clerk):
    items = told(clerk)["coverage"]["features"]["items"]
    colour = next(item for item in items if item["name"] == "colour")
    for line in colour["values"]:
        assert line["data"] == pytest.approx(np.mean(people()["colour"] == line["value"]), rel=1e-3)
    mine = people()["colour"][clerk.indices]
    parts = clerk.weights / clerk.weights.sum()
    off = sum(abs(np.mean(people()["colour"] == c) - parts[mine == c].sum()) for c in ("red", "green", "blue")) / 2
    assert colour["distance"] == pytest.approx(off, rel=1e-3)


def test_quantiles_of_dates_are_shown_as_dates(clerk):
    items = told(clerk)["coverage"]["features"]["items"]
    joined = next(item for item in items if item["name"] == "joined")
    assert all(day.startswith("20") for day in joined["shown"]["data"])


def test_the_kernels_width_says_where_it_came_from(clerk, tmp_path):
    def note(result):
        return next(line["note"] for line in told(result)["summary"] if line["name"] == "Kernel")

    assert "median distance" in note(clerk)
    X = np.random.default_rng(0).normal(size=(50, 3)) + 4
    assert "median distance" in note(ProtoSwap(n_prototypes=3).fit(X).result_)
    assert "as it was given" in note(ProtoSwap(n_prototypes=3, kernel=Gaussian(2.0)).fit(X).result_)
    assert note(ProtoSwap(n_prototypes=3, kernel=Linear()).fit(X).result_) == "has no width"


def test_a_result_alone_tells_what_it_can():
    X, _ = load_digits(return_X_y=True)
    found = told(ProtoSwap(n_prototypes=10).fit(X).result_)
    assert found["quality"]["curve"]["random"] is None
    assert found["criticisms"] is None
    assert found["coverage"]["features"] is None
    assert found["coverage"]["shares"] is None
    assert found["map"]["points"] == []
    assert len(found["cards"][0]["differs"]) == 5
    assert found["cards"][0]["label"] is None


def test_prototypes_take_labels_from_data_in_memory_only_where_it_is_theirs():
    X, y = load_digits(return_X_y=True)
    result = ProtoSwap(n_prototypes=10).fit(X).result_
    assert [card["label"] for card in told(result, X, label=y)["cards"]] == [str(y[row]) for row in result.indices]
    other = told(result, X[::-1], label=y[::-1])
    assert [card["label"] for card in other["cards"]] == [None] * 10
    assert other["coverage"]["labels"]["values"][0]["data"] is not None


def test_a_data_frame_has_features_labels_and_texts():
    frame = pd.DataFrame(people())
    features = frame[["age"]].assign(tall=np.arange(len(frame)) % 7.0)
    result = ProtoSwap(n_prototypes=5).fit(features).result_
    found = told(result, frame.assign(tall=features["tall"]), label="old")
    assert [card["label"] for card in found["cards"]] == frame["old"][result.indices].tolist()
    assert found["cards"][0]["text"] == frame["note"][result.indices[0]]
    assert {item["name"] for item in found["coverage"]["features"]["items"]} == {"age", "tall"}


def test_rows_in_memory_are_encoded_as_those_of_the_files_were(clerk):
    alone = with_source(clerk, sample=None)
    frame = pd.DataFrame(people())
    found = told(alone, frame)
    assert found["coverage"]["features"]["items"] == told(clerk)["coverage"]["features"]["items"]
    assert found["map"]["prototypes"] == told(clerk)["map"]["prototypes"]


@pytest.mark.parametrize("beside", [[], ["row"], ["row", "weight"]])
def test_a_column_of_the_user_keeps_its_name_whatever_ours_are_called(tmp_path, beside):
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=50) for name in ["x", *beside]}
    found = told(run(tmp_path, {"input_row": [f"kind {i % 3}" for i in range(50)], **numbers}, label="input_row"))
    assert {card["label"] for card in found["cards"]} <= {"kind 0", "kind 1", "kind 2"}
    assert [item["value"] for item in found["coverage"]["labels"]["values"]] == ["kind 0", "kind 1", "kind 2"]


def test_a_run_that_has_only_begun_can_be_described(clerk):
    partial = {"parameters": clerk.provenance["parameters"]}
    assert len(told(with_source(clerk, provenance=partial, shares=None))["cards"]) == 6


def test_a_result_read_from_its_file_knows_its_encoding_by_the_provenance(clerk):
    read = with_source(clerk, encoding=None)
    assert told(read)["coverage"]["features"] == told(clerk)["coverage"]["features"]


def test_a_target_is_called_one(clerk):
    found = told(with_source(clerk, sample=replace(clerk.sample, is_target=True)))
    assert "nearest to half of the target" in found["coverage"]["sentence"]
    assert "all 200 rows of the target" in found["map"]["sentence"]
    assert found["summary"][-1]["note"] == "all of the target"


def test_a_dict_may_hold_a_matrix_beside_its_texts():
    X, _ = load_digits(return_X_y=True)
    result = ProtoSwap(n_prototypes=5).fit(X).result_
    found = told(result, {"X": X, "remark": [f"row {i}" for i in range(len(X))]}, text="remark")
    assert [card["text"] for card in found["cards"]] == [f"row {row}" for row in result.indices]


def test_random_rows_are_judged_as_the_prototypes_are():
    X, _ = load_digits(return_X_y=True)
    result = ProtoSwap(n_prototypes=10).fit(X).result_
    assert "Both are judged by 1,797 rows of the data." in told(result, X)["quality"]["sentences"][0]


def test_other_data_is_described_by_itself(clerk, tmp_path):
    later = people(300, seed=1)
    later["age"] = later["age"] + 40
    pq.write_table(pa.table(later), tmp_path / "later.parquet")
    rows = clerk.encoding.encode(later)
    similar = clerk.kernel.block(clerk.kernel.prepare(rows), clerk.kernel.prepare(clerk.rows))
    shares = np.bincount(similar.argmax(axis=1), minlength=len(clerk)) / len(rows)
    K = clerk.kernel.block(clerk.kernel.prepare(rows), clerk.kernel.prepare(rows))
    w, among = clerk.weights, clerk.kernel.block(clerk.kernel.prepare(clerk.rows), clerk.kernel.prepare(clerk.rows))
    residual = 1 - (2 * w @ similar.mean(axis=0) - w @ among @ w) / K.mean()
    for data in (later, draw_sample(clerk, tmp_path / "later.parquet")):
        found = told(clerk, data)
        assert [card["share"] for card in found["cards"]] == pytest.approx(shares, abs=1e-4)
        figures = {figure["name"]: figure["value"] for figure in found["quality"]["figures"]}
        assert float(figures["Residual by the data shown"]) == pytest.approx(residual, rel=1e-3)
        assert float(figures["Residual"]) == pytest.approx(clerk.residual, rel=1e-3)
    assert [card["share"] for card in told(clerk)["cards"]] == pytest.approx(clerk.shares, abs=1e-4)
    assert "Residual by the data shown" not in {figure["name"] for figure in told(clerk)["quality"]["figures"]}


def test_data_that_was_not_to_be_matched_is_no_judge_of_random_rows():
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(400, 2)) * 3, rng.normal(size=(100, 2)) * 0.3 + 4
    result = ProtoSwap(n_prototypes=5).fit(X, target=target).result_
    assert len(told(result, X)["quality"]["sentences"]) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "X",
    [
        np.ones((7, 3)),
        np.arange(9.0)[:, None],
        np.array([[1.0, 2.0]]),
        np.repeat([[0.0, 1.0], [5.0, 1.0]], 20, axis=0),
        np.c_[np.arange(30.0), np.full(30, 0.1)],
    ],
    ids=["identical", "one column", "one row", "copies", "a constant column"],
)
@pytest.mark.parametrize("selector", [ProtoSwap, ProtoBasic, MMDCritic])
def test_odd_shapes_of_data_can_be_described(selector, X, dtype):
    result = selector(n_prototypes=4, kernel=Gaussian(1.0)).fit(X.astype(dtype)).result_
    for data in (None, X.astype(dtype)):
        found = told(result, data)
        assert len(found["cards"]) == len(result)


def test_weights_of_zero_are_no_trouble():
    X = np.random.default_rng(0).normal(size=(50, 2))
    result = replace(ProtoSwap(n_prototypes=3).fit(X).result_, weights=np.zeros(3))
    found = told(result, X)
    assert found["quality"]["no_curve"] == "No prototype weighs anything."


@pytest.mark.parametrize("given", [False, True])
def test_of_prototypes_that_cover_coverage_is_told(tmp_path, given):
    """By a run's own sample, and by data in memory: no word of a mean, of weights or of features to be matched."""
    result = run(tmp_path, people(), id="name", label="old", exclude="note", goal="cover", width=1.0)
    data = None
    if given:
        data = result.sample.rows
        result = ProtoSwap(6, kernel=result.kernel, objective=Coverage(), random_state=0).fit(data).result_
    found = told(result, data)
    similarity = result.kernel(result.sample.rows if not given else data, result.rows).max(axis=1)
    random, covered, spread, best = found["quality"]["sentences"]
    assert best == f"They cover {result.certificate.best}."
    assert random.startswith("6 random rows would leave ")
    assert "times as much uncovered as these prototypes" in random
    assert covered.startswith(f"The 6 prototypes cover {100 * similarity.mean():.1f} %: on average the similarity ")
    assert spread.startswith(f"For half of the rows it is {np.median(similarity):.2g} or more, for nine of ten ")
    assert found["quality"]["own"] == pytest.approx(1 - similarity.mean(), rel=1e-5)
    assert "MMD" not in str(found["quality"]) + str(found["summary"])
    assert {fact["name"]: fact["value"] for fact in found["summary"]}["Goal"] == "cover"
    curve = found["quality"]["curve"]
    assert curve["count"] == [1, 2, 3, 4, 5, 6]
    assert curve["residual"] == sorted(curve["residual"], reverse=True)
    assert curve["residual"][-1] == pytest.approx(found["quality"]["own"], rel=1e-5)
    assert curve["sentence"].startswith("With 3 of them ")
    assert "covered" in curve["sentence"]
    near = found["coverage"]["similarities"]
    assert (near["edges"][0], near["edges"][-1], len(near["shares"])) == (0, pytest.approx(1), 20)
    assert np.average(near["edges"][1:], weights=near["shares"]) == pytest.approx(similarity.mean(), abs=0.05)
    assert found["coverage"]["features"] is None
    worst = found["criticisms"]
    assert worst["sentence"].startswith("The 12 rows of 200 that the prototypes cover worst, chosen to differ: simil")
    for card in worst["cards"]:
        assert card["similarity"] == pytest.approx(similarity[card["row"]], rel=1e-4)
        assert card["witness"] is None
    assert min(card["similarity"] for card in worst["cards"]) == pytest.approx(similarity.min(), rel=1e-4)


def test_without_data_little_is_told_of_prototypes_that_cover(X):
    result = ProtoSwap(4, objective=Coverage()).fit(X).result_
    found = told(result)
    assert found["coverage"]["similarities"] is None
    assert found["criticisms"] is None
    assert "give data" in found["quality"]["no_curve"]
    assert found["quality"]["sentences"][0].startswith("The 4 prototypes cover ")


def test_rows_that_are_all_covered_are_not_among_the_worst(X):
    result = ProtoSwap(300, objective=Coverage()).fit(X).result_
    assert told(result, X)["criticisms"] is None


def test_other_objectives_have_cards_and_no_map():
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(30, 40)), rng.normal(size=40)
    result = ProtoDash(n_prototypes=3, objective=LeastSquares(y, signed=True)).fit(features).result_
    for data in (None, features):
        found = told(result, data)
        assert found["map"] is None
        assert found["criticisms"] is None
        assert found["quality"]["curve"] is None
        assert "another objective" in found["quality"]["no_curve"]
        assert len(found["cards"]) == 3
    worth = SetFunction(lambda rows: float(len(np.unique(np.asarray(rows)[:, 0].round()))))
    found = told(Streak(n_prototypes=3, objective=worth).fit(rng.normal(size=(40, 2))).result_)
    assert "no bound is known" in found["quality"]["sentences"][0]
    assert found["stream"] is None


def test_the_stream_is_told_with_what_the_trace_knows():
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    result = ProtoSwap(n_prototypes=5, candidates="all").fit(rows).result_
    found = told(result)["stream"]
    assert found["rows"] == result.trace.rows_seen.tolist()
    assert found["residual"][-1] == pytest.approx(result.residual, rel=1e-4)
    assert found["accepted"] == result.trace.accepted.tolist()
    assert found["exchanged"] == result.trace.exchanged.tolist()
    untold = replace(result.trace, accepted=None, exchanged=None)
    assert told(replace(result, trace=untold))["stream"]["accepted"] is None
    assert told(replace(result, trace=replace(untold, bound=None)))["stream"] is None


@pytest.mark.parametrize("selector", [partial(ProtoSwap, candidates="all"), Streak])
def test_a_stream_without_a_target_is_judged_by_the_rows_that_were_seen(selector):
    X = np.random.default_rng(0).normal(size=(144, 2)) * np.linspace(0.05, 6, 144)[:, None]
    kernel = Gaussian(width=1.0)
    swap = selector(n_prototypes=8, kernel=kernel, mean=ReservoirMean(500), block_size=16, random_state=0)
    result = swap.partial_fit(X).result_
    points = kernel.prepare(X)
    K = kernel.block(points, points)
    # a block is judged by the rows before it, the first by itself, and the result by all
    judges = [*np.maximum(result.trace.rows_seen[:-1] - 16, 16).tolist(), 144]
    norms = [K[:n, :n].mean() / 2 for n in judges]
    assert result.trace.bound == pytest.approx(norms, rel=1e-9)
    found = told(result)["stream"]
    assert found["residual"] == pytest.approx(1 - result.trace.objective / norms, rel=1e-4, abs=1e-9)
    assert all(0 <= residual <= 1 for residual in found["residual"])
    assert "Each is judged by the rows that had been seen." in found["sentence"]


def test_the_state_of_a_run_is_passed_through(clerk):
    state = {"done": False, "pass": "select", "share": None}
    assert page_data(describe(clerk), state)["state"] == state


HOSTILE = "<script>alert('x')</script>"


def hostile(n=60):
    """Cells and names that are meant to hurt, and cells that are merely odd."""
    rng = np.random.default_rng(0)
    odd = [math.nan, math.inf, -math.inf, None, 1.5]
    return {
        HOSTILE: rng.normal(size=n),
        "weight": rng.normal(size=n),
        "row": [HOSTILE] * n,
        "colour": rng.choice(["</script><b>", "&amp;", "‮right"], n),
        "odd": [odd[i % 5] for i in range(n)],
        "bytes": [bytes(range(i)) for i in range(n)],
        "price": [decimal.Decimal("1.10")] * n,
        "day": [datetime.date(2020, 1, 1 + i % 28) for i in range(n)],
        "nested": [[[i], None] for i in range(n)],
        "long": ["word " * 1000] * n,
        "pair": [{"a": i, "b": None} for i in range(n)],
    }


def test_hostile_cells_and_names_stay_text_and_json_holds_them(tmp_path):
    result = run(tmp_path, hostile(), features=[HOSTILE, "weight", "colour"], id="row", label="colour")
    found = told(result)
    assert {item["name"] for item in found["coverage"]["features"]["items"]} == {HOSTILE, "weight", "colour"}
    fields = dict(found["cards"][0]["fields"])
    assert fields["row"] == HOSTILE
    assert len(fields["long"]) == 120
    assert fields["price"] == "1.10"
    assert "bytes" in fields["bytes"]
    assert told(result, title=HOSTILE)["title"] == HOSTILE
    assert len(told(result, text="long")["cards"][0]["text"]) == 600


def test_objects_no_file_could_hold_are_shown_all_the_same():
    class Angry:
        def __str__(self):
            raise RuntimeError("no")

        __repr__ = __str__

    class Touchy:
        def __ne__(self, other):
            raise RuntimeError("no")

        __hash__ = None

        def __str__(self):
            return "touchy"

    n = 40
    X = np.random.default_rng(0).normal(size=(n, 2))
    data = {
        "X": X, "half": ["\ud800 half"] * n, "huge": [10**5000] * n, "angry": [Angry() for _ in range(n)],
        "missing": [pd.NA] * n, "signal": [decimal.Decimal("sNaN")] * n, "touchy": [Touchy() for _ in range(n)],
        "never": [pd.NaT] * n, "\udfff": [1] * n, "deep": [_deep()] * n,
    }  # fmt: skip
    found = told(ProtoSwap(n_prototypes=3).fit(X).result_, data, label="half", text="angry")
    assert found["cards"][0]["label"] == "? half"
    assert found["cards"][0]["text"] == "a Angry"
    assert dict(found["cards"][0]["fields"])["huge"] == "a int"
    assert dict(found["cards"][0]["fields"])["touchy"] == "touchy"


def _deep():
    nested = []
    for _ in range(5000):
        nested = [nested]
    return nested


def test_a_label_is_written_as_the_source_has_it():
    X = np.random.default_rng(0).normal(size=(20, 2))
    result = ProtoSwap(n_prototypes=20).fit(X).result_
    for labels, names in (([7.0] * 20, {"7.0"}), ([7] * 20, {"7"}), ([None, "a"] * 10, {"none", "a"})):
        assert {card["label"] for card in told(result, X, label=labels)["cards"]} == names


def test_labels_that_differ_late_are_two_and_a_missing_one_is_none_of_them():
    X = np.random.default_rng(0).normal(size=(20, 2))
    result = ProtoSwap(n_prototypes=20).fit(X).result_
    same = "word " * 40
    for labels in ([same + "a", same + "b"] * 10, ["none", None] * 10, ["none", None, "none (2)", same] * 5):
        found = told(result, X, label=labels)
        names = {item["value"]: item["count"] for item in found["coverage"]["labels"]["values"]}
        assert sorted(names.values()) == sorted(Counter(labels).values())
        assert all(len(name) <= 80 for name in names)
        for card in found["cards"]:
            assert card["label"] in names
            assert (card["label"] == labels[card["row"]]) == (labels[card["row"]] in ("none", "none (2)"))


@pytest.mark.parametrize("made", ["frame", "arrow", "fixed", "arrays"])
def test_a_column_of_lists_holds_the_rows(made):
    X = np.random.default_rng(0).normal(size=(40, 3))
    texts = [f"a remark on number {i}, that is long enough" for i in range(40)]
    data = {
        "frame": pd.DataFrame({"vector": X.tolist(), "note": texts}),
        "arrow": pa.table({"note": texts, "vector": X.tolist()}),
        "fixed": pa.table({"note": texts, "vector": pa.array(X.tolist(), pa.list_(pa.float64(), 3))}),
        "arrays": {"note": texts, "short": [[1.0]] * 40, "ragged": [[1.0] * (i % 4) for i in range(40)], "x": list(X)},
    }[made]
    found = told(ProtoSwap(n_prototypes=5).fit(X).result_, data)
    assert [card["text"] for card in found["cards"]] == [texts[card["row"]] for card in found["cards"]]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"image_shape": "28"}, "image_shape must be height and width of an image, such as 28x28"),
        ({"image_shape": (4, 4, 2)}, "image_shape must be height and width"),
        ({"image_shape": "axb"}, "got 'axb'"),
        ({"image_shape": (1.9, 5.7)}, r"got \(1.9, 5.7\)"),
        ({"image_shape": (True, 5)}, r"got \(True, 5\)"),
        ({"image_shape": "1_0x5"}, "got '1_0x5'"),
        ({"image_shape": 28}, "got 28"),
        ({"label": 3}, "label must be the name of a column, or have one label per row, got 3"),
        ({"label": {1, 2}}, r"label must be .*, got \{1, 2\}"),
        ({"label": {"a": 1}}, r"label must be .*, got \{'a': 1\}"),
        ({"text": 3}, "text must be the name of a column, got 3"),
        ({"title": 3}, "title must be a line of text, got 3"),
        ({"coordinates": ["a"]}, "coordinates must be two names of columns"),
        ({"coordinates": np.zeros((3, 3))}, r"got shape \(3, 3\)"),
        ({"image": "a", "image_shape": "2x2"}, "two sources of one picture; give one"),
    ],
)
def test_a_view_checks_itself(view, message):
    with pytest.raises(ParameterError, match=message):
        View(**view)


@pytest.mark.parametrize(
    ("data", "view", "message"),
    [
        (None, {"label": "nobody"}, "there is no column 'nobody' to show"),
        (None, {"label": [1, 2, 3]}, "label has a value per row, and no rows are given; give data="),
        (np.zeros((9, 2)), {"label": [1, 2, 3]}, "label has 3 values and data 9 rows; give one for each row"),
        ((row for row in np.zeros((9, 2))), {}, "data must be an array, .* got a generator; give rows that can be"),
        (7, {}, "data must be an array, a DataFrame, an Arrow table or a dict of columns, got a int"),
        (scipy.sparse.csr_array(np.eye(2)), {}, r"got a csr_array; give data.toarray\(\)"),
        ({"a": [1.0, 2.0], "b": [3.0]}, {}, "data: column 'b' has 1 values and 'a' 2; give one for each row"),
        ({"a": [1.0, 2.0], "b": 3.0}, {}, "data: column 'b' is a float; give a value for each row"),
        (np.zeros((9, 3)), {}, "data has 3 columns and the prototypes have 2"),
        (np.zeros((0, 2)), {}, "data has no rows"),
        ({"a": [1.0], "b": ["x"]}, {}, r"data has 1 columns of numbers \('a'\) and the prototypes have 2 columns"),
        ({"a": [1.0], "b": [2.0], "c": ["x"]}, {"coordinates": ("a", "c")}, "column 'c' does not hold numbers"),
        (np.zeros((9, 2)), {"image_shape": (2, 2)}, "image_shape: 4 pixels, and a row has 2 numbers"),
    ],
)
def test_data_that_does_not_fit_is_an_error_that_says_so(data, view, message):
    result = ProtoSwap(n_prototypes=3).fit(np.random.default_rng(0).normal(size=(9, 2))).result_
    if view.get("coordinates"):
        data = {**data, "X": np.zeros((1, 2))}
    with pytest.raises(InputError, match=message):
        describe(result, data, View(**view))


def test_what_a_run_was_told_to_show_need_not_be_told_again(clerk):
    parameters = {**clerk.provenance["parameters"], "text": "name", "coordinates": ["age", "age"]}
    found = told(with_source(clerk, provenance={**clerk.provenance, "parameters": parameters}))
    assert found["cards"][0]["text"] == people()["name"][clerk.indices[0]]
    assert found["map"]["axes"] == ["age", "age"]
    assert found["map"]["prototypes"][0] == [people()["age"][clerk.indices[0]]] * 2


def test_nanoseconds_and_dates_beyond_python_are_shown(tmp_path):
    n = 30
    columns = pa.table({"x": np.random.default_rng(0).normal(size=n), "far": pa.array([2**62] * n, pa.timestamp("us"))})
    assert "far" in dict(told(run(tmp_path, columns, features="x"))["cards"][0]["fields"])


@pytest.mark.parametrize(("option", "value"), [("text", ["x"] * 100_000), ("image", np.zeros((1000, 8, 8)))])
def test_what_is_no_name_of_a_column_is_told_in_a_line(option, value):
    with pytest.raises(ParameterError, match=rf"{option} must be the name of a column, got a \w+$"):
        View(**{option: value})
