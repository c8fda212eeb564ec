"""Data and prototypes in two dimensions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from protosieve.plots._canvas import legend, write
from protosieve.plots._colours import DATA, PROTOTYPES, QUIET, label_colours
from protosieve.report import cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_map"]

_LARGEST, _SMALLEST = 320.0, 14.0  # areas of the heaviest prototype and of one that can still be seen


def draw_map(chart: Mapping[str, Any], cards: Sequence[Mapping[str, Any]], ax: "Axes") -> None:
    """A report's ``map`` with its ``cards``: the data as dots, prototypes above, their area by weight."""
    names = chart["labels"] or []
    colours = dict(zip(names, label_colours(names), strict=True))
    _dots(chart, [colours[name] for name in names], ax)
    _markers([card for card in cards if card["at"] is not None], colours, ax)
    write(ax.set_xlabel, chart["axes"][0])
    write(ax.set_ylabel, chart["axes"][1])
    ax.set_title("Prototypes among the data, larger with more weight")
    _key(names, ax)


def _dots(chart: Mapping[str, Any], colours: list[str], ax: "Axes") -> None:
    points = np.array([point[:2] for point in chart["points"]], np.float64).reshape(-1, 2)
    own = [colours[point[2]] if colours and point[2] >= 0 else DATA for point in chart["points"]]
    size = 7 if len(points) > 500 else 14
    ax.scatter(points[:, 0], points[:, 1], s=size, c=own, alpha=0.45, linewidths=0, zorder=1)


def _markers(cards: Sequence[Mapping[str, Any]], colours: Mapping[str, str], ax: "Axes") -> None:
    """The lightest on top, which the heavy ones would hide."""
    at = np.array([card["at"] for card in cards], np.float64).reshape(-1, 2)
    weights = np.abs([card["weight"] for card in cards])
    areas = np.maximum(_LARGEST * weights / (weights.max(initial=0.0) or 1.0), _SMALLEST)
    own = [colours.get(card["label"], QUIET if colours else PROTOTYPES) for card in cards]
    ax.scatter(at[:, 0], at[:, 1], s=areas, c=own, edgecolors=ax.xaxis.label.get_color(), linewidths=0.9, zorder=2)


def _key(names: Sequence[str], ax: "Axes") -> None:
    colours = label_colours(names)
    kept = [(name, colour) for name, colour in zip(names, colours, strict=True) if colour != QUIET]
    if len(names) > len(kept):
        kept.append((f"{len(names) - len(kept):,} others", QUIET))
    if kept:
        dots = [ax.scatter([], [], s=40, color=colour) for _, colour in kept]
        legend(ax, dots, [cut(name, 30) for name, _ in kept], loc="upper left", bbox_to_anchor=(1.0, 1.0))
