"""Some rows of a file, one after the other, as a file of their own."""

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np
import pyarrow as pa

from protosieve.io._source import BadRows, Piece, Source

__all__ = ["RowRange"]


@final
class RowRange(Source):
    """Rows ``first`` up to ``last``, not included, of a file; to its end where ``last`` is ``None``.

    Rows keep their numbers in the file. A format that notes bad rows ahead of the piece they are in must not be cut,
    so ``last`` is for files that know their `groups`. It can be pickled wherever the file can.
    """

    def __init__(self, source: Source, first: int = 0, last: int | None = None) -> None:
        self.source, self.first, self.last = source, first, last
        self.name, self.size, self.comes_once = source.name, source.size, source.comes_once

    def schema(self) -> pa.Schema:
        return self.source.schema()

    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        for piece in self.source.pieces(columns, max(start, self.first), bad):
            if self.last is None or piece.numbers[-1] < self.last - 1:
                yield piece
                continue
            rows = int(np.searchsorted(piece.numbers, self.last))
            if rows:
                yield Piece(piece.table.slice(0, rows), piece.numbers[:rows], piece.bytes_read)
            return

    def fingerprint(self) -> dict[str, str | int] | None:
        return self.source.fingerprint()
