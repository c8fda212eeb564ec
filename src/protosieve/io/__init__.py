"""Files to rows and back: every format behind one interface."""

from protosieve.io._base import BadRow, BadRows, Piece, Source
from protosieve.io._batches import BatchSource
from protosieve.io._file import explain
from protosieve.io._find import find_sources
from protosieve.io._output import as_dash, check_output, write_table
from protosieve.io._results import read_result
from protosieve.io._schemas import check_schemas
from protosieve.io._stretch import Stretch

__all__ = [
    "BadRow",
    "BadRows",
    "BatchSource",
    "Piece",
    "Source",
    "Stretch",
    "as_dash",
    "check_output",
    "check_schemas",
    "explain",
    "find_sources",
    "read_result",
    "write_table",
]
