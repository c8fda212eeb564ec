"""What is left, by number of prototypes and along the stream; how heavy the prototypes are, and what is near them."""

from typing import TYPE_CHECKING

import numpy as np

from protosieve._formatting import prototypes
from protosieve._typing import Float64
from protosieve.insight import ResidualCurve, ResidualTrace
from protosieve.plots._canvas import DATA, PROTOTYPES, RANDOM, log_scale, per_cent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curve", "draw_spread", "draw_stream", "draw_weights"]


def draw_curve(curve: ResidualCurve, ax: "Axes") -> "Axes":
    """The residual against the number of prototypes."""
    kept = curve.count[-1]
    ax.plot(curve.count, curve.residual, color=PROTOTYPES, marker=".", label="so many of them, added one by one")
    ax.plot([kept], [curve.own], "D", color=PROTOTYPES, label=f"all {kept:,}, as they are")
    if curve.random is not None:
        ax.plot([kept], [curve.random], "x", color=RANDOM, mew=2, label="as many random rows")
    log_scale(ax, [*curve.residual, curve.own])
    ax.set_xlabel("prototypes")
    ax.set_ylabel("residual: squared MMD left, as a share")
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
    """No gaps between bars so many that the gaps are all one sees."""
    return 0.8 if count <= 100 else 1.0
