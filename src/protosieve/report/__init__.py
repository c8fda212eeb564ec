"""One page about a result: what was summarised, how well, by which rows, and what these leave out.

`Material` brings a result and its data into one form, `story` makes of it a value that JSON can hold, and the page
shows that value. NumPy is enough for all of it; Pillow is used where a column holds images.
"""

from protosieve.report._material import Material
from protosieve.report._story import story
from protosieve.report._view import View
from protosieve.report._write import check_report, write_report

__all__ = ["Material", "View", "check_report", "story", "write_report"]
