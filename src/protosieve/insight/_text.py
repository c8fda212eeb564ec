"""Cells and labels of the user's data as short text."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from protosieve._formatting import cut

_LABEL = 80


def shown(value: Any, most: int = 120) -> str:
    """A cell, short: whatever it holds, and whatever goes wrong in showing it.

    >>> shown(0.123456), shown(None), shown([0.25, 1.0, 2.0, 3.0]), shown(b"abc"), shown("x" * 9, most=4)
    ('0.1235', '', '[0.25, 1, …] of 4', '3 bytes', 'xxx…')
    """
    try:
        return cut(_shown(value), most)
    except Exception:  # a cell may be any object: its own text may fail in any way
        return f"a {type(value).__name__}"


def _shown(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, float | np.floating):
        return short(float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value):,} bytes"
    if isinstance(value, list | tuple | np.ndarray):
        inside = ", ".join(_shown(item) for item in list(value[:2]))
        return f"[{inside}, …] of {len(value):,}" if len(value) > 2 else f"[{inside}]"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(item)}" for name, item in list(value.items())[:4])
    return str(value)


def short(value: float) -> str:
    """A number in four digits, large ones written out.

    >>> short(0.123456), short(39.0), short(21346.7), short(1.5e20)
    ('0.1235', '39', '21,347', '1.5e+20')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def label_of(value: Any) -> str | None:
    """A label as the source has it, however long; None where it is missing.

    >>> label_of(7), label_of(7.0), label_of("7"), label_of(None), label_of(b"cat")
    ('7', '7.0', '7', None, 'cat')
    """
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value) if isinstance(value, float) else shown(value, 1 << 20)


def distinct_labels(*groups: Sequence[str | None] | None) -> list[list[str] | None]:
    """Labels as they are shown: short, and different where they differ; groups share their names.

    >>> distinct_labels(["a", None], None, ["b"])
    [['a', 'none'], None, ['b']]
    >>> distinct_labels(["none", None]), distinct_labels(["", " "])
    ([['none', 'none (2)']], [['(blank)', '(blank) (2)']])
    """
    names: dict[str | None, str] = {}
    used = set[str]()
    every = dict.fromkeys(label for group in groups for label in group or ())
    for label in sorted(every, key=lambda label: label is None):
        names[label] = _unlike("none" if label is None else label if label.strip() else "(blank)", used)
        used.add(names[label])
    return [None if group is None else [names[label] for label in group] for group in groups]


def _unlike(text: str, used: set[str]) -> str:
    """The beginning of a text, numbered where it is used already."""
    name, count = cut(text, _LABEL), 1
    while name in used:
        count += 1
        name = f"{cut(text, _LABEL - len(str(count)) - 3)} ({count})"
    return name


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN and NaT
    except Exception:  # a cell may be any object: it may refuse to be compared
        return type(value).__name__ == "NAType"  # pandas.NA equals nothing, nor does it differ
