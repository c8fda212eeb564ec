"""Rules that parameters must follow, declared beside the class that has them."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass

from protosieve.errors import ParameterError, arg

_FINEST = 1e-4


@dataclass(frozen=True)
class Rule:
    """What a parameter must be, in words and as a test."""

    words: str
    holds: Callable[[object], bool]

    def or_one_of(self, *values: str | None) -> "Rule":
        """The same, with these values allowed too."""
        named = ", ".join("None" if value is None else f'"{value}"' for value in values)

        def holds(value: object) -> bool:
            return (value in values) if value is None or isinstance(value, str) else self.holds(value)

        return Rule(f"{named} or {self.words}", holds)

    def check(self, owner: str, name: str, value: object) -> None:
        if not self.holds(value):
            raise ParameterError(f"{owner}: {arg(name)} must be {self.words}, got {value!r}")


def whole_number(at_least: int) -> Rule:
    def holds(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            return False
        return int(value) >= at_least

    return Rule(f"a whole number of at least {at_least}", holds)


def ratio_less_one() -> Rule:
    def holds(value: object) -> bool:
        return isinstance(value, numbers.Real) and _FINEST <= float(value) < 1

    return Rule(
        f"a number between 0 and 1, both excluded, and at least {_FINEST:g}: there are about log(m) / epsilon sets",
        holds,
    )


def share() -> Rule:
    def holds(value: object) -> bool:
        return isinstance(value, numbers.Real) and 0 <= float(value) < 1

    return Rule("a number from 0 to below 1", holds)
