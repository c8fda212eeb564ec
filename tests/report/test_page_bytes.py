"""The report's page as bytes: one file, whose policy lets its own script run and no other."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

import report_page_examples as examples
from protosieve.plots._canvas import label_colours
from protosieve.report import _page, render
from report_page_parts import HOSTILE


class Parts(HTMLParser):
    """What a parser of HTML finds: contents of style and script elements by kind, and the policy."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {"style": [], "script": [], "json": [], "title": []}
        self.policy = self.open = ""
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.policy = given["content"] if "http-equiv" in given else self.policy
        self.open = "json" if given.get("type") == "application/json" else tag
        if self.open in self.found:
            self.found[self.open].append("")

    def handle_endtag(self, tag):
        self.open = ""

    def handle_data(self, data):
        if self.open in self.found:
            self.found[self.open][-1] += data

    def rules(self) -> dict[str, str]:
        return dict(rule.strip().split(" ", 1) for rule in self.policy.split(";"))


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_the_data_comes_back_from_the_page_as_it_was(name):
    data = examples.EXAMPLES[name]()
    parts = Parts(render(data))
    assert [json.loads(text) for text in parts.found["json"]] == [data]
    assert len(parts.found["script"]) == len(parts.found["style"]) == 1


@given(st.text(), st.text(st.characters(codec=None), max_size=8), st.sampled_from(HOSTILE))
def test_no_text_whatever_ends_the_script_element_or_changes(text, odd, hostile):
    data = {"title": hostile + text, odd: [text + hostile, odd]}
    page = render(data)
    block = page.split(b'id="report">')[1].split(b"</script>")[0]
    assert not set(block) & set(b"<>&")
    assert json.loads(block) == data
    assert len(Parts(page).found["script"]) == 1


def test_the_policy_allows_this_script_and_this_style_and_nothing_else():
    parts = Parts(render(examples.digits()))
    rules = parts.rules()
    assert rules.pop("script-src") == digest(parts.found["script"][0])
    assert rules.pop("style-src") == digest(parts.found["style"][0])
    none = ("default-src", "base-uri", "form-action")
    assert rules == {**dict.fromkeys(none, "'none'"), "img-src": "data:"}


def test_only_a_live_page_may_ask_and_only_its_own_server():
    assert "connect-src" not in Parts(render(examples.bare())).rules()
    assert Parts(render(examples.bare(), live=True)).rules()["connect-src"] == "'self'"


def test_the_title_is_escaped():
    assert Parts(render(examples.hostile())).found["title"] == [examples.hostile()["title"]]


def test_nothing_of_the_template_is_left_and_nothing_of_the_data_is_taken_for_it():
    page = render({**examples.bare(), "title": "{{script}}"}).decode()
    assert page.count("{{") == 2  # the title, in the head and in the data
    assert "<title>{{script}}</title>" in page


def test_every_file_of_the_page_is_in_it():
    files = {file.name for file in (resources.files("protosieve.report") / "page").iterdir()}
    assert files == {"index.html", *_page._STYLES, *_page._SCRIPTS}


def test_labels_have_the_colours_of_the_plots_in_the_same_order():
    style = (resources.files("protosieve.report") / "page" / "base.css").read_text(encoding="utf-8")
    assert re.findall(r"--c\d: (#[0-9a-f]{6});", style) == label_colours([str(k) for k in range(10)])
    assert re.findall(r"--c(\d): #", style) == [str(k) for k in range(10)]


MAKERS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "</script", "<!--")


@pytest.mark.parametrize("word", MAKERS)
def test_the_script_has_no_way_to_make_html_of_text(word):
    assert word not in _page._script()


def test_five_hundred_prototypes_with_pictures_take_less_than_three_megabytes():
    assert len(render(examples.large())) < 3e6


def test_a_number_that_json_does_not_know_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        render({**examples.bare(), "state": float("nan")})
