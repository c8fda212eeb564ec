"""What the engine says, in the words of the command line."""

import re

__all__ = ["in_flags", "one_line"]

_FLAGS = {"n_prototypes": "-m", "random_state": "--seed"}  # where the two differ in more than dashes
_OTHERS = (
    "bad_rows", "categorical", "checkpoint", "embedding", "every", "exact_weights", "exclude", "features", "format",
    "id", "kernel", "label", "max_categories", "method", "methods", "output", "passes", "resume", "sample", "scale",
    "target", "width",
)  # fmt: skip
_FLAG = {**{name: f"--{name.replace('_', '-')}" for name in _OTHERS}, **_FLAGS}

# "sample" and "width" are words, too: they are arguments at the start of a message, after its owner's name
# ("compare: ") or before an equals sign. A name with an underscore is one anywhere.
_RULE = re.compile(rf"^(?:\w+: )?({'|'.join(_FLAG)})(?= (?:must|needs)\b)")
_VALUE = re.compile(rf"""\b({"|".join(_FLAG)})=(?:True\b|(?:"([^"\s]*)"|'([^'\s]*)'|([^\s;,]+)))""")
_NAME = re.compile(rf"\b({'|'.join(name for name in _FLAG if '_' in name)})\b")


def in_flags(message: str) -> str:
    r"""A message about Python's arguments, about the options they are here.

    >>> in_flags("compare: n_prototypes must be a whole number of at least 1, got 0")
    '-m must be a whole number of at least 1, got 0'
    >>> in_flags("passes=2 needs method='swap'; 'basic' has no use for a second look")
    "--passes 2 needs --method swap; 'basic' has no use for a second look"
    >>> in_flags("exact_weights=True needs one more pass; a sample will do")
    '--exact-weights needs one more pass; a sample will do'
    """
    message = _RULE.sub(lambda found: _FLAG[found[1]], message)
    message = _VALUE.sub(_given, message)
    return _NAME.sub(lambda found: _FLAG[found[1]], message)


def _given(found: re.Match[str]) -> str:
    return " ".join([_FLAG[found[1]], *(value for value in found.groups()[1:] if value)])


def one_line(text: str) -> str:
    r"""Without line breaks and without what a terminal would obey: messages quote users' data.

    >>> one_line("a\nb \x1b[31mred")
    'a b  [31mred'
    """
    return "".join(character if character.isprintable() else " " for character in text).strip()
