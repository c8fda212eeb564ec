"""How heavy the prototypes are, and how much of the data is nearest to each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from protosieve._typing import Float64
from protosieve.plots._canvas import per_cent
from protosieve.plots._colours import DATA, PROTOTYPES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_spread", "draw_weights"]


def draw_weights(weights: Float64, shares: Sequence[float] | None, ax: "Axes") -> None:
    """A bar for each prototype, in their order, which is that of the weights; a dot for its share of the data."""
    places = np.arange(1, len(weights) + 1)
    bars = ax.bar(places, weights, color=PROTOTYPES, width=_width(len(weights)))
    ax.set_xlabel("prototype, the heaviest first")
    ax.set_ylabel("weight")
    ax.set_title(f"Weights of {_counted(len(weights))}")
    if shares is not None:
        dots = ax.plot(places, shares, "o", color=DATA, markersize=6, markeredgecolor=ax.get_facecolor())
        ax.set_ylabel("weight, share")
        ax.legend([bars, dots[0]], ["weight", "share of the data nearest to it"], frameon=False)


def draw_spread(shares: Sequence[float], ax: "Axes") -> None:
    """How the data spreads over the prototypes, the largest share first, beside even shares."""
    falling = np.sort(shares)[::-1]
    ax.bar(np.arange(1, len(falling) + 1), falling, color=DATA, width=_width(len(falling)))
    ax.axhline(1 / len(falling), color=PROTOTYPES, linestyle="--", label="if all had the same")
    per_cent(ax.yaxis)
    ax.set_xlabel("prototype, the largest share first")
    ax.set_ylabel("share of the data nearest to it")
    ax.set_title(f"How the data spreads over {_counted(len(falling))}")
    ax.legend(frameon=False)


def _width(count: int) -> float:
    """No gaps between bars so many that the gaps are all one sees."""
    return 0.8 if count <= 100 else 1.0


def _counted(count: int) -> str:
    return "one prototype" if count == 1 else f"{count:,} prototypes"
