"""An insight as one HTML page: nothing is loaded, nothing but our own script may run."""

import base64
import hashlib
import html
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from protosieve._atomic import check_place, write_whole
from protosieve.errors import OutputError
from protosieve.insight import Insight, Thumbnail, View, describe, shown
from protosieve.result import Prototypes

_ENDINGS = (".html", ".htm")
_STYLES = ("base.css", "layout.css", "controls.css", "cards.css", "charts.css", "print.css")
_SCRIPTS = (
    "format.js", "dom.js", "scales.js", "tooltip.js", "chart.js", "bars.js", "curve.js", "shares.js",
    "similarities.js", "labels.js", "features.js", "stream.js", "palette.js", "map.js", "markers.js", "card.js",
    "cards.js", "card_list.js", "controls.js", "headline.js", "rerun.js", "sections.js", "nav.js", "theme.js",
    "stay_in_place.js", "live.js", "start.js",
)  # fmt: skip
# What could end the script element or start a comment or a line in it; and halves of characters, which have no UTF-8.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_DIGITS = 8  # of a number: no chart shows more, and the page rounds what it writes
_EXACT = 1 << 53  # beyond, a reader's numbers are not whole any more


def write_report(result: Prototypes, path: str | os.PathLike[str], data: Any = None, **view: Any) -> None:
    """Write one page about a result to ``path``, complete or not at all.

    ``data`` is what `describe` takes, ``view`` what `View` does. See `describe` for the cost.
    """
    check_report(path)
    save_page(path, render(page_data(describe(result, data, View(**view)))))


def save_page(path: str | os.PathLike[str], page: bytes) -> None:
    """Write a page that `render` made, complete or not at all."""
    write_whole(path, page)


def check_report(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` where a report could not be written to ``path``, before the work that leads to it starts."""
    target = os.fspath(path)
    if "://" in target:
        raise OutputError(f"{target}: a report is written to a file on this machine; write it and copy it there")
    if not target.lower().endswith(_ENDINGS):
        raise OutputError(f"{target}: a report is a page; end its name in {' or '.join(_ENDINGS)}")
    check_place(target)


def page_data(insight: Insight, state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a page shows, as JSON can hold it; ``state`` is that of a run that is going on."""
    found: dict[str, Any] = plain(insight)
    return {**found, "state": None if state is None else dict(state)}


def plain(value: Any) -> Any:
    """The value as JSON can hold it: what is not finite is None, what is no number, text or collection its text.

    >>> plain({"a": (1, float("nan")), 2: np.float32(0.5), "c": 1 << 60, "d": {3}})
    {'a': [1, None], '2': 0.5, 'c': '1152921504606846976', 'd': '{3}'}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return value if abs(value) < _EXACT else shown(value)
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Mapping):
        return {plain(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Thumbnail):
        return f"data:image/{value.kind};base64,{base64.b64encode(value.data).decode()}"
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return shown(value, 300)


def render(data: Mapping[str, Any], live: bool = False) -> bytes:
    """The whole page; with `live` it asks its server for newer ones.

    Time and memory are those of a few copies of its data as JSON.
    """
    style, script = _style(), _script()
    parts = {
        "policy": _policy(style, script, live),
        "title": html.escape(str(data["title"])),
        "live": "live" if live else "still",
        "style": style,
        "script": script,
        "report": _json(data),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("index.html"))
    return page.encode("utf-8", errors="xmlcharrefreplace")


def _json(data: Mapping[str, Any]) -> str:
    """JSON that an HTML parser takes for nothing else: what is unsafe can be in strings only, and stands escaped."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
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
