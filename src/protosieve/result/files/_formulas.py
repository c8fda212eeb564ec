"""Text that a spreadsheet would take for a formula, and run: how it is written to CSV and TSV."""

import re

__all__ = ["escaped"]

_BEGINS = r"[=+\-@\t\r\n]"  # a spreadsheet passes over the blanks among them
_MARKED = re.compile(f"'+{_BEGINS}")
_HARMLESS = re.compile(  # nothing to compute, a number, or a handle: @name
    r"\W*|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-](inf|infinity|nan)|@\w+", re.IGNORECASE
)


def escaped(text: str) -> str:
    """The text with an apostrophe before it if it begins like a formula; numbers, signs and ``@name`` stay as they are.

    Text that begins so after apostrophes gets one more: to take one off whatever begins so is the exact inverse.

    >>> [escaped(text) for text in ("=1+1", "-2+3", "'=1", "-2.5", "-", "@name", "a=b")]
    ["'=1+1", "'-2+3", "''=1", '-2.5', '-', '@name', 'a=b']
    """
    is_formula = re.match(_BEGINS, text) and not _HARMLESS.fullmatch(text)
    return f"'{text}" if is_formula or _MARKED.match(text) else text
