"""Tables become matrices, as they stream by."""

from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._survey import Survey

__all__ = ["Encoding", "Layout", "Survey"]
