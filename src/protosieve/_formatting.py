"""Numbers and texts as people read them: on a page, on a plot, in a notebook and in a terminal."""

import math
import re

NOTHING = 1e-12  # a residual of this size is rounding
_LONG_NUMBER = re.compile(r"\d+\.\d{5,}(e[-+]\d+)?")


def percent(residual: float) -> str:
    """What is left of the whole without the residual, in so many digits that what is missing can be seen.

    >>> percent(0.0041), percent(0.25), percent(0.000031), percent(0.0), percent(1.5)
    ('99.6 %', '75.0 %', '99.997 %', '100 %', '-50.0 %')
    """
    if residual <= NOTHING:
        return "100 %"
    digits = max(1, math.ceil(-math.log10(100 * residual)))
    return f"{100 * (1 - residual):.{digits}f} %"


def spelt(share: float) -> str:
    """A share of 0 to 1 in per cent, small ones not rounded away.

    >>> spelt(0.34), spelt(0.0972), spelt(0.0042), spelt(0.0)
    ('34 %', '10 %', '0.4 %', '0 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.1 or share <= 0 else f"{float(f'{100 * share:.1g}'):g} %"


def counted(count: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1797, "row")
    ('1 row', '1,797 rows')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"


def brief(value: object) -> str:
    """A value as Python shows it, or where that is long what it is.

    >>> brief(0.5), brief(list(range(100)))
    ('0.5', 'a list')
    """
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"


def prototypes(count: int) -> str:
    """A number of prototypes.

    >>> prototypes(1), prototypes(20)
    ('one prototype', '20 prototypes')
    """
    return f"{count:,} prototypes" if count != 1 else "one prototype"


def rounded(text: str) -> str:
    """With four digits of each number.

    >>> rounded("Gaussian(width=3.4334641593408284)")
    'Gaussian(width=3.433)'
    """
    return _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", text)


def cut(text: str, most: int) -> str:
    """No longer than ``most``, and without the halves of characters that no file can hold.

    >>> cut("prototypes", 6), cut("rows", 6)
    ('proto…', 'rows')
    """
    whole = text[: most + 1].encode("utf-8", "replace").decode()
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def one_line(text: str) -> str:
    r"""Without line breaks and without what a terminal would obey: messages quote users' data.

    >>> one_line("a\nb \x1b[31mred")
    'a b  [31mred'
    """
    return "".join(character if character.isprintable() else " " for character in text).strip()
