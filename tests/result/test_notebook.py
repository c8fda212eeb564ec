"""What a notebook shows of a result and of a selector."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import config_context

import protosieve
from protosieve import ProtoDash, ProtoSwap, choose_width, compare
from protosieve._html import Bar, details, table
from protosieve.kernels import Gaussian, Linear

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;"


class Balanced(HTMLParser):
    """Tags that are closed in order; the text between them, and all attributes."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts, self.values = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append(tag)
        self.values += [value for _, value in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def _own(html):
    """The part that is ours: scikit-learn's own is before it."""
    return Balanced(html[html.rindex('<div style="font-variant-numeric') :])


@pytest.fixture
def result(X):
    return ProtoSwap(12, kernel=Gaussian(2.0), random_state=0).fit(X).result_


def test_a_result_shows_its_heaviest_rows_with_their_weights(result):
    page = Balanced(result._repr_html_())
    for index, weight in zip(result.indices[:10], result.weights[:10], strict=True):
        assert f"{index:,}" in page.texts
        assert f"{weight:#.3g} " in page.texts
    assert page.tags.count("tr") == 11
    assert "and 2 more" in page.texts
    assert any("12 of 300 rows by ProtoSwap" in text for text in page.texts)
    assert any("the prototypes carry" in text for text in page.texts)


def test_bars_are_as_long_as_the_weights(result):
    lengths = [float(found) for found in re.findall(r"width:([\d.]+)em", result._repr_html_())]
    np.testing.assert_allclose(lengths, 5 * result.weights[:10] / result.weights[0], atol=0.006)


def test_a_result_over_files_shows_the_columns_of_the_file(tmp_path):
    frame = pd.DataFrame({"age": [31.0, 44.0, 27.0, 65.0], "colour": ["red", "blue", "red", "green"]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    page = Balanced(protosieve.select(tmp_path / "rows.csv", 3)._repr_html_())
    assert {"row", "weight", "share", "file", "age", "colour"} <= set(page.texts)
    assert "red" in page.texts


def test_names_and_cells_are_text_whatever_they_look_like(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.5], HOSTILE: [HOSTILE, "b", "c"]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    page = Balanced(protosieve.select(tmp_path / "rows.csv", 3)._repr_html_())
    assert HOSTILE in page.texts
    assert not {"script", "img"} & set(page.tags)


def test_a_hostile_name_of_a_feature_is_text_too():
    frame = pd.DataFrame({HOSTILE: [1.0, 2.0, 4.0], "y": [1.0, 0.0, 2.0]})
    page = Balanced(ProtoSwap(2, kernel=Gaussian(1.0)).fit(frame).result_._repr_html_())
    assert HOSTILE in page.texts
    assert not {"script", "img"} & set(page.tags)


def test_features_called_like_our_columns_stand_beside_them():
    frame = pd.DataFrame({"weight": [70.5, 81.25, 60.125], "row": [1.0, 0.5, 2.0]})
    result = ProtoSwap(2, kernel=Gaussian(9.0)).fit(frame).result_
    page = Balanced(result._repr_html_())
    assert page.texts.count("weight") == page.texts.count("row") == 2
    assert f"{result.weights[0]:#.3g} " in page.texts
    assert f"{result.rows[0, 0]:.4g}" in page.texts


@pytest.mark.parametrize("nested", [False, True])
def test_dates_beyond_those_of_python_are_shown_as_text(tmp_path, nested):
    days = pa.array([10**7, None, 0], pa.date32())
    column = pa.array([{"day": 10**7}, None, {"day": 0}], pa.struct([("day", pa.date32())])) if nested else days
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.5], "day": column}), tmp_path / "rows.parquet")
    page = Balanced(protosieve.select(tmp_path / "rows.parquet", 3, features="x")._repr_html_())
    assert ("a struct<day: date32[day]>" if nested else "29349-01-26") in page.texts
    assert "None" in page.texts


def test_signed_weights_have_bars_by_their_size():
    html = table("t", [("w", [Bar(0.5, "-1.0"), Bar(-1, "x"), Bar(2, "y")])])
    assert re.findall(r"width:([\d.]+)em", html) == ["2.50", "0.00", "5.00"]


def test_long_texts_are_cut():
    assert "z" * 200 not in table("t", [("w", ["z" * 500])])
    assert "…" in details("s", {"fact": "z" * 1000})


@pytest.mark.parametrize("make", [ProtoSwap, ProtoDash])
def test_a_selector_shows_its_result_beside_its_parameters(make, X):
    selector = make(5, kernel=Gaussian(2.0), random_state=0)
    before = selector._repr_html_()
    assert "5 of 300 rows" not in before
    selector.fit(X)
    for after in (selector._repr_html_(), selector._repr_mimebundle_()["text/html"]):
        assert "n_prototypes" in after
        assert any("5 of 300 rows" in text for text in _own(after).texts)


def test_who_wants_text_gets_text(X):
    selector = ProtoSwap(5, random_state=0).fit(X)
    with config_context(display="text"):
        assert not hasattr(selector, "_repr_html_")
        assert set(selector._repr_mimebundle_()) == {"text/plain"}


def test_a_selector_that_found_nothing_says_why():
    selector = ProtoSwap(3, kernel=Linear(), random_state=0)
    selector.partial_fit(np.zeros((4, 2)))
    assert any("has no result yet: none of the 4 rows" in text for text in Balanced(selector._repr_html_()).texts)


def test_a_comparison_shows_a_line_per_method(X):
    found = compare(X, 5, ["basic", "swap", "random"])
    page = Balanced(found._repr_html_())
    assert page.tags.count("tr") == 4
    assert found.title in page.texts
    for name, column in found.columns.items():
        assert name in page.texts
        for value in column.tolist():
            assert (f"{value:.4g}" if isinstance(value, float) else str(value)) in page.texts


def test_a_selector_in_a_comparison_is_text_whatever_its_name_looks_like(X):
    hostile = type(HOSTILE, (ProtoSwap,), {})
    page = Balanced(compare(X, 5, [hostile(5)])._repr_html_())
    assert any("<script>" in text for text in page.texts)
    assert not {"script", "img"} & set(page.tags)


def test_a_choice_of_width_shows_every_width_and_marks_its_own(X):
    found = choose_width(X, X[:, 0] > 0, 5, widths=[0.5, 2.0, 8.0], folds=2)
    html = found._repr_html_()
    page = Balanced(html)
    assert page.tags.count("tr") == 4
    for width, accuracy, spread in zip(found.widths, found.accuracy, found.spread, strict=True):
        assert {f"{width:.4g}", f"{accuracy:.4f} ", f"{spread:.4f}"} <= set(page.texts)
    assert page.texts.count("chosen") == 1
    assert page.texts.index(f"{found.width:.4g}") < page.texts.index("chosen")
    assert f"the median rule: {found.median:.4g}" in page.texts
    lengths = [float(length) for length in re.findall(r"width:([\d.]+)em", html)]
    np.testing.assert_allclose(lengths, 5 * np.array(found.accuracy), atol=0.006)
    assert ("at the end of the grid" in html) == (found.width != 2.0) == ("at the end of the grid" in str(found))


def test_a_table_of_arrow_scalars_needs_no_care():
    assert "2026-11-16" in table("t", [("day", pa.array(["2026-11-16"]).to_pylist())])
