"""Axes to draw on, text on them as it is, and colours."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protosieve._formatting import one_line
from protosieve.selectors import whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

# One palette for all pictures: told apart by the colour-blind, and seen on white and on black. The first six are
# Okabe's and Ito's (2008) without black and yellow, which one of the two backgrounds swallows.
_LABELS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d3f", "#b3435e", "#7f9a2e", "#8f7ee6",
)  # fmt: skip

DATA, PROTOTYPES, RANDOM, QUIET = "#8a8f98", _LABELS[1], _LABELS[0], "#8a8f98"
_AS_IT_IS = {"parse_math": False, "usetex": False}  # a column called $x_{ is no formula


def axes_for(ax: "Axes | None", height: float = 4.0) -> "Axes":
    """The given axes, or those of a new figure as ``pyplot.subplots`` makes it."""
    return _subplots(1, 1, 6.4, height).item() if ax is None else ax


def grid_for(axes: Any, count: int, columns: Any, size: tuple[float, float]) -> NDArray[np.object_]:
    """One of the given axes for each item, with the remaining ones switched off; or the axes of a new figure."""
    whole_number(1).check("result.plot", "columns", columns)
    columns = min(int(columns), max(count, 1))
    lines = -(-max(count, 1) // columns)
    room = np.ravel(axes) if axes is not None else _subplots(lines, columns, columns * size[0], lines * size[1])
    for ax in room[count:]:
        ax.set_axis_off()
    return room[:count]


def _subplots(lines: int, columns: int, width: float, height: float) -> NDArray[np.object_]:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise ImportError(
            "result.plot draws with matplotlib, which is not installed: pip install 'protosieve[plot]'"
        ) from error
    figure = pyplot.figure(figsize=(width, height), layout="constrained")
    return np.ravel(figure.subplots(lines, columns, squeeze=False))


def write(setter: Callable[..., Any], *where_and_text: Any, **style: Any) -> Any:
    """Call ``ax.text``, ``ax.set_title`` or their like, its last argument shown as it is: no formula, no control."""
    *where, text = where_and_text
    return setter(*where, "\n".join(map(one_line, str(text).split("\n"))), **_AS_IT_IS, **style)


def named_ticks(setter: Callable[..., Any], places: Sequence[float], names: Iterable[str], **style: Any) -> None:
    """Call ``ax.set_xticks`` or ``ax.set_yticks`` with names that come from data."""
    setter(places, labels=[one_line(name) for name in names], **_AS_IT_IS, **style)


def legend(ax: "Axes", handles: Sequence[Any], names: Sequence[str], **style: Any) -> "Legend":
    """A legend whose names come from data: one that starts with an underscore would be left out by matplotlib."""
    made = ax.legend(list(handles), [" "] * len(names), frameon=False, **style)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.update({"text": one_line(name), **_AS_IT_IS})
    return made


def log_scale(ax: "Axes", values: Iterable[float | None]) -> None:
    """Make the y axis logarithmic if any value is positive."""
    if any(value is not None and value > 0 for value in values):
        ax.set_yscale("log")


def per_cent(axis: Any) -> None:
    """Ticks of shares as per cent."""
    axis.set_major_formatter(lambda share, _: f"{100 * share:.4g} %")


def label_colours(labels: Sequence[str]) -> list[str]:
    """A colour for each label; beyond ten they share one."""
    return [*_LABELS[: len(labels)], *[QUIET] * (len(labels) - len(_LABELS))]
