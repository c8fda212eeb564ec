"""The paper's experiments: that all of them run, remember and tell what they saw, and what they count by."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from experiments import _task
from experiments.__main__ import parse
from experiments._labels import label_shares, labels_for, total_variation
from experiments._page import Claim, Page, Table, figure
from experiments._scale import FULL, SMOKE, Data
from experiments._style import STYLES
from experiments._task import Store, Task
from experiments.measures._judge import Judge
from experiments.measures._nearest import prefix_accuracies, prefixes
from experiments.measures.choose import METHODS, RANDOM, chosen
from experiments.pages import figures_1_2, table_1
from protosieve.kernels import Gaussian

pytestmark = pytest.mark.xdist_group("experiments")  # they share a run that takes a minute

ROOT = Path(__file__).parents[2]


def _command(*words):
    return [sys.executable, "-m", "experiments", *map(str, words)]


def _run(*words, **environment):
    return subprocess.run(
        _command(*words), cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def smoke(paper_data, tmp_path_factory):
    """A folder of pages, a folder of results, and what the command said."""
    folder = tmp_path_factory.mktemp("paper")
    run = _run("--smoke", "--out", folder / "pages", "--cache", folder / "cache")
    assert run.returncode == 0, run.stderr
    return folder / "pages", folder / "cache", run


with_the_run = pytest.mark.xdist_group("experiments")  # one worker makes it for all of them


def _links(page):
    return re.findall(r"\]\(([^)]+)\)", page.read_text())


@pytest.mark.thorough
@with_the_run
def test_all_pages_are_written_and_all_links_lead_somewhere(smoke):
    pages, _, run = smoke
    found, index = sorted(pages.glob("*.md")), _links(pages / "README.md")
    assert {page.name for page in found} == {"README.md", *(to for to in index if to.endswith(".md"))}
    assert all((pages / to).is_file() for page in found for to in _links(page) if "://" not in to)
    assert "[1/" in run.stderr
    assert "new, in" in run.stdout


@pytest.mark.thorough
@with_the_run
def test_every_table_is_read_by_others_and_no_file_is_left_alone(smoke):
    pages, _, _ = smoke
    linked = {to for page in pages.glob("*.md") for to in _links(page)}
    for path in pages.iterdir():
        assert path.name in linked | {"README.md"}
        if path.suffix == ".csv":
            first, *rest = csv.reader(io.StringIO(path.read_text()))
            assert rest
            assert {len(row) for row in rest} == {len(first)}


@pytest.mark.thorough
@with_the_run
def test_the_index_has_the_claims_of_all_pages(smoke):
    pages, _, _ = smoke
    claims = list(csv.DictReader(io.StringIO((pages / "claims.csv").read_text())))
    assert all(claim["claim"] and claim["here"] and claim["seen"] for claim in claims)
    for page in pages.glob("*.md"):
        stated = re.findall(r"^> \*(.+?)\*: \*\*", page.read_text(), flags=re.MULTILINE)
        assert stated == [claim["claim"] for claim in claims if f"({page.name})" in claim["page"]]
    assert "smoke run" in (pages / "README.md").read_text()


@pytest.mark.thorough
@with_the_run
def test_a_second_run_computes_what_is_broken_and_a_third_nothing_and_writes_the_same(smoke, tmp_path):
    pages, cache, _ = smoke
    known = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert {path.suffix for path in known} == {".json"}
    broken = sorted(known)[:2]
    broken[0].write_text(broken[0].read_text()[:-9])
    broken[1].write_text("[]")
    run = _run("--smoke", "--out", tmp_path / "second", "--cache", cache)
    assert f"{len(known)} results, 2 of them new" in run.stdout
    assert run.stderr.count("\n") == 2
    assert {path for path in cache.iterdir() if path.stat().st_mtime_ns != known.get(path)} == set(broken)
    assert all("result" in json.loads(path.read_text()) for path in broken)
    third = _run("--smoke", "--out", tmp_path / "third", "--cache", cache, "--quiet")
    assert (third.returncode, third.stdout, third.stderr) == (0, "", "")
    assert sorted(path.name for path in (tmp_path / "third").iterdir()) == sorted(path.name for path in pages.iterdir())
    for path in (tmp_path / "third").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()


@pytest.mark.thorough
@with_the_run
def test_one_page_alone_leaves_the_index_as_it_is(smoke, tmp_path):
    _, cache, _ = smoke
    assert _run("--smoke", "--out", tmp_path, "--cache", cache, "table_1").returncode == 0
    assert [path.name for path in tmp_path.glob("*.md")] == ["table-1.md"]


@pytest.mark.thorough
def test_a_run_that_is_stopped_goes_on(paper_data, tmp_path):
    words = ("--smoke", "--out", tmp_path / "pages", "--cache", tmp_path / "cache", "table_1")
    run = subprocess.Popen(_command(*words), cwd=ROOT, stderr=subprocess.PIPE, text=True)
    while "[4/" not in run.stderr.readline():
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    said = run.communicate()[1]
    assert run.returncode == 130
    assert "the same command goes on" in said
    assert "Traceback" not in said
    kept = list((tmp_path / "cache").iterdir())
    assert all("result" in json.loads(path.read_text()) for path in kept)
    total, new = map(int, re.findall(r"^(\d+) results, (\d+)", _run(*words).stdout)[0])
    assert len(kept) >= 3
    assert new == total - len(kept)


def test_missing_data_is_missed_before_work_starts(tmp_path):
    run = _run("--smoke", "--out", tmp_path / "pages", "--cache", tmp_path / "cache", PROTOSIEVE_DATA=str(tmp_path))
    assert run.returncode == 1
    assert ".npz" in run.stderr
    assert "Traceback" not in run.stderr
    assert not list((tmp_path / "cache").iterdir())


def test_a_page_that_is_not_there_is_named_beside_those_that_are(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments", "table_2"])
    with pytest.raises(SystemExit) as ended:
        parse()
    assert ended.value.code == 2
    assert "no page is called table_2; there are table_1" in capsys.readouterr().err


def test_a_library_that_is_missing_is_named():
    code = "import runpy, sys; sys.modules['matplotlib'] = None; runpy.run_module('experiments', run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "matplotlib is not installed" in run.stderr
    assert "Traceback" not in run.stderr


# Remembering.


def _square(x):
    return {"square": x * x, "seen": (x,)}


def test_a_key_tells_functions_arguments_and_code_apart(monkeypatch):
    tasks = [Task(_square, (2,)), Task(_square, (3,)), Task(_run, (2,)), Task(_square, ("2",))]
    tasks += [chosen(data, "Streak", 20) for data in (FULL.letters, SMOKE.letters, Data("letters", (20,)))]
    keys = [task.key() for task in tasks]
    assert len(set(keys)) == len(keys)
    assert keys == [task.key() for task in tasks]
    monkeypatch.setattr(_task, "_code", lambda: "other code")
    assert not {task.key() for task in tasks} & set(keys)


def test_results_are_computed_once_and_the_same_whether_read_or_computed(tmp_path):
    calls = []

    def counted(x):
        calls.append(x)
        return _square(x)

    task, store = Task(counted, (3,)), Store(tmp_path)
    assert not store.knows(task)
    first = store.result(task)
    assert store.knows(task)
    assert first == store.result(task) == Store(tmp_path).result(task) == {"square": 9, "seen": [3]}
    assert calls == [3]
    assert Store(tmp_path, fresh=True).result(task) == first
    assert calls == [3, 3]


def test_a_result_that_fails_leaves_nothing(tmp_path):
    def fails():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).result(Task(fails, ()))
    assert not list(tmp_path.iterdir())


# Showing.


def test_a_table_has_few_digits_to_read_and_all_in_its_file(tmp_path):
    table = Table(["of |mu|", "rows", "share"], [["|mu|", 16000, 1 / 3], ["none", "", ""]])
    assert table.to_markdown().splitlines() == [
        r"| of \|mu\| | rows | share |",
        "| --- | ---: | ---: |",
        r"| \|mu\| | 16,000 | 0.3333 |",
        "| none |  |  |",
    ]
    table.write(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().splitlines()[1] == f"|mu|,16000,{1 / 3}"


@pytest.mark.parametrize(("holds", "verdict"), [(True, "holds"), (False, "does not hold"), ("mostly", "mostly")])
def test_a_claim_says_whether_it_holds(holds, verdict):
    page = Page("page", "Page", "")
    page.claim("Water is wet", holds=holds, seen="9 of 10.")
    assert page.claims == [Claim("Water is wet", holds, "9 of 10.")]
    assert page.claims[0].verdict == verdict


def test_figures_are_small_text_files_without_a_date(tmp_path):
    drawn, axes = figure(2)
    axes[0, 0].plot([0, 1 / 3, 2 / 3], [1, 2, 3], **STYLES["ProtoSwap"])
    page = Page("page", "Page", "")
    page.figure("drawing", drawn, "a line")
    page.write(tmp_path)
    text = (tmp_path / "drawing.svg").read_text()
    assert time.strftime("%Y-") not in text
    assert not re.search(r"\d\.\d\d\d", text)


def test_every_method_has_a_look_of_its_own():
    assert list(STYLES) == [*METHODS, RANDOM]
    for part in ("color", "marker"):
        assert len({style[part] for style in STYLES.values()}) == len(STYLES)


# Counting.


@pytest.mark.parametrize("whole_numbers", [False, True])
def test_accuracy_of_prefixes_is_that_of_nearest_neighbours(whole_numbers):
    rng = np.random.default_rng(3)
    for n_prototypes in (1, 7, 40):
        P, X = rng.normal(size=(n_prototypes, 5)), rng.normal(size=(300, 5))
        labels, y = rng.integers(4, size=n_prototypes), rng.integers(4, size=300)
        if whole_numbers:  # ties: they go to the first, as in an argmin over plain distances
            P, X = np.round(P), np.round(X)
        sizes = prefixes(n_prototypes, 5)
        found = prefix_accuracies(P, labels, X, y, sizes)
        for size, accuracy in zip(sizes, found, strict=True):
            if whole_numbers:
                near = [((P[:size] - x) ** 2).sum(axis=1).argmin() for x in X]
                expected = (labels[near] == y).mean()
            else:
                expected = KNeighborsClassifier(1).fit(P[:size], labels[:size]).score(X, y)
            assert accuracy == pytest.approx(expected, abs=1e-12)


def test_accuracy_of_prefixes_does_not_depend_on_parts_and_takes_equal_sizes(monkeypatch):
    rng = np.random.default_rng(4)
    P, X = rng.normal(size=(9, 3)), rng.normal(size=(50, 3))
    labels, y = rng.integers(3, size=9), rng.integers(3, size=50)
    whole = prefix_accuracies(P, labels, X, y, [4, 9, 9])
    assert whole[1] == whole[2]
    monkeypatch.setattr("experiments.measures._nearest._PART", 7)
    assert prefix_accuracies(P, labels, X, y, [4, 9, 9]) == whole


@given(st.integers(1, 2000), st.integers(1, 30))
def test_prefixes_rise_in_even_steps_to_the_whole(m, points):
    sizes = prefixes(m, points)
    assert sizes[-1] == m
    assert len(sizes) == min(m, points)
    steps = np.diff([0, *sizes])
    assert steps.min() >= 1
    assert steps.max() - steps.min() <= 1


@given(st.lists(st.sampled_from("abcd"), min_size=1), st.lists(st.sampled_from("abcd"), min_size=1))
def test_total_variation_is_the_largest_difference_over_all_sets_of_labels(one, other):
    p, q = np.array(label_shares(one, "abcd")), np.array(label_shares(other, "abcd"))
    assert p.sum() == pytest.approx(1)
    events = [np.array([code >> i & 1 for i in range(4)]) for code in range(16)]
    assert total_variation(p, q) == pytest.approx(max(abs(event @ (p - q)) for event in events), abs=1e-12)


def test_labels_for_counts_the_most_frequent():
    assert labels_for([0.1] * 10) == 9
    assert labels_for([0.05, 0.9, 0.05]) == 1
    assert labels_for([0.45, 0.1, 0.45]) == 2
    assert labels_for([1 / 3] * 3, 1.0) == 3


def test_a_judge_scores_like_the_definition():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    rows, weights = X[:6], rng.random(6) / 6
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2)
    judge = Judge(X, Gaussian(width=1.0))
    found = judge.score(rows, weights)
    mu, gram = K.mean(axis=1)[:6], K[:6, :6]
    assert found.own_objective == pytest.approx(weights @ mu - weights @ gram @ weights / 2, rel=1e-9)
    v = np.concatenate([weights, np.zeros(54)]) - 1 / 60
    assert found.own_residual == pytest.approx(v @ K @ v / K.mean(), rel=1e-6)
    best = judge.best_weights(rows)
    gradient = mu - gram @ best
    assert gradient.max() < 1e-9
    assert abs(gradient[best > 0]).max() < 1e-9
    assert found.objective == pytest.approx(judge.objective(rows, best), rel=1e-12)
    assert found.residual == pytest.approx(judge.residual(rows, best), rel=1e-9)


# Judging: claims follow the numbers.


def _invented(task):
    """A result such as the paper's for each task of Table 1 and of Figures 1 and 2."""
    name, (first, *rest) = task.function.__name__, task.arguments
    if name == "against_literal":
        slow = {"ProtoStream": 1.0, "Streak": 100.0}[first]
        return {"literal s": slow, "selector s": slow / 10, "speed-up": 10.0, "same rows": True}
    if name == "count_labels":
        return {"names": list(range(10)), "shares": [0.1] * 10}
    method = rest[0] if name == "choose" else RANDOM
    seconds, value = table_1.PRINTED[first.name].get(method, (10, 0.07))
    accuracy = figures_1_2.SAVED[first.name].get(method, 60.0) / 100
    residual = 0.001 if method == "ProtoSwap" else 0.002
    labels = [0] * 20 if method == "ProtoBasic" else list(range(10)) * 2
    return {
        "indices": list(range(20)), "weights": [0.05] * 20, "labels": labels, "seconds": seconds + 1.0,
        "mean_seconds": 1.0, "thresholds": 1, "objective": value, "own_objective": value, "residual": residual,
        "own_residual": residual, "prefixes": [10, 20], "accuracies": [accuracy, accuracy],
    }  # fmt: skip


