"""The report's charts in a real browser: numbers as they are written, read-outs, tables, and data at the edge."""

import re
from importlib import resources

import pytest

import report_page_examples as examples
from protosieve.insight import as_date
from protosieve.report import render
from report_page_parts import card, label, number, quality

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("browser")]


@pytest.fixture
def example():
    return examples.digits()


@pytest.fixture
def opened(visit, tmp_path):
    """Opens the page of some data; its window says what went wrong."""

    def one(data):
        file = tmp_path / "page.html"
        file.write_bytes(render(data))
        window = visit()
        return window.open(file), window

    return one


WRITTEN = {
    "percent(0.99691)": "99.7 %",
    "percent(0.99996)": "99.996 %",
    "percent(1 - 1e-12)": "99.9999 %",
    "percent(0.9999499)": "99.995 %",
    "percent(1)": "100 %",
    "percent(0.123)": "12 %",
    "percent(0.0164)": "1.6 %",
    "percent(0.0031)": "0.31 %",
    "percent(0)": "0 %",
    "percent(null)": "\u2013",
    "number(1234567)": "1,234,567",
    "number(-0.5)": "\u22120.5",
    "number(3.14159)": "3.14",
    "number(0.000012)": "1.2 \u00d7 10⁻⁵",
    "number(1e12)": "10¹²",
    "number(NaN)": "\u2013",
    "steady(0.045)": "0.0450",
    "count(1797)": "1,797",
    "bytes(41234)": "41.2 kB",
    "bytes(999)": "999 bytes",
    "signed(-2.34)": "\u22122.3",
    "plural(1, 'row')": "1 row",
    "plural(2, 'row')": "2 rows",
    "clip('👩👩👩', 2)": "👩…",
}


def test_numbers_are_written_for_people(visit):
    rules = (resources.files("protosieve.report") / "page" / "format.js").read_text(encoding="utf-8")
    said = visit().page.evaluate(f"() => {{ {rules}; return [{', '.join(WRITTEN)}] }}")
    assert [text.replace("\u202f", " ") for text in said] == list(WRITTEN.values())


def stretched():
    """Numbers as long as they come: many million rows, residuals near nothing, long names."""
    data = examples.digits()
    made = {**data, "stream": {**examples.stream(40, 20_000_000), "residual": [10 ** (-4 - i / 9) for i in range(40)]}}
    made["coverage"] = {**data["coverage"], "labels": {"name": "n", "values": [], "more": 0}}
    values = [label(name, 0.3, 1, 0.31, 0.3) for name in ("W" * 60, "a label of several words that goes on", "b")]
    made["coverage"]["labels"]["values"] = values
    curve = data["quality"]["curve"]
    made["quality"] = {**data["quality"], "curve": {**curve, "residual": [r / 1e5 for r in curve["residual"]]}}
    return made


BEYOND = """() => [...document.querySelectorAll(".canvas text")].filter((word) => {
    const [box, field] = [word.getBoundingClientRect(), word.ownerSVGElement.getBoundingClientRect()];
    return box.width && (box.left < field.left - 0.6 || box.right > field.right + 0.6 ||
        box.top < field.top - 1 || box.bottom > field.bottom + 1);
}).map((word) => `${word.ownerSVGElement.parentNode.id}: ${word.textContent}`)"""


@pytest.mark.parametrize("made", [stretched, examples.mixed, examples.texts, examples.hostile])
def test_no_word_of_a_chart_is_cut_at_its_edge(opened, made):
    page, window = opened(made())
    for width in (1280, 800, 390, 320):
        window.resize(width)
        assert (width, page.evaluate(BEYOND)) == (width, [])


def test_dates_are_shown_as_dates(opened, example):
    quantiles = {"data": [1.28e9, 1.4e9, 1.5e9, 1.6e9, 1.67e9], "prototypes": [1.29e9, 1.4e9, 1.5e9, 1.6e9, 1.66e9]}
    shown = {of: [as_date(second) for second in line] for of, line in quantiles.items()}
    item = {"name": "since", "kind": "number", "distance": 0.1, **quantiles, "shown": shown}
    data = {**example, "coverage": {**example["coverage"], "features": {"sentence": "", "total": 1, "items": [item]}}}
    page, _ = opened(data)
    assert page.locator("#feature-0 text").all_text_contents() == [shown["data"][0], shown["data"][-1]]
    page.locator("#feature-0 svg").hover()
    assert page.locator("#tooltip dd").all_inner_texts() == [", ".join(shown["data"]), ", ".join(shown["prototypes"])]
    page.locator("#features-table summary").click()
    assert page.locator("#features-table td").nth(1).inner_text() == ", ".join(shown["data"])


