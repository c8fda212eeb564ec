"""Tables become matrices, as they stream by."""

from protosieve.preprocess._layout import Layout

__all__ = ["Layout"]
