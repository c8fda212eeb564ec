"""Bad input: one clear error, and the selector as it was."""

import copy
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import euclidean_distances

from conftest import SELECTORS
from protosieve import (
    InputError,
    MMDCritic,
    ParameterError,
    ProtosieveError,
    ProtosieveWarning,
    ProtoStream,
    ProtoSwap,
    SieveStreaming,
    Streak,
    select,
)
from protosieve.kernels import Cosine, Gaussian, Linear, Polynomial
from protosieve.means import ReservoirMean

weighing_selector = pytest.mark.parametrize("selector", [cls for cls in SELECTORS if not cls.weighs_equally])


def fingerprint(selector):
    """Everything a failed call must leave alone."""
    state = copy.deepcopy({k: v for k, v in vars(selector).items() if k not in ("_stream", "_result")})
    if hasattr(selector, "_stream"):
        assert selector._result is None or selector._result.n_seen == selector.n_samples_seen_
        result = selector.result_
        state.update(n=selector.n_samples_seen_, indices=result.indices.tolist(), weights=result.weights.tolist())
        state.update(pending=selector._stream.pending[: selector._stream.n_pending].tolist())
    return repr(state)


def bad(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("chunk", "match"),
    [
        (lambda X: bad(X, 4, 2, np.nan), r"row 154, column 2 is NaN; drop the row or fill the value in"),
        (lambda X: bad(X, 9, 0, np.inf), r"row 159, column 0 is inf \(infinity\)"),
        (lambda X: bad(X, 9, 0, -np.inf), r"row 159, column 0 is -inf"),
        (lambda X: X[:, :3], "X has 3 features, but .* is expecting 4 features"),
        (lambda X: X[0], "Expected 2D array, got 1D array"),
        (lambda X: X + 1j, "Complex data not supported"),
        (lambda X: bad(X.astype(object), 3, 1, "red"), "row 153, column 1 holds 'red', which is not a number"),
        (lambda X: [*X.astype(str).tolist(), ["a", "b", "c", "d"]], "row 450, column 0 holds"),
        (lambda X: 7, "Expected 2D array, got scalar"),
    ],
)
def test_a_bad_chunk_names_the_row_of_the_stream_and_changes_nothing(selector, X, chunk, match):
    fed = selector(8, random_state=0, block_size=64).partial_fit(X[:150])
    before = fingerprint(fed)
    with pytest.raises(InputError, match=match):
        fed.partial_fit(chunk(X))
    assert fingerprint(fed) == before
    other = selector(8, random_state=0, block_size=64).partial_fit(X)
    np.testing.assert_array_equal(fed.partial_fit(X[150:]).weights_, other.weights_)


def test_a_failed_fit_leaves_the_previous_one(selector, X):
    fitted = selector(8, random_state=0).fit(X)
    before = fingerprint(fitted)
    for wrong in (X[:, :2] * np.nan, np.empty((0, 2)), X[0]):
        with pytest.raises(InputError):
            fitted.fit(wrong)
        assert fingerprint(fitted) == before


def test_a_failed_first_call_leaves_an_unfitted_selector(selector, X):
    fresh = selector()
    for wrong in (bad(X, 0, 0, np.nan), X[0]):
        with pytest.raises(InputError):
            fresh.partial_fit(wrong)
        with pytest.raises(InputError):
            fresh.fit(wrong)
    with pytest.raises(NotFittedError):
        _ = fresh.weights_
    assert not hasattr(fresh, "n_features_in_")


def test_a_kernel_that_fails_half_way_loses_nothing(selector, X):
    calls = []

    def moody(A, B):
        calls.append(1)
        if broken and len(calls) > 2:
            raise RuntimeError("no")
        return A @ B.T

    broken = False
    fed = selector(8, kernel=moody, block_size=16, random_state=0).partial_fit(X[:100] + 5)
    before = fingerprint(fed)
    broken = True
    calls.clear()
    with pytest.raises(RuntimeError, match="no"):
        fed.partial_fit(X[100:] + 5)
    broken = False
    assert fingerprint(fed) == before


