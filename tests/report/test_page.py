"""The report's page in a real browser: what it shows, what its controls do, who can use it."""

import pytest

import report_page_examples as examples
from browsers import grave_findings, shown_cards
from protosieve.report import render
from report_page_parts import card

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Every example and its page, on disk."""
    folder = tmp_path_factory.mktemp("pages")
    made = {name: make() for name, make in examples.EXAMPLES.items()}
    for name, data in made.items():
        (folder / f"{name}.html").write_bytes(render(data))
    return {name: (data, folder / f"{name}.html") for name, data in made.items()}


@pytest.fixture
def digits(files, visit):
    """The page of twenty digits, and their cards."""
    return visit().open(files["digits"][1]), files["digits"][0]["cards"]


@pytest.fixture
def large(files, visit):
    """The page of 500 digits, and their cards."""
    return visit().open(files["large"][1]), files["large"][0]["cards"]


def order(cards, key):
    return sorted(range(len(cards)), key=lambda i: (key(cards[i]), i))


def middle(page, selector):
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def point_at(page, card):
    """The pointer on a prototype's circle in the map, which is brought into the window first."""
    page.locator("#map-chart").scroll_into_view_if_needed()
    # the browser tells the page of the scrolling a frame later, and that hides what is shown for the pointer
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.mouse.move(*middle(page, f'.marker[data-card="{card}"] circle'))


def in_window(page, selector):
    top, bottom, height = page.eval_on_selector(
        selector, "node => [node.getBoundingClientRect().top, node.getBoundingClientRect().bottom, innerHeight]"
    )
    return bottom > 0 and top < height


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_it_is_never_wider_than_the_window(files, visit, name):
    window = visit((390, 844))
    page = window.open(files[name][1])
    page.eval_on_selector_all("details", "boxes => boxes.forEach((box) => { box.open = true })")
    for width in (390, 320, 800):
        window.resize(width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_sections_that_have_nothing_to_say_are_not_there(files, visit):
    page = visit().open(files["bare"][1])
    there = page.eval_on_selector_all("main section:not([hidden])", "all => all.map((section) => section.id)")
    assert there == ["summary", "prototypes"]
    assert page.locator("#nav a").count() == 2


def test_the_headline_is_the_comparison_with_random_rows(files, visit):
    data, file = files["digits"]
    page = visit().open(file)
    assert page.locator(".huge").inner_text() == data["quality"]["lead"].replace(" ", "")
    assert page.locator(".huge").inner_text().endswith("×")
    assert page.locator(".headline .first").inner_text() == data["quality"]["sentences"][0]
    assert page.locator(".versus-value").all_inner_texts() == ["0.31\u202f%", "1.6\u202f%"]


LINES = "box => box.getBoundingClientRect().height / parseFloat(getComputedStyle(box).lineHeight)"


@pytest.mark.parametrize("lead", ["5.3 ×", "12,345,678 ×", "99.9996 %", "99.999999997 %", "100 %", "-50.0 %"])
def test_the_headline_is_one_line_at_every_width(visit, tmp_path, lead):
    data = examples.digits(8)
    data["quality"]["lead"] = lead
    (tmp_path / "x.html").write_bytes(render(data))
    window = visit((1280, 844))
    page = window.open(tmp_path / "x.html")
    assert page.locator(".huge").inner_text() == lead.replace(" ", "").replace("-", "\u2212")
    for width in (320, 390, 736, 800, 1280):
        window.resize(width)
        ends = "box => [box.lastChild.getBoundingClientRect().right, box.parentNode.getBoundingClientRect().right]"
        right, room = page.eval_on_selector(".huge", ends)
        assert right <= room
        assert page.eval_on_selector(".huge", LINES) == pytest.approx(1, abs=0.1)


def test_the_nav_says_which_section_the_reader_is_in(digits):
    page, _ = digits
    for section in ("summary", "map", "rerun", "quality"):
        page.click(f"#to-{section}")
        page.locator(f"#to-{section}[aria-current]").wait_for()
        assert page.locator("#nav [aria-current]").count() == 1


def test_the_rest_of_the_labels_around_a_card_is_not_taken_for_a_label_called_other(visit, tmp_path):
    rest = [["other", 0.6], [None, 0.4]]
    (tmp_path / "x.html").write_bytes(render({**examples.bare(), "cards": [card(0, 1.0, label="other", around=rest)]}))
    page = visit().open(tmp_path / "x.html")
    assert page.locator(".near").all_inner_texts() == ["other 60\u202f%", "others 40\u202f%"]
    kinds = page.eval_on_selector_all(".pieces > span", "all => all.map((piece) => piece.className)")
    assert kinds == ["c0", "other"]


def test_a_row_that_chance_may_have_made_is_marked(files, visit):
    data, file = files["digits"]
    page = visit().open(file)
    marked = page.eval_on_selector_all(".doubt", "all => all.map((mark) => mark.closest('.card').id)")
    missed = data["criticisms"]["cards"]
    assert marked == [f"criticism-{i + 1}" for i, one in enumerate(missed) if one["within_chance"]]
    assert 0 < len(marked) < len(missed)


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("weight", lambda card: -card["weight"]),
        ("share", lambda card: -card["share"]),
        ("label", lambda card: int(card["label"])),
        ("row", lambda card: card["row"]),
        ("position", lambda card: 0),
    ],
)
def test_cards_are_sorted_by_what_is_asked(digits, sort, key):
    page, cards = digits
    page.select_option("#sort", sort)
    assert shown_cards(page) == order(cards, key)


