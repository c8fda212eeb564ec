"""The charts of a result: residuals and weights, labels and features, and the map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from protosieve._formatting import cut, prototypes
from protosieve._typing import Float64
from protosieve.insight import (
    CategoryMatch,
    Labels,
    Map,
    NumberMatch,
    ResidualCurve,
    ResidualTrace,
    ValueShares,
    as_date,
)
from protosieve.plots._canvas import (
    DATA,
    PROTOTYPES,
    QUIET,
    RANDOM,
    label_colours,
    legend,
    log_scale,
    named_ticks,
    per_cent,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HALF = 0.19  # of a bar's height
_LARGEST, _SMALLEST = 320.0, 14.0  # areas of the heaviest prototype and of one that can still be seen


def draw_curve(curve: ResidualCurve, ax: "Axes") -> "Axes":
    """The residual against the number of prototypes."""
    kept = curve.count[-1]
    ax.plot(curve.count, curve.residual, color=PROTOTYPES, marker=".", label="so many of them, added one by one")
    ax.plot([kept], [curve.own], "D", color=PROTOTYPES, label=f"all {kept:,}, as they are")
    if curve.random is not None:
        ax.plot([kept], [curve.random], "x", color=RANDOM, mew=2, label="as many random rows")
    log_scale(ax, [*curve.residual, curve.own])
    ax.set_xlabel("prototypes")
    ax.set_ylabel("residual: what is left, as a share")
    ax.set_title("How many prototypes it takes")
    ax.legend(frameon=False)
    return ax


def draw_stream(trace: ResidualTrace, ax: "Axes") -> "Axes":
    """The residual along the stream; what was counted on a second y axis at the right."""
    marker = "." if len(trace.rows) < 20 else ""
    lines = ax.plot(trace.rows, trace.residual, color=PROTOTYPES, marker=marker, label="residual")
    log_scale(ax, trace.residual)
    ax.set_xlabel("rows seen")
    ax.set_ylabel("residual")
    ax.xaxis.set_major_formatter(lambda rows, _: f"{rows:,.0f}")
    ax.set_title("Along the stream")
    counts = (("rows taken in", trace.accepted, RANDOM), ("members exchanged", trace.exchanged, DATA))
    counted = [each for each in counts if each[1] is not None]
    if counted:
        right = ax.twinx()
        right.set_ylabel("rows so far")
        for name, values, colour in counted:
            lines += right.plot(trace.rows, values or [], color=colour, linestyle="--", marker=marker, label=name)
    ax.legend(lines, [str(line.get_label()) for line in lines], frameon=False, loc="center right")
    return ax


def draw_weights(weights: Float64, shares: Float64 | None, ax: "Axes") -> "Axes":
    """A bar for each prototype, in their order, which is that of the weights; a dot for its share of the data."""
    places = np.arange(1, len(weights) + 1)
    bars = ax.bar(places, weights, color=PROTOTYPES, width=_width(len(weights)))
    ax.set_xlabel("prototype, the heaviest first")
    ax.set_ylabel("weight")
    ax.set_title(f"Weights of {prototypes(len(weights))}")
    if shares is not None:
        dots = ax.plot(places, shares, "o", color=DATA, markersize=6, markeredgecolor=ax.get_facecolor())
        ax.set_ylabel("weight, share")
        ax.legend([bars, dots[0]], ["weight", "share of the data nearest to it"], frameon=False)
    return ax


def draw_spread(shares: Float64, ax: "Axes") -> "Axes":
    """How the data spreads over the prototypes, the largest share first, beside even shares."""
    falling = np.sort(shares)[::-1]
    ax.bar(np.arange(1, len(falling) + 1), falling, color=DATA, width=_width(len(falling)))
    ax.axhline(1 / len(falling), color=PROTOTYPES, linestyle="--", label="if all had the same")
    per_cent(ax.yaxis)
    ax.set_xlabel("prototype, the largest share first")
    ax.set_ylabel("share of the data nearest to it")
    ax.set_title(f"How the data spreads over {prototypes(len(falling))}")
    ax.legend(frameon=False)
    return ax


def _width(count: int) -> float:
    """Many bars have no gaps, which would be all one sees."""
    return 0.8 if count <= 100 else 1.0


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
