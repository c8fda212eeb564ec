"""What a Spark task does: a function of a partition's Arrow batches; of Spark it knows the partition's number alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from protosieve import _state
from protosieve._blas import one_thread
from protosieve.errors import InputError, ProtosieveError
from protosieve.io import BatchSource, RowRange
from protosieve.passes import Partition, Pass, key_of
from protosieve.spark._digest import Digest

CELLS = pa.schema(
    {"partition": pa.int64(), "piece": pa.int32(), "error": pa.string(), "digest": pa.binary(), "state": pa.binary()}
)
SPARK_CELLS = "partition bigint, piece int, error string, digest binary, state binary"
_PIECE = 1 << 22  # bytes of a state in one row: a row that is larger than Spark Connect's messages would be refused


def partition_of(number: int, source: BatchSource) -> Partition:
    """A partition of Spark's, which stands where a file does in other runs."""
    return Partition(number, number, [RowRange(source)], None, key_of(number, None))


@dataclass(frozen=True)
class PartitionTask:
    """A pass over one partition: its batches in, a storable value out, as bytes in a row or several of `CELLS`.

    ``known`` are the digests of an earlier pass, whose rows must come again. Errors in rows are returned too: raised
    here they would reach the user as the stack trace of a worker.
    """

    work: Pass[Any]
    schema: pa.Schema  # of the batches, whatever Spark calls their columns
    features: list[str]  # to tell rows by
    title: str  # of the partitions
    known: Mapping[int, bytes] | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What `mapInArrow` calls."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "not inside a task of Spark"
        return self.on(context.partitionId(), batches)

    def on(self, number: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same for the partition of this number."""
        digest = Digest(self.features)
        try:
            with one_thread():
                value = self._worked(number, digest.watch(map(self._named, batches)))
            self._check(number, digest.result())
        except ProtosieveError as error:
            yield failed(number, error)
            return
        yield from sent(number, digest.result(), value)

    def _worked(self, number: int, batches: Iterator[pa.RecordBatch]) -> object:
        source = BatchSource(title_of(self.title, number), self.schema, batches)
        if self.known is not None and number not in self.known:
            raise not_the_same(source.name, "there was no such partition before")
        try:
            return self.work.over(partition_of(number, source))
        except InputError as error:
            if self.known is None:
                raise
            raise not_the_same(source.name, str(error)) from error  # all rows were fine before

    def _check(self, number: int, digest: bytes) -> None:
        if self.known is not None and digest != self.known[number]:
            raise not_the_same(title_of(self.title, number), "as many, but others or in another order")

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(batch.columns, names=self.schema.names)


def title_of(title: str, number: int) -> str:
    """What a partition is called.

    >>> title_of("partition", 3)
    'partition 3'
    """
    return f"{title} {number}"


def not_the_same(name: str, how: str) -> InputError:
    """What to say of rows that are not the same when they are read again."""
    return InputError(
        f"{name}: gave other rows when it was read again ({how}); its rows must be the same, in the same order, every "
        "time: cache the DataFrame first, or write it to Parquet and read that"
    )


def sent(number: int, digest: bytes, value: object) -> Iterator[pa.RecordBatch]:
    """A value as rows of `CELLS`."""
    state = _state.dumps(value)
    for piece, start in enumerate(range(0, len(state), _PIECE)):
        yield _row(number, piece, None, digest, state[start : start + _PIECE])


def failed(number: int, error: ProtosieveError) -> pa.RecordBatch:
    """An error in its place."""
    return _row(number, 0, str(error), None, None)


def _row(*cells: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(CELLS.names, cells, strict=True))], CELLS)
