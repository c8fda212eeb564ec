"""Values of the users' own as text, and everything as JSON can hold it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["cut", "is_missing", "label_of", "named", "plain", "short", "shown"]

_LABEL = 80
_EXACT = 1 << 53  # beyond, a reader's numbers are not whole any more


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


def named(*groups: Sequence[str | None] | None) -> list[list[str] | None]:
    """Labels as they are shown: short, and different where they differ; groups share their names.

    >>> named(["a", None], None, ["b"]), named(["none", None]), named(["", " "])
    ([['a', 'none'], None, ['b']], [['none', 'none (2)']], [['(blank)', '(blank) (2)']])
    """
    names: dict[str | None, str] = {}
    used = set[str]()
    every = dict.fromkeys(label for group in groups for label in group or ())
    for label in sorted(every, key=lambda label: label is None):
        names[label] = _unlike("none" if label is None else label if label.strip() else "(blank)", used)
        used.add(names[label])
    return [None if group is None else [names[label] for label in group] for group in groups]


def _unlike(text: str, used: set[str]) -> str:
    """The beginning of a text, numbered where there is one like it."""
    name, count = cut(text, _LABEL), 1
    while name in used:
        count += 1
        name = f"{cut(text, _LABEL - len(str(count)) - 3)} ({count})"
    return name


def cut(text: str, most: int) -> str:
    """No longer than ``most``, and without the halves of characters that no file can hold."""
    whole = text[: most + 1].encode("utf-8", "replace").decode()
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def is_missing(value: Any) -> bool:
    """None, NaN, and what tables have for them."""
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN and NaT
    except Exception:  # a cell may be any object: it may not let itself be compared
        return type(value).__name__ == "NAType"  # pandas.NA equals nothing, nor does it differ


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
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Mapping):
        return {plain(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return plain(value.tolist()) if isinstance(value, np.ndarray) and value.size <= 100 else cut(_repr(value), 300)


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # an object of the user's
        return f"a {type(value).__name__}"
