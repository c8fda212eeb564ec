"""A real browser for the report's page: Debian's Chromium, driven by Playwright, and what it said and asked for."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 30_000  # milliseconds, on a busy machine
_WIDE = (1280, 900)


def browser_path() -> str:
    """The browser's program; without one the test is skipped, or fails where PROTOSIEVE_BROWSER=require."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return found or _missing(f"no browser: none of {', '.join(_NAMES)} is on the path")


def _missing(why: str) -> str:
    (pytest.fail if os.environ.get("PROTOSIEVE_BROWSER") == "require" else pytest.skip)(why)
    raise AssertionError


@contextmanager
def open_browser() -> Iterator[Any]:
    """A headless browser, until the end of the block."""
    path = browser_path()
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        _missing("Playwright is not installed: pip install playwright")
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] * (os.geteuid() == 0))
        yield browser
        browser.close()


class Visit:
    """A page that is open: ``said`` is what console, errors and dialogs said, ``asked`` are the addresses requested."""

    def __init__(self, browser: Any, size: tuple[int, int] = _WIDE, **context: Any) -> None:
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce", **context
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, file: Path) -> Any:
        self.page.goto(file.as_uri())
        return self.page

    def resize(self, width: int, height: int = 844) -> None:
        """Until the charts are drawn for the new width."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")


def grave_findings(page: Any) -> list[tuple[str, str]]:
    """What an accessibility check finds that is serious or worse: the rule, and the first element it is about."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(rule["id"], rule["nodes"][0]["html"]) for rule in found if rule["impact"] in ("serious", "critical")]


def shown_cards(page: Any) -> list[int]:
    """Positions of the cards on the page, from 0, in their order."""
    return page.eval_on_selector_all("#cards > li", "cards => cards.map((card) => Number(card.id.slice(5)) - 1)")
