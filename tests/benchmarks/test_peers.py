"""The comparison with peers: the yardstick is exact, stored runs are trusted while they hold, the tables are true."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls

import oracles

pytest.importorskip("benchmarks", reason="the benchmarks are not part of a release")

from benchmarks.peers import _runs
from benchmarks.peers.__main__ import compare, prepare
from benchmarks.peers._data import DATA, DataSet, by_class, mixture, shuffled
from benchmarks.peers._report import Line, brief, calls, section
from benchmarks.peers._runs import Limits, Run
from benchmarks.peers._score import Yardstick
from benchmarks.peers._tools import OURS, TOOLS, NotInstalledError, Tool, last_word

LIMITS = Limits(seconds=60, gigabytes=12)


@dataclass(frozen=True)
class Peer:
    """A peer that needs no installing: this Python."""

    package: str = "numpy"
    steps: tuple[tuple[str, ...], ...] = field(default=(("numpy",),))

    def interpreter(self):
        return Path(sys.executable)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A `.bench` of the test's own."""
    for module in ("_data", "_runs"):
        monkeypatch.setattr(f"benchmarks.peers.{module}.BENCH", tmp_path)
    return tmp_path


@pytest.fixture
def few():
    return DataSet("few", "Few rows", lambda: mixture(80), (10,))


def peer(**changes):
    return Tool(**({"name": "random", "environment": Peer(), "runner": "random_rows", "note": ""} | changes))


# -- the yardstick


@pytest.mark.parametrize("seed", range(5))
def test_a_score_is_the_distance_of_means_at_the_best_weights(seed):
    rng = np.random.default_rng(seed)
    X, width = rng.normal(size=(60, 3)) + 40, 1.5
    chosen = rng.choice(60, 7, replace=False)
    # With K = L L', |sum w_i phi_i - mean|^2 = |L[chosen]'w - L'1/n|^2, which NNLS minimises without our help.
    L = np.linalg.cholesky(oracles.gaussian(X, X, width) + 1e-13 * np.eye(60))
    _, distance = nnls(L[chosen].T, L.mean(axis=0))
    assert Yardstick(X, width).mmd(chosen) == pytest.approx(distance, rel=1e-6)


def test_all_rows_are_at_no_distance_from_themselves():
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert Yardstick(X, 1.0).mmd(np.arange(40)) < 1e-6


# -- the data


def test_both_orders_of_classes_hold_the_same_rows():
    labels = np.repeat(["b", "a", "c"], 5)
    assert sorted(shuffled(labels)) == sorted(by_class(labels)) == list(range(15))
    assert "".join(labels[by_class(labels)]) == "a" * 5 + "b" * 5 + "c" * 5


def test_the_width_does_not_depend_on_the_order():
    orders = [DataSet("few", "Few rows", lambda: mixture(1_500), (10,), order) for order in (shuffled, by_class)]
    assert orders[0].width == orders[1].width
    assert not np.array_equal(orders[0].rows, orders[1].rows)


# -- the runs


def test_a_runner_tells_which_rows_how_long_and_how_much_memory(bench, few):
    done = _runs.run(peer(), few, 10, 0, LIMITS, fresh=False)
    assert done.indices == sorted(np.random.default_rng(0).choice(80, 10, replace=False))
    assert done.seconds > 0
    assert done.cpu_seconds >= 0
    assert done.peak_mb >= 0
    assert not done.failure


def test_ours_runs_as_a_peer_does(bench, few):
    tool = peer(environment=OURS, runner="ours", options={"selector": "ProtoBasic"})
    assert len(_runs.run(tool, few, 10, 0, LIMITS, fresh=False).indices) == 10
    assert not (bench / "runs").exists()


def test_a_peers_run_is_stored_until_something_it_depends_on_changes(bench, few, monkeypatch):
    made = []
    monkeypatch.setattr(_runs, "_run", lambda *given: made.append(given) or Run(LIMITS, [1]))
    for tool, m, seed in [(peer(), 10, 0), (peer(), 10, 0), (peer(), 9, 0), (peer(), 10, 1)]:
        _runs.run(tool, few, m, seed, LIMITS, fresh=False)
    _runs.run(peer(environment=Peer(steps=(("numpy<2",),))), few, 10, 0, LIMITS, fresh=False)
    assert len(made) == 4
    _runs.run(peer(), few, 10, 0, Limits(seconds=1), fresh=False)
    assert len(made) == 4, "a run that ended well stands under any limit"
    _runs.run(peer(), few, 10, 0, LIMITS, fresh=True)
    assert len(made) == 5