def test_an_interrupt_between_two_blocks_loses_and_doubles_nothing(selector, X, monkeypatch):
    fed = selector(8, random_state=0, block_size=64).partial_fit(X[:100])
    before = fed.result_
    feed = type(fed)._feed

    def interrupted(self, stream, rows):
        feed(self, stream, rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(fed), "_feed", interrupted)
    for more in (X[100:110], X[100:]):
        with pytest.raises(KeyboardInterrupt):
            fed.partial_fit(more)
        assert fed.n_samples_seen_ == 100
        assert fed.result_ is before
    monkeypatch.undo()
    whole = selector(8, random_state=0, block_size=64).partial_fit(X)
    np.testing.assert_array_equal(fed.partial_fit(X[100:]).weights_, whole.weights_)


def test_a_copy_goes_its_own_way(selector, X):
    fed = selector(8, random_state=0, block_size=64).partial_fit(X[:100])
    twin = copy.copy(fed)
    twin.partial_fit(X[100:110] + 3)
    fed.partial_fit(X[100:])
    whole = selector(8, random_state=0, block_size=64).partial_fit(X)
    np.testing.assert_array_equal(fed.weights_, whole.weights_)


def test_arrays_may_be_filled_again_after_the_call(selector, X):
    target, rows = X[:50].copy(), X.copy()
    fed = selector(8, random_state=0, block_size=64).partial_fit(rows, target=target)
    target[:] = rows[:] = 50.0
    other = selector(8, random_state=0, block_size=64).partial_fit(X, target=X[:50])
    np.testing.assert_array_equal(fed.weights_, other.weights_)
    rows[:] = X
    fitted = selector(8, random_state=0, block_size=64).fit(rows)
    rows[:] = 50.0
    went_on = selector(8, random_state=0, block_size=64).fit(X).partial_fit(X)
    np.testing.assert_array_equal(fitted.partial_fit(X).weights_, went_on.weights_)


@pytest.mark.parametrize(
    ("name", "value"), [("n_prototypes", 3), ("block_size", 32), ("kernel", Linear()), ("mean", ReservoirMean(7))]
)
def test_parameters_are_fixed_once_a_stream_has_begun(selector, X, name, value):
    fed = selector(8, random_state=0, block_size=64).partial_fit(X[:100])
    before = fed.weights_
    with pytest.raises(ParameterError, match=f"{name} was .* when the stream began and is .* after 100 rows"):
        fed.set_params(**{name: value}).partial_fit(X[100:])
    np.testing.assert_array_equal(fed.weights_, before)
    looked_at = selector(8, random_state=0, block_size=64).partial_fit(X[:100]).set_params(**{name: value})
    with pytest.raises(ParameterError, match=f"{name} was .* when the stream began"):
        _ = looked_at.weights_
    assert fed.fit(X).n_samples_seen_ == 300


def test_numpy_numbers_are_numbers(selector, X):
    plain = selector(5, block_size=64).fit(X)
    options = {"epsilon": np.float32(0.4)} if hasattr(plain, "epsilon") else {}
    typed = selector(np.int64(5), block_size=np.int32(64), **options).fit(X)
    assert len(typed.weights_) == len(plain.weights_)


@weighing_selector
def test_rows_far_from_the_target_are_no_error_until_asked(selector, X):
    """Similarities of 1e-200 have squares that are zero."""
    kernel = Gaussian(1.0)
    fed = selector(4, kernel=kernel, block_size=32, random_state=2).partial_fit(X, target=X + 14)
    assert len(fed.weights_)
    assert fed.result_.residual == pytest.approx(1.0)
    fed.partial_fit(X + 14)
    assert fed.prototype_indices_[0] >= 300
    assert fed.result_.residual < 0.9
    with pytest.raises(InputError, match="too far from the target for this width: choose a larger one"):
        selector(4, kernel=kernel).fit(X, target=X + 1000)


