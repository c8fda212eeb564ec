"""One page about a result: what was summarised, how well, by which rows, and what these leave out.

`Material` brings a result and its data into one form, `story` makes of it a value that JSON can hold, and the page
shows that value. NumPy is enough for all of it; Pillow is used where a column holds images.
"""

from protosieve.report._cards import cards
from protosieve.report._features import as_date
from protosieve.report._live import HERE, Live
from protosieve.report._map import Map, map_of
from protosieve.report._material import Material
from protosieve.report._own import own_names
from protosieve.report._page import render
from protosieve.report._pictures import folders_of
from protosieve.report._plainly import plainly
from protosieve.report._quality import Quality
from protosieve.report._spread import coverage, matched_features
from protosieve.report._story import blank, story, stream_of
from protosieve.report._text import cut, shown
from protosieve.report._view import View, image_shape_of
from protosieve.report._write import check_report, save_page, write_report

__all__ = [
    "HERE",
    "Live",
    "Map",
    "Material",
    "Quality",
    "View",
    "as_date",
    "blank",
    "cards",
    "check_report",
    "coverage",
    "cut",
    "folders_of",
    "image_shape_of",
    "map_of",
    "matched_features",
    "own_names",
    "plainly",
    "render",
    "save_page",
    "shown",
    "story",
    "stream_of",
    "write_report",
]
