"""Kernels against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import pairwise

from protosieve import ParameterError, ProtosieveError, ProtosieveWarning, ProtoStream
from protosieve.kernels import (
    KERNELS,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    MultiScale,
    Polynomial,
    as_kernel,
)
from protosieve.objectives._quadratic import InnerProduct

rng = np.random.default_rng(0)
A, B = rng.normal(size=(30, 5)), rng.normal(size=(20, 5))

TWINS = [
    (Gaussian(width=2.0), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=1 / 8)),
    (Laplacian(width=3.0), lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=1 / 3)),
    (MultiScale(width=4.0), lambda X, Y: sum(pairwise.rbf_kernel(X, Y, gamma=1 / g) for g in (32, 8, 2)) / 3),
    (MultiScale(width=2.0, scales=1), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=1 / 8)),
    (Linear(), pairwise.linear_kernel),
    (Cosine(), pairwise.cosine_similarity),
    (Polynomial(degree=3, offset=0.5, scale=0.2), lambda X, Y: pairwise.polynomial_kernel(X, Y, 3, 0.2, 0.5)),
    (Polynomial(), lambda X, Y: pairwise.polynomial_kernel(X, Y, 2, None, 1)),
    (FunctionKernel(pairwise.sigmoid_kernel), pairwise.sigmoid_kernel),
]
each_kernel = pytest.mark.parametrize(("kernel", "twin"), TWINS, ids=[repr(kernel)[:24] for kernel, _ in TWINS])


def test_every_kernel_has_a_twin():
    assert set(KERNELS.values()) <= {type(kernel) for kernel, _ in TWINS}


@each_kernel
def test_values_are_scikit_learns(kernel, twin):
    np.testing.assert_allclose(kernel(A, B), twin(A, B), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(A), twin(A, A), rtol=1e-12, atol=1e-14)


@each_kernel
def test_the_dtype_of_the_rows_decides(kernel, twin):
    single = kernel(A.astype(np.float32), B.astype(np.float32))
    assert single.dtype == np.float32
    assert kernel(A, B).dtype == np.float64
    np.testing.assert_allclose(single, twin(A, B), rtol=1e-4, atol=1e-5)


@each_kernel
def test_the_diagonal_is_the_blocks_diagonal(kernel, twin):
    np.testing.assert_allclose(kernel.diagonal(kernel.prepare(A)), np.diag(twin(A, A)), rtol=1e-12)
    assert len(kernel.diagonal(kernel.prepare(A[:0]))) == 0


@pytest.mark.parametrize(
    "kernel", [*(kernel for kernel, _ in TWINS), InnerProduct(0.1, True)], ids=lambda k: repr(k)[:24]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_room_for_the_result_changes_no_bit_of_it(kernel, dtype):
    many = kernel.prepare(np.random.default_rng(1).normal(size=(230, 5)).astype(dtype))  # of more than one strip
    few = kernel.prepare(B.astype(dtype))
    for left, right in ((many, many), (many, few), (few, few), (few.take(slice(0)), few)):
        room = np.full((len(left), len(right)), np.nan, left.left.dtype)
        plain = kernel.block(left, right)
        np.testing.assert_array_equal(kernel.block(left, right, out=room), plain)
        np.testing.assert_array_equal(kernel.block(left, right, room), plain)  # which is used already


@pytest.mark.parametrize("kernel", [Gaussian(1.0), MultiScale(3.0)])
def test_strips_of_any_length_give_the_same_bits(kernel, monkeypatch):
    rows = kernel.prepare(A.astype(np.float32))
    whole = kernel.block(rows, rows)
    for strip in (1, 7, 64, 899):
        monkeypatch.setattr("protosieve.kernels._radial._STRIP", strip)
        np.testing.assert_array_equal(kernel.block(rows, rows), whole)


def test_cosine_of_a_zero_row_is_zero():
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(Cosine()(rows), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(Cosine().diagonal(Cosine().prepare(rows)), [0, 1])


def test_cosine_of_very_small_and_large_rows():
    np.testing.assert_allclose(Cosine()(A * 1e-170), Cosine()(A), rtol=1e-12)
    np.testing.assert_allclose(Cosine()(A * 1e170), Cosine()(A), rtol=1e-12)


def test_kernels_that_say_they_are_nowhere_negative_are_not():
    for kernel, _ in TWINS:
        assert not kernel.nonnegative or (kernel(A, B) >= 0).all()
    assert Gaussian.nonnegative
    assert not Linear.nonnegative


def test_the_shift_saves_float32_digits_far_from_the_origin():
    far = (A + 1e4).astype(np.float32)
    exact = pairwise.rbf_kernel(far.astype(np.float64), gamma=0.5)
    plain = np.abs(Gaussian(1.0)(far) - exact).max()
    shifted = np.abs(Gaussian(1.0).resolve(far, rng)(far) - exact).max()
    assert shifted < 1e-5 < plain


@given(st.integers(0, 1000))
def test_the_median_width_is_the_median_of_positive_distances(seed):
    rows = np.random.default_rng(seed).normal(size=(30, 3))
    rows[:10] = rows[0]  # copies: their zero distances do not count
    distances = pairwise.euclidean_distances(rows)[np.triu_indices(30, 1)]
    resolved = Gaussian(width="median").resolve(rows, np.random.default_rng(0))
    assert resolved.width == pytest.approx(np.median(distances[distances > 1e-6]))
    city = pairwise.manhattan_distances(rows)[np.triu_indices(30, 1)]
    assert Laplacian().resolve(rows, np.random.default_rng(0)).width == pytest.approx(np.median(city[city > 1e-9]))


def test_the_median_width_is_drawn_with_the_seed():
    rows = np.random.default_rng(1).normal(size=(5000, 2))
    widths = [Gaussian().resolve(rows, np.random.default_rng(seed)).width for seed in (1, 1, 2)]
    assert widths[0] == widths[1] != widths[2]
    full = np.median(pairwise.euclidean_distances(rows[:2500])[np.triu_indices(2500, 1)])
    assert widths[0] == pytest.approx(full, rel=0.05)


def test_equal_rows_get_width_one_and_a_warning():
    with pytest.warns(ProtosieveWarning, match="all equal, so 1.0 is used"):
        assert Gaussian().resolve(np.ones((5, 2)), rng).width == 1.0
    assert Gaussian().resolve(np.ones((1, 2)), rng).width == 1.0


def test_a_width_given_is_kept():
    assert Gaussian(3.0).resolve(A, rng).width == 3.0
    assert MultiScale(3.0, scales=5).resolve(A, rng) == MultiScale(3.0, scales=5)
    assert Laplacian(3.0).resolve(A, rng) == Laplacian(3.0)


@pytest.mark.parametrize("width", [0, -1.0, float("nan"), float("inf"), "mean", None])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, MultiScale])
def test_a_width_must_be_positive(kernel, width):
    with pytest.raises(ParameterError, match=rf"{kernel.__name__}: width must be a positive number"):
        kernel(width=width)


@pytest.mark.parametrize("scales", [0, -1, 2.0, True, None, "3"])
def test_scales_are_counted(scales):
    with pytest.raises(ParameterError, match=r"MultiScale: scales must be a whole number of at least 1, got"):
        MultiScale(scales=scales)


@pytest.mark.parametrize("scales", [1, 3, 7, 40])
def test_equal_rows_are_alike_on_every_scale(scales):
    for dtype in (np.float32, np.float64):
        rows = np.zeros((3, 2), dtype)
        np.testing.assert_array_equal(MultiScale(0.1, scales=scales)(rows), np.ones((3, 3), dtype))


def test_an_unlearnt_width_says_how_to_learn_it():
    with pytest.raises(ParameterError, match="learnt from data: fit a selector"):
        Gaussian()(A)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"degree": 0}, "degree must be a whole number of at least 1, got 0"),
        ({"degree": 1.5}, "degree must be a whole number"),
        ({"offset": -1}, "offset must be a number of at least 0, got -1"),
        ({"scale": 0}, "scale must be a positive number or None, got 0"),
    ],
)
def test_polynomial_parameters_are_checked(options, match):
    with pytest.raises(ParameterError, match=match):
        Polynomial(**options)


def test_other_columns_are_refused():
    with pytest.raises(ProtosieveError, match="X has 5 columns and Y has 4"):
        Gaussian(1.0)(A, B[:, :4])
    with pytest.raises(ProtosieveError, match="X must have two dimensions"):
        Linear()(A[0])


def test_a_function_must_return_a_finite_matrix():
    with pytest.raises(ProtosieveError, match=r"kernel <lambda> returned shape \(3,\)"):
        FunctionKernel(lambda X, Y: np.ones(3))(A)
    with pytest.raises(ProtosieveError, match="returned NaN or inf"):
        FunctionKernel(lambda X, Y: np.full((len(X), len(Y)), np.nan))(A)


def test_a_function_is_never_asked_about_no_rows():
    kernel = FunctionKernel(pairwise.chi2_kernel)  # which refuses empty blocks
    assert kernel(np.empty((0, 3)), np.ones((4, 3))).shape == (0, 4)
    assert len(ProtoStream(3, kernel=pairwise.chi2_kernel).fit(np.abs(A)).weights_)


@pytest.mark.parametrize("wrong", ["gaussian", 3, Gaussian])
def test_a_kernel_is_an_object_or_a_function(wrong):
    with pytest.raises(ParameterError, match=r"kernel must be a kernel of protosieve\.kernels"):
        as_kernel(wrong)