def test_where_no_row_is_worth_an_equal_weight_the_least_bad_is_kept(X):
    kernel = Gaussian(1.0)
    fed = SieveStreaming(4, kernel=kernel, block_size=32).partial_fit(X, target=X + 14)
    assert fed.weights_.tolist() == [0.25]
    assert fed.result_.residual > 1  # worse than nothing: 1/4 of a row that is like nothing in the target
    fed.partial_fit(X + 14)
    assert fed.prototype_indices_[0] >= 300
    with pytest.raises(InputError, match="too far from the target for this width: choose a larger one"):
        SieveStreaming(4, kernel=kernel).fit(X, target=X + 1000)


def test_copies_of_few_rows_are_all_there_is(X):
    with pytest.warns(
        ProtosieveWarning, match=r"ProtoSwap kept 3 of n_prototypes=20: .* represent the target completely"
    ):
        ProtoSwap(20, random_state=0).fit(np.repeat(X[:3], 30, axis=0))


def test_weights_worse_than_none_are_said_to_be(X):
    with pytest.warns(ProtosieveWarning, match="MMDCritic: 8 rows at these weights are further from the target than"):
        assert MMDCritic(8, kernel=Gaussian(0.1)).fit(X).objective_ < 0


@pytest.mark.filterwarnings("ignore:SieveStreaming. 1 rows at these weights")
def test_the_remedy_for_few_equal_weights_is_another(X):
    with pytest.warns(
        ProtosieveWarning, match=r"SieveStreaming kept \d+ of n_prototypes=10: .* a wider kernel or a larger"
    ):
        SieveStreaming(10, kernel=Gaussian(0.3)).fit(X)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1e-320), Gaussian()])
def test_numbers_too_large_for_the_kernel_say_so(selector, X, kernel):
    scale = 1.0 if kernel == Gaussian(1e-320) else 1e200
    with pytest.raises(InputError, match="scale the columns"):
        selector(4, kernel=kernel).fit(X * scale)


def test_float32_and_kernels_that_can_be_negative(selector):
    """In float32 their rank-deficient Gram matrices would let weights run away."""
    tiny = (np.random.default_rng(0).normal(size=(600, 3)) * 1e-6).astype(np.float32)
    for kernel in (Cosine(), Linear(), Polynomial(3, 0.0)):
        fitted = selector(10, kernel=kernel, random_state=0, block_size=64).fit(tiny + np.float32(1e-7))
        result = fitted.result_
        assert result.trace.objective.max() <= result.certificate.upper_bound * (1 + 1e-9)
        assert np.isfinite(result.weights).all()


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([[1.0, 2.0], [3.0]], "rows 0 to 1 do not all have the same number of columns"),
        (np.array([["1.5", "2"]]), "holds text"),
        (np.array([["2024-01-01"]], dtype="datetime64[D]"), "holds dates"),
        (np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 3.0), "row 1, column 0 is masked"),
        ([[{}, 1.0]], "row 0, column 0 holds {}, which is not a number"),
    ],
)
def test_what_is_not_a_matrix_of_numbers_is_refused(selector, rows, match):
    with pytest.raises(InputError, match=match):
        selector().fit(rows)


class LazyFrame:
    """As polars has it: a plan, with columns and no cells."""

    columns = ("a", "b")

    def collect(self):
        raise AssertionError("what the user has not asked for may take hours")


class Dataset:
    """As Hugging Face has it: rows that are dicts."""

    def __init__(self, table):
        self._table = table

    def __len__(self):
        return len(self._table)

    def __getitem__(self, row):
        return self._table.iloc[row].to_dict()

    def to_pandas(self):
        return self._table


class Records:
    """Rows that NumPy can make nothing of, and that nobody knows."""

    def __len__(self):
        return 2

    def __getitem__(self, row):
        if row > 1:
            raise IndexError
        return {"a": 1.0}


