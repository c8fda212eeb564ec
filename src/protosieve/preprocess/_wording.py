"""Names of columns, as users give them and as messages list them."""

import difflib
from collections.abc import Iterable, Sequence

from protosieve.errors import ParameterError, arg

NAMING = "it names rows rather than describing them"  # the end of a reason why a column is not compared
NUMBERING = f"whole numbers that differ from row to row: {NAMING}"
SPELLING = f"nearly every value differs: {NAMING}"
_FEW = 8  # names in a list before it is shortened


def as_names(option: str, given: object) -> list[str]:
    """Column names given as one text or several."""
    names = [given] if isinstance(given, str) else [] if given is None else given
    if isinstance(names, Iterable):
        names = list(names)
        if all(isinstance(name, str) for name in names):
            return list(dict.fromkeys(names))
    raise ParameterError(f"{arg(option)} must be a column's name or a list of names, got {given!r}")


def listing(names: Sequence[str]) -> str:
    """Names with commas between them, the first few of many."""
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{', '.join(names[: _FEW - 1])} and {len(names) - _FEW + 1:,} more"


def meant(name: str, names: Sequence[str]) -> str:
    """A hint at a similar name, or an empty text."""
    lower = {known.lower(): known for known in reversed(names)}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    return f"; did you mean {lower[near[0]]!r}?" if near else ""
