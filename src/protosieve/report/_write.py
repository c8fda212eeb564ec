"""A report to a file."""

import os
from typing import Any

from protosieve._atomic import check_place, replacing
from protosieve._prototypes import Prototypes
from protosieve.errors import OutputError
from protosieve.report._material import Material
from protosieve.report._story import story
from protosieve.report._view import View

__all__ = ["check_report", "write_report"]

_ENDINGS = (".html", ".htm")


def write_report(result: Prototypes, path: str | os.PathLike[str], data: Any = None, **view: Any) -> None:
    """Write one page about a result to ``path``, complete or not at all.

    ``data`` is what `Material.of` takes, ``view`` what `View` does. See `story` for the cost.
    """
    from protosieve.report._page import render

    check_report(path)
    page = render(story(Material.of(result, data, View(**view))))
    try:
        with replacing(path) as stream:
            stream.write(page)
    except OSError as error:
        raise OutputError(
            f"{os.fspath(path)}: cannot be written: {error.strerror or error}; whatever stood there before is "
            "unchanged: check that the folder is writable and has room"
        ) from error


def check_report(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` where a report could not be written to ``path``, before the work that leads to it starts."""
    target = os.fspath(path)
    if "://" in target:
        raise OutputError(f"{target}: a report is written to a file on this machine; write it and copy it there")
    if not target.lower().endswith(_ENDINGS):
        raise OutputError(f"{target}: a report is a page; end its name in {' or '.join(_ENDINGS)}")
    check_place(target)
