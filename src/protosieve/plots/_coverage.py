"""Labels and features: the data against the weighted prototypes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from protosieve.plots._canvas import legend, named_ticks, per_cent, write
from protosieve.plots._colours import DATA, PROTOTYPES
from protosieve.report import as_date, cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_feature", "draw_labels"]

_NAMES = ("data", "prototypes, by weight")


def draw_labels(labels: Mapping[str, Any], ax: "Axes") -> None:
    """A report's ``coverage.labels``: two bars for each label, and how many prototypes have it."""
    values = labels["values"]
    ours = _pairs(ax, values, "weight", height=0.38)
    for place, value, bar in zip(range(len(values)), values, ours, strict=True):
        ax.text(bar.get_width(), place + 0.2, f"  {value['count']:,}", va="center", fontsize="small")
    more = f", without {labels['more']:,} rarer ones" if labels["more"] else ""
    write(ax.set_ylabel, f"{cut(labels['name'], 40)}{more}")
    ax.set_xlabel("share")
    ax.margins(x=0.08)
    ax.set_title("Labels, with the number of prototypes")


def draw_feature(item: Mapping[str, Any], ax: "Axes") -> None:
    """One of a report's ``coverage.features``: quantiles of a number or a date, shares of a category's values."""
    if item["kind"] == "category":
        _pairs(ax, item["values"], "prototypes", height=0.38)
        ax.get_legend().remove()  # type: ignore[union-attr]  # `_pairs` made one
    else:
        _quantiles(ax, item["data"], 1, DATA)
        _quantiles(ax, item["prototypes"], 0, PROTOTYPES)
        ax.set_yticks([1, 0], labels=["data", "prototypes"])
        ax.set_ylim(-0.6, 1.6)
        ax.locator_params(axis="x", nbins=4)
        if "shown" in item:
            ax.xaxis.set_major_formatter(lambda second, _: as_date(second)[:10])
    write(ax.set_title, f"{cut(item['name'], 30)}\ndiffer by {100 * item['distance']:.2g} %", fontsize="medium")


def _pairs(ax: "Axes", values: list[Mapping[str, Any]], ours: str, height: float) -> Any:
    places = np.arange(len(values))
    theirs = [value["data"] for value in values]
    bars = ax.barh(places + height / 2, [value[ours] for value in values], height, color=PROTOTYPES)
    handles = [bars]
    if all(share is not None for share in theirs):
        handles = [ax.barh(places - height / 2, theirs, height, color=DATA), bars]
    named_ticks(ax.set_yticks, list(places), [cut(value["value"], 30) for value in values])
    ax.invert_yaxis()
    per_cent(ax.xaxis)
    legend(ax, handles, _NAMES[-len(handles) :], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return bars


def _quantiles(ax: "Axes", quantiles: list[float], place: float, colour: str) -> None:
    """Nine tenths as a thin line, the half in the middle as a thick one, the median as a dot."""
    low, lower, median, upper, high = quantiles
    ax.plot([low, high], [place, place], color=colour, linewidth=1.5)
    ax.plot([lower, upper], [place, place], color=colour, linewidth=7, solid_capstyle="butt")
    ax.plot([median], [place], "o", color=colour, markersize=9, markeredgecolor=ax.get_facecolor())
