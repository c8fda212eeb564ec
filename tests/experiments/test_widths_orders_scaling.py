"""Measures and pages on widths, orders and time, against definitions; on a few rows."""

import numpy as np
import pytest

import oracles
from experiments._scale import SMOKE, Data
from experiments.measures._data import dataset
from experiments.measures.choose import METHODS, RANDOM
from experiments.measures.order import _key, choose_ordered
from experiments.measures.scaling import SCALED, M, scale_up, scaled
from experiments.measures.width import WIDENED, validate, widen
from experiments.pages import residual, scaling
from protosieve import choose_width
from protosieve.kernels import Gaussian

LETTERS = Data("letters", (5, 15), rows=400, test_rows=100, folds=2)

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


@pytest.fixture
def few(paper_data, monkeypatch):
    monkeypatch.setenv("PROTOSIEVE_DATA", str(paper_data))
    return dataset(LETTERS)


def similarity(rows):
    return oracles.gaussian(rows.astype(float), rows.astype(float), 5.0)


def test_widths_tried_one_by_one_are_the_grid(few):
    widths = (2.0, 5.0, 20.0)
    selector = METHODS["ProtoSwap"](15, kernel=Gaussian())  # the paper's kernel
    grid = choose_width(few.base, few.base_labels, selector=selector, widths=widths, folds=2)
    found = [validate(LETTERS, "ProtoSwap", width) for width in widths]
    assert [result["accuracy"] for result in found] == list(grid.accuracy)
    assert [result["spread"] for result in found] == list(grid.spread)
    assert validate(LETTERS, "ProtoSwap", "median")["width"] == grid.median


def test_a_broader_kernel_leaves_protostream_fewer_rows(few):
    narrow, broad = (widen(LETTERS, width) for width in (3.0, 60.0))
    assert set(narrow["kept"]) == {*WIDENED, RANDOM}
    assert narrow["kept"][RANDOM] == 15
    assert broad["kept"]["ProtoStream"] < narrow["kept"]["ProtoStream"]
    assert broad["residual"]["ProtoStream"] > broad["residual"][RANDOM]


def test_sorted_orders_are_those_of_the_kernels_means(few):
    mu = similarity(few.base).mean(axis=1)
    up, down = (np.argsort(_key(LETTERS, f"{way} mu"), kind="stable") for way in ("ascending", "descending"))
    assert (np.diff(mu[up]) > -1e-6).all()
    assert (np.diff(mu[down]) < 1e-6).all()
    assert _key(LETTERS, "by label").tolist() == few.base_labels.tolist()


def test_a_sorted_stream_is_scored_by_all_rows(few):
    order = np.argsort(few.base_labels, kind="stable")
    found = choose_ordered(LETTERS, "ProtoSwap", 15, "by label")
    result = METHODS["ProtoSwap"](15, kernel=Gaussian(5.0), random_state=0).fit(few.base[order]).result_
    K = similarity(few.base)
    rows = order[result.indices]
    best = oracles.solve(K[np.ix_(rows, rows)], K[rows].mean(axis=1))
    value = oracles.value(K[np.ix_(rows, rows)], K[rows].mean(axis=1), best)
    assert found["residual"] == pytest.approx(1 - 2 * value / K.mean(), rel=1e-4)


@pytest.mark.parametrize("method", ["ProtoSwap", pytest.param("ProtoDash", marks=pytest.mark.thorough)])
def test_a_stream_is_timed_in_a_process_of_its_own(method):
    found = scale_up(method, 500)
    assert found["seconds"] > 0
    assert found["peak_mb"] >= 0
    assert 0 < found["kept"] <= M


@pytest.mark.thorough
def test_a_process_that_fails_is_told_of():
    with pytest.raises(RuntimeError, match="NoSuch on 10 rows"):
        scale_up("NoSuch", 10)


def test_the_exponent_is_that_of_a_power_law():
    results = {
        scaled(name, n): {"seconds": 3e-6 * n**1.5, "peak_mb": 7.0} for name in SCALED for n in SMOKE.stream_rows
    }
    assert scaling._exponent(results, SMOKE, "Streak") == pytest.approx(1.5)
    assert scaling._growth(results, SMOKE, "Streak") == 1


@pytest.mark.parametrize(
    ("held", "verdict"),
    [([True, True], True), ([False, False], False), ([True, False], "holds at m = 25 only")],
)
def test_a_claim_that_holds_at_some_sizes_says_at_which(held, verdict):
    assert residual._how_often(held, (25, 1000)) == verdict
