"""A report to a file."""

import os
from typing import Any

from protosieve._atomic import check_place, write_whole
from protosieve.errors import OutputError
from protosieve.insight import View, describe
from protosieve.report._page import page_data, render
from protosieve.result import Prototypes

__all__ = ["check_report", "save_page", "write_report"]

_ENDINGS = (".html", ".htm")


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
