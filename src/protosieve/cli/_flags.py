"""Python's arguments as the flags they are here, which no other part of the package knows."""

import ast
import re
import shlex
from collections.abc import Collection, Mapping
from typing import Any

from protosieve.cli._options import SELECT, flags
from protosieve.errors import ARGUMENT, Message

_OWNER = re.compile(f"^\\w+: (?={ARGUMENT.pattern})")  # whose argument it is in Python; here all are the command's


def in_flags(said: object) -> str:
    """A message whose arguments are marked, or what carries one, with flags in their place.

    >>> from protosieve.errors import arg
    >>> in_flags(f"compare: {arg('n_prototypes')} must be a whole number of at least 1, got 0")
    '-m must be a whole number of at least 1, got 0'
    >>> in_flags(f"leave it out with {arg('exclude', 'my x')}, or look at it with {arg('watch', True)}")
    "leave it out with --exclude 'my x', or look at it with --watch"
    """
    marked = said.marked if isinstance(said, Message) else str(said)
    return ARGUMENT.sub(lambda found: _flag(found[1], found[2]), _OWNER.sub("", marked))


def _flag(name: str, value: str | None) -> str:
    flag = flags().get(name, name)
    if value is None or value == "True":
        return flag
    flag = flags().get(f"{name}_at", flag)  # --watch is a switch, and --watch-at has its value
    return f"{flag} {shlex.quote(ast.literal_eval(value)) if value[0] in _QUOTES else value}"


_QUOTES = "'\""


def command_of(given: Mapping[str, Any], deciding: Collection[str]) -> str:
    """The command line of ``select`` that was given, of those options that decide what is chosen."""
    words = ["protosieve", "select", *given["inputs"]]
    for option in SELECT:
        value = given[option.name]
        if option.flags and option.name in deciding and value != option.default:
            for one in value if option.repeats else [value]:
                words += [option.flags[0], *([] if one is True else [one])]
    return shlex.join(words)
