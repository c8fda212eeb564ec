"""One page about a result: what was summarised, how well, by which rows, and what these leave out.

`Material` brings a result and its data into one form, `story` makes of it a value that JSON can hold, and the page
shows that value. NumPy is enough for all of it; Pillow is used where a column holds images.
"""

from protosieve.report._live import HERE, Live
from protosieve.report._material import Material
from protosieve.report._own import own_names
from protosieve.report._page import render
from protosieve.report._pictures import folders_of
from protosieve.report._story import blank, story
from protosieve.report._view import View, image_shape_of
from protosieve.report._write import check_report, save_page, write_report

__all__ = [
    "HERE",
    "Live",
    "Material",
    "View",
    "blank",
    "check_report",
    "folders_of",
    "image_shape_of",
    "own_names",
    "render",
    "save_page",
    "story",
    "write_report",
]
