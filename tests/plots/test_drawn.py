"""What is drawn is what the numbers are: each part of a report, made by hand, on axes."""

import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from PIL import Image

from protosieve.errors import ParameterError
from protosieve.insight import (
    Card,
    CategoryMatch,
    Difference,
    Labels,
    Map,
    NumberMatch,
    ResidualCurve,
    ResidualTrace,
    Thumbnail,
    ValueShares,
)
from protosieve.plots._canvas import DATA, PROTOTYPES, QUIET, grid_for, label_colours
from protosieve.plots._cards import draw_cards
from protosieve.plots._charts import (
    draw_curve,
    draw_feature,
    draw_labels,
    draw_map,
    draw_spread,
    draw_stream,
    draw_weights,
)

HOSTILE = ["$x_{", "<script>", "\\frac{", "_hidden", "a\x00b\x1b[31m", "$$", "naïve & 100 %"]
CURVE = ResidualCurve([1, 2, 3], [0.5, 0.1, 0.02], own=0.02, random=0.2)
STREAM = ResidualTrace([10, 20, 40], [0.5, 0.2, 0.1], accepted=[3, 5, 6], exchanged=[0, 2, 3])


STYLES = ["default", *(pytest.param(style, marks=pytest.mark.thorough) for style in ("dark_background", "ggplot"))]


@pytest.fixture(params=STYLES)
def ax(request):
    """Axes of no window, drawn in the end: layout and text fail there and not before."""
    with pyplot.style.context(request.param):
        figure = Figure(layout="constrained")
        yield figure.subplots()
        figure.savefig(io.BytesIO(), dpi=40)


def card(**given):
    return Card(**{"row": 1717, "weight": 0.25, **given})


def difference(name, by, value="1"):
    return Difference(name, value, "0", by)


def png(pixels):
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "PNG")
    return Thumbnail("png", sink.getvalue())


def shown(ax):
    return [text.get_text() for text in ax.texts]


def test_the_curves_line_and_marks_are_its_numbers(ax):
    draw_curve(CURVE, ax)
    line, own, random = ax.lines
    np.testing.assert_array_equal(line.get_xydata(), [[1, 0.5], [2, 0.1], [3, 0.02]])
    assert own.get_xydata().tolist() == [[3, 0.02]]
    assert random.get_xydata().tolist() == [[3, 0.2]]
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_title()


def test_a_curve_without_random_rows_has_no_mark_for_them(ax):
    draw_curve(replace(CURVE, random=None), ax)
    assert len(ax.lines) == 2
    assert len(ax.get_legend().get_texts()) == 2


def test_a_curve_of_nothing_left_is_not_logarithmic(ax):
    draw_curve(ResidualCurve([1], [0.0], own=0.0), ax)
    assert ax.get_yscale() == "linear"


def test_the_stream_has_its_counts_on_a_second_axis(ax):
    draw_stream(STREAM, ax)
    assert ax.lines[0].get_xydata().tolist() == [[10, 0.5], [20, 0.2], [40, 0.1]]
    (right,) = [other for other in ax.figure.axes if other is not ax]
    assert [line.get_ydata().tolist() for line in right.lines] == [[3, 5, 6], [0, 2, 3]]
    assert len(ax.get_legend().get_texts()) == 3


@pytest.mark.parametrize("known", [[], ["accepted"], ["exchanged"]])
def test_what_a_stream_did_not_count_is_not_drawn(ax, known):
    draw_stream(replace(STREAM, **{name: None for name in ("accepted", "exchanged") if name not in known}), ax)
    assert len(ax.figure.axes) == 1 + bool(known)
    assert len(ax.get_legend().get_texts()) == 1 + len(known)


def test_a_residual_that_is_not_known_leaves_a_gap(ax):
    draw_stream(replace(STREAM, residual=[np.nan, 0.2, 0.1]), ax)
    assert np.isnan(np.asarray(ax.lines[0].get_ydata(), float)).tolist() == [True, False, False]


def test_weights_are_bars_and_shares_are_dots(ax):
    draw_weights(np.array([0.5, 0.3, 0.1]), np.array([0.4, 0.35, 0.25]), ax)
    assert [bar.get_height() for bar in ax.patches] == [0.5, 0.3, 0.1]
    assert ax.lines[0].get_ydata().tolist() == [0.4, 0.35, 0.25]