def test_a_failure_stands_under_its_own_limits_only(bench, few, monkeypatch):
    outcomes = iter([Run(LIMITS, failure="more than 1 min"), Run(LIMITS, [1])])
    monkeypatch.setattr(_runs, "_run", lambda *given: next(outcomes))
    for limits, failure in [(LIMITS, True), (LIMITS, True), (Limits(seconds=90, gigabytes=12), False)]:
        assert bool(_runs.run(peer(), few, 10, 0, limits, fresh=False).failure) == failure


@pytest.mark.parametrize(
    ("changes", "limits", "says"),
    [
        ({"options": {"colour": "red"}}, LIMITS, "unexpected keyword argument 'colour'"),
        ({}, Limits(seconds=0.001), "more than"),
        ({}, Limits(seconds=60, gigabytes=0.001), "Error"),
    ],
)
def test_a_run_that_fails_says_why(bench, few, changes, limits, says):
    assert says in _runs.run(peer(**changes), few, 10, 0, limits, fresh=False).failure


@dataclass(frozen=True)
class Missing(Peer):
    """A peer that does not install."""

    package: str = "missing"

    def versions(self):
        raise NotInstalledError("ERROR: no such version")


def test_a_peer_that_does_not_install_has_a_line_that_says_so(bench, few, capsys):
    tools = [peer(environment=OURS), peer(name="absent", environment=Missing())]
    versions, failures = prepare(tools)
    assert versions["missing"] == failures["absent"] == "not installed: ERROR: no such version"
    assert versions["protosieve"].startswith("Python 3.")
    (table,) = compare(few, tools, failures, LIMITS, fresh=False)
    assert table.splitlines()[4].startswith("| random | 10 | ")
    assert table.splitlines()[5] == "| absent | - | - | - | - | not installed: ERROR: no such version |"


def test_every_tool_has_a_runner_and_a_name_of_its_own():
    assert all(tool.script.exists() for tool in TOOLS)
    assert len({tool.slug for tool in TOOLS}) == len({tool.name for tool in TOOLS}) == len(TOOLS)
    assert json.dumps([tool.options for tool in TOOLS])
    assert all(data.name == name for name, data in DATA.items())


# -- the words


def test_the_last_word_is_the_error_and_no_warning():
    assert last_word("ERROR: no such version\nnote: see above\n[notice] a newer pip\nWARNING: slow\n") == (
        "ERROR: no such version"
    )
    assert last_word("Traceback\n  line\nValueError: bad\n\n") == "ValueError: bad"
    assert last_word("") == "no message"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0002, "< 0.001"), (0.0213, "0.021"), (0.1, "0.10"), (9.94, "9.9"), (9.96, "10"), (4321.4, "4,321")],
)
def test_seconds_have_two_digits_that_count(seconds, text):
    assert brief(seconds) == text


def test_a_table_has_the_best_first_and_failures_last():
    good, better = Line("b", 10, 0.2, 3.0, 2.0, 7), Line("a", 12, 0.1, 0.5, 0.4, 1234)
    lines = [good, Line("c", failure="not installed: a|b"), better]
    assert section("Rows, m = 10", lines).splitlines() == [
        "## Rows, m = 10",
        "",
        "| tool | rows | MMD | seconds | CPU s | peak MB |",
        "| --- | --- | --- | --- | --- | --- |",
        "| a | 12 | 0.10000 | 0.50 | 0.40 | 1,234 |",
        "| b | 10 | 0.20000 | 3.0 | 2.0 | 7 |",
        "| c | - | - | - | - | not installed: a/b |",
    ]


def test_several_draws_are_averaged_and_one_failure_is_a_failure():
    draws = [Line("a", 10, 0.2, 1.0, 0.5, 4), Line("a", 12, 0.4, 3.0, 1.5, 8)]
    assert Line.average(draws) == Line("a", 11, pytest.approx(0.3), 2, 1, 6)
    assert Line.average([*draws, Line("a", failure="ended")]).failure == "ended"


def test_tools_called_alike_share_a_line():
    assert calls({"a": "as is", "b": "twice", "c": "as is"}).splitlines()[2:] == [
        "- **a; c**: as is.",
        "- **b**: twice.",
    ]
