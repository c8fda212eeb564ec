"""What happened along the stream."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protosieve.plots._canvas import log_scale
from protosieve.plots._colours import DATA, PROTOTYPES, RANDOM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_stream"]

_COUNTS = (("accepted", "rows taken in", RANDOM), ("exchanged", "members exchanged", DATA))


def draw_stream(stream: Mapping[str, Any], ax: "Axes") -> None:
    """A report's ``stream`` on the axes, what it counts on a second y axis at the right."""
    marker = "." if len(stream["rows"]) < 20 else ""
    lines = ax.plot(stream["rows"], stream["residual"], color=PROTOTYPES, marker=marker, label="residual")
    log_scale(ax, stream["residual"])
    ax.set_xlabel("rows seen")
    ax.set_ylabel("residual")
    ax.xaxis.set_major_formatter(lambda rows, _: f"{rows:,.0f}")
    ax.set_title("Along the stream")
    counted = [each for each in _COUNTS if stream[each[0]] is not None]
    if counted:
        right = ax.twinx()
        right.set_ylabel("rows so far")
        for name, label, colour in counted:
            lines += right.plot(stream["rows"], stream[name], color=colour, linestyle="--", marker=marker, label=label)
    ax.legend(lines, [str(line.get_label()) for line in lines], frameon=False, loc="center right")
