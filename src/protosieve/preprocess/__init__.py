"""Tables become matrices, as they stream by."""

from protosieve.preprocess._cells import is_list, is_number, whole
from protosieve.preprocess._differences import FirstRows, ratio_differs
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._settle import SCALES
from protosieve.preprocess._survey import Survey

__all__ = ["SCALES", "Encoding", "FirstRows", "Layout", "Survey", "is_list", "is_number", "ratio_differs", "whole"]
