"""Facts about a result as plain frozen values: what was summarised, how well, by which rows, and what these miss.

`ResultWithData` brings a result and its data into one form, and functions compute from it what is to be told;
`describe` computes all of it. The report and the plots draw these values. NumPy is enough for all of it; Pillow is used
where a column holds images.
"""

from protosieve.insight._cards import Card, cards_of
from protosieve.insight._coverage import DataCoverage, Labels, Similarities, coverage_of, labels_of
from protosieve.insight._criticisms import Criticisms, criticisms
from protosieve.insight._differences import Difference
from protosieve.insight._feature_matches import CategoryMatch, FeatureMatches, NumberMatch, ValueShares, feature_matches
from protosieve.insight._features import as_date
from protosieve.insight._insight import Insight, WorstExplained, describe
from protosieve.insight._map import Map, map_of
from protosieve.insight._neighbours import Neighbour
from protosieve.insight._quality import Figure, Quality, curve_of, quality_of, quality_sentences
from protosieve.insight._residual_curve import ResidualCurve
from protosieve.insight._result_with_data import ResultWithData
from protosieve.insight._stream import ResidualTrace, stream_of
from protosieve.insight._summary import Fact, GroupFact, Rerun, beyond_input, recent_past, unlike_head, worst_groups
from protosieve.insight._text import shown
from protosieve.insight._thumbnails import Thumbnail, folders_of
from protosieve.insight._view import View, image_shape_of
from protosieve.insight._words import words_of

__all__ = [
    "Card",
    "CategoryMatch",
    "Criticisms",
    "DataCoverage",
    "Difference",
    "Fact",
    "FeatureMatches",
    "Figure",
    "GroupFact",
    "Insight",
    "Labels",
    "Map",
    "Neighbour",
    "NumberMatch",
    "Quality",
    "Rerun",
    "ResidualCurve",
    "ResidualTrace",
    "ResultWithData",
    "Similarities",
    "Thumbnail",
    "ValueShares",
    "View",
    "WorstExplained",
    "as_date",
    "beyond_input",
    "cards_of",
    "coverage_of",
    "criticisms",
    "curve_of",
    "describe",
    "feature_matches",
    "folders_of",
    "image_shape_of",
    "labels_of",
    "map_of",
    "quality_of",
    "quality_sentences",
    "recent_past",
    "shown",
    "stream_of",
    "unlike_head",
    "words_of",
    "worst_groups",
]
