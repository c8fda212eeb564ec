"""``result.plot``: the numbers of the report, drawn."""

import io
import re
import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_iris, load_wine

from protosieve import MMDCritic, ProtoBasic, ProtoDash, ProtoStream, ProtoSwap, SieveStreaming, Streak, select
from protosieve.errors import InputError, ParameterError
from protosieve.kernels import Gaussian
from protosieve.objectives import LeastSquares, SetFunction
from protosieve.selectors import SELECTORS

X, KIND = load_iris(return_X_y=True)
OF_DATA = ["prototypes", "weights", "map", "coverage", "features", "residual_curve"]
PICTURES = [*OF_DATA, "stream"]


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def result():
    return ProtoSwap(n_prototypes=10, kernel=Gaussian(), candidates="all", random_state=0).fit(X).result_


@pytest.fixture(scope="module")
def from_files(tmp_path_factory):
    """A table of numbers, a category, dates and texts, read from a file."""
    path = tmp_path_factory.mktemp("plots") / "wine.csv"
    wine = load_wine(as_frame=True).frame.sample(1500, replace=True, random_state=0, ignore_index=True)
    table = wine.iloc[:, :3].assign(
        **{"$x_{": wine.iloc[:, 3]},
        colour=np.where(np.arange(len(wine)) % 3, "red", "<script>"),
        day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(wine)), unit="D"),
        kind=wine["target"],
    )
    table.to_csv(path, index=False)
    return select(path, 12, label="kind", method="streak", random_state=0)


def drawn(result, name, data=None, **options):
    """A picture, down to its pixels; the axes as a list."""
    axes = np.ravel(getattr(result.plot, name)(**({} if name == "stream" else {"data": data}), **options))
    axes[0].figure.savefig(io.BytesIO(), dpi=40)
    return list(axes)


def check(result, name, axes):
    """That a picture drawn of all of the data shows the result's own numbers."""
    ax, weights, m = axes[0], result.weights, len(result)
    if name == "prototypes":
        titles = [each.get_title().split("\nweight ") for each in axes]
        assert [title[0] for title in titles] == [f"row {row:,}" for row in result.indices]
        np.testing.assert_allclose([float(title[1]) for title in titles], weights, rtol=1e-2)
    elif name == "weights":
        assert [bar.get_height() for bar in ax.patches] == weights.tolist()
    elif name == "map":
        assert [len(marks.get_offsets()) for marks in ax.collections[:2]] == [len(X), m]
    elif name == "coverage":
        distances = ((X[:, None] - result.rows) ** 2).sum(axis=2)
        shares = np.bincount(distances.argmin(axis=1), minlength=m) / len(X)
        near = np.isclose(distances, distances.min(axis=1, keepdims=True), rtol=1e-9)
        ties = (near.sum(axis=1) > 1).mean()  # of flowers measured to a millimetre: either is the nearest
        np.testing.assert_allclose([bar.get_height() for bar in ax.patches], np.sort(shares)[::-1], atol=ties + 1e-3)
    elif name == "features":
        assert len({each.get_title() for each in axes}) == X.shape[1]
    else:
        assert ax.lines[1].get_xydata()[0] == pytest.approx([m, result.residual], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", OF_DATA)
def test_a_picture_has_axes_with_titles(result, name):
    for ax in drawn(result, name, X):
        assert ax.get_title()


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_can_be_dark(from_files, name):
    with pyplot.style.context("dark_background"):
        axes = drawn(from_files, name)
    for ax in axes:
        assert max(to_rgb(ax.get_facecolor())) < 0.1
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts, *ax.get_xticklabels()):
            assert min(to_rgb(text.get_color())) > 0.5


@pytest.mark.parametrize("name", ["weights", "map", "coverage", "residual_curve", "stream"])
def test_the_axes_that_are_given_are_drawn_on_and_returned(from_files, name):
    ax = Figure().subplots()
    assert getattr(from_files.plot, name)(ax=ax) is ax
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("name", ["prototypes", "features"])
def test_as_much_is_drawn_as_there_are_axes(from_files, name):
    axes = Figure().subplots(2, 2)
    assert getattr(from_files.plot, name)(axes=axes).tolist() == axes.ravel().tolist()
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("name", PICTURES)
def test_without_data_and_axes_a_run_over_files_is_one_new_figure_and_no_setting_changes(from_files, name):
    first = pyplot.figure()
    matplotlib.get_backend()  # is chosen when first asked for
    before = matplotlib.rcParams.copy()
    axes = drawn(from_files, name)
    assert matplotlib.rcParams == before
    assert len(pyplot.get_fignums()) == 2
    assert axes[0].figure is not first
    assert all(ax.get_title() for ax in axes)


