"""Tables become matrices, as they stream by."""

from protosieve.preprocess._build import BALANCES, OnlyTextsError
from protosieve.preprocess._cells import whole
from protosieve.preprocess._columns import CYCLES, TextColumn
from protosieve.preprocess._differences import FirstRows, ratio_differs
from protosieve.preprocess._embed import BATCH, EmbedError, check_shared, model_named
from protosieve.preprocess._encoding import Encoding
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import SCALES, Moments
from protosieve.preprocess._row_names import is_named_like_id
from protosieve.preprocess._survey import Survey
from protosieve.preprocess._text_features import COLUMNS, LEARNT_FROM, SpeltWords, TextFeatures
from protosieve.preprocess._wording import listing

__all__ = [
    "BALANCES",
    "BATCH",
    "COLUMNS",
    "CYCLES",
    "LEARNT_FROM",
    "SCALES",
    "EmbedError",
    "Encoding",
    "FirstRows",
    "Layout",
    "Moments",
    "OnlyTextsError",
    "SpeltWords",
    "Survey",
    "TextColumn",
    "TextFeatures",
    "check_shared",
    "is_named_like_id",
    "listing",
    "model_named",
    "ratio_differs",
    "whole",
]
