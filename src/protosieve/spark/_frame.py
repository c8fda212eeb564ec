"""A DataFrame as what the passes want of it: a schema, a count, the first lists, and a task on every partition."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from protosieve.errors import InputError, ParameterError, arg
from protosieve.io import BatchSource, explain
from protosieve.passes import Pass
from protosieve.spark._returned import Returned
from protosieve.spark._tasks import SPARK_CELLS, PartitionTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Frame:
    """A DataFrame, checked. Inside, its columns go by their places: Spark takes a dot in a name for a field's."""

    def __init__(self, df: "DataFrame", name: str, title: str) -> None:
        _check(df, name)
        self.name, self.title = arg(name), title  # of the argument, and of its partitions
        self.schema = _schema_of(df, name)
        self._df = df.toDF(*(_place(i) for i in range(len(self.schema))))

    def source(self) -> BatchSource:
        """Its columns, without rows."""
        return BatchSource(self.title, self.schema, [])

    def count(self) -> int:
        """Its rows: a job of its own."""
        return int(self._df.count())

    def first_lists(self, names: Sequence[str]) -> pa.Table:
        """One row: of each of these columns the first list that is not empty, else a null. Reads as far as need be."""
        return pa.table({name: self._first_list(name) for name in names})

    def _first_list(self, name: str) -> pa.Array:
        from pyspark.sql import functions as f

        place = self._place_of(name)
        found = self._df.select(place).where(f.size(place) > 0).limit(1).toArrow().column(0).combine_chunks()
        return found if len(found) else pa.nulls(1, self.schema.field(name).type)

    def over(self, work: Pass[Any], features: list[str], known: Mapping[int, bytes] | None) -> Returned:
        """A pass on every partition; rows are compared by ``features``, and must be ``known`` if they came before."""
        names = self.schema.names if work.columns is None else list(work.columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        task = PartitionTask(work, schema, features, self.title, known)
        cells = self._df.select(*map(self._place_of, names)).mapInArrow(_function(task), SPARK_CELLS)
        found = Returned(self.title, cells.toArrow())
        if known is not None:
            found.check_all(known)
        return found

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