def every_third(methods, names):
    """All pairs; but for every third, which has each method and each name, they are thorough."""
    for number, (method, name) in enumerate(product(methods, names)):
        row, column = divmod(number, len(names))
        yield pytest.param(method, name, marks=pytest.mark.thorough if (row + column) % 3 else ())


@pytest.mark.parametrize(("method", "name"), list(every_third(SELECTORS, OF_DATA)))
def test_every_methods_result_can_be_drawn(method, name):
    result = method(n_prototypes=6, random_state=0, kernel=Gaussian(width=1.0)).fit(X).result_
    check(result, name, drawn(result, name, X))


@pytest.mark.parametrize("name", OF_DATA)
def test_one_prototype_can_be_drawn(name):
    one = ProtoSwap(n_prototypes=1, random_state=0).fit(X).result_
    check(one, name, drawn(one, name, X))


@pytest.mark.parametrize("name", OF_DATA)
def test_a_data_frame_will_do(name):
    frame = load_iris(as_frame=True).frame
    result = ProtoSwap(n_prototypes=5, random_state=0).fit(frame.drop(columns="target")).result_
    check(result, name, drawn(result, name, frame))


def test_bars_are_weights_and_dots_are_the_shares_of_the_nearest(result):
    ax = result.plot.weights(X)
    assert [bar.get_height() for bar in ax.patches] == result.weights.tolist()
    distances = ((X[:, None] - result.rows) ** 2).sum(axis=2)
    shares = np.bincount(distances.argmin(axis=1), minlength=10) / len(X)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), shares)


def test_weights_without_data_have_no_shares(result):
    assert not result.plot.weights().lines


def test_coverage_is_the_labels_of_the_data_and_the_weights_of_the_prototypes_that_have_them(result):
    ours, theirs = result.plot.coverage(X, label=KIND).containers
    np.testing.assert_allclose([bar.get_width() for bar in theirs], 1 / 3, rtol=1e-3)
    weight = np.bincount(KIND[result.indices], result.weights) / result.weights.sum()
    np.testing.assert_allclose([bar.get_width() for bar in ours], weight, rtol=1e-3)


def test_coverage_without_labels_is_the_spread(result):
    heights = [bar.get_height() for bar in result.plot.coverage(X).patches]
    assert len(heights) == 10
    assert heights == sorted(heights, reverse=True)
    assert sum(heights) == pytest.approx(1, abs=1e-3)


def test_the_map_lies_where_coordinates_say(result):
    dots, circles = result.plot.map(X, coordinates=X[:, 2:]).collections
    np.testing.assert_allclose(dots.get_offsets(), X[:, 2:], rtol=1e-3)
    np.testing.assert_allclose(circles.get_offsets(), X[result.indices][:, 2:], rtol=1e-3)


def test_the_map_is_the_plane_of_most_variance(result):
    dots, circles, *_ = result.plot.map(X, label=KIND).collections
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(dots.get_offsets()), np.abs(centred @ axes.T), rtol=1e-3, atol=1e-4)
    assert len(circles.get_offsets()) == 10


def test_the_curve_ends_at_the_residual(result):
    line = result.plot.residual_curve().lines[0]
    assert line.get_xdata().tolist() == list(range(1, 11))
    assert np.all(np.diff(line.get_ydata()) <= 0)
    assert line.get_ydata()[-1] == pytest.approx(result.residual, rel=1e-3)


@pytest.mark.parametrize("method", [ProtoStream, partial(ProtoSwap, candidates="all"), SieveStreaming, Streak])
def test_the_stream_is_the_trace(method):
    result = method(n_prototypes=6, random_state=0, kernel=Gaussian(width=20.0)).fit(load_digits().data).result_
    (ax,) = drawn(result, "stream")
    line = ax.lines[0]
    assert line.get_xdata().tolist() == result.trace.rows_seen.tolist()
    residual = 1 - result.trace.objective / result.certificate.upper_bound
    np.testing.assert_allclose(line.get_ydata(), residual, rtol=1e-3)


@pytest.mark.parametrize("method", [MMDCritic, ProtoBasic, ProtoDash, ProtoSwap])
def test_where_the_way_is_not_known_no_stream_is_drawn(method):
    result = method(n_prototypes=6, random_state=0).fit(load_digits().data).result_
    with pytest.raises(InputError, match="there is no stream to draw: the residual is known at its end alone"):
        result.plot.stream()
    assert pyplot.get_fignums() == []


