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

Every message says what was wrong, where, what was found and what to do.
"""

__all__ = [
    "InputError",
    "OutputError",
    "ParameterError",
    "ProtosieveError",
    "ProtosieveWarning",
    "StateFileError",
]


class ProtosieveError(ValueError):
    """Base of every error the library raises on purpose."""


class ParameterError(ProtosieveError):
    """A parameter breaks its rule: the message names it, the rule and the value."""


class InputError(ProtosieveError):
    """Rows cannot be used: the message names the row or the shape, and the remedy."""


class OutputError(ProtosieveError):
    """A result cannot be written: the message names the file, the reason and the remedy."""


class StateFileError(ProtosieveError):
    """A state file is missing, damaged, foreign, or cannot hold what it was given."""


class ProtosieveWarning(UserWarning):
    """Nothing is wrong with the result, but its user will want to know."""
