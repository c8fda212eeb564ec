"""The report's page opens in a real browser: what `make test` looks at; other tests of the page are thorough."""

import pytest

import report_page_examples as examples
from browsers import shown_cards
from protosieve.report import render

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_it_opens_from_disk_says_nothing_to_the_console_and_asks_for_nothing_else(visit, tmp_path, name):
    window, data, file = visit(), examples.EXAMPLES[name](), tmp_path / f"{name}.html"
    file.write_bytes(render(data))
    page = window.open(file)
    assert page.locator("h1").inner_text().split() == data["title"].split()
    assert len(shown_cards(page)) == min(24, len(data["cards"]))
    assert window.asked == [file.as_uri()]
    assert window.said == []
