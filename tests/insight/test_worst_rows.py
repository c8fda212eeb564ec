"""What prototypes miss: how sure that is, in numbers and in words."""

import warnings

import numpy as np
import pytest

from protosieve import MMDCritic, ProtoDash, ProtosieveWarning, ProtoSwap, criticisms
from protosieve.insight import Insight, ResultWithData
from protosieve.insight._worst_rows import WorstRows, standard_errors, worst_rows, worst_rows_sentence
from protosieve.kernels import Gaussian, Linear
from protosieve.objectives import LeastSquares
from protosieve.report import page_data
from report_runs import told


def test_the_standard_error_is_how_much_means_differ_from_sample_to_sample():
    rng = np.random.default_rng(0)
    population, x = rng.normal(size=(300, 3)), rng.normal(size=(1, 3))
    samples = [population[rng.choice(300, 100, replace=False)] for _ in range(3000)]
    kernel = Gaussian(2.0)
    spread = np.std([kernel(x, sample).mean() for sample in samples])
    told_of = np.mean([standard_errors(kernel, x, sample, 300)[0] for sample in samples[:100]])
    assert told_of == pytest.approx(spread, rel=0.05)


def test_the_mean_of_all_rows_has_no_error(X):
    assert not standard_errors(Gaussian(2.0), X[:3], X, len(X)).any()
    found = told(ProtoSwap(n_prototypes=4, kernel=Gaussian(2.0)).fit(X).result_, X)["criticisms"]
    assert not any(card["within_chance"] for card in found["cards"])
    assert "chance" not in found["sentence"]


def test_of_rows_from_nothing_but_chance_hardly_any_is_called_certain():
    """A sample of a sample: the prototypes carry the whole, and what the smaller one has more of is chance."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(20_000, 2))
    kernel = Gaussian(2.0)
    result = ProtoSwap(n_prototypes=40, kernel=kernel, random_state=0).fit(rows).result_
    cards = told(result, rows)["criticisms"]["cards"]
    assert all(card["within_chance"] for card in cards)
    few = ProtoSwap(n_prototypes=2, kernel=Gaussian(0.5), random_state=0).fit(rows).result_
    assert not any(card["within_chance"] for card in told(few, rows)["criticisms"]["cards"])


def missed(witness, error):
    witness = np.array(witness, float)
    return WorstRows(np.arange(len(witness)), witness, np.full(len(witness), error), 8192, 4096)


@pytest.mark.parametrize(
    ("witness", "error", "words"),
    [
        ([0.5] * 12, 0.0, "All 12 are from where the data has more than the prototypes say."),
        ([-0.5] * 3, 0.0, "All 3 are from where the data has less than the prototypes say."),
        ([0.5, 0.4, -0.5], 0.0, "2 are from where the data has more than the prototypes say, 1 is from where it has "),
        ([0.5], 0.0, "The row of 8,192 that the prototypes explain worst. It is from where the data has more"),
        ([0.0], 0.0, "The row of 8,192 that the prototypes explain worst."),
        ([0.001] * 12, 0.002, "None of them is certain: with 4,096 rows differences below 0.009 cannot be told from "),
        ([0.5] * 5 + [0.001] * 7, 0.002, "5 of the 12 are beyond chance; 4,096 rows cannot tell of the others."),
        ([0.5] * 12, 0.002, "All are beyond chance."),
        ([0.5], 0.002, "It is beyond chance."),
        ([0.001], 0.002, "It is not certain: with 4,096 rows"),
    ],
)  # fmt: skip
def test_the_sentence_says_what_there_is_more_of_and_whether_that_is_certain(witness, error, words):
    assert words in worst_rows_sentence(missed(witness, error))


def test_the_limit_is_that_of_the_largest_of_so_many():
    """By simulation: the largest of 8,192 independent errors stays below it nineteen times of twenty."""
    rng = np.random.default_rng(0)
    largest = np.array([np.abs(rng.normal(size=8192)).max() for _ in range(1000)])
    assert 0.93 < np.mean(largest < missed([1.0], 1.0).limit[0]) < 0.97


def test_a_report_looks_for_criticisms_without_a_warning_that_would_have_to_be_caught_in_all_threads(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(60, 4)) + 3
    result = ProtoSwap(n_prototypes=2, kernel=Linear()).fit(rows).result_
    with pytest.warns(ProtosieveWarning, match="criticisms found"):
        assert len(criticisms(result, rows, 12)) < 12
    subject = ResultWithData.of(result, rows)
    given = []
    with monkeypatch.context() as patch:
        patch.setattr(warnings, "warn", lambda *words, **more: given.append(words))
        assert len(worst_rows(subject).places) < 12
    assert given == []


@pytest.mark.parametrize("with_data", [False, True])
@pytest.mark.parametrize("method", [ProtoSwap, ProtoDash, MMDCritic])
def test_the_headline_is_the_number_of_the_first_sentence_curve_or_no_curve(X, method, with_data):
    result = method(n_prototypes=5, kernel=Gaussian(2.0)).fit(X).result_
    quality = told(result, X if with_data else None)["quality"]
    assert f" {quality['lead'].replace('×', 'times')} " in quality["sentences"][0]
    assert quality["lead"].endswith("×" if with_data else "%")
    assert quality["own"] == float(f"{result.residual:.8g}")
    assert (quality["random"] is None) == (not with_data)
    if quality["curve"] is not None and result.selector != "MMDCritic":
        assert quality["curve"]["own"] == quality["own"]
        assert quality["curve"]["random"] == quality["random"]


def test_without_a_kernel_there_is_no_headline_and_all_of_it_is_null():
    rng = np.random.default_rng(0)
    objective = LeastSquares(rng.normal(size=40), signed=True)
    quality = told(ProtoDash(n_prototypes=3, objective=objective).fit(rng.normal(size=(30, 40))).result_)["quality"]
    for found in (quality, page_data(Insight("nothing"))["quality"]):
        assert [found[name] for name in ("lead", "own", "random")] == [None] * 3


def test_a_label_called_other_is_not_the_rest_that_has_no_name():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    label = rng.choice(["other", *"abcdefg"], 400, p=[0.3, *[0.1] * 7])
    result = ProtoSwap(n_prototypes=1, kernel=Gaussian(2.0)).fit(rows).result_
    around = told(result, rows, label=label)["cards"][0]["around"]
    assert around[0] == ["other", pytest.approx(np.mean(label == "other"), rel=1e-3)]
    assert around[-1][0] is None
    assert sum(share for _, share in around) == pytest.approx(1, abs=1e-3)