def _verdicts(module, **change):
    """What becomes of each claim when some numbers of ProtoStream or ProtoSwap are other than invented."""
    results = {task: _invented(task) for task in module.tasks(SMOKE)}
    for task, result in results.items():
        if task.function.__name__ == "choose" and task.arguments[1] == change.get("method"):
            result.update({name: value(result[name]) for name, value in change.items() if name != "method"})
    return {claim.text: claim.verdict for claim in module.page(results, SMOKE).claims}


def _changed(module, **change):
    """The claims that hold as long as nothing is changed, and do not with the change."""
    before, after = _verdicts(module), _verdicts(module, **change)
    assert set(before.values()) == {"holds"}
    return {text for text, verdict in after.items() if verdict != "holds"}


def test_table_1_judges_by_its_numbers():
    (printed,) = _changed(table_1, method="ProtoBasic", own_objective=lambda value: 1.02 * value)
    assert "as printed" in printed
    off = _changed(table_1, method="Streak", own_objective=lambda value: 0.98 * value)
    assert off == {printed, "ProtoStream reaches the value of Streak"}
    (least,) = _changed(table_1, method="ProtoSwap", residual=lambda value: 2.04 * value)
    assert "than every other method" in least
    assert not _changed(table_1, method="ProtoSwap", residual=lambda value: 2.01 * value)
    (fastest,) = _changed(table_1, method="ProtoBasic", seconds=lambda value: value + 1e6)
    assert "fastest" in fastest


def test_figures_1_and_2_judge_by_their_numbers():
    lower = _changed(figures_1_2, method="ProtoDash", accuracies=lambda found: [x - 0.016 for x in found])
    assert len(lower) == 2
    assert all("within 1.5 points" in text for text in lower)
    one_label = _changed(figures_1_2, method="ProtoStream", labels=lambda found: [3] * len(found))
    assert len(one_label) == 2
    assert all("recover the labels" in text for text in one_label)
    all_labels = _changed(figures_1_2, method="ProtoBasic", labels=lambda found: list(range(10)) * 2)
    assert {text.partition(": ")[2].split()[0] for text in all_labels} == {"ProtoBasic", "Streak"}
    slower = _changed(figures_1_2, method="ProtoStream", seconds=lambda value: 1e4 * value)
    assert all("per threshold" in text for text in slower)
