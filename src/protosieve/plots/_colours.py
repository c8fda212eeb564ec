"""One palette for all pictures: told apart by the colour-blind, and seen on white and on black."""

from collections.abc import Sequence

__all__ = ["DATA", "PROTOTYPES", "QUIET", "RANDOM", "label_colours"]

_LABELS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d3f", "#b3435e", "#7f9a2e", "#8f7ee6",
)  # fmt: skip
"""The first six are Okabe's and Ito's (2008) without black and yellow, which one of the two backgrounds swallows."""

DATA, PROTOTYPES, RANDOM, QUIET = "#8a8f98", _LABELS[1], _LABELS[0], "#8a8f98"


def label_colours(labels: Sequence[str]) -> list[str]:
    """A colour for each label; beyond ten they share one."""
    return [*_LABELS[: len(labels)], *[QUIET] * (len(labels) - len(_LABELS))]
