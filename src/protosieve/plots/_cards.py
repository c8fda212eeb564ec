"""Prototypes as cards: a picture, a text, or what makes them differ."""

import textwrap
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protosieve._formatting import cut
from protosieve._typing import Array
from protosieve.insight import Card, Difference
from protosieve.plots._canvas import DATA, PROTOTYPES, RANDOM, grid_for, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PICTURE, _OTHER = (1.35, 1.75), (2.7, 1.9)  # inches
_LETTERS, _LINES = 38, 8  # of a text


def draw_cards(cards: Sequence[Card], columns: int | None, axes: Any) -> NDArray[np.object_]:
    """One card on each of the axes; by default six pictures or three other cards in a line."""
    pictures = any(card.image is not None for card in cards)
    grid = grid_for(axes, len(cards), columns or (6 if pictures else 3), _PICTURE if pictures else _OTHER)
    furthest = max((abs(item.by) for card in cards for item in card.differs), default=1.0) or 1.0
    for card, ax in zip(cards, grid, strict=False):
        name = f"row {card.row:,}" if card.label is None else cut(card.label, 20)
        weight = "" if card.weight is None else f"\nweight {card.weight:.3g}"
        write(ax.set_title, name + weight, fontsize="small")
        ax.set_xticks([])
        ax.set_yticks([])
        _content(ax, card, furthest)
    return grid


def _content(ax: "Axes", card: Card, furthest: float) -> None:
    text = card.text or card.no_image
    if card.image is not None:
        ax.imshow(_pixels(card.image.data), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        ax.set_axis_off()
    elif text is not None:
        lines = "\n".join(textwrap.wrap(text, _LETTERS, max_lines=_LINES, placeholder=" …"))
        write(ax.text, 0.04, 0.94, lines, transform=ax.transAxes, va="top", fontsize="small", clip_on=True)
    else:
        _bars(ax, card.differs, furthest)


def _pixels(data: bytes) -> Array:
    """Decode an image with Pillow, which matplotlib depends on."""
    from PIL import Image

    with Image.open(BytesIO(data)) as image:
        return np.asarray(image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGBA"))


def _bars(ax: "Axes", differs: Sequence[Difference], furthest: float) -> None:
    """A line for each feature: its name, its value, and under them by how many standard deviations it is unusual."""
    by = np.array([item.by for item in differs], np.float64)
    places = np.arange(len(differs))
    ax.barh(places + 0.36, by, 0.16, color=np.where(by < 0, RANDOM, PROTOTYPES).tolist())
    ax.axvline(0, color=DATA, linewidth=0.6, ymin=0.02, ymax=0.98)
    across = ax.get_yaxis_transform()
    for place, item in enumerate(differs):
        write(ax.text, 0.03, place, cut(item.name, 22), transform=across, va="center", fontsize="small")
        write(ax.text, 0.97, place, cut(item.value, 14), transform=across, va="center", ha="right", fontsize="small")
    ax.set_xlim(-1.1 * furthest, 1.1 * furthest)
    ax.set_ylim(max(len(differs), 1) - 0.3, -0.5)
