"""Files to rows and back: every format behind one interface."""

from protosieve.io._base import BadRow, BadRows, Piece, Source
from protosieve.io._find import find_sources
from protosieve.io._output import check_output, write_table
from protosieve.io._results import read_result
from protosieve.io._schemas import check_schemas

__all__ = [
    "BadRow",
    "BadRows",
    "Piece",
    "Source",
    "check_output",
    "check_schemas",
    "find_sources",
    "read_result",
    "write_table",
]
