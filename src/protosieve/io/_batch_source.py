"""Rows that are in memory already, or come from another engine: Arrow batches as a file."""

from collections.abc import Iterable, Iterator, Sequence
from typing import final

import pyarrow as pa

from protosieve.io._file_source import consecutive, cut
from protosieve.io._source import BadRows, Piece, Source

__all__ = ["BatchSource"]


@final
class BatchSource(Source):
    """Arrow batches of one schema. A list of them can be read again and pickled; an iterator comes once."""

    def __init__(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self.name, self.size, self.comes_once = name, None, isinstance(batches, Iterator)
        self._schema, self._batches = schema, batches

    @classmethod
    def of(cls, name: str, table: pa.Table) -> "BatchSource":
        """The rows of a table."""
        return cls(name, table.schema, table.to_batches())

    def schema(self) -> pa.Schema:
        return self._schema

    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        names = self._schema.names if columns is None else list(columns)
        tables = (pa.Table.from_batches([batch]).select(names) for batch in self._batches)
        for piece in consecutive(tables, 0, lambda _: 0):
            yield from cut(piece, start)

    def groups(self) -> list[int] | None:
        """One group of all rows; an iterator does not tell."""
        return None if self.comes_once else [sum(batch.num_rows for batch in self._batches)]

    def fingerprint(self) -> None:
        return None
