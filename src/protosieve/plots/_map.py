"""Data and prototypes in two dimensions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from protosieve._formatting import cut
from protosieve._typing import Float64
from protosieve.insight import Map
from protosieve.plots._canvas import DATA, PROTOTYPES, QUIET, label_colours, legend, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_map"]

_LARGEST, _SMALLEST = 320.0, 14.0  # areas of the heaviest prototype and of one that can still be seen


def draw_map(chart: Map, weights: Float64, labels: Sequence[str] | None, ax: "Axes") -> "Axes":
    """The data as dots, prototypes above, their area by weight, in the colours of their labels."""
    colours = label_colours(chart.labels)
    points = np.array([point[:2] for point in chart.points], np.float64).reshape(-1, 2)
    own = [colours[label] if label >= 0 else DATA for _, _, label, _ in chart.points]
    size = 7 if len(points) > 500 else 14
    ax.scatter(points[:, 0], points[:, 1], s=size, c=own, alpha=0.45, linewidths=0, zorder=1)
    _prototypes(chart, weights, labels, ax)
    write(ax.set_xlabel, chart.axes[0])
    write(ax.set_ylabel, chart.axes[1])
    ax.set_title("Prototypes among the data, larger with more weight")
    kept = [(name, colour) for name, colour in zip(chart.labels, colours, strict=True) if colour != QUIET]
    if len(colours) > len(kept):
        kept.append((f"{len(colours) - len(kept):,} others", QUIET))
    if kept:
        dots = [ax.scatter([], [], s=40, color=colour) for _, colour in kept]
        legend(ax, dots, [cut(name, 30) for name, _ in kept], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _prototypes(chart: Map, weights: Float64, labels: Sequence[str] | None, ax: "Axes") -> None:
    """In their order, so that the lightest are on top, which the heavy ones would hide."""
    shown = [i for i, place in enumerate(chart.prototypes) if place is not None]
    at = np.array([chart.prototypes[i] for i in shown], np.float64).reshape(-1, 2)
    sizes = np.abs(weights[shown])
    areas = np.maximum(_LARGEST * sizes / (sizes.max(initial=0.0) or 1.0), _SMALLEST)
    colours = dict(zip(chart.labels, label_colours(chart.labels), strict=True))
    unlabelled = QUIET if colours else PROTOTYPES
    own = [unlabelled if labels is None else colours[labels[i]] for i in shown]
    ax.scatter(at[:, 0], at[:, 1], s=areas, c=own, edgecolors=ax.xaxis.label.get_color(), linewidths=0.9, zorder=2)
