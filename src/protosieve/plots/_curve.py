"""The residual against the number of prototypes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protosieve.plots._canvas import log_scale
from protosieve.plots._colours import PROTOTYPES, RANDOM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curve"]


def draw_curve(curve: Mapping[str, Any], ax: "Axes") -> None:
    """A report's ``quality.curve`` on the axes."""
    ax.plot(curve["count"], curve["residual"], color=PROTOTYPES, marker=".", label="so many of them, added one by one")
    ax.plot([curve["kept"]], [curve["own"]], "D", color=PROTOTYPES, label=f"all {curve['kept']:,}, as they are")
    if curve["random"] is not None:
        ax.plot([curve["kept"]], [curve["random"]], "x", color=RANDOM, mew=2, label="as many random rows")
    log_scale(ax, [*curve["residual"], curve["own"]])
    ax.set_xlabel("prototypes")
    ax.set_ylabel("residual: squared MMD left, as a share")
    ax.set_title("How many prototypes it takes")
    ax.legend(frameon=False)
