"""Labels and features: the data against the weighted prototypes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from protosieve._formatting import cut
from protosieve.insight import CategoryMatch, Labels, NumberMatch, ValueShares, as_date
from protosieve.plots._canvas import DATA, PROTOTYPES, legend, named_ticks, per_cent, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_feature", "draw_labels"]

_HALF = 0.19  # of a bar's height


def draw_labels(labels: Labels, ax: "Axes") -> "Axes":
    """Two bars for each label, and how many prototypes have it."""
    handles = _pairs(ax, labels.values)
    for place, label in enumerate(labels.values):
        ax.text(label.prototypes, place + _HALF, f"  {label.count:,}", va="center", fontsize="small")
    legend(ax, handles, ["data", "prototypes, by weight"][-len(handles) :], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    more = f", without {labels.more:,} rarer ones" if labels.more else ""
    write(ax.set_ylabel, f"{cut(labels.name, 40)}{more}")
    ax.set_xlabel("share")
    ax.margins(x=0.08)
    ax.set_title("Labels, with the number of prototypes")
    return ax


def draw_feature(match: NumberMatch | CategoryMatch, ax: "Axes") -> None:
    """Quantiles of a number or a date, shares of a category's values."""
    if isinstance(match, CategoryMatch):
        _pairs(ax, match.values)
    else:
        _quantiles(ax, match.data, 1, DATA)
        _quantiles(ax, match.prototypes, 0, PROTOTYPES)
        ax.set_yticks([1, 0], labels=["data", "prototypes"])
        ax.set_ylim(-0.6, 1.6)
        ax.locator_params(axis="x", nbins=4)
        if match.shown is not None:
            ax.xaxis.set_major_formatter(lambda second, _: as_date(second)[:10])
    write(ax.set_title, f"{cut(match.name, 30)}\ndiffer by {100 * match.distance:.2g} %", fontsize="medium")


def _pairs(ax: "Axes", values: Sequence[ValueShares]) -> list[Any]:
    """Bars of shares side by side; those of the data only where they are known."""
    places, data = np.arange(len(values)), [value.data for value in values if value.data is not None]
    bars = [ax.barh(places + _HALF, [value.prototypes for value in values], 2 * _HALF, color=PROTOTYPES)]
    if len(data) == len(values):
        bars.insert(0, ax.barh(places - _HALF, data, 2 * _HALF, color=DATA))
    named_ticks(ax.set_yticks, list(places), [cut(value.value, 30) for value in values])
    ax.invert_yaxis()
    per_cent(ax.xaxis)
    return bars


def _quantiles(ax: "Axes", quantiles: list[float], place: float, colour: str) -> None:
    """Nine tenths as a thin line, the half in the middle as a thick one, the median as a dot."""
    low, lower, median, upper, high = quantiles
    ax.plot([low, high], [place, place], color=colour, linewidth=1.5)
    ax.plot([lower, upper], [place, place], color=colour, linewidth=7, solid_capstyle="butt")
    ax.plot([median], [place], "o", color=colour, markersize=9, markeredgecolor=ax.get_facecolor())
