"""What the user asked to be shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protosieve.errors import ParameterError, arg
from protosieve.insight._columns import is_sequence

_SHAPE = re.compile(r"\s*(0*[1-9][0-9]{0,8})\s*[x×,]\s*(0*[1-9][0-9]{0,8})(?:\s*[x×,]\s*([134]))?\s*")
_LINE = 80  # values, and characters, of what is quoted
_NAMES = ("image", "text", "coordinates", "image_shape", "label")


@dataclass(frozen=True, eq=False)
class View:
    """How the rows are to be looked at; ``None`` leaves it to the run's own options, then to the data.

    ``label``: a column's name, or one label per row of the data. ``image_shape``: height and width, perhaps channels,
    or text such as "28x28". ``image``, ``text``: names of columns. ``coordinates``: two names of columns, or an array
    of two columns with a line per row of the data.

    >>> View(image_shape="28x28").image_shape
    (28, 28)
    """

    label: Any = None
    image_shape: Any = None
    image: str | None = None
    text: str | None = None
    coordinates: Any = None
    title: str | None = None

    def __post_init__(self) -> None:
        column = "the name of a column"
        for name, what in (("image", column), ("text", column), ("title", "a line of text")):
            value = getattr(self, name)
            if not isinstance(value, str | None):
                raise ParameterError(f"{arg(name)} must be {what}, got {_brief(value)}")
        if not isinstance(self.label, str | None) and not is_sequence(self.label):
            raise ParameterError(
                f"{arg('label')} must be the name of a column, or have one label per row, got {_brief(self.label)}"
            )
        object.__setattr__(self, "image_shape", image_shape_of(self.image_shape))
        object.__setattr__(self, "coordinates", _coordinates(self.coordinates))
        if self.image_shape is not None and self.image is not None:
            raise ParameterError(
                f"{arg('image', self.image)} and {arg('image_shape')} are two sources of one picture; give one"
            )

    def over(self, parameters: Mapping[str, Any]) -> "View":
        """What was asked for, and where nothing was, what the run was told."""
        told = {name: parameters.get(name) for name in _NAMES if getattr(self, name) is None}
        if self.image is not None or told.get("image") is not None:
            told.pop("image_shape", None)
        if self.image_shape is not None:
            told.pop("image", None)
        if isinstance(texts := told.get("text"), list):  # those that rows were compared by
            told["text"] = texts[0] if texts else None
        return replace(self, **told)

    @property
    def columns(self) -> list[str]:
        """The columns that are named."""
        pair = self.coordinates if isinstance(self.coordinates, tuple) else ()
        return [name for name in (self.label, self.image, self.text, *pair) if isinstance(name, str)]


def image_shape_of(given: Any) -> tuple[int, ...] | None:
    """Height, width and perhaps channels, from a tuple or from text.

    >>> image_shape_of("32x32x3"), image_shape_of([8, 8]), image_shape_of(None)
    ((32, 32, 3), (8, 8), None)
    """
    if given is None:
        return None
    parts = [given] if isinstance(given, str) else given if isinstance(given, list | tuple | np.ndarray) else []
    found = _SHAPE.fullmatch("x".join(map(str, parts)))
    if found is None:
        raise ParameterError(
            f"{arg('image_shape')} must be height and width of an image, such as 28x28, or with 1, 3 or 4 "
            f"channels, such as 32x32x3; got {given!r}"
        )
    return tuple(int(part) for part in found.groups() if part)


def _coordinates(given: Any) -> Any:
    if given is None:
        return None
    if isinstance(given, list | tuple) and len(given) == 2 and all(isinstance(name, str) for name in given):
        return tuple(given)
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ParameterError(
            f"{arg('coordinates')} must be two names of columns, or an array with two columns and a line per row; "
            f"got {'shape ' + str(array.shape) if isinstance(given, np.ndarray) else repr(given)[:80]}"
        )
    return array


def _brief(value: Any) -> str:
    """What was given, in a line; of many rows their kind."""
    text = repr(value) if not hasattr(value, "__len__") or len(value) <= _LINE else ""
    return text if 0 < len(text) <= _LINE else f"a {type(value).__name__}"