def test_rows_that_are_images_are_drawn_as_they_are():
    digits = load_digits()
    result = ProtoSwap(n_prototypes=5, random_state=0).fit(digits.data).result_
    axes = result.plot.prototypes(digits.data, label=digits.target, image_shape=(8, 8), n=3)
    assert [ax.get_title().split("\n")[0] for ax in axes] == [str(i) for i in digits.target[result.indices[:3]]]
    for ax, row in zip(axes, result.rows, strict=False):
        np.testing.assert_allclose(ax.images[0].get_array(), row.reshape(8, 8) * 255 / 16, atol=0.5)


def test_texts_are_drawn():
    frame = pd.DataFrame(X).assign(said=[f"flower number {i} of the field" for i in range(len(X))])
    result = ProtoSwap(n_prototypes=3, random_state=0).fit(X).result_
    texts = [ax.texts[0].get_text().replace("\n", " ") for ax in result.plot.prototypes(frame, text="said")]
    assert texts == [f"flower number {i} of the field" for i in result.indices]


def test_cards_are_as_many_as_asked_for_and_those_of_all(result):
    three, all_ = result.plot.prototypes(n=3), result.plot.prototypes()
    assert (len(three), len(all_)) == (3, 10)
    for few, many in zip(three, all_, strict=False):
        assert [text.get_text() for text in few.texts] == [text.get_text() for text in many.texts]
        assert few.get_title() == many.get_title()


@pytest.mark.parametrize("n", [0, -3, 1.5, True, "4"])
@pytest.mark.parametrize("name", ["prototypes", "features"])
def test_n_must_be_a_number(result, name, n):
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1, got"):
        drawn(result, name, X, n=n)


@pytest.mark.parametrize("name", ["map", "coverage", "features"])
def test_without_rows_a_picture_says_what_it_needs(result, name):
    with pytest.raises(InputError, match=rf"{name} needs the rows: result\.plot\.{name}\(data=X\)"):
        drawn(result, name)
    assert pyplot.get_fignums() == []


def test_equal_weights_need_rows_for_the_curve():
    result = MMDCritic(n_prototypes=5).fit(X).result_
    with pytest.raises(InputError, match="give data"):
        result.plot.residual_curve()
    assert result.plot.residual_curve(X).lines


def test_rows_that_are_all_the_same_have_no_map():
    same = np.ones((20, 3))
    result = ProtoSwap(n_prototypes=2, random_state=0, kernel=Gaussian(width=1.0)).fit(same).result_
    with pytest.raises(InputError, match="there is no map"):
        result.plot.map(same)


@pytest.fixture(
    scope="module",
    params=[
        ProtoDash(2, objective=LeastSquares(X[:, 0])),
        ProtoDash(2, objective=LeastSquares(X[:, 0], signed=True)),
        Streak(2, objective=SetFunction(lambda rows: float(rows.max(axis=0).sum()))),
    ],
    ids=["least squares", "signed", "set function"],
)
def without_kernel(request):
    return request.param.fit(X[:, 1:].T).result_


@pytest.mark.parametrize("name", ["prototypes", "weights"])
def test_other_objectives_can_be_drawn(without_kernel, name):
    check(without_kernel, name, drawn(without_kernel, name))


@pytest.mark.parametrize("name", ["map", "coverage", "features", "residual_curve"])
def test_what_takes_a_kernel_says_so(without_kernel, name):
    with pytest.raises(InputError, match=r"kernel"):
        drawn(without_kernel, name)


def test_matplotlib_is_loaded_to_draw_and_where_it_is_missing_the_message_says_what_to_install():
    code = """
import sys
import numpy as np
from protosieve import ProtoSwap
result = ProtoSwap(n_prototypes=2, random_state=0).fit(np.arange(12.0).reshape(6, 2)).result_
plots = result.plot
assert "matplotlib" not in sys.modules and "PIL" not in sys.modules
sys.modules["matplotlib"] = None
plots.weights()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: result.plot draws with matplotlib" in run.stderr
    assert "pip install 'protosieve[plot]'" in run.stderr


def test_the_accessor_says_whose_it_is(result):
    assert repr(result.plot) == f"Plots of {result!r}"


def test_what_the_page_prints_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "plots.md").read_text()
    monkeypatch.chdir(tmp_path)
    known = {"umap": load_digits().data[:, 10:12]}
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(example, "docs/plots.md", "exec"), known)
    assert (tmp_path / "digits.svg").exists()


def test_data_can_be_files(tmp_path, result):
    path = tmp_path / "iris.npy"
    np.save(path, X)
    chosen = select(path, 5, random_state=0)
    dots, *_ = chosen.plot.map(path).collections
    assert len(dots.get_offsets()) == len(X)
