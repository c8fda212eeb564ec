"""A report to a file."""

import os
from typing import Any

from protosieve._atomic import check_place, write_whole
from protosieve._prototypes import Prototypes
from protosieve.errors import OutputError
from protosieve.report._material import Material
from protosieve.report._page import render
from protosieve.report._story import story
from protosieve.report._view import View

__all__ = ["check_report", "save_page", "write_report"]

_ENDINGS = (".html", ".htm")


def write_report(result: Prototypes, path: str | os.PathLike[str], data: Any = None, **view: Any) -> None:
    """Write one page about a result to ``path``, complete or not at all.

    ``data`` is what `Material.of` takes, ``view`` what `View` does. See `story` for the cost.
    """
    check_report(path)
    save_page(path, render(story(Material.of(result, data, View(**view)))))


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
