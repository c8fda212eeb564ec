"""Files to rows: every format behind one interface."""

from protosieve.io._csv import CsvForm
from protosieve.io._file_source import explain
from protosieve.io._find import check_form, find_sources
from protosieve.io._images import ImageSource
from protosieve.io._schemas import check_schemas
from protosieve.io._source import BadRow, BadRows, BatchSource, Piece, RowRange, Source
from protosieve.io._tables import STREAM, index_of, is_table, tables_in

__all__ = [
    "STREAM",
    "BadRow",
    "BadRows",
    "BatchSource",
    "CsvForm",
    "ImageSource",
    "Piece",
    "RowRange",
    "Source",
    "check_form",
    "check_schemas",
    "explain",
    "find_sources",
    "index_of",
    "is_table",
    "tables_in",
]
