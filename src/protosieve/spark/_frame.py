"""A DataFrame as what the passes want of it: a schema, a count, the first lists, and a task on every partition."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from protosieve.distributed import Partition, Plan, levels
from protosieve.errors import InputError, ParameterError, arg
from protosieve.io import BatchSource, Stretch
from protosieve.io._file import explain
from protosieve.spark._returned import Returned
from protosieve.spark._tasks import SPARK_CELLS, Choosing, PartitionTask, Step
from protosieve.spark._tree import Merging

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Frame"]


class Frame:
    """A DataFrame, checked. Inside, its columns go by their places: Spark takes a dot in a name for a field's."""

    def __init__(self, df: "DataFrame", name: str, title: str) -> None:
        _check(df, name)
        self.title = title
        self.schema = _schema_of(df, name)
        self._df = df.toDF(*(_place(i) for i in range(len(self.schema))))

    def source(self) -> BatchSource:
        """Its columns, without rows."""
        return BatchSource(self.title, self.schema, [])

    def whole(self) -> Partition:
        """All of its rows, of which only the number is known. Counts them: a job of its own."""
        return Partition(0, 0, [Stretch(self.source())], self._df.count())

    def first_lists(self, names: Sequence[str]) -> pa.Table:
        """One row: of each of these columns the first list that is not empty, else a null. Reads as far as need be."""
        return pa.table({name: self._first_list(name) for name in names})

    def _first_list(self, name: str) -> pa.Array:
        from pyspark.sql import functions as f

        place = self._place_of(name)
        found = self._df.select(place).where(f.size(place) > 0).limit(1).toArrow().column(0).combine_chunks()
        return found if len(found) else pa.nulls(1, self.schema.field(name).type)

    def over(self, work: Step, features: list[str], columns: Sequence[str] | None) -> Returned:
        """A first pass: ``work`` on every partition, of some columns or all; rows are told by ``features``."""
        return Returned(self.title, features, self._cells(work, features, columns, None).toArrow())

    def again(self, before: Returned, work: Step, columns: Sequence[str] | None) -> Returned:
        """A later pass, over the same rows as ``before``."""
        cells = self._cells(work, before.features, columns, before.digests)
        return self._all(before, cells, before.digests)

    def offered(self, before: Returned, plan: Plan, at_once: int) -> Returned:
        """Pass B, over the same rows as ``before``; more sets of candidates than ``at_once`` are merged by a tree."""
        from pyspark.sql import functions as f

        cells, numbers = self._cells(Choosing(plan), before.features, None, before.digests), list(before.digests)
        for _ in levels(before.partitions, at_once):
            merging = Merging(plan, self.title, at_once, numbers)
            cells = cells.groupBy(f.floor(f.col("partition") / at_once)).applyInArrow(_function(merging), SPARK_CELLS)
            numbers = sorted({number // at_once for number in numbers})
        return self._all(before, cells, numbers)

    def _all(self, before: Returned, cells: "DataFrame", numbers: Iterable[int]) -> Returned:
        found = Returned(self.title, before.features, cells.toArrow())
        found.check_all(numbers)
        return found

    def _cells(
        self, work: Step, features: list[str], columns: Sequence[str] | None, known: Mapping[int, bytes] | None
    ) -> "DataFrame":
        names = self.schema.names if columns is None else list(columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        task = PartitionTask(work, schema, features, self.title, known)
        return self._df.select(*map(self._place_of, names)).mapInArrow(_function(task), SPARK_CELLS)

    def _place_of(self, name: str) -> str:
        return _place(self.schema.get_field_index(name))


def _function(task: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Spark asks a function for its name and arguments, and an object that can be called has none."""

    def run(cells: Any) -> Any:
        return task(cells)

    return run


def _place(i: int) -> str:
    return f"c{i}"


def _check(df: Any, name: str) -> None:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import UserDefinedType

    if not isinstance(df, DataFrame):
        raise ParameterError(
            f"{arg(name)} must be a DataFrame of Spark, got a {type(df).__name__}; files are for protosieve.select"
        )
    twice = [column for column, times in Counter(df.columns).items() if times > 1]
    if twice:
        raise InputError(f"{arg(name)}: {twice[0]!r} names more than one column; give each column its own name")
    for field in df.schema.fields:
        if isinstance(field.dataType, UserDefinedType):
            raise InputError(
                f"{arg(name)}: column {field.name!r} is a {type(field.dataType).__name__}, which Arrow has no "
                "type for; make lists of vectors with pyspark.ml.functions.vector_to_array, or drop the column"
            )


def _schema_of(df: "DataFrame", name: str) -> pa.Schema:
    try:
        return df.limit(0).toArrow().schema
    except Exception as error:  # Spark has an error of its own for every type
        raise InputError(
            f"{arg(name)}: its columns cannot become those of Arrow: {explain(error)}; cast or drop what it names"
        ) from error
