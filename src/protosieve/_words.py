"""What is said of a result, in plain words with the number beside them; the command line says the same."""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a message about a flag is not to wait for the numeric core
    from protosieve._prototypes import Prototypes

__all__ = [
    "NOTHING",
    "allowed",
    "beside_random",
    "carried",
    "counted",
    "one_line",
    "percent",
    "prototypes",
    "rounded",
    "sig",
    "spelt",
    "times_random",
    "unlike_head",
]

NOTHING = 1e-12  # a residual of this size is rounding
_LONG_NUMBER = re.compile(r"\d+\.\d{5,}(e[-+]\d+)?")


def carried(result: "Prototypes") -> list[str]:
    """How much of the target the prototypes carry, and whether more of them were allowed."""
    if result.kernel is None:
        said = str(result.certificate)
        return [f"{said[:1].upper()}{said[1:]}."]
    sample = result.certificate.sample
    by = "" if sample is None else f", judged by a sample of {counted(sample, 'row')}"
    carry = "carries" if len(result) == 1 else "carry"
    lines = [f"The {prototypes(len(result))} {carry} {percent(result.residual)} of what the kernel sees{by}."]
    if len(result) < allowed(result):
        lines.append(f"{allowed(result):,} were allowed; the method found no use for more.")
    return lines


def allowed(result: "Prototypes") -> int:
    """How many prototypes there could have been."""
    return min(int(result.parameters["n_prototypes"]), result.n_seen)


def percent(residual: float) -> str:
    """What is left of the whole without the residual, in so many digits that what is missing can be seen.

    >>> percent(0.0041), percent(0.25), percent(0.000031), percent(0.0), percent(1.5)
    ('99.6 %', '75.0 %', '99.997 %', '100 %', '-50.0 %')
    """
    if residual <= NOTHING:
        return "100 %"
    digits = max(1, math.ceil(-math.log10(100 * residual)))
    return f"{100 * (1 - residual):.{digits}f} %"


def beside_random(rows: int, random: float, residual: float, remedy: str = "try a kernel of another width") -> str:
    """A residual beside that of as many random rows; ``remedy`` is for where these do better.

    >>> beside_random(500, 0.034, 0.01)
    '500 random rows with the best weights would leave 3.4 times the error of these prototypes.'
    >>> beside_random(500, 0.005, 0.01)
    '500 random rows with the best weights would leave 0.50 times the error: try a kernel of another width.'
    """
    who, times = f"{counted(rows, 'random row')} with the best weights would leave", times_random(random, residual)
    if times is None:
        return f"{who} {'no error either' if random <= NOTHING else f'an error of {100 * random:.2g} %'}."
    if random < 0.995 * residual:
        return f"{who} {times} times the error: {remedy}."
    return f"{who} {times} times the error of these prototypes."


def times_random(random: float, residual: float) -> str | None:
    """How many times the residual random rows leave, in as many digits as anybody reads; None where there is none.

    >>> times_random(0.034, 0.01), times_random(0.005, 0.01), times_random(0.5, 1e-5), times_random(0.5, 0.0)
    ('3.4', '0.50', '50,000', None)
    """
    if residual <= NOTHING:
        return None
    times = random / residual
    return f"{times:.2f}" if times < 0.995 else f"{times:,.1f}" if times < 1000 else f"{times:,.0f}"


def unlike_head(run: Mapping[str, Any]) -> list[str]:
    """What is to be said where the first rows of a stream, which settled the encoding, are unlike the rest."""
    found = run.get("unlike_head")
    if not found:
        return []
    said = f"The first {counted(found['rows'], 'row')} are unlike the rest: {'; '.join(found['differences'])}."
    if found["chosen_from"] is None:
        return [
            f"{said} The prototypes were still chosen by what the first rows show, because {found['why_not']}; "
            "to have all rows count alike, save them to a file and select from that."
        ]
    sample = f"a uniform sample of {found['chosen_from']:,} of all {run['rows']:,}"
    return [f"{said} So the prototypes were chosen again, from {sample}."]


def counted(count: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1797, "row")
    ('1 row', '1,797 rows')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"


def prototypes(count: int) -> str:
    """A number of prototypes.

    >>> prototypes(1), prototypes(20)
    ('one prototype', '20 prototypes')
    """
    return f"{count:,} prototypes" if count != 1 else "one prototype"


def spelt(share: float) -> str:
    """A share of 0 to 1 in per cent, small ones not rounded away.

    >>> spelt(0.34), spelt(0.0972), spelt(0.0042), spelt(0.0)
    ('34 %', '10 %', '0.4 %', '0 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.1 or share <= 0 else f"{sig(100 * share, 1):g} %"


def sig(value: float, digits: int = 4) -> float:
    """A number in so many significant digits, which is what a page has use for.

    >>> sig(0.123456), sig(-98765.4)
    (0.1235, -98770.0)
    """
    return float(f"{value:.{digits}g}")


def rounded(text: str) -> str:
    """With as many digits of a number as anybody reads.

    >>> rounded("Gaussian(width=3.4334641593408284)")
    'Gaussian(width=3.433)'
    """
    return _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", text)


def one_line(text: str) -> str:
    r"""Without line breaks and without what a terminal would obey: messages quote users' data.

    >>> one_line("a\nb \x1b[31mred")
    'a b  [31mred'
    """
    return "".join(character if character.isprintable() else " " for character in text).strip()
