"""A story as one HTML file: nothing is loaded, nothing but our own script may run."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

_STYLES = ("base.css", "layout.css", "controls.css", "cards.css", "charts.css", "print.css")
_SCRIPTS = (
    "format.js", "dom.js", "scales.js", "tooltip.js", "chart.js", "bars.js", "curve.js", "shares.js", "labels.js",
    "features.js", "stream.js", "palette.js", "map.js", "markers.js", "card.js", "cards.js", "gallery.js",
    "controls.js", "headline.js", "again.js", "sections.js", "nav.js", "theme.js", "keep.js", "live.js", "start.js",
)  # fmt: skip
# What could end the script element or start a comment or a line in it; and halves of characters, which have no UTF-8.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def render(story: Mapping[str, Any], live: bool = False) -> bytes:
    """The whole page of a story; with `live` it asks its server for newer ones.

    Time and memory are those of a few copies of the story's JSON.
    """
    style, script = _style(), _script()
    parts = {
        "policy": _policy(style, script, live),
        "title": html.escape(str(story["title"])),
        "live": "live" if live else "still",
        "style": style,
        "script": script,
        "story": _json(story),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("index.html"))
    return page.encode("utf-8", errors="xmlcharrefreplace")


def _json(story: Mapping[str, Any]) -> str:
    """JSON that an HTML parser takes for nothing else: what is unsafe can be in strings only, and stands escaped."""
    text = json.dumps(story, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _policy(style: str, script: str, live: bool) -> str:
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules + ["connect-src 'self'"] * live)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _style() -> str:
    return "\n".join(map(_read, _STYLES))


@cache
def _script() -> str:
    """All scripts in one function, so that the page has no global names."""
    return "(() => {\n'use strict';\n" + "\n".join(map(_read, _SCRIPTS)) + "})();"


def _read(name: str) -> str:
    """Read as text, lines end as browsers hash them, however the file was checked out."""
    return (resources.files("protosieve.report") / "page" / name).read_text(encoding="utf-8")
