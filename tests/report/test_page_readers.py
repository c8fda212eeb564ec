"""The report's page for everyone: by keyboard, light and dark, on paper, for screen readers, and with hostile data."""

import re

import pytest

import report_page_examples as examples
from browsers import grave_findings, shown_cards
from protosieve.report import render
from report_page_parts import HOSTILE

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("browser")]

PHONE, WIDE = (390, 844), (1280, 900)


@pytest.fixture
def file(tmp_path):
    """Writes the page of some data."""

    def write(name):
        path = tmp_path / f"{name}.html"
        path.write_bytes(render(examples.EXAMPLES[name]()))
        return path

    return write


def brightness(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 765


def test_everything_is_reached_by_tab_is_seen_to_be_and_is_left_again(visit, file):
    page = visit().open(file("digits"))
    reached, unseen = [], []
    for _ in range(120):
        page.keyboard.press("Tab")
        at, outline = page.evaluate(
            "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
        )
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(at)
        unseen += [at] * (outline == "none")
    else:
        pytest.fail("the keyboard does not get out of the page")
    wanted = ["to-summary", "to-rerun", "theme", "search", "sort", "label", "least", "map-keys", "all-features", "copy"]
    assert [at for at in reached if at in wanted] == wanted
    assert unseen == []


def test_colours_follow_the_system_until_the_reader_chooses(visit, file):
    page = visit(color_scheme="dark").open(file("digits"))
    assert brightness(page) < 0.2
    page.emulate_media(color_scheme="light")
    page.locator("html[data-theme=light]").wait_for()
    assert brightness(page) > 0.9
    page.click("#theme")
    assert brightness(page) < 0.2
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    assert brightness(page) < 0.2
    assert page.locator("#theme").get_attribute("aria-label") == "Switch to light colours"


def test_paper_gets_all_cards_in_light_colours_uncut_and_without_controls(visit, file):
    page = visit(color_scheme="dark").open(file("large"))
    page.emulate_media(media="print")
    page.locator("#card-500").wait_for()
    assert shown_cards(page) == list(range(500))
    assert brightness(page) == 1
    assert page.eval_on_selector("#card-1", "card => getComputedStyle(card).breakInside") == "avoid"
    for hidden in ("#nav", ".controls", "#pages", "#theme", "#copy"):
        assert page.locator(hidden).is_hidden()
    page.emulate_media(media="screen")
    page.locator("#card-500").wait_for(state="detached")
    assert len(shown_cards(page)) == 24


COUNT_AT_PRINT = """() => addEventListener("beforeprint", () => {
    window.printed = document.querySelectorAll("#cards > li").length
})"""


def test_paper_gets_the_cards_that_pass_and_says_that_there_are_more(visit, file):
    page = visit().open(file("digits"))
    page.emulate_media(media="print")
    assert page.locator("#filtered").is_hidden()
    page.emulate_media(media="screen")
    page.select_option("#label", "=5")
    few = len(shown_cards(page))
    assert page.locator("#filtered").is_hidden()
    page.emulate_media(media="print")
    assert page.locator("#filtered").inner_text() == f"Filtered: {few} of 20 prototypes"
    assert len(shown_cards(page)) == few < 20


def test_a_printed_file_has_the_cards_of_all_pages(visit, file):
    page = visit().open(file("large"))
    page.evaluate(COUNT_AT_PRINT)
    page.pdf()
    assert page.evaluate("window.printed") == 500
    assert len(shown_cards(page)) == 24


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["digits", "mixed", "hostile"])
def test_an_accessibility_check_finds_nothing_serious(visit, file, name, scheme, size):
    page = visit(size, color_scheme=scheme).open(file(name))
    page.eval_on_selector_all("details", "boxes => boxes.forEach((box) => { box.open = true })")
    page.focus("#theme")
    page.keyboard.press("Shift+Tab")
    page.eval_on_selector("#map-keys", "map => map.focus({ focusVisible: true })")
    page.locator("#tooltip").wait_for()
    assert grave_findings(page) == []


def test_names_and_cells_that_look_like_html_show_as_text(visit, file):
    window = visit()
    page = window.open(file("hostile"))
    page.eval_on_selector_all("details", "boxes => boxes.forEach((box) => { box.open = true })")
    page.focus("#map-keys")
    page.keyboard.press("ArrowRight")
    text = page.locator("main").evaluate("main => main.textContent")
    for hostile in HOSTILE[:8]:
        assert hostile in text
    assert page.evaluate("window.harmed") is None
    assert window.said == []


STRANGE = "script, iframe, object, embed, link, style, a[href^='javascript'], form[action]"
HANDLERS = "all => all.flatMap((node) => node.getAttributeNames().filter((name) => name.startsWith('on')))"


def test_hostile_data_makes_no_element_and_no_handler(visit, file):
    page = visit().open(file("hostile"))
    assert page.locator("script").count() == 2
    assert page.locator(f"main :is({STRANGE})").count() == 0
    assert page.locator("img:not([src^='data:image/'])").count() == 0
    assert page.eval_on_selector_all("*", HANDLERS) == []


def added(tag, *statements):
    return "; ".join([f"const it = document.createElement('{tag}')", *statements, "document.body.append(it)"])


ATTEMPTS = {
    "script-src-elem": added("script", "it.textContent = 'window.harmed = 1'"),
    "script-src-attr": added("img", "it.setAttribute('onerror', 'window.harmed = 1')", "it.src = 'data:,'"),
    "style-src-elem": added("style", "it.textContent = '* { color: red }'"),
    "img-src": added("img", "it.src = 'http://127.0.0.1:9/x'"),
    "connect-src": "fetch('http://127.0.0.1:9/x').catch(() => 0)",
}


@pytest.mark.parametrize("rule", ATTEMPTS)
def test_what_might_still_be_injected_is_refused_by_the_policy(visit, file, rule):
    page = visit().open(file("bare"))
    heard = "addEventListener('securitypolicyviolation', (event) => go(event.effectiveDirective))"
    assert page.evaluate(f"() => new Promise((go) => {{ {heard}; {ATTEMPTS[rule]} }})") == rule
    assert page.evaluate("window.harmed") is None