def test_weights_below_zero_hang_down(ax):
    draw_weights(np.array([0.5, -0.3]), None, ax)
    assert [bar.get_height() for bar in ax.patches] == [0.5, -0.3]
    assert ax.get_legend() is None


def test_the_spread_falls_beside_even_shares(ax):
    draw_spread(np.array([0.1, 0.7, 0.2, 0.0]), ax)
    assert [bar.get_height() for bar in ax.patches] == [0.7, 0.2, 0.1, 0.0]
    assert set(ax.lines[0].get_ydata()) == {0.25}


def labels(names, data=True, **given):
    values = [ValueShares(name, 0.1 * i if data else None, 0.2 * i, count=i) for i, name in enumerate(names)]
    return Labels(**{"name": "digit", "values": values, **given})


def test_labels_are_two_bars_each_and_the_number_of_prototypes(ax):
    draw_labels(labels(["0", "1", "2"]), ax)
    ours, theirs = ax.containers
    assert [bar.get_width() for bar in ours] == [0.0, 0.2, 0.4]
    assert [bar.get_width() for bar in theirs] == [0.0, 0.1, 0.2]
    assert ours[0].get_facecolor() != theirs[0].get_facecolor()
    assert [text.strip() for text in shown(ax)] == ["0", "1", "2"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2"]
    assert ax.get_ylabel() == "digit"


def test_labels_of_prototypes_alone_are_one_bar_each(ax):
    draw_labels(labels(["a", "b"], data=False, more=3), ax)
    assert len(ax.containers) == 1
    assert "3 rarer" in ax.get_ylabel()


def test_a_number_is_its_five_quantiles_in_data_and_prototypes(ax):
    draw_feature(NumberMatch("age", 0.08, data=[1, 2, 3, 4, 5], prototypes=[2, 3, 4, 5, 6]), ax)
    drawn = [line.get_xdata() for line in ax.lines]
    assert [list(x) for x in drawn] == [[1, 5], [2, 4], [3], [2, 6], [3, 5], [4]]
    assert "age" in ax.get_title()
    assert "8 %" in ax.get_title()


def test_a_category_is_the_shares_of_its_values(ax):
    values = [ValueShares("red", data=0.4, prototypes=0.42), ValueShares("blue", data=0.6, prototypes=0.58)]
    draw_feature(CategoryMatch("colour", 0.02, values), ax)
    assert [[bar.get_width() for bar in bars] for bars in ax.containers] == [[0.42, 0.58], [0.4, 0.6]]


def draw(ax, points, names, axes=("PC 1", "PC 2"), places=(), weights=(), labels=None):
    draw_map(Map(list(axes), points, names, list(places), ""), np.array(weights), labels, ax)


def test_the_maps_dots_lie_at_its_points_in_the_colours_of_their_labels(ax):
    draw(ax, [(0.0, 1.0, 0, 0), (2.0, 3.0, 1, 0), (4.0, 5.0, -1, 0)], ["a", "b"])
    dots = ax.collections[0]
    assert dots.get_offsets().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert len(np.unique(dots.get_facecolors(), axis=0)) == 3


def test_the_maps_circles_have_the_area_of_their_weights(ax):
    draw(ax, [], ["a", "b"], places=[(0.0, 1.0), None, (2.0, 3.0)], weights=[0.6, 0.25, 0.3], labels=["b", "a", "a"])
    circles = ax.collections[1]
    assert circles.get_offsets().tolist() == [[0, 1], [2, 3]]
    assert circles.get_sizes()[0] == 2 * circles.get_sizes()[1]
    dots = {
        text.get_text(): handle for text, handle in zip(ax.get_legend().get_texts(), ax.collections[2:], strict=True)
    }
    np.testing.assert_array_equal(circles.get_facecolors()[0], dots["b"].get_facecolors()[0])


def test_a_map_without_labels_has_no_legend(ax):
    draw(ax, [(0.0, 1.0, -1, 0)], [], places=[(0.0, 1.0)], weights=[0.25])
    assert ax.get_legend() is None
    assert len(ax.collections) == 2


def test_beyond_ten_labels_share_a_colour_and_a_line_of_the_legend(ax):
    names = [f"label {i}" for i in range(14)]
    draw(ax, [(0.0, 0.0, i, 0) for i in range(14)], names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*names[:10], "4 others"]
    assert label_colours(names)[10:] == [QUIET] * 4


def test_a_pictures_pixels_are_drawn(ax):
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    (drawn,) = draw_cards([card(image=png(pixels), label="7")], None, [ax])
    np.testing.assert_array_equal(drawn.images[0].get_array(), pixels)
    assert drawn.get_title() == "7\nweight 0.25"


def test_a_pictures_colours_are_drawn(ax):
    pixels = np.arange(36, dtype=np.uint8).reshape(3, 4, 3) * 7
    (drawn,) = draw_cards([card(image=png(pixels))], None, [ax])
    np.testing.assert_array_equal(drawn.images[0].get_array(), pixels)
    assert drawn.get_title() == "row 1,717\nweight 0.25"


def test_a_text_is_wrapped_and_cut(ax):
    (drawn,) = draw_cards([card(text="word " * 200)], None, [ax])
    (text,) = shown(drawn)
    assert text.endswith(" …")
    assert max(map(len, text.split("\n"))) <= 40


def test_a_picture_that_is_missing_says_why(ax):
    (drawn,) = draw_cards([card(no_image="there is no such file")], None, [ax])
    assert shown(drawn) == ["there is no such file"]


def test_features_are_bars_of_their_standard_deviations_on_one_scale():
    axes = Figure().subplots(1, 2)
    cards = [card(differs=[difference("age", 2.5, "71"), difference("height", -1.0)]), card(differs=[])]
    first, second = draw_cards(cards, None, axes)
    assert [bar.get_width() for bar in first.patches] == [2.5, -1.0]
    assert shown(first) == ["age", "71", "height", "1"]
    assert first.get_xlim() == second.get_xlim()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_shows_as_text(name):
    grid = Figure().subplots(2, 4).ravel()
    clean = "".join(c if c.isprintable() else " " for c in name)
    draw_labels(labels([name, "b"], name=name), grid[0])
    draw_feature(NumberMatch(name, 0.0, data=[0] * 5, prototypes=[1] * 5), grid[1])
    draw(grid[2], [(0.0, 0.0, 0, 0)], [name], axes=[name, name])
    draw_cards([card(label=name, text=name), card(differs=[difference(name, 1.0, name)])], None, grid[3:5])
    grid[0].figure.savefig(io.BytesIO(), dpi=40)
    assert grid[0].get_yticklabels()[0].get_text() == clean
    assert grid[0].get_ylabel() == clean
    assert grid[1].get_title().startswith(clean)
    assert grid[2].get_legend().get_texts()[0].get_text() == clean
    assert grid[2].get_xlabel() == clean
    assert shown(grid[4]) == [clean, clean]


def test_names_are_no_formulas_where_all_text_is_tex():
    with pyplot.rc_context({"text.usetex": True}):
        ax = Figure().subplots()
        draw(ax, [(0.0, 0.0, 0, 0)], ["a_b"], axes=["$x_{", "%"])
    assert not ax.xaxis.label.get_usetex()
    assert not ax.get_legend().get_texts()[0].get_usetex()


def test_fewer_cards_than_axes_switch_the_others_off():
    axes = Figure().subplots(2, 2)
    assert len(draw_cards([card(text="a")], None, axes)) == 1
    assert [ax.axison for ax in axes.ravel()] == [True, False, False, False]


@pytest.mark.parametrize("columns", [0, -1, 2.5, True, "3"])
def test_columns_must_be_a_number(columns):
    with pytest.raises(ParameterError, match="columns must be a whole number of at least 1, got"):
        grid_for(None, 3, columns, (1.0, 1.0))


def test_the_colours_can_be_seen_on_white_and_on_black():
    from matplotlib.colors import to_rgb

    for colour in {*label_colours([""] * 12), DATA, PROTOTYPES}:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        luminance = np.dot([0.2126, 0.7152, 0.0722], linear)
        assert 1.05 / (luminance + 0.05) > 2, colour
        assert (luminance + 0.05) / 0.05 > 3, colour
