"""What the engine says, in the words of the command line."""

import re

__all__ = ["begun_with_flag", "in_flags"]

_FLAGS = {
    "n_prototypes": "-m",
    "random_state": "--seed",
    "coordinates": "--map",
    "watch": "--watch-at",  # which alone can be wrong
}  # where the two differ in more than dashes
_OTHERS = (
    "bad_rows", "categorical", "checkpoint", "dask", "embedding", "every", "exact_weights", "exclude", "features",
    "format", "id", "image", "image_shape", "kernel", "label", "max_categories", "method", "methods", "output",
    "partition_rows", "report", "resume", "sample", "scale", "target", "text", "width", "work", "workers",
)  # fmt: skip
_FLAG = {**{name: f"--{name.replace('_', '-')}" for name in _OTHERS}, **_FLAGS}

# "sample" and "width" are words, too: they are arguments where a message begins with them, perhaps after its owner's
# name ("compare: "), and before an equals sign, unless a bracket says whose they are: Gaussian(width=1.0). A name with
# an underscore is one anywhere.
_START = re.compile(
    rf"^(?:\w+: )?({'|'.join(_FLAG)})(?:\[\d+\])?"
    r"(?= must\b| needs\b| is \S+, which|: there is no column|: column |: [\d,]+ pixels\b)"
)
_VALUE = re.compile(rf"""(?<![\w(])({"|".join(_FLAG)})=(?:True\b|(?:"([^"\s]*)"|'([^'\s]*)'|([^\s:;,]+)))""")
_NAME = re.compile(rf"\b({'|'.join(name for name in _FLAG if '_' in name)})\b")


def in_flags(message: str) -> str:
    """A message about Python's arguments, about the options they are here.

    >>> in_flags("compare: n_prototypes must be a whole number of at least 1, got 0")
    '-m must be a whole number of at least 1, got 0'
    >>> in_flags("exact_weights=True needs one more pass; a sample will do")
    '--exact-weights needs one more pass; a sample will do'
    >>> in_flags("kept 9 of n_prototypes=20: to Gaussian(width=1.0) no other is of use")
    'kept 9 of -m 20: to Gaussian(width=1.0) no other is of use'
    """
    message = _VALUE.sub(_given, begun_with_flag(message))
    return _NAME.sub(lambda found: _FLAG[found[1]], message)


def begun_with_flag(message: str) -> str:
    """The same at the start of a message only: further on it may quote names of files and columns.

    >>> begun_with_flag("features: there is no column 'bad_rows'")
    "--features: there is no column 'bad_rows'"
    >>> begun_with_flag("image_shape: 784 pixels, and a row has 12 numbers")
    '--image-shape: 784 pixels, and a row has 12 numbers'
    """
    return _START.sub(lambda found: _FLAG[found[1]], message)


def _given(found: re.Match[str]) -> str:
    return " ".join([_FLAG[found[1]], *(value for value in found.groups()[1:] if value)])
