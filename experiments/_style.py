"""How each method looks, the same in every figure: colours that the colour-blind tell apart, and a marker each."""

from typing import Any

__all__ = ["BASE", "STYLES", "look"]

STYLES: dict[str, dict[str, Any]] = {  # the colours are those of Okabe and Ito
    "ProtoBasic": {"color": "#E69F00", "marker": "s", "linestyle": "-"},
    "ProtoStream": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "Streak": {"color": "#D55E00", "marker": "^", "linestyle": "--"},
    "ProtoDash": {"color": "#009E73", "marker": "D", "linestyle": "-"},
    "MMD-critic": {"color": "#CC79A7", "marker": "v", "linestyle": "-"},
    "ProtoSwap": {"color": "#000000", "marker": "P", "linestyle": "-"},
    "random rows": {"color": "#808080", "marker": "x", "linestyle": ":"},
}
BASE = {"color": "#D9D9D9"}  # the base set, behind the methods


def look(method: str) -> dict[str, Any]:
    """What `plot` needs to draw a method's line."""
    return {"label": method, "markersize": 3.5, "linewidth": 1, **STYLES[method]}