TABLE = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
FLATTEN = r"np.reshape\(X, \(len\(X\), -1\)\)"


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (LazyFrame(), r"X is a LazyFrame; call its collect\(\) and pass the numeric columns, or pass the table to "),
        (Dataset(TABLE), r"X is a Dataset; call its to_pandas\(\) and pass the numeric columns, or pass the table"),
        ({"train": Dataset(TABLE)}, r"X is a dict; pass one of its tables, such as X\['train'\]"),
        (TABLE.to_dict("list"), r"X is a dict; pass its numeric columns as one array, np.column_stack\(list\(X.values"),
        (TABLE.to_dict("records"), r"X is a list of dicts; make it a DataFrame, pandas.DataFrame\(X\)"),
        (Records(), "X is a Records, which is not rows of numbers; pass an array of two dimensions or a DataFrame"),
        (None, "X is a NoneType, which is not rows of numbers"),
        ({1.0, 2.0}, "X is a set, which is not rows of numbers"),
        ("rows.csv", "X is 'rows.csv', and selectors take rows of numbers; pass paths of files to protosieve.select"),
        (Path("rows.csv"), "Path.*rows.csv.*pass paths of files to protosieve.select"),
        (["a nice film", "a bad one"], "X is a list of text, 'a nice film' first; pass paths .* texts as their embed"),
        (np.ones((5, 3, 2)), rf"X has 3 dimensions \(shape \(5, 3, 2\)\) and needs two, .* to a row: {FLATTEN}"),
        (np.ones((5, 3, 2)).tolist(), r"X has 3 dimensions \(shape \(5, 3, 2\)\) and needs two"),
        (list(np.ones((5, 3, 2))), rf"if each is one row, such as an image, flatten them: {FLATTEN}"),
    ],
)
def test_data_of_another_form_says_in_one_sentence_what_to_do(selector, rows, match):
    for call in (selector().fit, selector().partial_fit):
        with pytest.raises(InputError, match=match) as caught:
            call(rows)
        assert type(caught.value) is InputError
        assert "\n" not in str(caught.value)
        assert "float() argument" not in str(caught.value)