def test_a_label_a_least_weight_and_words_each_leave_the_cards_that_pass(digits):
    page, cards = digits
    page.select_option("#label", "5")
    assert shown_cards(page) == [i for i, card in enumerate(cards) if card["label"] == "5"]
    page.select_option("#label", "")
    page.locator("#least").fill("50")
    half = max(card["weight"] for card in cards) / 2
    assert shown_cards(page) == [i for i, card in enumerate(cards) if card["weight"] >= half]
    page.fill("#search", "PART-1 image")
    found = [i for i, card in enumerate(cards) if card["weight"] >= half and card["file"] == "part-1.parquet"]
    assert shown_cards(page) == found
    assert page.locator("#shown").inner_text() == f"Showing {len(found)} found among {len(cards)}"


def test_words_that_set_a_card_apart_are_shown_and_found(files, visit):
    data, file = files["texts"]
    page, cards = visit().open(file), data["cards"]
    assert page.locator("#card-1 .apart bdi").all_inner_texts() == cards[0]["words"]
    page.focus("#search")
    page.keyboard.type("TOP-up weekends")  # both, in any case: among the words, and in a text or that of a near row
    said = [[*card["words"], card["text"], *(near["text"] for near in card["neighbours"])] for card in cards]
    found = [i for i, parts in enumerate(said) if "top-up" in parts and "weekends" in " ".join(parts)]
    assert 0 < len(found) < len(cards)
    shown = f"1 to 24 of {len(found)}" if len(found) > 24 else str(len(found))
    assert page.locator("#shown").inner_text() == f"Showing {shown} found among {len(cards)}"
    assert shown_cards(page) == found[:24]
    page.select_option("#label", cards[found[0]]["label"])  # beside the other filters
    assert shown_cards(page) == [i for i in found if cards[i]["label"] == cards[found[0]]["label"]]


def test_the_rows_nearest_to_a_card_are_a_press_away_as_texts_or_by_their_numbers(files, visit, tmp_path):
    data, file = files["texts"]
    page = visit().open(file)
    box = page.locator("#card-4-near")
    assert box.locator("li").count() == 0
    page.focus("#card-4-near summary")
    page.keyboard.press("Enter")
    box.locator("li").first.wait_for()
    near = data["cards"][3]["neighbours"]
    assert box.locator("summary").inner_text() == "The 3 nearest rows"
    assert box.locator("li > bdi").all_inner_texts() == [one["text"] for one in near]
    assert box.locator(".near").all_inner_texts() == [one["label"] for one in near]
    assert grave_findings(page) == []
    assert page.locator("#card-1-near").count() == 0  # which has none
    alone = card(0, 1.0, neighbours=[{"row": 1234, "text": None, "label": None}])
    (tmp_path / "x.html").write_bytes(render({**examples.bare(), "cards": [alone]}))
    page = visit().open(tmp_path / "x.html")
    page.click("#card-1-near summary")
    assert page.locator("#card-1-near li").inner_text() == "Row 1,234"
    assert page.locator("#card-1-near summary").inner_text() == "The nearest row"


def test_a_search_that_finds_nothing_says_so_and_is_undone_by_one_button(digits):
    page, cards = digits
    page.fill("#search", "no such thing")
    assert shown_cards(page) == []
    assert "No card passes" in page.locator("#shown").inner_text()
    page.click("#clear")
    assert shown_cards(page) == list(range(len(cards)))


