"""A small table for notebooks: values as text, weights as bars, in the colours of the page around it."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from protosieve._formatting import cut

_CELL = "padding:.25em .8em .25em 0;text-align:left;vertical-align:top"
_LONGEST, _SENTENCE = 120, 600  # characters of a cell, and of what explains


class Bar(NamedTuple):
    """A number from 0 to 1 that is drawn as a bar beside its text."""

    share: float
    text: str


def table(title: str, columns: Sequence[tuple[str, Sequence[object]]], after: Sequence[str] = ()) -> str:
    """Columns side by side under a title, of names that may repeat; ``after`` is HTML, made by `note` and `details`.

    Everything else is text, whatever it looks like:

    >>> "<b>" in table("<b>", [("<b>", ["<b>"])])
    False
    """
    head = "".join(f'<th scope="col" style="{_CELL};font-weight:600">{_text(name)}</th>' for name, _ in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td style={_CELL!r}>{_cell(value)}</td>' for value in row)}</tr>"
        for row in zip(*(cells for _, cells in columns), strict=True)
    )
    return (
        '<div style="font-variant-numeric:tabular-nums;max-width:100%;overflow-x:auto">'
        f"<p style='margin:.4em 0'><strong>{_text(title, _SENTENCE)}</strong></p>"
        f"<table style='border-collapse:collapse'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"{''.join(after)}</div>"
    )


def note(sentence: str) -> str:
    """A sentence below a table."""
    return f"<p>{_text(sentence, _SENTENCE)}</p>"


def details(summary: str, facts: Mapping[str, object]) -> str:
    """Facts that are folded away."""
    lines = "".join(
        f"<dt><strong>{_text(name)}</strong></dt><dd>{_text(value, _SENTENCE)}</dd>" for name, value in facts.items()
    )
    return f"<details><summary>{_text(summary)}</summary><dl>{lines}</dl></details>"


def _cell(value: object) -> str:
    if not isinstance(value, Bar):
        return _text(value)
    width = 5 * min(max(value.share, 0.0), 1.0)
    drawn = f"display:inline-block;height:.6em;width:{width:.2f}em;background:currentColor;opacity:.45"
    return f"{_text(value.text)} <span style='{drawn}'></span>"


def _text(value: object, longest: int = _LONGEST) -> str:
    return escape(cut(str(value), longest))