def test_similarities_to_the_nearest_prototype_are_bars_and_numbers(opened, example):
    near = {"edges": [0.0, 0.5, 1.0], "shares": [0.25, 0.75]}
    data = {**example, "coverage": {**example["coverage"], "similarities": near, "features": None}}
    data["criticisms"] = {"sentence": "", "cards": [{**card(7, None), "witness": None, "similarity": 0.25}]}
    page, _ = opened(data)
    page.locator("#similarities svg").hover(position={"x": 60, "y": 60})
    assert page.locator("#tooltip dd").all_inner_texts() == ["25\u202f%"]
    page.locator("#similarities-table summary").click()
    page.locator("#similarities-table tbody tr").nth(1).wait_for()  # the table is made when it is opened
    assert page.locator("#similarities-table th[scope=row]").all_inner_texts() == ["0 to 0.5", "0.5 to 1"]
    assert page.locator("#similarities-table td").all_inner_texts() == ["25\u202f%", "75\u202f%"]
    assert page.locator("#criticisms .measure .figure").all_inner_texts() == ["0.25"]


def only(data):
    """One prototype, one row, one look: no distance between the least and the largest of anything."""
    same = [number("flat", [7, 7], [7, 7], 0.0), number("huge", [-1e30, 1e30], [0, 1e-30], 1.0)]
    return {
        **data,
        "cards": [card(0, 1.0, label="a", share=1.0, around=[["a", 1.0]])],
        "quality": {
            **quality(2, 0.3, 0.3),
            "curve": {**quality(2, 0.3, 0.3)["curve"], "count": [1], "residual": [0.3]},
        },
        "map": {**data["map"], "points": [[3, 3, -1, 0]], "prototypes": [[3, 3]], "labels": []},
        "coverage": {
            "sentence": "",
            "shares": [1.0],
            "labels": {"name": "", "values": [label("a", None, 1, 1.0, None)], "more": 0},
            "features": {"sentence": "", "total": 2, "items": same},
        },
        "stream": {"rows": [5], "residual": [0.3], "accepted": [0], "exchanged": [0], "sentence": ""},
    }


def nothing(data):
    """Nothing left, no weight, no share, and a stream that does not know its counts at first."""
    return {
        **data,
        "cards": [card(k, 0.0) for k in range(3)],
        "criticisms": {"sentence": "None.", "cards": []},
        "quality": {
            **quality(3, 0.1, None),
            "curve": {**quality(3, 0.1, None)["curve"], "residual": [0, 0, 0], "own": 0},
        },
        "map": {**data["map"], "points": [], "prototypes": [None] * 3},
        "coverage": {
            "sentence": "",
            "shares": [0.0, 0.0, 0.0],
            "labels": {"name": "", "values": [], "more": 0},
            "features": {"sentence": "", "total": 0, "items": []},
        },
        "stream": {"rows": [1, 2], "residual": [None, 0], "accepted": [None, 2], "exchanged": None, "sentence": ""},
    }


NO_NUMBERS = """all => all.flatMap((node) => [...node.attributes].map((a) => a.value))
    .filter((value) => /NaN|Infinity|undefined/.test(value))"""


@pytest.mark.parametrize("edge", [only, nothing, dict])
def test_no_page_draws_what_is_no_number(opened, example, edge):
    page, window = opened(edge(example))
    assert page.eval_on_selector_all(".canvas *", NO_NUMBERS) == []
    page.eval_on_selector_all("details", "boxes => boxes.forEach((box) => { box.open = true })")
    assert not re.search("NaN|undefined|null|Infinity", page.locator("main").inner_text())
    assert window.said == []


def test_the_curve_says_how_many_do_as_well_as_random_rows(opened, example):
    curve = example["quality"]["curve"]
    enough = next(k for k, left in zip(curve["count"], curve["residual"], strict=True) if left <= curve["random"])
    assert f"{enough} do as well as 20 random rows" in opened(example)[0].locator("#curve").text_content()


def test_the_worst_twelve_features_are_shown_and_all_of_them_when_asked(opened, example):
    page, _ = opened(example)
    assert page.locator(".feature").count() == 12
    page.click("#all-features")
    assert page.locator(".feature").count() == 32
    assert page.evaluate("document.activeElement.id") == "all-features"


def test_every_chart_has_a_name_and_its_numbers_in_a_table(opened, example):
    page, _ = opened(example)
    assert page.locator('.canvas svg:not([role="img"][aria-label])').count() == 0
    page.locator("#curve-table summary").click()
    page.locator("#curve-table tbody tr").first.wait_for()
    assert page.locator("#curve-table tbody tr").count() == len(example["quality"]["curve"]["count"])
    page.locator("#stream-chart-table summary").click()
    page.locator("#stream-chart-table thead th").first.wait_for()
    heads = page.locator("#stream-chart-table thead th").all_inner_texts()
    assert heads == ["Rows seen", "Share left", "Rows taken in", "Rows exchanged"]


@pytest.mark.parametrize("chart", ["#curve svg", "#shares svg", "#stream-chart svg", "#labels svg", "#feature-0 svg"])
def test_hovering_a_chart_reads_numbers_out(opened, example, chart):
    page, _ = opened(example)
    page.locator(chart).scroll_into_view_if_needed()
    page.locator(chart).hover(position={"x": 150, "y": 20})
    assert any(letter.isdigit() for letter in page.locator("#tooltip").inner_text())