def test_pages_of_cards_follow_each_other_and_hold_as_many_as_asked(large):
    page, cards = large
    assert page.locator("#page-back").is_disabled()
    page.focus("#page-on")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # the focus stays on the button
    assert shown_cards(page) == list(range(48, 72))
    page.select_option("#size", "120")
    assert shown_cards(page) == list(range(120))
    assert page.locator(".page-at").inner_text() == "Page 1 of 5"
    page.select_option("#size", "500")
    assert shown_cards(page) == list(range(len(cards)))
    assert page.locator("#pages").is_hidden()


def test_hovering_a_circle_of_the_map_shows_its_card(digits):
    page, cards = digits
    point_at(page, 0)
    tip = page.locator("#tooltip")
    assert tip.is_visible()
    assert tip.inner_text().startswith(f"Prototype 1 · {cards[0]['label']}")
    assert tip.locator("img").get_attribute("src") == cards[0]["image"]
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_hovering_a_circle_leaves_the_rows_nearest_to_it_bright(files, visit):
    data, file = files["digits"]
    page = visit().open(file)
    faint = "dots => Number(getComputedStyle(dots).opacity)"
    before = page.eval_on_selector("g.dots", faint)
    point_at(page, 0)
    assert page.eval_on_selector("g.dots", faint) < before
    drawn = "paths => paths.map((path) => path.getAttribute('d').split('M').length - 1).reduce((a, b) => a + b, 0)"
    nearest = sum(point[3] == 0 for point in data["map"]["points"])
    assert page.eval_on_selector_all(".own path", drawn) == nearest
    page.mouse.move(5, 5)
    assert page.eval_on_selector("g.dots", faint) == before


def test_a_click_in_the_map_leads_to_the_card_on_whatever_page_it_is(large):
    page, cards = large
    page.select_option("#sort", "row")
    assert 0 not in shown_cards(page)
    point_at(page, 0)
    page.mouse.down()
    page.mouse.up()
    place = order(cards, lambda card: card["row"]).index(0)
    assert page.locator(".page-at").inner_text() == f"Page {place // 24 + 1} of 21"
    assert page.evaluate("document.activeElement.id") == "card-1"
    assert in_window(page, "#card-1.found")


def test_a_click_in_the_map_lifts_filters_that_hide_the_card(digits):
    page, cards = digits
    page.select_option("#label", next(card["label"] for card in cards if card["label"] != cards[0]["label"]))
    point_at(page, 0)
    page.mouse.down()
    assert 0 not in shown_cards(page)
    page.mouse.up()
    assert shown_cards(page) == list(range(len(cards)))


def test_arrow_keys_walk_all_circles_of_the_map_and_enter_leads_to_the_card(digits, files):
    page, cards = digits
    walk = order(files["digits"][0]["map"]["prototypes"], lambda place: place[0])
    page.focus("#all-features")
    while page.evaluate("document.activeElement.id") != "map-keys":
        page.keyboard.press("Shift+Tab")
    seen = []
    for _ in cards:
        seen.append(page.locator("#tooltip .tip-title").inner_text())
        page.keyboard.press("ArrowRight")
    assert seen == [f"Prototype {i + 1} · {cards[i]['label']}" for i in walk]
    assert page.locator("#said").inner_text().startswith(f"Prototype {walk[-1] + 1}, label")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == f"card-{walk[0] + 1}"
    assert in_window(page, f"#card-{walk[0] + 1}")


def test_an_address_that_names_a_card_opens_at_it(files, visit):
    page = visit().page
    page.goto(f"{files['large'][1].as_uri()}#card-300")
    assert page.locator(".page-at").inner_text() == "Page 13 of 21"
    assert in_window(page, "#card-300.found")


def test_a_long_text_is_cut_and_the_whole_of_it_is_a_press_away(visit, tmp_path):
    text = "All of this text is to be read by whoever wants to. " * 20 + "THE END"
    picture = examples.digits(8)["cards"][0]["image"]
    (tmp_path / "x.html").write_bytes(render({**examples.bare(), "cards": [card(0, 1.0, text=text, image=picture)]}))
    page = visit().open(tmp_path / "x.html")
    assert page.locator("#card-1 img").is_visible()
    assert page.locator("#card-1 .quote").inner_text().endswith("…")
    page.click("#card-1-text summary")
    assert page.locator("#card-1-text .quote").inner_text() == text


def test_the_command_is_copied(files, visit):
    data, file = files["digits"]
    page = visit(permissions=["clipboard-read", "clipboard-write"]).open(file)
    page.click("#copy")
    page.locator("#copy", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == data["rerun"]["command"]