def test_what_is_advised_works(X):
    """Whoever follows the advice gets what they would have got from an array."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    images, columns = X.reshape(-1, 2, 2), frame.to_dict("series")
    expected = ProtoSwap(5, random_state=0).fit(X).weights_
    for rows in (
        np.reshape(images, (len(images), -1)),
        np.column_stack(list(columns.values())),
        pd.DataFrame(frame.to_dict("records")),
        Dataset(frame).to_pandas(),
    ):
        np.testing.assert_array_equal(ProtoSwap(5, random_state=0).fit(rows).weights_, expected)


def test_what_a_target_is_is_said_by_its_name(selector, X):
    with pytest.raises(InputError, match=r"target has 3 dimensions .* np.reshape\(target, \(len\(target\), -1\)\)"):
        selector().fit(X, target=X.reshape(-1, 2, 2))
    with pytest.raises(InputError, match=r"target is a dict; pass one of its tables, such as target\['train'\]"):
        selector().fit(X, target={"train": Dataset(TABLE)})


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_text_in_a_table_can_go_to_select(selector, make):
    columns = {"height": [1.5, 1.8, 1.7], "colour": ["red", "red", "blue"]}
    with pytest.raises(
        InputError,
        match=r"row 0, column 'colour' holds 'red', which is not a number; encode text as numbers or leave the column "
        r"out, or pass the table to protosieve.select, which encodes text",
    ):
        selector().fit(make(columns))
    assert len(select(make(columns), 2)) == 2


def test_columns_of_an_arrow_table_have_names(selector):
    table = pa.table({"a": [1.0, 2.0, 4.0], "b": [1.0, 0.5, 3.0]})
    with pytest.raises(InputError, match=r"target has the columns \['b', 'a'\] and X has \['a', 'b'\]"):
        selector(2).fit(table, target=table.select(["b", "a"]))
    with pytest.raises(InputError, match="row 1, column 'b' is NaN"):
        selector(2).fit(pa.table({"a": [1.0, 2.0], "b": [1.0, np.nan]}))


def test_a_target_in_the_wrong_place_is_noticed(selector, X):
    for call in (selector().fit, selector().partial_fit):
        with pytest.raises(InputError, match=r"y has shape \(300, 4\), the columns of X: .* pass them as target="):
            call(X, X)
        assert call(X, np.zeros(300)).n_samples_seen_ == 300


def test_a_generator_says_what_to_do(selector, X):
    with pytest.raises(InputError, match="X is a generator; give its chunks to partial_fit"):
        selector().fit(X[i : i + 10] for i in range(3))
    for chunks in ([X[:100], X[100:]], (X[:50], X[:50])):
        with pytest.raises(InputError, match="of 2 tables; give its chunks to partial_fit, one after the other, or"):
            selector().fit(chunks)


def test_columns_with_dates_are_refused_by_name(selector):
    frame = pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2020-01-01", "2020-02-01"])})
    with pytest.raises(InputError, match=r"X: column 'when' holds dates .* say what they should count"):
        selector().fit(frame)


def test_a_frame_without_columns_is_refused(selector):
    with pytest.raises(InputError, match="X has no columns; give at least one"):
        selector().fit(pd.DataFrame())


def test_a_target_with_other_columns_is_refused(selector, X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(InputError, match=r"target has the columns \['d', 'c', 'b', 'a'\] and X has .* same order"):
        selector().fit(frame, target=frame[list("dcba")])
    with pytest.raises(InputError, match="target has the columns"):
        selector().partial_fit(frame, target=frame[list("dcba")])
    np.testing.assert_array_equal(
        *(selector(4, random_state=0).fit(rows, target=match).weights_ for rows, match in ((frame, X), (X, frame)))
    )


def test_columns_are_called_by_their_names(selector, X):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.loc[7, "c"] = np.nan
    with pytest.raises(InputError, match="row 7, column 'c' is NaN"):
        selector().fit(frame)
    with pytest.raises(InputError, match="row 0, column 'b' holds 'x', which is not a number"):
        selector().fit(frame.fillna(0).assign(b="x"))
    with pytest.raises(InputError, match="X: "):
        selector().fit(frame.fillna(0).assign(b=pd.Timestamp("2024-01-01")))


def test_a_distance_is_not_a_kernel(selector, X):
    with pytest.raises(InputError, match=r"row 0: its similarity to itself .* is 0, to the target .* as exp\(-d\)"):
        selector(kernel=euclidean_distances).fit(X)


def test_far_fewer_prototypes_than_asked_for_come_with_a_reason(X):
    with pytest.warns(ProtosieveWarning, match=r"ProtoStream kept \d+ of n_prototypes=50: under Gaussian"):
        ProtoStream(50, kernel=Gaussian(), random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProtoStream(50, kernel=Gaussian(1.0), random_state=0).fit(X)
        ProtoStream(50, random_state=0).fit(X)


def test_rows_all_from_the_head_of_the_stream_come_with_a_note(X):
    rows = np.repeat(X, 40, axis=0)[np.random.default_rng(0).permutation(40 * len(X))]
    head = r"ProtoStream chose all 10 rows from the first [\d,]{1,5} of 12,000: .* Shuffle the rows, or use ProtoSwap"
    with pytest.warns(ProtosieveWarning, match=head):
        result = ProtoStream(10, kernel=Gaussian(0.3), random_state=0).fit(rows).result_
    assert result.indices.max() < 1_200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProtoSwap(10, kernel=Gaussian(0.3), random_state=0).fit(rows)
        ProtoStream(10, kernel=Gaussian(0.3), random_state=0).fit(X)


def test_an_empty_list_is_an_empty_chunk(selector, X):
    fed = selector(8, random_state=0).partial_fit([]).partial_fit(X)
    assert fed.partial_fit([]).n_samples_seen_ == 300


def test_an_empty_chunk_changes_nothing(selector, X):
    fed = selector(8, random_state=0).partial_fit(np.empty((0, 4)))
    with pytest.raises(NotFittedError):
        _ = fed.result_
    fed.partial_fit(X)
    before = fingerprint(fed)
    assert fingerprint(fed.partial_fit(np.empty((0, 4)))) == before


def test_a_target_that_comes_with_an_empty_chunk_is_remembered(selector, X):
    one = selector(8, random_state=0).partial_fit(X[:0], target=X[:40]).partial_fit(X)
    two = selector(8, random_state=0).partial_fit(X, target=X[:40])
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_no_rows_at_all(selector):
    with pytest.raises(InputError, match=r"0 row\(s\) \(shape=\(0, 4\)\) while a minimum of 1 is required"):
        selector().fit(np.empty((0, 4)))
    with pytest.raises(InputError, match=r"0 feature\(s\)"):
        selector().fit(np.empty((4, 0)))
    with pytest.raises(NotFittedError):
        selector().predict(np.ones((1, 4)))


def test_a_sparse_matrix_says_what_to_do(selector):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputError, match=r"X is a sparse matrix, which is not supported; pass X.toarray\(\)"):
        selector().fit(scipy_sparse.eye(5).tocsr())


def test_more_prototypes_than_rows_keeps_the_useful_ones_with_a_warning(selector, X):
    with pytest.warns(ProtosieveWarning, match="n_prototypes=50 but X has 20 rows"):
        fitted = selector(50, kernel=Gaussian(1.0)).fit(X[:20])
    assert 1 <= len(fitted.weights_) <= 20


@weighing_selector
def test_constant_rows_are_one_prototype_that_stands_for_all(selector):
    fitted = selector(5, kernel=Gaussian(1.0)).fit(np.full((40, 3), 2.5))
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert fitted.mmd_ == pytest.approx(0.0, abs=1e-7)
    assert (fitted.weights_ > 0).sum() == 1
    with pytest.warns(ProtosieveWarning, match="all equal"):
        selector(5).fit(np.full((40, 3), 2.5))


def test_with_equal_weights_constant_rows_are_m_prototypes_that_stand_for_all():
    rows = np.full((40, 3), 2.5)
    fitted = SieveStreaming(5, kernel=Gaussian(1.0)).fit(rows)
    assert fitted.weights_.tolist() == [0.2] * 5
    assert fitted.mmd_ == pytest.approx(0.0, abs=1e-7)
    with pytest.warns(ProtosieveWarning, match="has 1 rows"):
        assert SieveStreaming(5).fit(rows[:1]).weights_.tolist() == [0.2]


@weighing_selector
def test_one_row_is_its_own_prototype(selector):
    with pytest.warns(ProtosieveWarning, match="has 1 rows"):
        fitted = selector(5).fit(np.array([[1.0, 2.0]]))
    assert fitted.prototype_indices_.tolist() == [0]
    assert fitted.weights_.tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_prototypes": 0}, "n_prototypes must be a whole number of at least 1, got 0"),
        ({"n_prototypes": 2.5}, "n_prototypes must be a whole number of at least 1, got 2.5"),
        ({"n_prototypes": True}, "n_prototypes must be a whole number"),
        ({"block_size": 0}, "block_size must be a whole number of at least 1, got 0"),
        ({"kernel": "rbf"}, "kernel must be a kernel of protosieve.kernels"),
        ({"mean": "exact"}, "mean must be a mean of protosieve.means"),
        ({"random_state": "seed"}, "random_state must be None, a whole number of at least 0 or a NumPy generator"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_parameters_are_checked_when_work_starts(selector, X, options, match):
    made = selector(**options)
    for call in (made.fit, made.partial_fit):
        with pytest.raises(ParameterError, match=match):
            call(X)


@pytest.mark.parametrize("epsilon", [0, 1, -0.5, 2, float("nan"), "0.4", 1e-17])
@pytest.mark.parametrize("selector", [ProtoStream, SieveStreaming, Streak])
def test_epsilon_lies_between_zero_and_one(selector, X, epsilon):
    with pytest.raises(ParameterError, match="epsilon must be a number between 0 and 1, both excluded"):
        selector(epsilon=epsilon).fit(X)


def test_a_target_has_the_columns_of_the_rows(selector, X):
    with pytest.raises(InputError, match="target has 3 columns and X has 4"):
        selector().fit(X, target=X[:, :3])
    with pytest.raises(InputError, match="target has no rows"):
        selector().fit(X, target=X[:0])
    with pytest.raises(InputError, match="target: row 1, column 0 is NaN"):
        selector().partial_fit(X, target=bad(X, 1, 0, np.nan))


def test_a_new_target_half_way_is_refused(selector, X):
    fed = selector(8, random_state=0).partial_fit(X[:150], target=X)
    before = fingerprint(fed)
    with pytest.raises(InputError, match="target was given after 150 rows"):
        fed.partial_fit(X[150:], target=X)
    assert fingerprint(fed) == before


def test_nothing_similar_to_the_target_says_so(selector, X):
    """With the linear kernel and a target on the other side every gradient at zero is negative."""
    rows = np.abs(X) + 1
    with pytest.raises(InputError, match=r"none of the 300 rows has a positive mean similarity .* Linear\(\)"):
        selector(kernel=Linear()).fit(rows, target=-rows)
    fed = selector(kernel=Linear()).partial_fit(rows[:50], target=-rows)
    with pytest.raises(InputError, match="none of the 50 rows"):
        _ = fed.result_
    fed.partial_fit(-rows[50:])
    # beside others a row of negative similarity can help, and a second look finds such
    assert selector is ProtoSwap or (fed.prototype_indices_[fed.weights_ > 0] >= 50).all()
    assert fed.objective_ > 0


def test_float16_becomes_float32_and_integers_float64(X):
    for given, kept in [(np.float16, np.float32), (np.float32, np.float32), (np.uint8, np.float64), (int, np.float64)]:
        rows = np.clip(np.abs(X) * 3, 0, 200).astype(given)
        assert ProtoStream(5, random_state=0).fit(rows).prototypes_.dtype == kept


def test_the_first_chunk_settles_the_dtype(X):
    fed = ProtoStream(5, random_state=0).partial_fit(X[:100].astype(np.float32)).partial_fit(X[100:])
    assert fed.prototypes_.dtype == np.float32


def test_data_frames_are_welcome_and_their_columns_remembered(selector, X):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = selector(6, random_state=0).fit(frame)
    assert fitted.result_.feature_names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(fitted.weights_, selector(6, random_state=0).fit(X).weights_)
    with pytest.raises(InputError, match="feature names should match"):
        fitted.partial_fit(frame[["b", "a", "c", "d"]])
    with pytest.raises(InputError, match="feature names should match"):
        fitted.predict(frame.rename(columns={"a": "z"}))
    assert fitted.get_feature_names_out().tolist()[0] == f"{selector.__name__.lower()}0"


def test_generators_seed_without_being_used_up(X):
    generator = np.random.default_rng(3)
    one, two = (ProtoStream(5, mean=ReservoirMean(50), random_state=generator).partial_fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    legacy = ProtoStream(5, mean=ReservoirMean(50), random_state=np.random.RandomState(3)).partial_fit(X)
    assert len(legacy.weights_)


def test_every_error_is_a_value_error():
    assert issubclass(ProtosieveError, ValueError)
    assert issubclass(InputError, ProtosieveError)
