"""The errors of protosieve, one tree one can draw.

::

    ValueError
    └── ProtosieveError          everything the library raises on purpose
        ├── ParameterError       a constructor argument breaks its rule
        ├── InputError           rows, a target, a kernel's values or a file cannot be used
        ├── OutputError          a result cannot be written
        └── StateFileError       a saved selector or run cannot be read or written
    UserWarning
    └── ProtosieveWarning        the result is right, but not what was perhaps expected

Every message says what was wrong, where, what was found and what to do. An argument in it is marked, by `arg`:
Python shows ``exclude='x'``, and the command line, which alone knows its flags, ``--exclude x``.
"""

import re
import warnings

__all__ = [
    "InputError",
    "OutputError",
    "ParameterError",
    "ProtosieveError",
    "ProtosieveWarning",
    "StateFileError",
]

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"  # no characters, says Unicode, but marks for a program's own use
ARGUMENT = re.compile(f"{_OPEN}(\\w+)[^={_CLOSE}]*(?:=([^{_CLOSE}]*))?{_CLOSE}")  # name, perhaps [0], and value
_SUBJECT = re.compile(f"(?:\\w+: )?{_OPEN}(\\w+)")


def arg(name: str, *value: object) -> str:
    """An argument, perhaps with a value, to be named in the message of an error or a warning.

    >>> print(InputError(f"'x' holds lists; leave it out with {arg('exclude', 'x')}"))
    'x' holds lists; leave it out with exclude='x'
    """
    return f"{_OPEN}{'='.join([name, *map(repr, value)])}{_CLOSE}"


def plain(marked: str) -> str:
    """A message as Python shows it."""
    return marked.replace(_OPEN, "").replace(_CLOSE, "")


class Message(BaseException):
    """What is said, in Python's words; ``marked`` is the same with its arguments marked, for readers with others."""

    def __init__(self, message: object = "") -> None:
        super().__init__(plain(str(message)))
        self.marked = str(message)

    @property
    def parameter(self) -> str | None:
        """The argument that this is about, which is the one the message begins with; ``None`` where it is about none.

        >>> ParameterError(f"ProtoBasic: {arg('n_prototypes')} must be a whole number, got 'x'").parameter
        'n_prototypes'
        """
        found = _SUBJECT.match(self.marked)
        return found and found[1]


class ProtosieveError(Message, ValueError):
    """Base of every error the library raises on purpose; ``parameter`` is the argument it is about, or ``None``."""


class ParameterError(ProtosieveError):
    """A parameter breaks its rule: the message names it, the rule and the value."""


class InputError(ProtosieveError):
    """Rows cannot be used: the message names the row or the shape, and the remedy."""


class OutputError(ProtosieveError):
    """A result cannot be written: the message names the file, the reason and the remedy."""


class StateFileError(ProtosieveError):
    """A state file is missing, damaged, foreign, or cannot hold what it was given."""


class ProtosieveWarning(Message, UserWarning):
    """Nothing is wrong with the result, but its user will want to know."""


def warn(message: str, stacklevel: int = 2) -> None:
    """A `ProtosieveWarning`, of the line so many calls up, counted as by `warnings.warn`."""
    warnings.warn(ProtosieveWarning(message), stacklevel=stacklevel + 1)
