"""Tables become matrices, as they stream by."""

from protosieve.preprocess._cells import whole
from protosieve.preprocess._differences import FirstRows, ratio_differs
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import SCALES, Moments
from protosieve.preprocess._row_names import is_named_like_id
from protosieve.preprocess._survey import Survey

__all__ = [
    "SCALES",
    "Encoding",
    "FirstRows",
    "Layout",
    "Moments",
    "Survey",
    "is_named_like_id",
    "ratio_differs",
    "whole",
]
