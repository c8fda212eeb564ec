"""What a residual does not tell: how features are matched one by one, and which columns nobody compared."""

from collections.abc import Mapping
from typing import Any

from protosieve.report._features import encoding_of
from protosieve.report._material import Material
from protosieve.report._text import cut

__all__ = ["plainly"]

_FEW = 6  # columns that are named
_HARMLESS = ("the same in every row", "null in every row")  # a column that tells no rows apart is not missed


def plainly(material: Material, features: Mapping[str, Any] | None) -> list[str]:
    """One sentence each, where there is something to say: the worst of `matched_features`, and what was left out."""
    return [*([] if features is None else [features["sentence"]]), *_not_compared(material)]


def _not_compared(material: Material) -> list[str]:
    """Columns that were not compared by although nobody said so."""
    encoding = encoding_of(material.result) or {}
    why = {**encoding.get("dropped", {}), **encoding.get("left_out", {})}
    missed = [name for name, reason in why.items() if not reason.startswith(_HARMLESS)]
    if not missed:
        return []
    named = ", ".join(cut(name, 60) for name in missed[:_FEW])
    more = f" and {len(missed) - _FEW:,} more" if len(missed) > _FEW else ""
    verb = "was" if len(missed) == 1 else "were"
    return [f"{named}{more} {verb} not compared: all figures are of the other columns alone."]
